"""What jax.jit documents that it does: real differences, told apart from faults.

A rule is matched on cause, never on a subject's name: on what was raised, or on the difference
going away under the remedy that the documentation gives.

The rule that matters most is purity: "JAX transformation and compilation are designed to work only
on Python functions that are functionally pure: all the input data is passed through the function
parameters, all the results are output through the function results". A trace that has read a
global, a closure or an attribute keeps what it read. The second is equality: static arguments and a
pytree's auxiliary data are compared by the `__eq__` that the user gave them. So each construct says
by its kind which rule it breaks on purpose, if any, and a difference is that rule's if it goes away
when everything is traced again after the changes of *these* constructs.

What is left is a fault: a flag of JAX's own that tracing reads and no key holds; a static argument
of another *type* (at the top level JAX tells 1 from True since jax-ml/jax#9273, and so it should
inside a tuple); auxiliary data or an abstract value that differs and is served all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from rondo.frameworks.jax.kinds import CAPTURED, EQUALITY, SIDE_EFFECT
from rondo.oracle.observation import Observation

ERRORS = "https://docs.jax.dev/en/latest/errors.html"


@dataclass(frozen=True, slots=True)
class Rule:
    """A documented refusal: exception types, a part of the message, where it is written."""

    kind: str
    exceptions: frozenset[str]
    link: str
    message: str = ""

    def covers(self, observation: Observation) -> bool:
        """Whether `observation` is this refusal."""
        return observation.exception in self.exceptions and self.message in observation.message


RULES = (
    Rule(
        kind="a traced value has no concrete value in Python's control flow or as an index",
        exceptions=frozenset(
            {
                "ConcretizationTypeError",
                "TracerBoolConversionError",
                "TracerIntegerConversionError",
                "TracerArrayConversionError",
                "NonConcreteBooleanIndexError",
            }
        ),
        link=ERRORS,
    ),
    Rule(
        kind="a traced value that left its function cannot be used afterwards",
        exceptions=frozenset({"UnexpectedTracerError"}),
        link=ERRORS,
    ),
    Rule(
        kind="an argument that was donated is gone after the call",
        exceptions=frozenset({"RuntimeError", "ValueError"}),
        message="deleted",
        link="https://docs.jax.dev/en/latest/buffer_donation.html",
    ),
    Rule(
        kind="debug_nans and debug_infs look at every operation where there is no jit",
        exceptions=frozenset({"FloatingPointError", "InternalFloatingPointError"}),
        link="https://docs.jax.dev/en/latest/debugging/flags.html",
    ),
    Rule(
        kind="static arguments must be hashable",
        exceptions=frozenset({"ValueError", "TypeError"}),
        message="hashable",
        link="https://docs.jax.dev/en/latest/_autosummary/jax.jit.html",
    ),
)

BREACHES = (
    (
        "a jitted function keeps what it read from globals, closures and attributes when it was"
        " traced, and runs its side effects only then (https://docs.jax.dev/en/latest/notebooks/"
        "Common_Gotchas_in_JAX.html#pure-functions)",
        frozenset({CAPTURED, SIDE_EFFECT}),
    ),
    (
        "static arguments and auxiliary data are compared by their own __eq__ and must not be"
        " mutated (https://docs.jax.dev/en/latest/_autosummary/jax.jit.html)",
        frozenset({EQUALITY}),
    ),
)
"""Rule, and the kinds of the constructs that break it on purpose."""


def documented_rule(observation: Observation) -> str:
    """Return the kind and link of the rule that covers `observation`, or an empty text."""
    for rule in RULES:
        if rule.covers(observation):
            return f"{rule.kind} ({rule.link})"
    return ""
