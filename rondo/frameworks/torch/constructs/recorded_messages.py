"""recorded_messages: lines that the forward writes to a list of its own, formatted from state."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Log:
    """A log that may be full."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.room = 3

    def write(self, line: str) -> None:
        if len(self.lines) < self.room:
            self.lines.append(line)


class RecordedMessages(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.log = Log()
        self.title = "step"

    def forward(self, hidden: Tensor) -> Tensor:
        self.log.write(f"{self.title} {hidden.shape[0]} {hidden.dtype}")
        return hidden + len(self.log.lines) / 8


CONSTRUCT = Construct("recorded_messages", RecordedMessages, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=2)
def set_title(module: RecordedMessages, value: int) -> None:
    """Set the word that each line begins with."""
    module.title = ("call", "step")[value]


@CONSTRUCT.change(values=3)
def set_room(module: RecordedMessages, value: int) -> None:
    """Set the room of the log."""
    module.log.room = (0, 20, 3)[value]


@CONSTRUCT.change()
def clear(module: RecordedMessages, value: int) -> None:
    """Clear the log."""
    module.log.lines.clear()


@CONSTRUCT.observe
def lines(module: RecordedMessages) -> dict[str, object]:
    """Report the lines."""
    return {"lines": list(module.log.lines)}
