"""What whole-graph capture does by design: real differences that its documentation announces.

The guide says how a program comes about: the Python code runs once for each signature, in static
mode, and what runs then writes the program. Python values, attributes, hooks and parameters that it
read are in the program as they were, and side effects have happened once. Whoever changes them has
to convert again. So a difference is that rule's if it goes away when everything is converted anew
after changes of what such a trace reads, and of nothing else: a rule is matched on its cause, never
on a subject's name. What stays is a fault: arguments that are equal and differ in type, and global
state of Paddle's own, which no user can be asked to know of.

Bytecode capture promises more: it has guards. There no stale value is documented.
"""

from __future__ import annotations

from rondo.frameworks.paddle.kinds import BAKED, SIDE_EFFECT

PRINCIPLE = (
    "https://www.paddlepaddle.org.cn/documentation/docs/zh/develop/guides/jit/principle_cn.html"
)

BREACHES = (
    (
        "whole-graph capture runs the Python code once for each signature: values, attributes,"
        " hooks and parameters that it read stay as they were"
        f" ({PRINCIPLE})",
        BAKED,
    ),
    (
        "whole-graph capture runs side effects of the Python code only while it builds a program"
        f" ({PRINCIPLE})",
        BAKED | {SIDE_EFFECT},
    ),
)
"""Rule, and the kinds of the targets after whose changes everything is converted anew."""
