#!/usr/bin/env python3
"""Checks the layout that OSS-Fuzz and ClusterFuzzLite expect, and runs build.sh without Docker.

    .clusterfuzzlite/check.py              build with a stand-in for PyInstaller, run each target
    .clusterfuzzlite/check.py --layout     look at the files only
    .clusterfuzzlite/check.py --pack       build with PyInstaller itself (minutes, 1.5 GB)

The key insight: what differs between the image and here is one program, `compile_python_fuzzer`.
The stand-in makes the same files under the same names, the wrapper that fuzzers are recognised by
among them, but runs the target with this interpreter. `pip3 install` goes into a folder of its own,
so what is run is the installed package and not the checkout.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MARK = "LLVMFuzzerTestOneInput"
"""What fuzz targets are recognised by in $OUT."""

COMPILE = """#!/bin/bash -eu
# As base-builder-python's: compile_python_fuzzer FILE [PyInstaller's arguments]
name=$(basename -s .py "$1")
if [ "${PACK:-}" = 1 ]; then
  "$PYTHON" -m PyInstaller --noconfirm --onefile --distpath "$OUT" --workpath "$WORK" \\
    --specpath "$WORK" --name "$name.pkg" "${@:2}" "$1"
else
  cp "$1" "$OUT/$name.py"
  run='exec "%s" "$(dirname "$0")/%s.py" "$@"'
  printf "#!/bin/sh\\n$run\\n" "$PYTHON" "$name" > "$OUT/$name.pkg"
fi
printf '#!/bin/sh\\n# LLVMFuzzerTestOneInput for fuzzer detection.\\n' > "$OUT/$name"
printf 'exec "$(dirname "$0")/%s.pkg" "$@"\\n' "$name" >> "$OUT/$name"
chmod +x "$OUT/$name" "$OUT/$name.pkg"
"""


class CheckError(Exception):
    """The layout is not what is expected."""


def expect(holds: bool, message: str) -> None:
    """Raise CheckError unless it holds."""
    if not holds:
        raise CheckError(message)


def targets() -> list[str]:
    """Return the names of the targets that build.sh packs."""
    (named,) = re.findall(r"^for name in (fuzz_.*); do$", (HERE / "build.sh").read_text(), re.M)
    return sorted(named.split())


def check_layout() -> None:
    """Look at the files that the infrastructure reads before it builds anything."""
    project = (HERE / "project.yaml").read_text()
    expect("language: python" in project, "project.yaml: language must be python")
    expect("libfuzzer" in project, "project.yaml: the engine must be libfuzzer")
    docker = (HERE / "Dockerfile").read_text()
    first = next(line for line in docker.splitlines() if line and not line.startswith("#"))
    expect(first.endswith("/base-builder-python"), f"Dockerfile: based on {first!r}")
    expect("$SRC/build.sh" in docker, "Dockerfile: build.sh must be copied to $SRC")
    expect("WORKDIR $SRC/" in docker, "Dockerfile: must end in a folder below $SRC")
    build = HERE / "build.sh"
    expect(os.access(build, os.X_OK), "build.sh must be executable")
    text = build.read_text()
    expect(text.startswith("#!/bin/bash -eu\n"), "build.sh: must stop at the first error")
    for word in ("compile_python_fuzzer", "$OUT", "_seed_corpus.zip", ".options"):
        expect(word in text, f"build.sh: {word} is missing")
    for name in targets():
        expect(re.fullmatch(r"fuzz_\w+", name) is not None, f"{name}: must be called fuzz_*")
        path = ROOT / "fuzz_targets" / f"{name}.py"
        expect(os.access(path, os.X_OK), f"{path.name}: must be executable, for -fork and -merge")
    options = (HERE / "torch.options").read_text()
    expect(options.startswith("[libfuzzer]\n"), "torch.options: must begin with [libfuzzer]")


def build(work: Path, *, pack: bool) -> Path:
    """Run build.sh as the image would; return $OUT."""
    source, out, tools, site = (work / name for name in ("src", "out", "bin", "site"))
    for folder in (source, out, tools, site):
        folder.mkdir()
    (source / "rondo").symlink_to(ROOT)
    compiler = tools / "compile_python_fuzzer"
    compiler.write_text(COMPILE)
    compiler.chmod(0o755)
    for name, module in (("pip3", "-m pip"), ("python3", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        (tools / name).chmod(0o755)
    environment = {
        **os.environ,
        "SRC": str(source),
        "OUT": str(out),
        "WORK": str(work / "work"),
        "PYTHON": sys.executable,
        "PACK": "1" if pack else "",
        "FUZZING_LANGUAGE": "python",
        "SANITIZER": "address",
        "PATH": os.pathsep.join([str(tools), os.path.dirname(sys.executable), os.environ["PATH"]]),
        "PIP_TARGET": str(site),
        "PYTHONPATH": str(site),
    }
    subprocess.run([str(HERE / "build.sh")], env=environment, check=True)
    return out


def check_out(out: Path) -> None:
    """Look at what was built."""
    for name in targets():
        wrapper = out / name
        expect(os.access(wrapper, os.X_OK), f"$OUT/{name} is not executable")
        expect(MARK in wrapper.read_text(), f"$OUT/{name} is not recognised as a fuzzer")
        with zipfile.ZipFile(out / f"{name}_seed_corpus.zip") as seeds:
            names = seeds.namelist()
            expect(len(names) == len(set(names)) > 0, f"{name}: seeds {len(names)}, not distinct")
            starts = {seeds.read(each)[:2] for each in names}
            expect(starts == {b"RQ"}, f"{name}: not all of its seeds are sequences")
        expect((out / f"{name}.options").is_file(), f"$OUT/{name}.options is missing")
    packages = list(out.glob("fuzz_*.pkg"))
    expect(len(packages) == 1, f"$OUT holds {len(packages)} packages, where one serves all targets")
    expect(bool(list((out / "known").rglob("*.rondo"))), "$OUT/known holds no reproducers")


def megabytes(folder: Path) -> int:
    """Return the size of what lies below `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 2**20


def run_targets(out: Path, work: Path) -> None:
    """Run each target over its seeds as a runner would: unpacked, from another folder."""
    for name in targets():
        folder = work / name
        with zipfile.ZipFile(out / f"{name}_seed_corpus.zip") as seeds:
            for each in seeds.namelist()[:3]:
                seeds.extract(each, folder / "seeds")
        environment = {**os.environ, "PYTHONPATH": str(work / "site")}
        command = [str(out / name), "-runs=6", "-seed=1", "--keep-going=1", str(folder / "seeds")]
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        expect(done.returncode == 0, f"{name}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        features = [int(number) for number in re.findall(r" ft: (\d+)", done.stderr)]
        expect(bool(features) and features[-1] > 0, f"{name}: no features\n{done.stderr[-2000:]}")
        seconds = time.monotonic() - began
        print(f"{name}: runs from $OUT, ft: {features[-1]}, {seconds:.0f} s", flush=True)


def main() -> int:
    """Check; print what holds; return an exit code."""
    parser = argparse.ArgumentParser(description="Check the OSS-Fuzz layout without Docker.")
    parser.add_argument("--layout", action="store_true", help="look at the files only")
    parser.add_argument("--pack", action="store_true", help="use PyInstaller itself")
    options = parser.parse_args()
    try:
        check_layout()
        print("layout: as expected", flush=True)
        if options.pack and importlib.util.find_spec("PyInstaller") is None:
            raise CheckError("--pack needs PyInstaller: pip install pyinstaller")
        if not options.layout:
            with tempfile.TemporaryDirectory(prefix="rondo-oss-fuzz-") as folder:
                work = Path(folder)
                began = time.monotonic()
                out = build(work, pack=options.pack)
                check_out(out)
                print(
                    f"$OUT: {len(targets())} targets with seeds, options and known bugs,"
                    f" {megabytes(out)} MB in {time.monotonic() - began:.0f} s",
                    flush=True,
                )
                run_targets(out, work)
    except (CheckError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
