"""How Paddle is started: before anything else of this package may import it.

Paddle reads its environment when it is imported, and some of it again at every compile. Three of
the settings decide whether there is anything to test:

1. `MIN_GRAPH_SIZE`. Bytecode capture does not compile graphs of fewer than ten operations: a small
   test then runs eagerly in every arm, and all of them agree. Zero compiles every graph.
2. `OMP_NUM_THREADS`. With more than one, importing starts threads, which a forked worker would not
   have; and sums would depend on how many cores there are.
3. `FLAGS_new_executor_sequential_run`. A program's operations run in any order that their inputs
   allow, and two that draw random numbers depend on one another in no way but this: which one draws
   first is chance, in compiled code alone.
"""

from __future__ import annotations

import importlib
import os
import warnings

ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "FLAGS_cpu_deterministic": "1",
    "FLAGS_new_executor_sequential_run": "1",
    "GLOG_minloglevel": "3",
    "MIN_GRAPH_SIZE": "0",
    # What a code object took to compile so far would end its compiling: a matter of time alone.
    "SOT_ENABLE_COMPILE_TIME_LIMIT": "0",
}

os.environ.update(ENVIRONMENT)
os.environ.setdefault("OMP_NUM_THREADS", "1")
with warnings.catch_warnings():
    # It misses compilers for extensions that nobody builds here.
    warnings.simplefilter("ignore")
    importlib.import_module("paddle")

LATE_IMPORTS = (
    "paddle.jit.sot",
    "paddle.jit.sot.opcode_translator.eval_frame_callback",
    "paddle.jit.sot.translate",
    "paddle.static.amp.fp16_lists",
)
"""What first calls were seen to import. One that a version lacks is imported by nobody."""
