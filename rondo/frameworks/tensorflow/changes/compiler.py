"""compiler: changes to how the subject is compiled and to what was retained.

Those that *carry* configure later calls (so the reset arm makes them too); the others act on
retained state and are made in the retained arm alone.
"""

from __future__ import annotations

import gc

from tensorflow.python.eager import context

from rondo.frameworks.base import Layer
from rondo.frameworks.tensorflow.functions import all_functions, forget_traces
from rondo.frameworks.tensorflow.program import TensorFlowProgram
from rondo.sequences import vocabulary
from rondo.sequences.step import Call
from rondo.subjects.target import Target

COMPILER = Target(vocabulary.COMPILER, kind="compiler", doc="how to compile, and what was retained")


@COMPILER.change(carries=True)
def wrap_again(program: TensorFlowProgram, value: int) -> None:
    """Wrap the same Python function in a second tf.function and use that from now on."""
    program.rewrap()


@COMPILER.change(values=2, carries=True)
def reduce_retracing(program: TensorFlowProgram, value: int) -> None:
    """Wrap again with reduce_retracing=True (0) or False (1)."""
    program.settings.reduce_retracing = value == 0
    program.rewrap()


@COMPILER.change(values=2, carries=True)
def jit_compile(program: TensorFlowProgram, value: int) -> None:
    """Wrap again for the other compiler: XLA instead of plain graphs or back (0), own again (1)."""
    own = program.settings.own_xla
    program.settings.xla = own if value else not own
    program.rewrap()


@COMPILER.change(values=2, carries=True)
def autograph(program: TensorFlowProgram, value: int) -> None:
    """Wrap again with autograph=False (0) or True (1)."""
    program.settings.autograph = value == 1
    program.rewrap()


OPTIMIZER = (
    ("constant_folding", False),
    ("arithmetic_optimization", False),
    ("remapping", False),
    ("layout_optimizer", False),
    ("function_optimization", False),
    ("loop_optimization", False),
    ("disable_meta_optimizer", True),
)
"""Options of the graph optimizer that change what runs and should change nothing computed."""


@COMPILER.change(values=len(OPTIMIZER) + 1, carries=True)
def optimizer(program: TensorFlowProgram, value: int) -> None:
    """Flip one option of the graph optimizer for compiled calls to come; the last value: none."""
    if value == len(OPTIMIZER):
        program.settings.optimizer.clear()
    else:
        name, flipped = OPTIMIZER[value]
        program.settings.optimizer[name] = flipped


@COMPILER.change()
def forget_outermost(program: TensorFlowProgram, value: int) -> None:
    """Empty the outermost tf.function as a new one would be; traces inside of it stay."""
    forget_traces(program.function())


@COMPILER.change()
def forget_inner(program: TensorFlowProgram, value: int) -> None:
    """Empty every tf.function but the outermost, whose traces keep what they inlined."""
    outermost = program.function()
    for function in all_functions():
        if function is not outermost:
            forget_traces(function)


@COMPILER.change()
def clear_kernels(program: TensorFlowProgram, value: int) -> None:
    """Drop the kernels of operations and the converted functions that Python does not hold."""
    context.context().clear_kernel_cache()


@COMPILER.change()
def collect_garbage(program: TensorFlowProgram, value: int) -> None:
    """Collect garbage, so that weakly held traces and variables go."""
    gc.collect()


@COMPILER.change(values=2)
def trace_ahead(program: TensorFlowProgram, value: int) -> None:
    """Trace for a usual call without making it: as called now (0), or in the other mode (1)."""
    training, inputs, passed = program.arguments(Call(sizes=program.usual_sizes))
    with program.tracker.ahead() as wanted:
        if wanted:
            program.function().get_concrete_function(
                training if value == 0 else not training, inputs, passed
            )


LAYERS = (
    Layer("kernels", "kernels of operations and functions", (("clear_kernels", 0),)),
    Layer("inner traces", "traces of every function but the outermost", (("forget_inner", 0),)),
    Layer("outermost traces", "traces of the outermost function", (("forget_outermost", 0),)),
    Layer("all traces", "traces of every function", (("forget_inner", 0), ("forget_outermost", 0))),
)
"""What is retained, innermost first, and the changes that drop it alone."""
