"""Small programs, one per way in which lines come to run; each defines `main()`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAMS = {
    "calls and loops": """
        def fact(n):
            if n < 2:
                return 1
            return n * fact(n - 1)

        def never():
            return 0

        def main():
            total = 0
            for i in range(4):
                while total > 100:
                    total -= 1
                total += fact(i)
            else:
                total = -total
            return total
        """,
    "generators": """
        def numbers(n):
            for i in range(n):
                got = yield i
                if got:
                    yield got
            return n

        def outer():
            last = yield from numbers(2)
            yield last

        def main():
            list(outer())
            g = numbers(3)
            next(g)
            g.send(7)
            g.close()
            h = numbers(1)
            next(h)
            try:
                h.throw(KeyError)
            except KeyError:
                pass
            return sum(i * i
                       for i in range(3))
        """,
    "coroutines": """
        import asyncio

        class Manager:
            async def __aenter__(self):
                await asyncio.sleep(0)
                return self

            async def __aexit__(self, *problem):
                return True

        async def ticks(n):
            for i in range(n):
                yield i
                await asyncio.sleep(0)

        async def work(n):
            async with Manager():
                async for i in ticks(n):
                    if i == 1:
                        raise ValueError
            return [i async for i in ticks(2)]

        async def all_of_it():
            return await asyncio.gather(work(1), work(3))

        def main():
            return asyncio.run(all_of_it())
        """,
    "exceptions": """
        def leaf(kind):
            try:
                if kind:
                    raise kind("x")
            finally:
                kind = None
            return 1

        def main():
            for kind in (None, ValueError, KeyError):
                try:
                    leaf(kind)
                except ValueError as error:
                    str(error)
                except (KeyError,
                        IndexError):
                    try:
                        leaf(OSError)
                    except OSError:
                        pass
                else:
                    kind = 1
            with open("/dev/null") as f:
                f.read()
        """,
    "deep recursion": """
        def down(n):
            if n:
                return 1 + down(n - 1)
            return 0

        def main():
            return down(300) + down(2)
        """,
    "threads": """
        import threading
        from concurrent.futures import ThreadPoolExecutor

        def task(n):
            x = 0
            for i in range(n):
                x += i
            return x

        def other():
            return [
                task(2),
            ]

        def main():
            t = threading.Thread(target=other)
            t.start()
            t.join()
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(task, range(4)))
        """,
    "classes and closures": """
        import functools

        def decorate(f):
            @functools.wraps(f)
            def inner(*a):
                return f(*a)
            return inner

        class Base:
            x = 1

            @decorate
            def method(self):
                return super().__init__()

            @property
            def p(self):
                def cell():
                    return self.x
                return cell()

        def main():
            b = Base()
            b.method()
            f = lambda v: (
                v +
                b.p)
            return f(1), {k: v for k, v in
                          zip("ab", "cd")}
        """,
    "match and one-liners": """
        def kind(v):
            match v:
                case 0: return "zero"
                case [a, *rest] if rest:
                    return a
                case {"k": x}:
                    return x
                case _:
                    pass
            if v: x = 1; y = 2
            return (1 if v else
                    2)

        def main():
            assert kind(0), "never"
            for v in (0, [1], [1, 2], {"k": 3}, 5): kind(v)
            while True: break
        """,
    "executed text": """
        SOURCE = "\\n" * 60 + "def made(x):\\n  y = x\\n  return y\\nz = made(1)\\n"

        def main():
            scope = {}
            exec(compile(SOURCE, __file__, "exec"), scope)
            exec("q = 1", scope)
            return eval("made(2)", scope)
        """,
}


def load(path: Path, text: str) -> Callable[[], Any]:
    """Writes a program and returns its `main`, made of code objects that no one has seen."""
    path.write_text(textwrap.dedent(text).lstrip())
    return reload(path)


def reload(path: Path) -> Callable[[], Any]:
    scope: dict[str, Any] = {"__name__": "program", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    main: Callable[[], Any] = scope["main"]
    return main
