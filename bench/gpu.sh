#!/usr/bin/env bash
# The GPU path on a machine that has a GPU: build in place, GPU tests, a campaign, throughput.
#
#     bench/gpu.sh                 everything, in under 8 minutes; logs in a new folder
#     OUT=folder bench/gpu.sh      logs, findings and the summary in that folder
#
# Needs no network: whatever is missing is named and what needs it is left out. Each part has a
# time limit of its own and none depends on another but for the build, without which nothing can
# run. The summary is printed last; exit code 0 only if every part held.

set -u
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
OUT=${OUT:-$(mktemp -d -t rondo-gpu-XXXXXX)}
WORKERS=${WORKERS:-8}
CAMPAIGN_SECONDS=${CAMPAIGN_SECONDS:-240}
mkdir -p "$OUT"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONDONTWRITEBYTECODE=1 TOKENIZERS_PARALLELISM=false
summary=()
failed=0

say() { printf '%s\n' "$*"; }

held() { summary+=("ok      $1: $2"); }
missed() { summary+=("FAILED  $1: $2"); failed=1; }

last_line() { grep -v '^[[:space:]]*$' "$1" | tail -n 1 | cut -c 1-160; }

# part NAME SECONDS COMMAND...: run it under a limit, keep what it says, note what came of it.
part() {
    local name=$1 seconds=$2 began=$SECONDS code
    shift 2
    say "== $name (at most $seconds s): $*"
    timeout --kill-after=10 "$seconds" "$@" >"$OUT/$name.log" 2>&1 </dev/null
    code=$?
    tail -n 15 "$OUT/$name.log"
    if [ $code -eq 0 ]; then
        held "$name" "$((SECONDS - began)) s; $(last_line "$OUT/$name.log")"
    elif [ $code -eq 124 ] || [ $code -eq 137 ]; then
        missed "$name" "no end after $seconds s; $(last_line "$OUT/$name.log")"
    else
        missed "$name" "exit code $code; $(last_line "$OUT/$name.log")"
    fi
    return $code
}

imports() { "$PYTHON" -c "import importlib.util, sys
sys.exit(importlib.util.find_spec('$1') is None)"; }

# ---------------------------------------------------------------------------------- what there is

missing=()
for module in torch numpy click msgpack psutil rich jinja2 coverage; do
    imports $module || missing+=("$module")
done
[ ${#missing[@]} -eq 0 ] || say "missing, and needed by Rondo: ${missing[*]}"
imports pytest || say "missing: pytest; the GPU tests are left out"
imports triton || say "missing: triton; back end inductor cannot compile for a GPU"
imports Cython || say "missing: Cython; the extension cannot be built, only used if it is there"

cat >"$OUT/about.py" <<'PYTHON_CODE'
import sys, torch
from rondo.frameworks.torch.device import absent
print("python", sys.version.split()[0], "torch", torch.__version__, "cuda", torch.version.cuda)
reason = absent("cuda")
assert not torch.cuda.is_initialized(), "asking whether there is a GPU has started CUDA"
if reason:
    sys.exit(reason)
print("gpu", torch.cuda.get_device_name(0), torch.cuda.get_device_capability(0))
PYTHON_CODE
part about 30 "$PYTHON" "$OUT/about.py"

# ------------------------------------------------------------------------------------------ build

extension='import rondo._native.behaviour, rondo._native.lines, rondo._native.tracer; print("there")'
if imports Cython; then
    part build 45 "$PYTHON" setup.py -q build_ext --inplace
else
    # There is no second tracer in plain Python: the map of behaviours is part of the extension.
    part build 45 "$PYTHON" -c "$extension"
fi
if ! "$PYTHON" -c "$extension" >/dev/null 2>&1; then
    missed extension "rondo._native cannot be imported: build it on a like machine with Cython \
(python setup.py build_ext --inplace) and bring rondo/_native/*.so along; nothing below can run"
fi

# ------------------------------------------------------------------------------------------ tests

if imports pytest; then
    part tests 90 "$PYTHON" -m pytest -rs -p no:cacheprovider tests/torch/test_cuda.py
    if grep -q ' skipped' "$OUT/tests.log" && ! grep -q ' passed' "$OUT/tests.log"; then
        missed tests "every test was skipped"
    fi
else
    missed tests "pytest is not installed"
fi

# --------------------------------------------------------------------------------------- campaign

# Its first folder is empty and takes what is new; the second one is what ships with Rondo.
mkdir -p "$OUT/corpus"
part campaign $((CAMPAIGN_SECONDS + 25)) "$PYTHON" -m rondo.fuzz "$OUT/corpus" corpus/torch \
    --device cuda -workers="$WORKERS" -max_total_time="$CAMPAIGN_SECONDS" -seed=1 \
    -artifact_prefix="$OUT/findings/" -print_final_stats=1 --show-documented
found=$(find "$OUT/findings" -name '*.rondo' 2>/dev/null | wc -l)
entries=$(find "$OUT/corpus" -type f 2>/dev/null | wc -l)
summary+=("        campaign: $entries new corpus entries, $found reproducers in $OUT/findings")

# ------------------------------------------------------------------------------------- throughput

part throughput 45 "$PYTHON" bench/throughput.py --device cuda --quick

# ---------------------------------------------------------------------------------------- summary

say
say "== summary ($SECONDS s)"
printf '%s\n' "${summary[@]}" | tee "$OUT/summary.txt"
exit $failed
