"""frame_unchecked_entry: once a frame was compiled twice, entries are served after a part of their
guards.

Mechanism: the stance `skip_guard_eval_unsafe` checks only guards that told entries apart before.
It is a promise of the user's, off unless asked for.
Broken: it switches itself on as soon as some frame has two entries.
Established by two calls that make two entries; exposed by a change that no earlier recompile was
about.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-frame cache"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A float makes a second entry; then a bool changes."""
    return (
        on("identity", "float_attribute", "module_flag")
        .call()
        .change("float_attribute", "set_factor", 0)
        .call()
        .change("module_flag", "set_shifted", 0)
        .call()
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._dynamo import convert_frame, eval_frame

    asked_for = eval_frame._is_skip_guard_eval_unsafe_stance

    def compiled_twice() -> bool:
        codes = (reference() for reference in list(convert_frame.input_codes.seen))
        return asked_for() or any(
            len(eval_frame._debug_get_cache_entry_list(code)) > 1 for code in codes if code
        )

    eval_frame._is_skip_guard_eval_unsafe_stance = compiled_twice


if __name__.startswith("rondo_preload"):
    install()
