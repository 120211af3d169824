"""compiler: changes to how the subject is compiled and to what was retained.

Those that *carry* configure later calls (so the reset arm makes them too); the others act on
retained state and are made in the retained arm alone.
"""

from __future__ import annotations

import gc

from rondo.frameworks.base import Layer
from rondo.frameworks.paddle import statics
from rondo.frameworks.paddle.program import PaddleProgram
from rondo.sequences import vocabulary
from rondo.sequences.step import Call
from rondo.subjects.target import Target

COMPILER = Target(vocabulary.COMPILER, kind="compiler", doc="how to compile, and what was retained")


@COMPILER.change(carries=True)
def wrap_again(program: PaddleProgram, value: int) -> None:
    """Compile the same forward a second time and use that from now on."""
    program.rewrap()


@COMPILER.change(values=2, carries=True)
def full_graph(program: PaddleProgram, value: int) -> None:
    """Compile again in the other mode (0), or in the sequence's own again (1)."""
    own = program.settings.own_full_graph
    program.settings.full_graph = own if value else not own
    program.rewrap()


@COMPILER.change(values=2, carries=True)
def dynamic_shape(program: PaddleProgram, value: int) -> None:
    """Forbid (0) or allow (1) that bytecode capture makes sizes symbolic."""
    program.settings.dynamic_shape = value == 1


@COMPILER.change(values=2, carries=True)
def min_graph_size(program: PaddleProgram, value: int) -> None:
    """Compile only graphs of ten operations and more, as Paddle's default is (0), or all (1)."""
    program.settings.min_graph_size = (10, 0)[value]


@COMPILER.change()
def forget_shapes(program: PaddleProgram, value: int) -> None:
    """Drop what was inferred about operations and built-in layers."""
    statics.drop_shapes()


@COMPILER.change()
def forget_conversions(program: PaddleProgram, value: int) -> None:
    """Drop the functions that whole-graph capture has rewritten."""
    statics.drop_conversions()


@COMPILER.change()
def forget_graphs(program: PaddleProgram, value: int) -> None:
    """Drop what compiled captured graphs; translated code keeps its own."""
    statics.drop_graphs()


@COMPILER.change()
def forget_bytecode(program: PaddleProgram, value: int) -> None:
    """Drop translated code and its guards."""
    statics.drop_bytecode()


@COMPILER.change()
def forget_programs(program: PaddleProgram, value: int) -> None:
    """Drop the programs of every compiled function."""
    statics.drop_programs()


@COMPILER.change()
def collect_garbage(program: PaddleProgram, value: int) -> None:
    """Collect garbage, so that ids of what is gone are given to what comes."""
    gc.collect()


@COMPILER.change()
def compile_ahead(program: PaddleProgram, value: int) -> None:
    """Build the program of a usual call without making it; whole-graph capture only."""
    function = program.function()
    if program.settings.full_graph and not program.repeats_side_effects:
        function.get_concrete_program(
            *program.arguments(Call(sizes=program.usual_sizes)), is_train=program.module.training
        )


LAYERS = (
    Layer("shapes", "inferred shapes of operations and layers", (("forget_shapes", 0),)),
    Layer("conversions", "rewritten functions and their globals", (("forget_conversions", 0),)),
    Layer("graphs", "compiled graphs of bytecode capture", (("forget_graphs", 0),)),
    Layer(
        "programs",
        "programs of whole-graph capture",
        (("forget_conversions", 0), ("forget_programs", 0)),
    ),
    Layer("bytecode", "translated code and its guards", (("forget_bytecode", 0),)),
    Layer(
        "everything",
        "all of these together",
        (
            ("forget_bytecode", 0),
            ("forget_graphs", 0),
            ("forget_shapes", 0),
            ("forget_programs", 0),
            ("forget_conversions", 0),
        ),
    ),
)
"""What is retained, innermost first, and the changes that drop it alone."""
