"""The shipped seeds for TensorFlow as people would write them; run to write `corpus/tensorflow/`.

Every seed is a plausible use of one model that keeps to tf.function's rules and shows no difference
between the arms: a campaign must find its bugs by itself. `tests/tensorflow/test_corpus.py` checks
both, and that the files are in step with this one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rondo.frameworks.registry import load_framework
from rondo.sequences.codec import encode
from rondo.sequences.vocabulary import Vocabulary
from rondo.sequences.writer import Writer

FOLDER = Path(__file__).parent / "tensorflow"


def seeds(vocabulary: Vocabulary) -> Iterator[tuple[str, Writer]]:
    """Yield the seeds by name."""

    def on(architecture: str, *constructs: str, **options: str) -> Writer:
        return Writer(vocabulary, architecture, *constructs, **options)

    yield "batch_sizes", on("mlp").call().call(batch=3).call(batch=1).call()
    yield "train_eval", on("mlp").call().program("eval").call().program("train").call()
    yield (
        "training_loop",
        on("mlp").call(backward="once").program("sgd_step").call(backward="once"),
    )
    yield "relaxed_sizes", on("mlp", dynamic="true").call().call(batch=3).call(batch=8)
    yield "dtypes", on("mlp").program("eval").call().call(dtype="float64").call(dtype="float16")
    yield "kinds_of_arguments", on("mlp").call(layout="transposed").call(layout="strided")
    yield "one_tensor_twice", on("identity", "relaxed_function").call(alias="same").call()
    yield "another_thread", on("identity").call().call(thread="other").call()
    yield "gradients_of_inputs", on("mlp").program("eval").call(backward="once", inputs_grad="yes")
    yield "second_derivatives", on("identity", "nested_function").call(backward="create_graph")
    yield "gradients_twice", on("identity", "custom_gradient").call(backward="twice").call()
    yield "loaded_values", on("mlp").program("eval").call().program("load_values", 0).call()
    yield "batch_norm_statistics", on("lenet").call().call().program("eval").call()
    yield (
        "assigned_variable",
        on("identity", "captured_variable").call().change("captured_variable", "assign", 0).call(),
    )
    yield (
        "swapped_variables",
        on("identity", "variable_argument").call().change("variable_argument", "swap").call(),
    )
    yield (
        "named_modes",
        on("identity", "mode_argument").call().change("mode_argument", "set_mode", 0).call(),
    )
    yield "values_of_a_number", on("identity", "python_branch").call().call(number="0.5", integer=3)
    yield "failing_call", on("identity", "failing_call").call().call(number="2.0").call()
    yield (
        "while_loop",
        on("identity", "tensor_branch").call().change("tensor_branch", "set_bound", 0).call(),
    )
    yield "counted_calls", on("identity", "variable_update").call(3)
    yield "python_at_run_time", on("identity", "python_call").call(2)
    yield (
        "reseeded_generator",
        on("identity", "random_generator").call().change("random_generator", "reseed", 1).call(),
    )
    yield "optimizer_inside", on("identity", "train_step").call(2)
    yield (
        "keras_weights",
        on("identity", "keras_dense").call().change("keras_dense", "set_weights", 0).call(),
    )
    yield "wrapped_again", on("identity").call().compiler("wrap_again").call(batch=3)
    yield "traced_ahead", on("identity").compiler("trace_ahead", 0).call().call()
    yield "xla", on("identity", "keras_batch_norm", backend="xla").call().call(batch=3)
    yield "xla_and_back", on("identity").call().compiler("jit_compile", 0).call()


def main() -> None:
    """Write every seed."""
    # The folders beside this file would pass for packages, and Keras asks whether there is a `jax`.
    here = str(FOLDER.parent)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.seq"):
        old.unlink()
    for name, writer in seeds(load_framework("tensorflow").vocabulary()):
        (FOLDER / f"{name}.seq").write_bytes(encode(writer.sequence()))


if __name__ == "__main__":
    main()
