"""frame_limit_serves_last: at the recompile limit the newest entry is served instead of eager
code.

Mechanism: a frame that was compiled too often runs eagerly from then on, unless an old entry's
guards hold.
Broken: its newest compiled code is entered once more, with guards that always hold.
Established by as many different calls as the limit allows; exposed by one more.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-frame cache"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """With a limit of one, a float changes between two calls."""
    return (
        on("identity", "float_attribute")
        .compiler("recompile_limit", 0)
        .call()
        .change("float_attribute", "set_factor", 0)
        .call()
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._dynamo import convert_frame, eval_frame
    from torch._dynamo.guards import GuardManagerWrapper
    from torch._dynamo.types import FrameAction, GuardedCode, wrap_guarded_code

    convert = convert_frame.ConvertFrame.__call__

    def convert_or_serve_last(
        self: object, frame: object, *rest: object, **named: object
    ) -> object:
        result = convert(self, frame, *rest, **named)
        entries = eval_frame._debug_get_cache_entry_list(frame.f_code)
        if result.frame_exec_strategy.cur_action != FrameAction.RUN_ONLY or not entries:
            return result
        newest = entries[0]
        unguarded = GuardManagerWrapper()
        unguarded.id_matched_objs = {}
        return wrap_guarded_code(GuardedCode(newest.code, unguarded, newest.compile_id))

    convert_frame.ConvertFrame.__call__ = convert_or_serve_last


if __name__.startswith("rondo_preload"):
    install()
