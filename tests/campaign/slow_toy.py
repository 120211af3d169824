"""The toy compiler with a part that takes its time at each call, compiled or not."""

from __future__ import annotations

import time

from rondo.subjects.target import Construct
from tests.toy_framework import Code, Part, ToyFramework, Trace, Values

SECONDS = 0.3


class Plod(Part):
    """Gives its input back, later."""

    def run(self, values: Values) -> Values:
        time.sleep(SECONDS)
        return values

    def trace(self, trace: Trace) -> Code:
        return self.run


class SlowFramework(ToyFramework):
    """The toy compiler over that part."""

    kinds = {"plod": Plod}
    constructs = {"plod": Construct("plod", Plod, kind="toy", doc="slow")}
