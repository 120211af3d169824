"""The shipped seeds for Paddle as people would write them; run to write `corpus/paddle/`.

Every seed is a plausible use of one model that changes only what bytecode capture guards, or that
keeps to the rules of whole-graph capture, and shows no difference between the arms: a campaign must
find its bugs by itself. `tests/paddle/test_corpus.py` checks both, and that the files are in step
with this one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rondo.frameworks.registry import load_framework
from rondo.sequences.codec import encode
from rondo.sequences.vocabulary import Vocabulary
from rondo.sequences.writer import Writer

FOLDER = Path(__file__).parent / "paddle"


def seeds(vocabulary: Vocabulary) -> Iterator[tuple[str, Writer]]:
    """Yield the seeds by name."""

    def on(architecture: str, *constructs: str, **options: str) -> Writer:
        return Writer(vocabulary, architecture, *constructs, **options)

    def poked(construct: str, action: str, value: int = 0) -> Writer:
        return on("identity", construct).call().change(construct, action, value).call()

    yield "batch_sizes", on("mlp").call().call(batch=3).call(batch=1).call()
    yield "train_eval", on("mlp").call().program("eval").call().program("train").call()
    yield (
        "training_loop",
        on("mlp").call(backward="once").program("sgd_step").call(backward="once"),
    )
    yield "fixed_sizes", on("mlp", dynamic="false").program("eval").call().call(batch=3)
    yield "dtypes", on("mlp").program("eval").call().call(dtype="float64").call(dtype="float16")
    yield "strides_of_arguments", on("mlp").call(layout="transposed").call(layout="strided")
    yield "another_thread", on("mlp").program("eval").call().call(thread="other").call()
    yield "gradients_of_inputs", on("mlp").call(backward="once", inputs_grad="yes").call()
    yield "gradients_twice", on("mlp").call(backward="twice").call()
    yield "loaded_values", on("mlp").program("eval").call().program("load_values", 0).call()
    yield "scaled_in_place", on("mlp").program("eval").call().program("scale_parameters", 0).call()
    yield "changed_attribute", poked("float_attribute", "set_factor")
    yield "changed_global", poked("global_value", "set_number")
    yield "assigned_closure", poked("closure_value", "set_cell")
    yield "written_list", poked("python_containers", "write_list")
    yield "more_rounds", poked("loop_length", "set_rounds", 1)
    yield "edited_object", poked("plain_object", "edit")
    yield "named_modes", poked("mode_argument", "set_mode")
    yield "branch_on_a_tensor", poked("tensor_branch", "set_bound")
    yield "reseeded_generator", poked("random_seed", "reseed", 1)
    yield "branch_on_sizes", on("identity", "shape_branch").call().call(batch=1).call(batch=3)
    yield "values_of_a_number", on("identity", "number_branch").call().call(number="2.0", integer=3)
    yield "wrapped_again", on("mlp").call().compiler("wrap_again").call(batch=3)
    yield "whole_graph", on("mlp", backend="ast").call().call(batch=3).program("eval").call()
    yield (
        "whole_graph_training",
        on("mlp", backend="ast").call(backward="once").program("sgd_step").call(backward="once"),
    )
    yield "whole_graph_ahead", on("mlp", backend="ast").compiler("compile_ahead").call().call()
    yield (
        "whole_graph_written",
        on("mlp", backend="ast").program("eval").call().program("scale_parameters", 2).call(),
    )
    yield "both_modes", on("mlp").program("eval").call().compiler("full_graph", 0).call()


def main() -> None:
    """Write every seed."""
    # The folders beside this file would pass for packages of their names.
    here = str(FOLDER.parent)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.seq"):
        old.unlink()
    for name, writer in seeds(load_framework("paddle").vocabulary()):
        (FOLDER / f"{name}.seq").write_bytes(encode(writer.sequence()))


if __name__ == "__main__":
    main()
