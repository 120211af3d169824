"""The oracle audits itself: known mistakes must alarm, legal differences must not.

The key insight: a judge that always says "alarm" catches every mistake, so the mistakes alone prove
nothing. Each is shown to the real judge in every place where a compiler could make it - in the
retained arm, in both compiled arms, in the reset arm - and must get that place's verdict; and what
compilers may do (round otherwise, break a tie the other way, word an exception otherwise) must
pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rondo.oracle.mutations import Mutation, mistakes, raising, with_leaf, zero_mistakes
from rondo.oracle.observation import Leaf, Observation, Ranking
from rondo.oracle.result import Verdict
from rondo.oracle.scripted import judged
from rondo.oracle.tolerance import ARITHMETIC, COMPOSITE, tolerance_of

LENGTH = 24
PLAIN = {
    "type": "Tensor",
    "requires_grad": "True",
    "strides": "dense",
    "aliases": "",
    "inference": "False",
}


@dataclass(frozen=True, slots=True)
class Escape:
    """A mistake that did not get its verdict."""

    kind: str
    path: str
    place: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Audit:
    """What came of it: by kind, how many were caught of how many; and who escaped."""

    caught: Mapping[str, int]
    tried: Mapping[str, int]
    escapes: tuple[Escape, ...] = ()
    controls: int = 0
    false_alarms: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether nothing escaped and nothing legal alarmed."""
        return not self.escapes and not self.false_alarms

    @property
    def summary(self) -> str:
        """What came of it in one line."""
        caught, tried = sum(self.caught.values()), sum(self.tried.values())
        quiet = self.controls - len(self.false_alarms)
        return (
            f"caught {caught} of {tried} mistakes of {len(self.tried)} kinds;"
            f" quiet on {quiet} of {self.controls} legal differences"
        )


def tensor(values: np.ndarray, dtype: str, **meta: str) -> Leaf:
    """Return the leaf of a plain tensor; `meta` says what is special about it."""
    return Leaf("tensor", dtype, values, tuple(sorted({**PLAIN, **meta}.items())))


def specimen() -> Observation:
    """Return an observation with something under every path that an adapter may use."""
    numbers = np.linspace(-2.0, 3.0, LENGTH)
    counts = np.arange(LENGTH, dtype=np.int64) * 4111 + 100_000
    broken = numbers.copy()
    broken[3], broken[5], broken[7] = np.nan, np.inf, -np.inf
    leaves = {
        "output.len": Leaf("fact", text="8"),
        "output[0]": tensor(numbers, "float32"),
        "output[1]": tensor(numbers, "float64"),
        "output[2]": tensor(np.round(numbers * 64) / 64, "bfloat16"),
        "output[3]": tensor(np.round(numbers * 512) / 512, "float16"),
        "output[4]": tensor(np.round(numbers * 2) / 2, "float8_e4m3fn"),
        "output[5]": tensor(numbers + 1j * numbers[::-1], "complex64"),
        "output[6]": tensor(counts, "int64", requires_grad="False"),
        "output[7]": tensor(counts % 3 == 0, "bool", requires_grad="False"),
        "output[8]": tensor(broken, "float32"),
        "output[9]": tensor(numbers.reshape(4, 6), "float32", strides="dense", aliases="param.w"),
        "output[10]": tensor(np.zeros((0, 3)), "float32"),
        "output[11]": tensor(np.array(2.5), "python float"),
        "output.keys": Leaf("fact", text="['a', 'b']"),
        "input.x": tensor(numbers * 2, "float32"),
        "input.items.len": Leaf("fact", text="2"),
        "grad.w": tensor(numbers / 3, "float32"),
        "grad.input.x": tensor(numbers / 5, "float32"),
        "param.w": tensor(numbers * 3, "float32", type="Parameter"),
        "buffer.seen": tensor(np.array([4, 5, 6, 7], dtype=np.int64), "int64"),
        "state.construct.counter": Leaf("fact", text="int 3"),
        "earlier[-1]": tensor(numbers * 7, "float32"),
        "rng.torch": Leaf("fact", text="1f2e3d"),
        "rng.python": Leaf("fact", text="445566"),
        "ambient.grad_mode": Leaf("fact", text="True"),
        "ambient.default_dtype": Leaf("fact", text="torch.float32"),
        "printed": Leaf("fact", text="rows 2"),
        "warnings": Leaf("fact", text="UserWarning: mine"),
    }
    return Observation(leaves)


def before(right: Observation) -> Observation:
    """Return what the specimen's program showed before the step: every state a step can change."""
    leaves = dict(right.leaves)
    for path in ("input.x", "buffer.seen", "param.w", "grad.w"):
        old = leaves[path].values
        assert old is not None
        leaves[path] = replace(leaves[path], values=old - 1)
    leaves["state.construct.counter"] = Leaf("fact", text="int 2")
    leaves["input.items.len"] = Leaf("fact", text="0")
    return replace(right, leaves=leaves)


def small() -> Observation:
    """Return zeros of both signs among numbers, made by one correctly rounded operator."""
    zeros = np.array([0.0, -0.0, 1.0, -2.0])
    return Observation(
        {f"output[{n}]": tensor(zeros, dtype) for n, dtype in enumerate(("float32", "bfloat16"))}
    )


def reference_of(right: Observation, family: str) -> dict[str, Leaf]:
    """Return the reference's leaves: the same numbers, made by operators of `family`."""
    return {
        path: replace(leaf, dtype="float64", families=frozenset({family}))
        for path, leaf in right.leaves.items()
    }


def trials() -> Iterator[tuple[Mutation, Mapping[str, Leaf]]]:
    """Yield every mistake with the reference that the judge may ask for."""
    right = specimen()
    for mutation in mistakes(right, before(right)):
        yield mutation, reference_of(mutation.right, COMPOSITE)
    plain = small()
    for mutation in zero_mistakes(plain):
        yield mutation, reference_of(plain, ARITHMETIC)


PLACES = {
    "retained": Verdict.STATEFUL,
    "retained and reset": Verdict.STATELESS,
    "reset": Verdict.MASKED,
}


def run_audit() -> Audit:
    """Show every mistake and every legal difference to the judge."""
    first = Observation({"output": tensor(np.ones(3), "float32")})
    caught: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    escapes: list[Escape] = []
    for mutation, exact in trials():
        right, wrong = mutation.right, mutation.wrong
        for place, expected in PLACES.items():
            if not mutation.anywhere and expected is not Verdict.STATEFUL:
                continue
            if expected is Verdict.MASKED and not right.returned:
                continue  # a call that raises is not sampled: nothing can be hidden behind it
            retained = right if expected is Verdict.MASKED else wrong
            reset = right if expected is Verdict.STATEFUL else wrong
            result = judged(right, retained, reset, first=first, exact=exact)
            tried[mutation.kind] += 1
            found = [alarm.identity.verdict for alarm in result.alarms]
            if found == [expected.value]:
                caught[mutation.kind] += 1
            else:
                verdict = ", ".join(found) or result.verdict
                escapes.append(Escape(mutation.kind, mutation.path, place, verdict))
    false_alarms = []
    controls = 0
    for name, right, legal, exact in legal_differences():
        for place, expected in PLACES.items():
            retained = right if expected is Verdict.MASKED else legal
            reset = right if expected is Verdict.STATEFUL and right.returned else legal
            result = judged(right, retained, reset, first=first, exact=exact)
            controls += 1
            if result.alarms:
                false_alarms.append(f"{name} ({place})")
    return Audit(dict(caught), dict(tried), tuple(escapes), controls, tuple(false_alarms))


def legal_differences() -> Iterator[tuple[str, Observation, Observation, Mapping[str, Leaf]]]:
    """Yield (name, right, legal, reference): differences that no compiler should be blamed for."""
    right = specimen()
    exact = reference_of(right, COMPOSITE)
    yield "equal, NaN included", right, replace(right), exact
    for path in ("output[0]", "output[1]", "output[2]", "output[3]", "output[4]", "output[5]"):
        leaf = right.leaves[path]
        assert leaf.values is not None
        tolerance = tolerance_of(None, leaf.dtype)
        nudged = leaf.values * (1 + tolerance.rtol * 0.9)
        yield f"rounding of {leaf.dtype}", right, _set(right, path, nudged), exact
    wide = right.leaves["output[0]"].values
    assert wide is not None
    yield "within the margin", right, _set(right, "output[0]", wide + 8e-5), exact
    yield (
        "as far from the truth as eager, on the other side",
        _set(right, "output[0]", wide + 1e-3),
        _set(right, "output[0]", wide - 1e-3),
        exact,
    )
    yield from _legal_at_the_edge(right, exact)
    yield from _legal_ties(right, exact)
    raised = raising(right, "ValueError", "call: sizes differ")
    yield "other words for one exception", raised, raising(right, "ValueError", "call: 3"), exact
    yield "a compiler's own exception", raised, raising(right, "CompilerError"), exact


def _legal_at_the_edge(
    right: Observation, exact: Mapping[str, Leaf]
) -> Iterator[tuple[str, Observation, Observation, Mapping[str, Leaf]]]:
    values = np.array([60_000.0, 1.0, 2.0, 3.0])
    infinite = np.array([np.inf, 1.0, 2.0, 3.0])
    one, other = _set(right, "output[3]", infinite), _set(right, "output[3]", values)
    truth = {**exact, "output[3]": replace(exact["output[3]"], values=values * 1.1)}
    yield "overflow in one arm at the edge of float16", one, other, truth
    given = right.leaves["input.x"].values
    assert given is not None
    odd = _set(right, "input.x", np.where(given == given.max(), np.inf, given))
    spread = odd.leaves["output[0]"].values
    assert spread is not None
    yield (
        "NaN at another place when infinity went in",
        odd,
        _set(odd, "output[0]", np.where(spread == spread.max(), np.nan, spread)),
        exact,
    )


def _legal_ties(
    right: Observation, exact: Mapping[str, Leaf]
) -> Iterator[tuple[str, Observation, Observation, Mapping[str, Leaf]]]:
    candidates = np.array([[1.0, 5.0, 5.0], [2.0, 2.0, 0.0]])
    chosen = {1: np.array([1, 0]), 2: np.array([2, 1])}
    one, other = (_set(right, "output[6]", chosen[which]) for which in (1, 2))
    ranking = Ranking(candidates, None, "float32")
    truth = {**exact, "output[6]": replace(exact["output[6]"], ranking=ranking)}
    yield "a tie of argmax broken the other way", one, other, truth


def _set(observation: Observation, path: str, values: np.ndarray) -> Observation:
    return with_leaf(observation, path, replace(observation.leaves[path], values=values))
