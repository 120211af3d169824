"""What an alarm differs in, as an expression over the variables of a script.

The key insight: observation paths were made to be read, so each is one expression away from Python:
`grad.tail.0.mix.weight` is `model.mix.weight.grad`, `state.random_object.source` is what the
construct's own observer returns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rondo.errors import RondoError
from rondo.frameworks.shared.script_zeros import differ_in_sign_of_zeros
from rondo.oracle.result import Difference

TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""dtype -> (rtol, atol): the defaults of `torch.testing.assert_close`, which reports must keep."""

AMBIENT = {
    "grad_mode": "torch.is_grad_enabled()",
    "inference_mode": "torch.is_inference_mode_enabled()",
    "default_dtype": "torch.get_default_dtype()",
    "default_device": "torch.get_default_device()",
    "autocast_cpu": '(torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))',
    "autocast_cache": "torch.is_autocast_cache_enabled()",
    "autocast_nesting": "(torch.autocast_increment_nesting(), torch.autocast_decrement_nesting())",
    "deterministic": (
        "(torch.are_deterministic_algorithms_enabled(),"
        " torch.is_deterministic_algorithms_warn_only_enabled())"
    ),
    "matmul_precision": "torch.get_float32_matmul_precision()",
    "anomaly": "torch.is_anomaly_enabled()",
    "sdpa": (
        "(torch._C._get_math_sdp_enabled(), torch._C._get_flash_sdp_enabled(),"
        " torch._C._get_mem_efficient_sdp_enabled())"
    ),
    "multithreading": "torch.autograd.is_multithreading_enabled()",
    "view_replay": "torch.autograd.is_view_replay_enabled()",
    "function_modes": "torch._C._len_torch_function_stack()",
    "dispatch_modes": "torch._C._len_torch_dispatch_stack()",
    "functorch_level": "torch._C._functorch.maybe_current_level()",
    "dual_level": "torch.autograd.forward_ad._current_level",
    "saved_tensor_hooks": ("torch._C._autograd._top_saved_tensors_default_hooks(True) is not None"),
    "threads": "torch.get_num_threads()",
}
AMBIENT_ON_CUDA = {
    "autocast_cuda": '(torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda"))',
    "cuda_matmul_tf32": "torch.backends.cuda.matmul.allow_tf32",
    "cudnn_tf32": "torch.backends.cudnn.allow_tf32",
    "cuda_fp16_reduction": "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "cuda_bf16_reduction": "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
    "cudnn_benchmark": "torch.backends.cudnn.benchmark",
    "cudnn_deterministic": "torch.backends.cudnn.deterministic",
    "cudnn_sdpa": "torch.backends.cuda.cudnn_sdp_enabled()",
}
RNG = {
    "torch": "hash(bytes(torch.get_rng_state().tolist()))",
    "cuda": "hash(bytes(torch.cuda.get_rng_state().tolist()))",
    "python": "hash(random.getstate())",
    "numpy": "hash(str(numpy.random.get_state(legacy=False)))",
}
FACTS = {
    "requires_grad": "{0}.requires_grad",
    "strides": "{0}.stride()",
    "layout": "{0}.layout",
    "device": "{0}.device",
    "inference": "{0}.is_inference()",
    "type": "type({0}).__name__",
}
PIECE = re.compile(r"\[(-?\d+)\]|\.([^.\[]+)")
EXCEPTION_EFFECTS = ("exception", "missing exception")


class UnwritableError(RondoError):
    """A script cannot express this; the text says what."""

    slug = "export"


@dataclass(frozen=True, slots=True)
class Scene:
    """The variables that hold what a path may speak of."""

    output: str
    is_tuple: bool
    owners: Mapping[str, str]
    """`body` and `tail.N` -> the expression of that module."""
    inputs: Mapping[str, str]
    leaves: Mapping[str, str]
    earlier: Sequence[str]
    """Variables of earlier outputs, newest first."""
    observed: Mapping[str, str]
    """Target name -> expression of what its observer returns."""


@dataclass(frozen=True, slots=True)
class Observed:
    """An expression, and how two of its values are compared and shown."""

    expression: str
    kind: str
    """`floats`, `tensor` (exact), `object` or `raises`."""
    tolerance: tuple[float, float] = (0.0, 0.0)
    needs: str = ""
    """A module that the expression uses: `random` or `numpy`."""


def observed_of(difference: Difference, scene: Scene) -> Observed:
    """Return what to look at for `difference`. Raises UnwritableError."""
    if difference.effect in EXCEPTION_EFFECTS:
        return Observed(scene.output, "raises")
    expression, needs = _expression(difference.path, scene)
    text = next((t for t in (difference.eager, difference.retained) if t), "")
    if difference.effect == "value":
        dtype = text.partition("[")[0]
        zeros = differ_in_sign_of_zeros(difference)
        if dtype == "python float":
            shown = f"str({expression})" if zeros else expression
            return Observed(shown, "object", needs=needs)
        if dtype in TOLERANCES and zeros:
            return Observed(f"{expression}.signbit()", "tensor", needs=needs)
        if dtype in TOLERANCES:
            return Observed(expression, "floats", TOLERANCES[dtype], needs)
        return Observed(expression, "tensor", needs=needs)
    if difference.effect == "dtype":
        return Observed(f"{expression}.dtype", "object", needs=needs)
    if difference.effect == "shape":
        return Observed(f"tuple({expression}.shape)", "object", needs=needs)
    if difference.effect == "metadata":
        return Observed(_facts(difference, expression, scene), "object", needs=needs)
    if difference.effect == "missing":
        if not difference.path.startswith(("grad.", "input.", "state.")):
            raise UnwritableError(f"{difference.path} is absent in one arm")
        return Observed(f"{expression} is None", "object", needs=needs)
    if difference.effect == "fact":
        return Observed(expression, "object", needs=needs)
    return Observed(f"str({expression})", "object", needs=needs)


def _facts(difference: Difference, expression: str, scene: Scene) -> str:
    """Return the metadata that differ as one tuple."""
    sides = [
        dict(part.partition("=")[::2] for part in text.split(", ") if "=" in part)
        for text in (difference.eager, difference.retained)
    ]
    if difference.reset and sides[0] == sides[1]:
        sides[1] = dict(p.partition("=")[::2] for p in difference.reset.split(", ") if "=" in p)
    names = [name for name in sides[0] if sides[0][name] != sides[1].get(name)]
    parts = [FACTS[name].format(expression) for name in names if name in FACTS]
    if "aliases" in names:
        known = [*scene.inputs.values(), *scene.earlier]
        parts += [
            f"{expression}.untyped_storage().data_ptr() == {other}.untyped_storage().data_ptr()"
            for other in known
        ]
    if not parts:
        raise UnwritableError(f"the metadata of {difference.path} that differ")
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _expression(path: str, scene: Scene) -> tuple[str, str]:
    head = re.split(r"[.\[]", path, maxsplit=1)[0]
    rest = path[len(head) :]
    if head == "output":
        return _output(scene.output, rest, is_tuple=scene.is_tuple), ""
    if head == "earlier":
        match = re.match(r"\[-(\d+)\](.*)$", rest)
        if match is None or int(match.group(1)) > len(scene.earlier):
            raise UnwritableError(path)
        variable = scene.earlier[int(match.group(1)) - 1]
        return _output(variable, match.group(2), is_tuple=scene.is_tuple), ""
    name = rest.removeprefix(".")
    if head == "grad" and name.startswith("input."):
        leaf = scene.leaves.get(name.removeprefix("input."))
        if leaf is None:
            raise UnwritableError(path)
        return f"{leaf}.grad", ""
    if head == "input":
        first = re.split(r"[.\[]", name)[0]
        if first not in scene.inputs:
            raise UnwritableError(path)
        return _access(scene.inputs[first], name[len(first) :]), ""
    if head in ("grad", "param", "buffer"):
        return _attribute(name, scene.owners) + (".grad" if head == "grad" else ""), ""
    if head == "ambient" and name in AMBIENT | AMBIENT_ON_CUDA:
        return (AMBIENT | AMBIENT_ON_CUDA)[name], ""
    if head == "rng" and name in RNG:
        return RNG[name], {"python": "random", "numpy": "numpy"}.get(name, "")
    if head == "state":
        target, _, key = name.partition(".")
        if target in scene.observed:
            return _access(scene.observed[target], f".{key}"), ""
    raise UnwritableError(path)


def _output(variable: str, rest: str, *, is_tuple: bool) -> str:
    """Return the path below an output; a subject's outputs are a tuple even if it has but one."""
    if is_tuple:
        return _access(variable, rest)
    if rest.startswith("[0]"):
        return _access(variable, rest.removeprefix("[0]"))
    raise UnwritableError(f"output{rest}")


def _access(expression: str, rest: str) -> str:
    """Return `expression` indexed by the tail of a path: `[0].len` and the like."""
    for index, key in PIECE.findall(rest):
        if index:
            expression = f"{expression}[{index}]"
        elif key == "len":
            expression = f"len({expression})"
        elif key == "keys":
            expression = f"list({expression})"
        else:
            expression = f"{expression}[{key!r}]"
    return expression


def _attribute(name: str, owners: Mapping[str, str]) -> str:
    """Return the attribute chain of a dotted parameter name."""
    for prefix, owner in owners.items():
        if name.startswith(f"{prefix}."):
            chain = owner
            for part in name.removeprefix(f"{prefix}.").split("."):
                chain += f"[{part}]" if part.isdigit() else f".{part}"
            return chain
    raise UnwritableError(name)
