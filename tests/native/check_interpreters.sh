#!/bin/sh
# Builds the wheel and runs the framework-free native tests from it, on every supported Python that
# is here: each in a private virtual environment, which is removed afterwards.
#
# usage: tests/native/check_interpreters.sh [3.11 3.12 3.13]
#
# The tests run from a folder that holds no rondo, so what they import is what the wheel carries.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# A python3.X on the path may be a pyenv stub that only says where the real one is.
find_python() {
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3; do
        if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" \
                >/dev/null 2>&1; then
            echo "$candidate"
            return
        fi
    done
}

# Sources only: a stray built extension must not end up in the wheel. One copy serves all, so that
# Cython translates once.
mkdir "$work/source"
(cd "$root" && tar -cf - --exclude='*.so' --exclude='__pycache__' \
    setup.py pyproject.toml rondo $(ls README.md LICENSE 2>/dev/null)) | tar -xf - -C "$work/source"

ran=0
for version in ${*:-3.11 3.12 3.13}; do
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        echo "== Python $version: not here, skipped"
        continue
    fi
    echo "== Python $version"
    place=$work/$version
    mkdir -p "$place/run/tests"
    "$python" -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check \
        "setuptools>=77" wheel "cython>=3.1" coverage hypothesis pytest xxhash 2>/dev/null
    "$place/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps \
        --no-build-isolation --wheel-dir "$place" "$work/source" >"$place/log" 2>&1 \
        || { cat "$place/log"; exit 1; }
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$place"/*.whl
    cp -r "$root/tests/native" "$place/run/tests/native"
    touch "$place/run/tests/__init__.py"
    (cd "$place/run" && "$place/venv/bin/python" -X faulthandler -m pytest -q \
        -p no:cacheprovider tests/native)
    ran=$((ran + 1))
done
[ "$ran" -gt 0 ] || { echo "no supported Python found"; exit 1; }
echo "== native tests passed on $ran interpreters"
