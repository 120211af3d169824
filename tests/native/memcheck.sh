#!/bin/sh
# Runs the extension's tests under Valgrind: use of freed or foreign memory, invalid frees.
#
# usage: tests/native/memcheck.sh [--asan] [pytest arguments]
#
# Valgrind with PYTHONMALLOC=malloc, so that every Python object is a block of its own and a use
# after free cannot hide in an arena. With --asan, the extensions are built with address sanitizer
# in a private folder instead, which is about ten times as fast and sees stack errors too.
# Unset values are not looked for: an optimised CPython makes small integers out of registers that
# Valgrind takes for unset, from its first import on, and every use of them is then a report.
# Leaks are judged by the reference count tests, not here: an interpreter keeps much at its end.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
mode=valgrind
if [ "${1:-}" = "--asan" ]; then
    mode=asan
    shift
fi
# Left out: tests of other processes (atheris, coverage's command line, fork of a whole Valgrind),
# which prove nothing here, the million events, of which the others are a sample, and torch.
skip="not libfuzzer_sees and not command_line and not million and not torch"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
(cd "$root" && tar -cf - --exclude='*.so' --exclude='__pycache__' setup.py rondo tests/native) \
    | tar -xf - -C "$work"
touch "$work/tests/__init__.py"
cd "$work"

if [ "$mode" = asan ]; then
    RONDO_SANITIZE=address "$python" setup.py -q build_ext --inplace >build.log 2>&1 \
        || { cat build.log; exit 1; }
    runtime=$(${CC:-gcc} -print-file-name=libasan.so)
    # The interpreter leaks by design; link order is ours to guarantee, through LD_PRELOAD.
    LD_PRELOAD="$runtime" ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
        PYTHONMALLOC=malloc RONDO_FEW_EXAMPLES=1 \
        "$python" -X faulthandler -m pytest -q -x -p no:cacheprovider -p no:xdist \
        tests/native -k "$skip" "$@"
else
    "$python" setup.py -q build_ext --inplace >build.log 2>&1 || { cat build.log; exit 1; }
    PYTHONMALLOC=malloc PYTHONHASHSEED=0 RONDO_FEW_EXAMPLES=1 \
        valgrind --tool=memcheck --error-exitcode=99 --leak-check=no --quiet --num-callers=25 \
        --undef-value-errors=no --suppressions="$root/tests/native/valgrind.supp" \
        "$python" -m pytest -q -x -p no:cacheprovider -p no:xdist tests/native -k "$skip" "$@"
fi
echo "== clean under $mode"
