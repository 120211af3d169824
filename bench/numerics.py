"""Numerics: no false alarm on single operators under Inductor, and no seeded error that passes.

Every operator is compiled for every dtype and called with four kinds of numbers. What the oracle
compares is what it always compares: eager, compiled, and a float64 reference that knows which
operators are behind each tensor. Many operators share a graph, since a compile costs seconds; each
output is judged on its own.

The seeded errors are made in real compiled outputs of about four million elements. A wrong element
is drawn among those of at least a thousandth of the largest one's magnitude, and moved by one
percent or more, to a number of its dtype.

    python bench/numerics.py              every operator; outputs of 4 million elements
    python bench/numerics.py --quick      every fourth operator; outputs of 1 million elements
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

os.environ.setdefault("OMP_NUM_THREADS", "1")

import click
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rondo.frameworks.registry import load_framework
from rondo.frameworks.torch import state
from rondo.frameworks.torch.observe import annotated_by, tensor_leaf
from rondo.frameworks.torch.provenance import Provenance
from rondo.oracle.compare import Grade, compare
from rondo.oracle.observation import Leaf, Observation

Operator = Callable[[Tensor, Tensor], Tensor]

ROWS, COLUMNS = 33, 47
"""Odd, so that vectorised loops have a tail."""

OPERATORS: dict[str, Operator] = {
    "relu": lambda x, y: x.relu(),
    "abs": lambda x, y: x.abs(),
    "neg": lambda x, y: -x,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "clamp": lambda x, y: x.clamp(-0.5, 0.5),
    "where": lambda x, y: torch.where(x > y, x, y),
    "round": lambda x, y: x.round(),
    "floor": lambda x, y: x.floor(),
    "sign": lambda x, y: x.sign(),
    "transpose": lambda x, y: x.t().contiguous(),
    "cat": lambda x, y: torch.cat([x, y], 1),
    "index_select": lambda x, y: x[:, [3, 1, 40, 1]],
    "flip": lambda x, y: x.flip(0, 1),
    "amax": lambda x, y: x.amax(1),
    "argmax": lambda x, y: x.argmax(1),
    "argmin": lambda x, y: y.argmin(0),
    "sort indices": lambda x, y: x.sort(1).indices,
    "topk values": lambda x, y: x.topk(5, 1).values,
    "topk indices": lambda x, y: x.topk(5, 1).indices,
    "masked_fill": lambda x, y: x.masked_fill(y > 0, -1.0),
    "triu": lambda x, y: x.triu(),
    "max_pool2d": lambda x, y: functional.max_pool2d(x[None, None], 3, 2),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "sqrt": lambda x, y: x.abs().sqrt(),
    "square": lambda x, y: x.square(),
    "reciprocal": lambda x, y: x.reciprocal(),
    "lerp": lambda x, y: x.lerp(y, 0.3),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5),
    "exp": lambda x, y: x.exp(),
    "log": lambda x, y: x.abs().log(),
    "log1p": lambda x, y: x.abs().log1p(),
    "expm1": lambda x, y: x.expm1(),
    "sin": lambda x, y: x.sin(),
    "cos": lambda x, y: x.cos(),
    "tanh": lambda x, y: x.tanh(),
    "erf": lambda x, y: x.erf(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "pow": lambda x, y: x.abs().pow(1.7),
    "rsqrt": lambda x, y: x.abs().rsqrt(),
    "atan2": torch.atan2,
    "gelu": lambda x, y: functional.gelu(x),
    "gelu tanh": lambda x, y: functional.gelu(x, approximate="tanh"),
    "silu": lambda x, y: functional.silu(x),
    "mish": lambda x, y: functional.mish(x),
    "elu": lambda x, y: functional.elu(x),
    "leaky_relu": lambda x, y: functional.leaky_relu(x),
    "softplus": lambda x, y: functional.softplus(x),
    "hardswish": lambda x, y: functional.hardswish(x),
    "sum": lambda x, y: x.sum(1),
    "sum of all": lambda x, y: x.sum(),
    "mean": lambda x, y: x.mean(0),
    "var": lambda x, y: x.var(1),
    "norm": lambda x, y: torch.linalg.vector_norm(x, dim=1),
    "logsumexp": lambda x, y: x.logsumexp(1),
    "cumsum": lambda x, y: x.cumsum(1),
    "softmax": lambda x, y: x.softmax(1),
    "log_softmax": lambda x, y: x.log_softmax(1),
    "layer_norm": lambda x, y: functional.layer_norm(x, (COLUMNS,)),
    "rms_norm": lambda x, y: functional.rms_norm(x, (COLUMNS,)),
    "group_norm": lambda x, y: functional.group_norm(x[None], 3),
    "batch_norm": lambda x, y: functional.batch_norm(x, None, None, training=True),
    "avg_pool2d": lambda x, y: functional.avg_pool2d(x[None, None], 3),
    "interpolate": lambda x, y: functional.interpolate(
        x[None, None], scale_factor=2.0, mode="bilinear"
    ),
    "mm": lambda x, y: x @ y.t(),
    "addmm": lambda x, y: torch.addmm(y[:, :ROWS], x, y.t()),
    "bmm": lambda x, y: torch.bmm(x[None], y.t()[None]),
    "conv2d": lambda x, y: functional.conv2d(x[None, None], y[:5, :25].reshape(5, 1, 5, 5)),
    "conv1d": lambda x, y: functional.conv1d(x[None], y[:, :3].reshape(11, 3, 3).repeat(1, 11, 1)),
    "attention": lambda x, y: functional.scaled_dot_product_attention(x[None], y[None], x[None]),
    "mse_loss": functional.mse_loss,
    "dropout": lambda x, y: functional.dropout(x, 0.3),
    "matrix product, gelu, layer_norm": lambda x, y: functional.layer_norm(
        functional.gelu(x @ y.t()), (ROWS,)
    ),
}

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
KINDS = ("random", "large", "denormal", "integers")
TOGETHER = 13
"""Operators in one graph."""

SEED = 3
SHOWN = 12


def numbers(kind: str, dtype: torch.dtype, shape: tuple[int, ...], seed: int) -> Tensor:
    """Return numbers of one kind."""
    generator = torch.Generator().manual_seed(seed)
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    if kind == "large":
        normal *= 1000
    elif kind == "denormal":
        normal *= torch.finfo(dtype).smallest_normal / 2
    elif kind == "integers":
        normal = (normal * 3).round()
    return normal.to(dtype)


Outputs = dict[str, Tensor]


def together(operators: Mapping[str, Operator]) -> Callable[[Tensor, Tensor], Outputs]:
    """Return a function that applies every operator to the same two tensors."""

    def run(x: Tensor, y: Tensor) -> Outputs:
        return {name: operator(x, y) for name, operator in operators.items()}

    return run


def applied(run: Callable[[Tensor, Tensor], Outputs], x: Tensor, y: Tensor) -> Outputs:
    """Run with the random state that every arm has."""
    torch.manual_seed(SEED)
    with torch.no_grad():
        return run(x, y)


def reference(
    operators: Mapping[str, Operator], x: Tensor, y: Tensor, dtype: str
) -> dict[str, Leaf]:
    """Return the float64 leaves, each with what is behind it."""
    provenance = Provenance(dtype)
    provenance.give([x, y])
    torch.manual_seed(SEED)
    with provenance, torch.no_grad():
        outputs = {name: operator(x, y) for name, operator in operators.items()}
    with annotated_by(provenance):
        return {name: tensor_leaf(output) for name, output in outputs.items()}


def observed(outputs: Outputs) -> Observation:
    """Return outputs as the oracle sees them."""
    return Observation({name: tensor_leaf(output) for name, output in outputs.items()})


def in_groups(operators: Mapping[str, Operator]) -> Iterator[dict[str, Operator]]:
    """Yield the operators a graph at a time."""
    names = list(operators)
    for start in range(0, len(names), TOGETHER):
        yield {name: operators[name] for name in names[start : start + TOGETHER]}


def quiet_on(operators: Mapping[str, Operator]) -> dict[str, object]:
    """Judge every operator, dtype and kind of numbers; return grades and false alarms."""
    table: dict[str, Counter[str]] = {}
    alarms: list[str] = []
    uncertain: list[str] = []
    for group in in_groups(operators):
        run = together(group)
        for name, dtype in DTYPES.items():
            torch._dynamo.reset()
            compiled = torch.compile(run)
            for kind in KINDS:
                x, y = (numbers(kind, dtype, (ROWS, COLUMNS), seed) for seed in (1, 2))
                eager = observed(applied(run, x, y))
                found = observed(applied(compiled, x, y))
                exact = reference(group, x.double(), y.double(), name)
                grades = {each.path: each for each in compare(eager, found, lambda e=exact: e)}  # type: ignore[misc]
                row = table.setdefault(f"{name} {kind}", Counter())
                for path in group:
                    grade = grades[path].grade if path in grades else Grade.EQUAL
                    row[grade.name.lower()] += 1
                    text = f"{path} {name} {kind}: {grades[path].effect}" if path in grades else ""
                    if grade is Grade.DIFFERENT:
                        alarms.append(text)
                    elif grade is Grade.UNCERTAIN:
                        uncertain.append(text)
    return {
        "cases": sum(map(sum, (row.values() for row in table.values()))),
        "table": {name: dict(row) for name, row in table.items()},
        "false_alarms": alarms,
        "uncertain": uncertain,
    }


BIG: dict[str, Operator] = {
    "add": lambda x, y: x + y,
    "gelu": lambda x, y: functional.gelu(x),
    "softmax": lambda x, y: x.softmax(1),
    "mm": lambda x, y: x[:, :64] @ y[:, :64].t(),
    "mul": lambda x, y: x * y,
    "integers": lambda x, y: x.isnan().to(torch.int64) + 100_000,
}


def caught(side: int) -> dict[str, object]:
    """Seed errors into outputs of side x side elements; return which were caught."""
    run = together(BIG)
    rows: dict[str, dict[str, str]] = {}
    rng = np.random.default_rng(SEED)
    for name, dtype in DTYPES.items():
        x, y = (numbers("random", dtype, (side, side), seed) for seed in (1, 2))
        x[5, 7], x[9] = float("nan"), 0.0
        torch._dynamo.reset()
        eager = observed(applied(run, x, y))
        found = observed(applied(torch.compile(run), x, y))
        exact = reference(BIG, x.double(), y.double(), name)
        for fault, path, wrong in seeded_errors(found, dtype, rng):
            leaf = found.leaves[path]
            seen = Observation({path: replace(leaf, values=wrong)})
            good = Observation({path: eager.leaves[path]})
            clean = compare(good, Observation({path: leaf}), lambda e=exact: e)  # type: ignore[misc]
            grades = compare(good, seen, lambda e=exact: e)  # type: ignore[misc]
            grade = grades[0].grade if grades else Grade.EQUAL
            if clean and clean[0].grade is Grade.DIFFERENT:
                rows.setdefault(fault, {})[f"{path} {name}"] = "alarm without an error"
            else:
                rows.setdefault(fault, {})[f"{path} {name}"] = (
                    "caught" if grade is Grade.DIFFERENT else grade.name.lower()
                )
    flat = [word for row in rows.values() for word in row.values()]
    return {
        "elements": side * side,
        "seeded": len(flat),
        "caught": flat.count("caught"),
        "rows": rows,
    }


def seeded_errors(
    found: Observation, dtype: torch.dtype, rng: np.random.Generator
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield (error, output, values with the error)."""
    for path in ("add", "gelu", "softmax", "mm"):
        values = found.leaves[path].values
        assert values is not None
        flat = values.reshape(-1)
        sizes = np.nan_to_num(np.abs(flat))
        large = np.flatnonzero(sizes > sizes.max() / 1000)
        one = int(rng.choice(large))
        yield "one element off by 1%", path, _with(values, one, off_by_a_percent(flat[one], dtype))
        yield "100 elements zeroed", path, _with(values, rng.choice(large, 100), 0.0)
        if np.isnan(flat).any():
            yield "NaN turned into 0", path, np.nan_to_num(values, nan=0.0)
    values = found.leaves["mul"].values
    assert values is not None
    zeros = np.flatnonzero(values.reshape(-1) == 0)
    one = int(rng.choice(zeros))
    yield "wrong sign of one zero", "mul", _with(values, one, -values.reshape(-1)[one])
    values = found.leaves["integers"].values
    assert values is not None
    one = int(rng.integers(values.size))
    yield "integer off by one in 100,000", "integers", _with(values, one, values.flat[one] + 1)


def off_by_a_percent(value: float, dtype: torch.dtype) -> float:
    """Return the number of `dtype` next to `value` that is one percent away or more."""
    exact = torch.tensor(value, dtype=dtype)
    step = exact
    while abs(step.item() - value) < 0.01 * abs(value):
        step = torch.nextafter(step, exact * 2)
    return float(step)


def _with(values: np.ndarray, where: object, value: object) -> np.ndarray:
    changed = values.copy()
    changed.reshape(-1)[where] = value  # type: ignore[call-overload]
    return changed


@click.command()
@click.option("--quick", is_flag=True, help="Fewer operators, smaller outputs: under 50 seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def main(quick: bool, as_json: bool) -> None:
    """Judge operators and seeded errors."""
    began = time.monotonic()
    framework = load_framework("torch")
    framework.warm()
    operators = dict(list(OPERATORS.items())[::4]) if quick else OPERATORS
    with state.configured(disk=False):
        quiet = quiet_on(operators)
        seeded = caught(1024 if quick else 2048)
    figures = {
        "operators": len(operators),
        **quiet,
        "seeded": seeded,
        "seconds": round(time.monotonic() - began, 1),
    }
    if as_json:
        print(json.dumps(figures))
    else:
        show(figures)
    alarms = len(quiet["false_alarms"])  # type: ignore[arg-type]
    print(
        f"false alarms: {alarms} of {quiet['cases']} cases (target 0);"
        f" seeded errors caught: {seeded['caught']} of {seeded['seeded']} (target all)"
    )
    sys.exit(bool(alarms) or seeded["caught"] != seeded["seeded"])


def show(figures: dict[str, object]) -> None:
    """Print the two tables."""
    grades = [grade.name.lower() for grade in Grade]
    print(f"{figures['operators']} operators" + "".join(f"{name:>11}" for name in grades))
    table = figures["table"]
    assert isinstance(table, dict)
    for name, row in table.items():
        print(f"{name:<18}" + "".join(f"{row.get(grade, 0):>11}" for grade in grades))
    for heading in ("false_alarms", "uncertain"):
        found = figures[heading]
        assert isinstance(found, list)
        for text in found[:SHOWN]:
            print(f"{heading.replace('_', ' ').rstrip('s')}: {text}")
    seeded = figures["seeded"]
    assert isinstance(seeded, dict)
    print(f"errors seeded into outputs of {seeded['elements']:,} elements")
    for fault, row in seeded["rows"].items():
        words = Counter(row.values())
        print(f"{fault:<32}" + ", ".join(f"{count} {word}" for word, count in words.items()))
        for where, word in row.items():
            if word != "caught":
                print(f"    {where}: {word}")


if __name__ == "__main__":
    main()
