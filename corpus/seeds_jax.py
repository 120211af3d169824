"""The shipped seeds for JAX as people would write them; run this file to write `corpus/jax/*.seq`.

Every seed is a plausible use of one model that keeps to JAX's rules and shows no difference between
the arms: a campaign must find its bugs by itself. `tests/jax/test_corpus.py` checks both, and that
the files are in step with this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rondo.frameworks.registry import load_framework
from rondo.sequences.codec import encode
from rondo.sequences.vocabulary import Vocabulary
from rondo.sequences.writer import Writer

FOLDER = Path(__file__).parent / "jax"


def seeds(vocabulary: Vocabulary) -> Iterator[tuple[str, Writer]]:
    """Yield the seeds by name."""

    def on(architecture: str, *constructs: str, **options: str) -> Writer:
        return Writer(vocabulary, architecture, *constructs, **options)

    yield "batch_sizes", on("mlp").program("eval").call().call(batch=3).call()
    yield "train_eval", on("mlp").call().program("eval").call().program("train").call()
    yield (
        "training_loop",
        on("mlp")
        .call(backward="once")
        .program("sgd_step")
        .call(backward="once")
        .program("sgd_step", 1)
        .call(),
    )
    yield (
        "gradients_of_inputs",
        on("identity", "vmap_inside").call(backward="once", inputs_grad="yes"),
    )
    yield "gradients_from_outside", on("identity", "grad_inside").call(backward="twice").call()
    yield "second_derivatives", on("identity", "array_field").call(backward="create_graph")
    yield "dtypes", on("mlp").program("eval").call().call(dtype="bfloat16").call(dtype="float16")
    yield (
        "kinds_of_arguments",
        on("identity")
        .call()
        .call(layout="transposed")
        .call(layout="strided")
        .call(layout="offset"),
    )
    yield "one_numpy_array_twice", on("identity").call(alias="same", layout="strided").call()
    yield "batch_norm_statistics", on("resnext").call().program("eval").call()
    yield "carried_state", on("gru").program("eval").call(length=4).change("gru", "forget").call()
    yield (
        "static_field",
        on("identity", "static_field")
        .call()
        .change("static_field", "set_factor", 0)
        .call()
        .change("static_field", "set_factor", 4)
        .call(),
    )
    yield (
        "array_of_another_type",
        on("identity", "array_field").call().change("array_field", "set_scale", 2).call(),
    )
    yield (
        "weakly_typed_number",
        on("identity", "weak_type").call(number="0.5").call(number="2.0").call(dtype="bfloat16"),
    )
    yield (
        "static_arguments",
        on("identity", "static_argument")
        .call()
        .change("static_argument", "set_static", 5)
        .call()
        .change("static_argument", "set_static", 7)
        .call(),
    )
    yield (
        "keys_of_a_dict",
        on("identity", "pytree_dict").call().change("pytree_dict", "set_entries", 1).call(),
    )
    yield (
        "layers_added",
        on("identity", "layer_list")
        .call()
        .change("layer_list", "add_layer")
        .call()
        .change("layer_list", "reverse")
        .call(),
    )
    yield (
        "donated_buffers",
        on("identity", "donated_buffer").compiler("donate").call().call().call(batch=3),
    )
    yield (
        "wider_defaults",
        on("identity", "x64_flag").call().change("x64_flag", "set_flag_to", 1).call().call(),
    )
    yield (
        "matmul_precision",
        on("identity", "matmul_precision_flag").call().call(autocast="bfloat16").call(),
    )
    yield (
        "inner_jit",
        on("identity", "inner_jit").call().change("inner_jit", "set_power", 0).call(),
    )
    yield (
        "tuples_as_static_arguments",
        on("identity", "static_tuple").call().change("static_tuple", "set_static", 0).call(),
    )
    yield (
        "tuples_as_static_arguments_inside",
        on("identity", "inner_static_tuple")
        .call()
        .change("inner_static_tuple", "set_values", 2)
        .call(),
    )
    yield "keys_made_inside", on("identity", "prng_impl_flag").call().call(batch=3)
    yield "typed_or_raw_keys", on("identity", "custom_prng_flag").call().call(batch=3)
    yield "gumbel_noise", on("identity", "gumbel_flag").call().call(batch=3)
    yield "scan", on("identity", "scan_length").call().change("scan_length", "set_length", 0).call()
    yield "while_loop", on("identity", "while_loop").call(integer="2").call(integer="5")
    yield "callback", on("identity", "host_callback").call().call()
    yield "jitted_again", on("identity").call().compiler("wrap_again").call(batch=3)
    yield "looked_at_first", on("identity").compiler("ahead_of_time", 2).call().call()
    yield "caches_cleared", on("identity").call().compiler("clear_own", 1).call()
    yield "another_thread", on("identity").call().call(thread="other").call()
    yield (
        "persistent_cache",
        on("identity", "grad_inside", cache="disk").call().compiler("clear_caches").call(),
    )
    yield "without_jit", on("identity", "scan_length", backend="op_by_op").call().call(batch=3)
    yield "failing_call", on("identity", "static_field").program("failing_call").call().call()


def main() -> None:
    """Write every seed."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.seq"):
        old.unlink()
    for name, writer in seeds(load_framework("jax").vocabulary()):
        (FOLDER / f"{name}.seq").write_bytes(encode(writer.sequence()))


if __name__ == "__main__":
    main()
