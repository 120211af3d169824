"""Making this process ready to fork: everything a first compile imports or sets up once.

A worker is forked from a server that has done this, so it starts where a second compile would: 4 s
of imports and pattern tracing less per worker. Nothing here runs an OpenMP parallel region or, on a
CUDA build, autograd's engine, since the children of such a process hang.
"""

from __future__ import annotations

import importlib
from contextlib import suppress

import torch

MODULES = (
    "sympy.physics.units",
    "torch._dynamo",
    "torch._dynamo.backends.cudagraphs",
    "torch._dynamo.backends.debugging",
    "torch._dynamo.backends.distributed",
    "torch._dynamo.backends.inductor",
    "torch._dynamo.backends.registry",
    "torch._dynamo.dce_extra_outputs",
    "torch._dynamo.repro.after_dynamo",
    "torch._export.db",
    "torch._export.db.logging",
    "torch._export.passes._node_metadata_hook",
    "torch._export.passes.add_runtime_assertions_for_constraints_pass",
    "torch._export.passes.collect_tracepoints_pass",
    "torch._functorch._activation_checkpointing.remat_using_tags_for_fwd_loss_bwd_graph_pass",
    "torch._functorch._aot_autograd.autograd_cache",
    "torch._functorch._aot_autograd.subclass_codegen",
    "torch._functorch.aot_autograd",
    "torch._higher_order_ops.passes",
    "torch._higher_order_ops.passes.inline_invoke_subgraph",
    "torch._inductor.bounds",
    "torch._inductor.choices",
    "torch._inductor.codegen.cpp",
    "torch._inductor.codegen.cpp_wrapper_cpu",
    "torch._inductor.codegen.cpp_wrapper_cpu_array_ref",
    "torch._inductor.codegen.cpp_wrapper_gpu",
    "torch._inductor.codegen.cpp_wrapper_mps",
    "torch._inductor.codegen.cpu_device_op_overrides",
    "torch._inductor.codegen.cuda.device_op_overrides",
    "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.codegen.cutedsl.cutedsl_scheduling",
    "torch._inductor.codegen.cutlass.scheduling",
    "torch._inductor.codegen.halide",
    "torch._inductor.codegen.memory_planning",
    "torch._inductor.codegen.mps",
    "torch._inductor.codegen.mps_device_op_overrides",
    "torch._inductor.codegen.mtia",
    "torch._inductor.codegen.mtia.device_op_overrides",
    "torch._inductor.codegen.nv_universal_gemm",
    "torch._inductor.codegen.nv_universal_gemm.nv_universal_gemm",
    "torch._inductor.codegen.nv_universal_gemm.nv_universal_gemm_scheduling",
    "torch._inductor.codegen.nv_universal_gemm.nv_universal_gemm_utils",
    "torch._inductor.codegen.pallas",
    "torch._inductor.codegen.python_wrapper_mtia",
    "torch._inductor.codegen.rocm.rocm_cpp_scheduling",
    "torch._inductor.codegen.segmented_tree",
    "torch._inductor.codegen.wrapper_fxir",
    "torch._inductor.codegen.xpu.device_op_overrides",
    "torch._inductor.codegen.xpu.xpu_combined_scheduling",
    "torch._inductor.compile_fx",
    "torch._inductor.compiler_bisector",
    "torch._inductor.cpp_builder",
    "torch._inductor.extern_node_serializer",
    "torch._inductor.fx_passes.apply_gumbel_max_trick",
    "torch._inductor.fx_passes.efficient_conv_bn_eval",
    "torch._inductor.fx_passes.freezing_patterns",
    "torch._inductor.fx_passes.fuse_attention",
    "torch._inductor.fx_passes.joint_graph",
    "torch._inductor.fx_passes.mkldnn_fusion",
    "torch._inductor.fx_passes.pad_mm",
    "torch._inductor.fx_passes.post_grad",
    "torch._inductor.fx_passes.pre_grad",
    "torch._inductor.fx_passes.quantization",
    "torch._inductor.fx_passes.serialized_patterns",
    "torch._inductor.hooks",
    "torch._inductor.kernel.mm",
    "torch._inductor.kernel_template_choice",
    "torch._inductor.runtime.caching",
    "torch._inductor.runtime.caching.config",
    "torch._inductor.runtime.caching.context",
    "torch._inductor.runtime.caching.encoders",
    "torch._inductor.runtime.caching.exceptions",
    "torch._inductor.runtime.caching.implementations",
    "torch._inductor.runtime.caching.interfaces",
    "torch._inductor.runtime.caching.locks",
    "torch._inductor.runtime.caching.memoizers",
    "torch._inductor.runtime.caching.utils",
    "torch._subclasses.schema_check_mode",
    "torch.distributed.tensor.experimental",
    "torch.distributed.tensor.experimental._attention",
    "torch.distributed.tensor.experimental._context_parallel",
    "torch.distributed.tensor.experimental._context_parallel._attention",
    "torch.distributed.tensor.experimental._context_parallel._cp_custom_ops",
    "torch.distributed.tensor.experimental._context_parallel._load_balancer",
    "torch.distributed.tensor.experimental._func_map",
    "torch.distributed.tensor.experimental._register_sharding",
    "torch.export._leakage_detection_utils",
    "torch.export._trace",
    "torch.export._unlift",
    "torch.fx.experimental.symbolic_shapes",
    "torch.fx.experimental.validator",
    "torch.utils._cpp_embed_headers",
    "torch.utils._sympy.functions",
)
"""What first compiles were seen to import. One that a torch version lacks is imported by nobody."""


def import_compiler() -> None:
    """Import what a first compile would import."""
    for name in MODULES:
        with suppress(ImportError):
            importlib.import_module(name)


def trace_patterns() -> None:
    """Have Inductor trace the patterns that it matches, as its first compile would.

    This runs autograd on fake tensors: harmless on a CPU build, where the engine starts no threads,
    and left to each worker on a CUDA build.
    """
    if torch.version.cuda is not None or torch.version.hip is not None:
        return
    from torch._inductor.fx_passes import joint_graph, post_grad

    # Exactly as compile_fx calls them: each remembers its arguments and would otherwise run twice.
    joint_graph.lazy_init(torch.device("cpu"))
    post_grad.lazy_init()
