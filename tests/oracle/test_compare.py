"""The comparison: what must be caught is caught, what may differ may differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rondo.oracle import tolerance
from rondo.oracle.compare import Grade, Mismatch, compare, place_of
from rondo.oracle.observation import Leaf, Observation

Array = np.ndarray


def tensor(values: Array | list[float], dtype: str = "float32", **meta: str) -> Leaf:
    return Leaf("tensor", dtype, np.array(values), tuple(sorted(meta.items())))


def seen(**leaves: Leaf) -> Observation:
    return Observation({name.replace("__", "."): leaf for name, leaf in leaves.items()})


def mismatches(first: Leaf, second: Leaf, exact: Leaf | None = None) -> list[Mismatch]:
    reference = None if exact is None else {"output": exact}
    return compare(seen(output=first), seen(output=second), lambda: reference)


def grade(first: Leaf, second: Leaf, exact: Leaf | None = None) -> Grade:
    found = mismatches(first, second, exact)
    return found[0].grade if found else Grade.EQUAL


VALUES = np.linspace(-2, 3, 400)


def zeroed(values: Array) -> Array:
    return np.zeros_like(values)


def permuted(values: Array) -> Array:
    return values[::-1].copy()


def sum_preserving(values: Array) -> Array:
    changed = values.copy()
    changed[0] += 0.5
    changed[1] -= 0.5
    return changed


def one_element(values: Array) -> Array:
    changed = values.copy()
    changed[7] *= 1.01
    return changed


def one_nan(values: Array) -> Array:
    changed = values.copy()
    changed[3] = np.nan
    return changed


def one_infinite(values: Array) -> Array:
    changed = values.copy()
    changed[3] = np.inf
    return changed


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "damage", [zeroed, permuted, sum_preserving, one_element, one_nan, one_infinite]
)
def test_wrong_values_are_different(damage: Callable[[Array], Array], dtype: str) -> None:
    good = tensor(VALUES, dtype)
    assert grade(good, tensor(damage(VALUES), dtype), good) is Grade.DIFFERENT
    assert grade(good, tensor(damage(VALUES), dtype)) is Grade.DIFFERENT


def test_one_wrong_element_of_four_million_counts() -> None:
    many = np.random.default_rng(0).standard_normal(4_000_000)
    wrong = many.copy()
    wrong[2_345_678] *= 1.01
    assert grade(tensor(many), tensor(wrong), tensor(many)) is Grade.DIFFERENT
    wrong = many.copy()
    wrong[::40_000] = 0
    assert grade(tensor(many), tensor(wrong), tensor(many)) is Grade.DIFFERENT


def test_integers_and_booleans_are_exact() -> None:
    assert grade(tensor([100_000], "int64"), tensor([100_001], "int64")) is Grade.DIFFERENT
    assert grade(tensor([True], "bool"), tensor([False], "bool")) is Grade.DIFFERENT
    assert grade(tensor([3], "int64"), tensor([3], "int64")) is Grade.EQUAL


def test_nan_turned_into_zero_is_different() -> None:
    assert grade(tensor([np.nan, 1.0]), tensor([0.0, 1.0])) is Grade.DIFFERENT
    assert grade(tensor([np.nan, 1.0]), tensor([np.nan, 1.0])) is Grade.EQUAL


@pytest.mark.parametrize(
    ("first", "second", "effect"),
    [
        (tensor([1.0], "float32"), tensor([1.0], "float64"), "dtype"),
        (tensor([1.0]), tensor([[1.0]]), "shape"),
        (tensor([1.0], strides="dense"), tensor([1.0], strides="expanded"), "metadata"),
        (tensor([1.0], aliases=""), tensor([1.0], aliases="input.x"), "metadata"),
        (tensor([1.0]), Leaf("fact", text="None"), "kind"),
        (Leaf("fact", text="1"), Leaf("fact", text="2"), "fact"),
        (tensor([]), tensor([1.0]), "shape"),
    ],
)
def test_discrete_differences_have_their_effect(first: Leaf, second: Leaf, effect: str) -> None:
    assert [found.effect for found in mismatches(first, second)] == [effect]


def test_a_missing_path_is_a_difference_in_both_directions() -> None:
    full, empty = seen(output=tensor([1.0])), seen()
    for first, second in ((full, empty), (empty, full)):
        found = compare(first, second, lambda: None)
        assert [(each.effect, each.grade) for each in found] == [("missing", Grade.DIFFERENT)]


def test_rounding_within_tolerance_is_close_and_near_it_uncertain() -> None:
    good = tensor(VALUES)
    assert grade(good, tensor(VALUES * (1 + 3e-7)), good) is Grade.CLOSE
    nudged = VALUES.copy()
    nudged[-1] += 6e-5
    assert grade(good, tensor(nudged), good) is Grade.UNCERTAIN


def test_a_result_may_err_as_much_as_eager_does() -> None:
    exact = tensor(VALUES)
    eager = tensor(VALUES + 1e-3)
    assert grade(eager, tensor(VALUES - 1e-3), exact) is Grade.CLOSE
    assert grade(eager, tensor(VALUES - 1e-1), exact) is Grade.DIFFERENT


def test_a_result_nearer_to_the_truth_than_eager_is_no_difference() -> None:
    exact, eager = tensor([70_000.0], "float16"), tensor([np.inf], "float16")
    assert grade(eager, tensor([65_504.0], "float16"), exact) < Grade.DIFFERENT
    assert grade(tensor([np.inf], "float16"), tensor([1.0], "float16"), tensor([1.0])) < (
        Grade.DIFFERENT
    )


def made_by(families: set[str], leaf: Leaf) -> Leaf:
    return replace(leaf, families=frozenset(families))


def test_an_error_among_large_elements_excuses_none_among_small_ones() -> None:
    rng = np.random.default_rng(1)
    for size in (400, 40_000):
        small, large = rng.uniform(1, 2, size), rng.uniform(1e6, 2e6, size)
        exact = tensor(np.concatenate([small, large]))
        eager = tensor(np.concatenate([small, large + 40]))
        assert grade(eager, tensor(np.concatenate([small, large - 40])), exact) is Grade.CLOSE
        wrong = small.copy()
        wrong[7] *= 1.01
        assert grade(eager, tensor(np.concatenate([wrong, large + 40])), exact) is Grade.DIFFERENT


def test_a_lone_small_element_has_the_slack_of_its_neighbours() -> None:
    """Cancellation leaves it with an error that eager may have missed by luck."""
    values = np.concatenate([[1e-6], np.linspace(0.5, 1, 100)])
    eager, found = values + 1e-3, values + 1e-3
    eager[0], found[0] = values[0], values[0] + 1e-3
    assert grade(tensor(eager), tensor(found), tensor(values)) is Grade.CLOSE


@pytest.mark.parametrize(
    ("dtype", "ulp"), [("float32", 2**-23), ("float16", 2**-10), ("bfloat16", 2**-7)]
)
def test_one_operator_is_judged_to_a_unit_in_the_last_place(dtype: str, ulp: float) -> None:
    exact = made_by({"arithmetic"}, tensor([1.0, 1.0]))
    good, next_to_it = tensor([1.0, 1.0], dtype), tensor([1.0, 1 + 2 * ulp], dtype)
    assert grade(good, next_to_it, exact) is Grade.DIFFERENT
    chained = made_by({"arithmetic", "composite"}, tensor([1.0, 1.0]))
    assert grade(good, next_to_it, chained) < Grade.DIFFERENT
    moved = made_by(set(), tensor([1.0, 1.0]))
    assert grade(good, tensor([1.0, 1 + 1e-15], dtype), moved) is Grade.DIFFERENT


def test_other_random_numbers_are_no_truth() -> None:
    drawn = made_by({"random"}, tensor([0.9, 0.1]))
    assert grade(tensor([0.2, 0.4]), tensor([0.2, 0.5]), drawn) is Grade.DIFFERENT
    assert grade(tensor([0.2, 0.4]), tensor([0.2, 0.5]), tensor([0.9, 0.1])) < Grade.DIFFERENT


@pytest.mark.parametrize("place", ["input__x", "param__w", "buffer__b"])
def test_nan_may_move_where_something_not_finite_went_in(place: str) -> None:
    def run(given: float) -> Grade:
        there = seen(output=tensor([np.nan, 1.0]), **{place: tensor([given])})
        moved = seen(output=tensor([1.0, np.nan]), **{place: tensor([given])})
        return compare(there, moved, lambda: None)[0].grade

    assert run(np.inf) is Grade.UNCERTAIN
    assert run(1.0) is Grade.DIFFERENT


def test_infinities_have_a_sign_and_are_no_numbers() -> None:
    exact = tensor([np.inf, 1.0])
    assert grade(tensor([np.inf, 1.0]), tensor([-np.inf, 1.0]), exact) is Grade.DIFFERENT
    assert grade(tensor([np.inf, 1.0]), tensor([1e4, 1.0]), exact) is Grade.DIFFERENT
    edge = tensor([np.inf, 1.0], "float16")
    assert grade(edge, tensor([65_000.0, 1.0], "float16"), exact) < Grade.DIFFERENT


def test_both_parts_of_a_complex_number_count() -> None:
    good = tensor(np.array([1 + 2j, 3 - 1j]), "complex64")
    assert grade(good, tensor(np.array([1 + 2j, 3 + 1j]), "complex64"), good) is Grade.DIFFERENT
    conjugate = tensor(np.array([1 + 0j]), "complex64")
    assert mismatches(conjugate, tensor(np.array([complex(1, -0.0)]), "complex64"))
    half_nan = tensor(np.array([complex(np.nan, 1)]), "complex64")
    assert grade(half_nan, tensor(np.array([complex(np.nan, 9)]), "complex64")) is Grade.DIFFERENT


def test_every_number_of_the_table_is_one_and_every_operator_has_one_family() -> None:
    families = tolerance.table()["families"]
    operators = [each for family in families.values() for each in family.get("operators", ())]
    assert len(operators) == len(set(operators))
    for name in families:
        for dtype in tolerance.table()["dtypes"]:
            row = tolerance.tolerance_of({name}, dtype)
            assert 0 <= row.rtol < 1 <= row.margin
            assert row.atol >= 0
            assert np.isfinite(row.largest)


def test_the_sign_of_zero_counts_behind_one_operator() -> None:
    exact = made_by({"arithmetic"}, tensor([0.0]))
    assert grade(tensor([0.0]), tensor([-0.0]), exact) is Grade.DIFFERENT
    summed = made_by({"reduction"}, tensor([0.0]))
    assert grade(tensor([0.0]), tensor([-0.0]), summed) is Grade.CLOSE


def test_the_sign_of_zero_is_seen_bitwise_and_within_tolerance() -> None:
    assert mismatches(tensor([0.0]), tensor([-0.0]))[0].grade is Grade.CLOSE


def test_the_reference_is_asked_at_most_once_and_only_for_floats_that_differ() -> None:
    asked = []

    def reference() -> None:
        asked.append(1)

    same = seen(output=tensor([1.0]), grad=tensor([2.0]))
    compare(same, same, reference)
    assert not asked
    other = seen(output=tensor([1.1]), grad=tensor([2.1]))
    assert len(compare(same, other, reference)) == 2
    assert len(asked) == 1


def test_the_most_telling_path_comes_first() -> None:
    first = seen(param__w=tensor([1.0]), output=tensor([1.0]), rng__torch=Leaf("fact", text="a"))
    second = seen(param__w=tensor([2.0]), output=tensor([2.0]), rng__torch=Leaf("fact", text="b"))
    assert [each.path for each in compare(first, second, lambda: None)] == [
        "output",
        "param.w",
        "rng.torch",
    ]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("output[0]", "output"),
        ("grad.body.head.weight", "grad"),
        ("state.list_alias.items[0]", "state.list_alias"),
        ("ambient.default_dtype", "ambient.default_dtype"),
        ("earlier[-1][0]", "earlier"),
    ],
)
def test_places_leave_out_what_varies(path: str, place: str) -> None:
    assert place_of(path) == place


def test_digests_tell_leaves_apart() -> None:
    leaves = [
        tensor([1.0]),
        tensor([2.0]),
        tensor([1.0], "float64"),
        tensor([[1.0]]),
        tensor([1.0], strides="dense"),
        Leaf("fact", text="1"),
    ]
    assert len({leaf.digest() for leaf in leaves}) == len(leaves)
    assert tensor([1.0]).digest() == tensor([1.0]).digest()
