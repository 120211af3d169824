"""Who else traces? A second tracer would see our events or lose its own, so ours steps aside."""

from __future__ import annotations

import sys
import threading


def describe_other_tracer(ours: object) -> str | None:
    """Who else traces this thread or process, in words; None when nobody but `ours` does."""
    trace = sys.gettrace()
    if trace is not None and trace is not ours:
        return f"a trace function is set ({type(trace).__module__}.{type(trace).__qualname__})"
    hook = threading.gettrace()
    if hook is not None and hook is not ours:
        return f"threading.settrace holds {getattr(hook, '__qualname__', type(hook).__qualname__)}"
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring
        for role, identity in (
            ("debugger", monitoring.DEBUGGER_ID),
            ("coverage tool", monitoring.COVERAGE_ID),
        ):
            name = monitoring.get_tool(identity)
            if name is not None:
                return f"sys.monitoring has a {role}: {name}"
    return None
