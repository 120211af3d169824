"""The toy compiler with parts that take their time: at each call, or at each compiled one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

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


class Crawl(Part):
    """Gives its input back, much later when it is compiled."""

    def run(self, values: Values) -> Values:
        return values

    def trace(self, trace: Trace) -> Code:
        def crawling(values: Values) -> Values:
            time.sleep(4 * SECONDS)
            return values

        return crawling


class SlowFramework(ToyFramework):
    """The toy compiler over these parts."""

    kinds: ClassVar[Mapping[str, type[Part]]] = {"plod": Plod, "crawl": Crawl}
    constructs: ClassVar[Mapping[str, Construct]] = {
        name: Construct(name, part, kind="toy", doc=name)
        for name, part in (("plod", Plod), ("crawl", Crawl))
    }
