"""The shipped seeds as people would write them; run this file to write `corpus/torch/*.seq` anew.

Every seed is a plausible use of one model that shows no difference between the arms: a campaign
must find its bugs by itself. `tests/torch/test_corpus.py` checks both, and that the files are in
step with this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rondo.frameworks.registry import load_framework
from rondo.sequences.codec import encode
from rondo.sequences.vocabulary import Vocabulary
from rondo.sequences.writer import Writer

FOLDER = Path(__file__).parent / "torch"


def seeds(vocabulary: Vocabulary) -> Iterator[tuple[str, Writer]]:
    """Yield the seeds by name."""

    def on(architecture: str, *constructs: str, **options: str) -> Writer:
        return Writer(vocabulary, architecture, *constructs, **options)

    yield "batch_sizes", on("mlp").call().call(batch=3).call(batch=1).call(batch=8)
    yield "train_eval", on("mlp").call().program("eval").call().program("train").call()
    yield (
        "training_loop",
        on("mlp", backend="aot_eager")
        .call(backward="once")
        .program("sgd_step")
        .program("zero_grad")
        .call(backward="once")
        .program("sgd_step", 1)
        .call(backward="once"),
    )
    yield (
        "dtypes",
        on("mlp").call().call(dtype="bfloat16").call(dtype="float64").call(dtype="float16"),
    )
    yield "no_grad_then_grad", on("mlp").call(grad="no_grad").call(backward="once")
    yield (
        "inference_then_training",
        on("mlp").program("eval").call(grad="inference").program("train").call(backward="once"),
    )
    yield "autocast_on_off", on("mlp").call().call(autocast="bfloat16").call()
    yield (
        "layouts",
        on("mlp").call().call(layout="transposed").call(layout="strided").call(layout="expanded"),
    )
    yield (
        "freeze_unfreeze",
        on("mlp")
        .call(backward="once")
        .program("requires_grad", 0)
        .call()
        .program("requires_grad", 1)
        .call(backward="once"),
    )
    yield (
        "load_state_dict",
        on("mlp")
        .program("eval")
        .call()
        .program("load_state_dict", 0)
        .call()
        .program("load_state_dict", 1)
        .call(),
    )
    yield (
        "replaced_parameters",
        on("mlp").program("eval").call().program("replace_parameters").call(),
    )
    yield (
        "values_of_a_float",
        on("identity", "float_attribute")
        .call()
        .change("float_attribute", "set_factor", 0)
        .call()
        .change("float_attribute", "set_factor", 1)
        .call(),
    )
    yield (
        "flag_flipped",
        on("identity", "module_flag").call().change("module_flag", "set_shifted", 1).call(batch=3),
    )
    yield (
        "order_of_a_dict",
        on("identity", "dict_order").call().change("dict_order", "move_to_end", 1).call(),
    )
    yield (
        "layers_added",
        on("identity", "list_of_layers")
        .call()
        .change("list_of_layers", "add_layer", 0)
        .call()
        .change("list_of_layers", "reverse")
        .call(),
    )
    yield (
        "closure_reassigned",
        on("identity", "closure_cell").call().change("closure_cell", "assign_amount", 1).call(),
    )
    yield (
        "defaults_swapped",
        on("identity", "function_defaults")
        .call()
        .change("function_defaults", "set_defaults", 1)
        .call(),
    )
    yield (
        "hooked_body",
        on("mlp").program("eval").program("body_forward_hook", 0).call().call(batch=3),
    )
    yield "lstm_lengths", on("lstm").call().call(length=7).call(length=1).call(length=5, batch=3)
    yield (
        "encoder_lengths",
        on("transformer_encoder").program("eval").call().call(length=8).call(batch=1, length=16),
    )
    yield (
        "decoding_with_cache",
        on("gpt_decoder")
        .program("eval")
        .call(grad="no_grad")
        .call(grad="no_grad", length=1)
        .call(grad="no_grad", length=1)
        .change("gpt_decoder", "reset_cache")
        .call(grad="no_grad"),
    )
    yield (
        "batch_norm_statistics",
        on("cnn").call().call().program("eval").call().change("cnn", "reset_statistics").call(),
    )
    yield (
        "residual_block_buffers",
        on("resnet_block").call().program("clone_buffers", 1).call().program("eval").call(),
    )
    yield (
        "second_wrapper",
        on("mlp").program("eval").call().compiler("wrap_again").call(batch=3),
    )
    yield (
        "dynamic_from_the_start",
        on("mlp", dynamic="true").call().call(batch=3).call(batch=8).call(batch=1),
    )
    yield (
        "marked_sizes",
        on("mlp").compiler("mark_next_inputs", 0).call().call(batch=4).call(batch=8),
    )
    yield (
        "past_the_recompile_limit",
        on("mlp").compiler("recompile_limit", 0).call().program("eval").call().call(),
    )
    yield "another_thread", on("mlp").call().call(thread="other").call()
    yield (
        "numbers_as_arguments",
        on("identity", "number_input").call(number="0.5").call(number="2.0").call(number="3.5"),
    )
    yield (
        "warm_disk_cache",
        on("mlp", backend="inductor", cache="disk")
        .program("eval")
        .call()
        .compiler("reset_memory")
        .call(),
    )
    yield (
        "disk_cache_precisions",
        on("mlp", backend="inductor", cache="disk")
        .program("eval")
        .call(grad="no_grad")
        .call(grad="no_grad", autocast="bfloat16")
        .call(grad="no_grad", dtype="float64"),
    )
    yield (
        "disk_cache_grad_modes",
        on("mlp", backend="inductor", cache="disk").call(grad="no_grad").call(backward="once"),
    )
    yield (
        "disk_cache_numbers",
        on("identity", "float_attribute", backend="inductor", cache="disk")
        .change("float_attribute", "set_factor", 0)
        .call()
        .call(dtype="float64")
        .change("float_attribute", "set_factor", 1)
        .call(),
    )
    yield (
        "disk_cache_flags",
        on("identity", "module_flag", backend="inductor", cache="disk")
        .call()
        .change("module_flag", "set_shifted", 1)
        .call()
        .change("module_flag", "set_power", 0)
        .call(),
    )
    yield (
        "one_tensor_for_two_inputs",
        on("identity", "input_alias").call().call(alias="same").call(batch=3),
    )
    yield (
        "buffers_updated",
        on("identity", "buffer_update", backend="aot_eager").call().call(batch=3).call(),
    )
    yield (
        "inductor_training",
        on("mlp", backend="inductor").call(backward="once").program("sgd_step").call(),
    )


def main() -> None:
    """Write every seed."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.seq"):
        old.unlink()
    for name, writer in seeds(load_framework("torch").vocabulary()):
        (FOLDER / f"{name}.seq").write_bytes(encode(writer.sequence()))


if __name__ == "__main__":
    main()
