#!/bin/bash -eu
# Builds every fuzz target into $OUT: the packed target, its seeds, its options, the known bugs.
# Run by OSS-Fuzz and ClusterFuzzLite in the image of Dockerfile, and by check.py without one.

cd "$SRC/rondo"
pip3 install --no-deps --no-build-isolation --quiet .

for fuzzer in fuzz_targets/fuzz_torch_*.py; do
  name=$(basename -s .py "$fuzzer")
  # Dynamo reads the source of what it traces, so sources are packed beside the byte code.
  compile_python_fuzzer "$fuzzer" --additional-hooks-dir "$SRC/rondo/.clusterfuzzlite/hooks"
  python3 - "$OUT/${name}_seed_corpus.zip" corpus/torch/*.seq <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as pack:
    for path in sys.argv[2:]:
        pack.write(path, path.rpartition("/")[2])
PYTHON
  cp .clusterfuzzlite/torch.options "$OUT/$name.options"
done

mkdir -p "$OUT/known"
for folder in bench/bugs/found fuzz_targets/known; do
  if [ -d "$folder" ]; then cp -r "$folder/." "$OUT/known/"; fi
done
