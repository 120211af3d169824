"""Known bugs and controls of torch.compile, written as sequences in Rondo's own words.

Each case is a public report of a stateful bug (or a program close to one) as a handful of steps:
the call that establishes what is retained, the change in between, the call that exposes it. Bugs
are alive on torch 2.13.0 on the back ends that `verdicts` names; controls were bugs once, or could
be, and must stay silent. So this list measures three things: that the vocabulary reaches the known
kinds, that the oracle sees what it reaches, and that it is quiet about the rest.

    python bench/bugs/cases.py                      every case on eager and aot_eager
    python bench/bugs/cases.py inductor NAME ...    some cases on one back end
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from rondo.frameworks.base import Framework
from rondo.frameworks.registry import load_framework
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import Sequence
from rondo.sequences.vocabulary import Vocabulary
from rondo.sequences.writer import Writer

On = Callable[..., Writer]
"""Begins a writer over a subject, on the back end that the case runs on."""

TORCH = "2.13."
"""The release that the verdicts were seen on: bugs come and go."""

BACKENDS = ("eager", "aot_eager", "inductor")
PYTORCH = "https://github.com/pytorch/pytorch"


@dataclass(frozen=True, slots=True)
class Case:
    """A sequence, where it comes from, and the verdict on each back end, cheapest first."""

    name: str
    kind: str
    write: Callable[[On], Writer]
    report: str = ""
    verdicts: tuple[str, str, str] = ("agree", "agree", "agree")

    @property
    def bug(self) -> bool:
        """Whether some back end shows a difference that is retained state."""
        return any(verdict != "agree" for verdict in self.verdicts)

    def verdict(self, backend: str) -> str:
        """Return the verdict that was seen on `backend`."""
        return self.verdicts[BACKENDS.index(backend)]

    def sequence(self, vocabulary: Vocabulary, backend: str) -> Sequence:
        """Return the case as a sequence for `backend`."""

        def on(architecture: str, *constructs: str, **options: str) -> Writer:
            return Writer(vocabulary, architecture, *constructs, backend=backend, **options)

        return self.write(on).sequence()


CASES: list[Case] = []


def case(
    kind: str,
    report: str = "",
    eager: str = "agree",
    aot_eager: str = "agree",
    inductor: str = "agree",
) -> Callable[[Callable[[On], Writer]], Callable[[On], Writer]]:
    """Register the decorated function as a case under its own name."""

    def register(write: Callable[[On], Writer]) -> Callable[[On], Writer]:
        verdicts = (eager, aot_eager, inductor)
        CASES.append(Case(write.__name__, kind, write, report, verdicts))
        return write

    return register


STATEFUL = {"eager": "stateful", "aot_eager": "stateful", "inductor": "stateful"}
BELOW_DYNAMO = {"aot_eager": "stateful", "inductor": "stateful"}
IN_INDUCTOR = {"inductor": "stateful"}

# ------------------------------------------------------------------------------------------- bugs


@case("py-object guard (identity)", f"{PYTORCH}/issues/196173", **STATEFUL)
def object_identity_toggle(on: On) -> Writer:
    """A branch on `a is b` is taken, then the other one, then the first again."""
    return (
        on("identity", "object_identity")
        .call()
        .change("object_identity", "move_cursor", 1)
        .call()
        .change("object_identity", "move_cursor", 0)
        .call()
    )


@case(
    "module guard",
    f"{PYTORCH}/issues/115750",
    eager="documented",
    aot_eager="documented",
    inductor="documented",
)
def bwd_hook_after_compile(on: On) -> Writer:
    """A full backward hook comes after the layer was compiled, then a pre-hook in its place."""
    return (
        on("identity", "backward_hook")
        .call(backward="once", inputs_grad="yes")
        .change("backward_hook", "add_hook", 0)
        .call(backward="once", inputs_grad="yes")
        .change("backward_hook", "remove_hooks", 0)
        .change("backward_hook", "add_pre_hook", 0)
        .call(backward="once", inputs_grad="yes")
    )


@case("alias guard", f"{PYTORCH}/issues/139789", **BELOW_DYNAMO)
def input_overlap_mutation(on: On) -> Writer:
    """Inputs are disjoint, then overlap, then are neighbours; one is updated in place."""
    return on("identity", "input_alias").call().call(alias="overlap").call(alias="adjacent")


@case("alias guard", f"{PYTORCH}/issues/111562", **STATEFUL)
def list_arg_alias(on: On) -> Writer:
    """Two list arguments start to be one list, and stop again."""
    return on("identity", "list_alias").call().call(alias="same").call()


@case("alias guard", f"{PYTORCH}/pull/138954", **BELOW_DYNAMO)
def weight_tie_after_compile(on: On) -> Writer:
    """Two parameters become one object; the forward updates it in place."""
    return (
        on("identity", "tied_parameters")
        .call()
        .change("tied_parameters", "tie", 0)
        .call()
        .change("tied_parameters", "tie", 3)
        .call()
    )


@case("ambient mode", f"{PYTORCH}/pull/194754", **STATEFUL)
def autocast_object_mutated(on: On) -> Writer:
    """The fields of a held autocast context are edited between calls."""
    return (
        on("identity", "autocast_object")
        .call()
        .change("autocast_object", "set_enabled", 0)
        .call()
        .change("autocast_object", "set_enabled", 1)
        .change("autocast_object", "set_dtype", 0)
        .call()
    )


@case("compile-cache key", f"{PYTORCH}/issues/194976", **IN_INDUCTOR)
def float_auto_dynamic_clamp2(on: On) -> Writer:
    """A float clamps from one side and from two; its third value meets the second's entry."""
    writer = on("identity", "float_as_bound", cache="disk")
    for number in ("0.25", "0.5", "1.0", "2.0", "0.5"):
        writer.call(number=number, backward="once", inputs_grad="yes")
    return writer


@case("compile-cache key", f"{PYTORCH}/issues/197889", **IN_INDUCTOR)
def float_param_stale_eps(on: On) -> Writer:
    """A float is a tensor factor and the eps of a normalisation."""
    writer = on("identity", "float_as_eps", cache="disk")
    for number in ("0.5", "1.0", "3.5", "9.0"):
        writer.call(number=number)
    return writer


@case("compile-cache key", f"{PYTORCH}/issues/185382", **IN_INDUCTOR)
def item_break_float_resume(on: On) -> Writer:
    """`.item()` breaks the graph; the resumed frame sees another float on each call."""
    return on("identity", "item_scalar", cache="disk").call(times=6)


@case("compile-cache key", f"{PYTORCH}/issues/194001", **IN_INDUCTOR)
def aotcache_stale_guards_expr(on: On) -> Writer:
    """Two programs have one graph and other guards; the second one gets the first one's."""
    return (
        on("identity", "unused_size", cache="disk")
        .compiler("mark_next_inputs", 2)
        .call(batch=4)
        .change("unused_size", "set_compared", 0)
        .compiler("reset_memory")
        .compiler("mark_next_inputs", 3)
        .call(batch=4)
    )


@case("compile-cache key", f"{PYTORCH}/issues/160472", **IN_INDUCTOR)
def customop_fake_cache(on: On) -> Writer:
    """An operator is registered again with another output dtype; the disk cache stays."""
    return (
        on("identity", "custom_operator", cache="disk")
        .call()
        .change("custom_operator", "register_dtype", 0)
        .compiler("reset_memory")
        .call()
        .change("custom_operator", "register_dtype", 2)
        .compiler("reset_memory")
        .call()
    )


@case("baked trace-time state", f"{PYTORCH}/issues/145445", **STATEFUL)
def rng_random_object(on: On) -> Writer:
    """A `random.Random` object must advance on every call."""
    return on("identity", "random_integer").call(times=4)


@case("baked trace-time state", f"{PYTORCH}/issues/104984", inductor="documented")
def freezing_then_update(on: On) -> Writer:
    """Inductor's freezing bakes weights in; they are updated in place afterwards."""
    return (
        on("mlp")
        .program("eval")
        .compiler("configure", 6)
        .call(grad="no_grad")
        .program("scale_parameters", 0)
        .call(grad="no_grad")
        .program("scale_parameters", 2)
        .call(grad="no_grad")
    )


@case(
    "backward artefact",
    "https://github.com/locuslab/torchdeq/issues/11",
    aot_eager="documented",
    inductor="documented",
)
def retain_graph_after_plain_backward(on: On) -> Writer:
    """A plain backward comes first, one that retains its graph later."""
    return on("mlp").call(backward="once").call(backward="twice").call(backward="once")


@case("py-object guard", **STATEFUL)
def class_method_rebind(on: On) -> Writer:
    """A method is rebound on the class, then hidden on the instance, then found again."""
    return (
        on("identity", "class_method")
        .call()
        .change("class_method", "rebind_on_class", 0)
        .call()
        .change("class_method", "rebind_on_instance", 0)
        .call()
        .change("class_method", "rebind_on_instance", 1)
        .call()
    )


@case("py-object guard", **STATEFUL)
def builtin_shadowed_later(on: On) -> Writer:
    """A name that meant a builtin becomes a global, and is deleted again."""
    return (
        on("identity", "builtin_name")
        .call()
        .change("builtin_name", "shadow_abs", 0)
        .call()
        .change("builtin_name", "shadow_abs", 2)
        .call()
    )


# --------------------------------------------------------------------------------------- controls


@case("ambient mode")
def default_device_change(on: On) -> Writer:
    """Factories without a device, while the default device changes and changes back."""
    return (
        on("identity", "default_device")
        .call()
        .change("default_device", "set_default", 0)
        .call()
        .change("default_device", "set_default", 1)
        .call(times=2)
    )


@case("dynamic specialisation")
def mark_dim_then_static(on: On) -> Writer:
    """A dimension is marked dynamic, static, unbacked and not at all."""
    return (
        on("mlp")
        .program("eval")
        .compiler("mark_next_inputs", 2)
        .call(batch=4)
        .compiler("mark_next_inputs", 1)
        .call(batch=3)
        .compiler("mark_next_inputs", 3)
        .call(batch=8)
        .compiler("mark_next_inputs", 4)
        .call(batch=2)
        .compiler("mark_next_inputs", 4)
        .call(batch=1)
        .call(batch=1)
    )


@case("py-object guard")
def class_attr_const(on: On) -> Writer:
    """Numbers of a class are read through it and set between calls."""
    return (
        on("identity", "class_attribute")
        .call()
        .change("class_attribute", "set_gain", 0)
        .call()
        .change("class_attribute", "set_gain", 1)
        .call()
    )


@case("py-object guard")
def global_fn_rebind(on: On) -> Writer:
    """A global name comes to mean another function, twice."""
    return (
        on("identity", "global_function")
        .call()
        .change("global_function", "rebind", 0)
        .call()
        .change("global_function", "rebind", 1)
        .call()
    )


@case("module guard")
def module_attr_flag(on: On) -> Writer:
    """A bool and an int of a module change by turns."""
    return (
        on("identity", "module_flag")
        .call()
        .change("module_flag", "set_shifted", 0)
        .call()
        .change("module_flag", "set_power", 0)
        .call()
        .change("module_flag", "set_shifted", 1)
        .call()
    )


@case("module guard")
def train_eval_toggle(on: On) -> Writer:
    """Batch norm and dropout in training, evaluation and training again."""
    return (
        on("cnn")
        .call(grad="no_grad")
        .program("eval")
        .call(grad="no_grad")
        .program("train")
        .call(grad="no_grad")
        .program("eval")
        .call(grad="no_grad")
    )


@case("module guard")
def buffer_rebind(on: On) -> Writer:
    """A buffer that the forward updates is rebound: another tensor, a view, a slice."""
    return (
        on("identity", "buffer_update")
        .call()
        .change("buffer_update", "rebind", 1)
        .call()
        .change("buffer_update", "cut_slice")
        .call()
        .change("buffer_update", "rebind", 3)
        .call()
    )


@case("module guard")
def fwd_hook_after_compile(on: On) -> Writer:
    """Forward hooks come and go on the body after it was compiled."""
    return (
        on("identity")
        .call()
        .program("body_forward_hook", 0)
        .call()
        .program("body_forward_hook", 1)
        .call()
        .program("body_forward_hook", 2)
        .call()
    )


@case("module guard")
def param_requires_grad_toggle(on: On) -> Writer:
    """Parameters are frozen and unfrozen in place; gradients are looked at."""
    return (
        on("mlp")
        .program("eval")
        .program("requires_grad", 2)
        .call(backward="once")
        .program("requires_grad", 1)
        .program("zero_grad")
        .call(backward="once")
        .program("requires_grad", 2)
        .program("zero_grad")
        .call(backward="once")
    )


@case("module guard")
def module_to_dtype(on: On) -> Writer:
    """A module goes to float64, back, and there again."""
    return (
        on("mlp")
        .program("eval")
        .call(grad="no_grad")
        .program("to_dtype", 0)
        .call(grad="no_grad")
        .program("to_dtype", 1)
        .call(grad="no_grad")
        .program("to_dtype", 0)
        .call(grad="no_grad")
    )


@case("module guard")
def load_state_dict_assign(on: On) -> Writer:
    """A state dict is loaded by copying and by assigning."""
    return (
        on("cnn")
        .program("eval")
        .call(grad="no_grad")
        .program("load_state_dict", 0)
        .call(grad="no_grad")
        .program("load_state_dict", 1)
        .call(grad="no_grad")
        .program("load_state_dict", 1)
        .call(grad="no_grad")
    )


@case("ambient mode")
def default_dtype_factory(on: On) -> Writer:
    """Factories without a dtype, while the default dtype changes and changes back."""
    return (
        on("identity", "default_dtype")
        .call()
        .change("default_dtype", "set_default", 0)
        .call()
        .change("default_dtype", "set_default", 1)
        .call()
    )


@case("ambient mode")
def deterministic_flag(on: On) -> Writer:
    """Deterministic algorithms are switched on and off."""
    return (
        on("identity", "deterministic_flag")
        .call()
        .change("deterministic_flag", "set_deterministic", 0)
        .call()
        .change("deterministic_flag", "set_deterministic", 2)
        .call()
        .change("deterministic_flag", "set_deterministic", 0)
        .call()
    )


@case("py-object guard")
def property_getter_rebind(on: On) -> Writer:
    """A property of a class is replaced, and the code of its getter swapped."""
    return (
        on("identity", "property_getter")
        .call()
        .change("property_getter", "replace_property", 0)
        .call()
        .change("property_getter", "replace_property", 2)
        .change("property_getter", "swap_getter_code", 0)
        .call()
    )


@case("py-object guard")
def func_defaults_swap(on: On) -> Writer:
    """Functions of one code object with other defaults; then defaults assigned."""
    return (
        on("identity", "function_defaults")
        .call()
        .change("function_defaults", "replace_inner", 0)
        .call()
        .change("function_defaults", "replace_inner", 1)
        .call()
        .change("function_defaults", "set_inner_defaults", 0)
        .call()
    )


@case("dynamic specialisation")
def int_list_becomes_symbolic(on: On) -> Writer:
    """Ints that go into a tensor turn symbolic on their second value."""
    writer = on("identity", "integer_input")
    for integer in ("1", "7", "5"):
        writer.call(integer=integer)
    return writer


@case("dynamic specialisation")
def symint_unhashable_second_call(on: On) -> Writer:
    """A value read by `.item()` is a size and an offset, at sizes that change."""
    return (
        on("identity", "item_size")
        .call(batch=8)
        .call(batch=3, value_seed=1)
        .call(batch=4, value_seed=2)
    )


@case("ambient mode")
def ambient_autocast(on: On) -> Writer:
    """Autocast around calls, on and off, with one dtype and another."""
    return (
        on("mlp")
        .program("eval")
        .call()
        .call(autocast="bfloat16")
        .call()
        .call(autocast="float16")
        .call(autocast="bfloat16")
    )


@case("py-object guard")
def dict_insertion_order(on: On) -> Writer:
    """A dict with the same keys in another order, and in the first order again."""
    return (
        on("identity", "dict_order")
        .call()
        .change("dict_order", "replace", 0)
        .call()
        .change("dict_order", "move_to_end", 0)
        .call()
        .change("dict_order", "replace", 1)
        .call()
    )


@case("py-object guard")
def optim_lr_change(on: On) -> Writer:
    """A compiled optimizer step whose rate, decay and direction change."""
    return (
        on("identity", "held_optimizer")
        .call()
        .change("held_optimizer", "set_rate", 0)
        .call()
        .change("held_optimizer", "set_rate", 1)
        .call()
        .change("held_optimizer", "set_decay", 0)
        .call()
        .change("held_optimizer", "set_maximize", 0)
        .call()
    )


@case("backward artefact")
def subclass_tangent_later(on: On) -> Writer:
    """A backward is run by plain tangents, then by a wrapper subclass, then by plain ones."""
    return (
        on("identity", "held_tangent")
        .call()
        .change("held_tangent", "run_backward", 0)
        .change("held_tangent", "hold_leaf", 0)
        .call()
        .change("held_tangent", "run_backward", 0)
        .call()
        .change("held_tangent", "run_backward", 3)
        .change("held_tangent", "hold_leaf", 1)
        .call()
        .change("held_tangent", "run_backward", 0)
        .call()
    )


@case("ambient mode")
def inference_mode_then_train(on: On) -> Writer:
    """Inference mode first, then training, and both by turns."""
    return (
        on("mlp")
        .program("eval")
        .call(grad="inference")
        .call(backward="once")
        .call(grad="inference")
        .call(grad="no_grad")
        .call(backward="once")
    )


# -------------------------------------------------------------------------------------------------


def judged(known: Case, backend: str, framework: Framework, vocabulary: Vocabulary) -> Result:
    """Execute a case on a back end.

    Where that takes milliseconds, agreeing calls run in the reset arm too: state may mask a bug.
    """
    data = encode(known.sequence(vocabulary, backend))
    settings = Settings(always_reset=backend != "inductor", masked_every=0)
    return execute(data, framework, settings=settings, vocabulary=vocabulary)


def main(arguments: list[str]) -> int:
    """Print what each case shows; fail if a verdict is not the recorded one."""
    backends = arguments[:1] or ["eager", "aot_eager"]
    names = arguments[1:] or [known.name for known in CASES]
    framework = load_framework("torch")
    framework.warm()
    vocabulary = framework.vocabulary()
    other = 0
    for backend in backends:
        for known in CASES:
            if known.name not in names:
                continue
            result = judged(known, backend, framework, vocabulary)
            right = result.verdict == known.verdict(backend)
            other += not right
            note = "" if right else f"  (recorded: {known.verdict(backend)})"
            print(f"{backend:10} {known.name:34} {result.verdict}{note}", flush=True)
            for alarm in result.alarms if not right else ():
                print(f"           {alarm.identity}", flush=True)
    return min(other, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
