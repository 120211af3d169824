#!/bin/bash -eu
# Builds every fuzz target into $OUT: the packed target, its seeds, its options, the known bugs.
# Run by OSS-Fuzz and ClusterFuzzLite in the image of Dockerfile, and by check.py without one.

cd "$SRC/rondo"
pip3 install --no-deps --no-build-isolation --quiet .

# torch is packed once: it is nearly all of a package and of the time that packing takes, and the
# other targets differ from this one by a word. Dynamo reads the source of what it traces, so the
# hooks pack sources beside the byte code.
packed=fuzz_torch_eager
compile_python_fuzzer "fuzz_targets/$packed.py" \
  --additional-hooks-dir "$SRC/rondo/.clusterfuzzlite/hooks"

# Not Inductor's: it calls a C++ compiler, and the image in which targets run has none.
for name in fuzz_torch_eager fuzz_torch_aot_eager; do
  if [ "$name" != "$packed" ]; then
    printf '#!/bin/sh\n# LLVMFuzzerTestOneInput for fuzzer detection.\n' > "$OUT/$name"
    printf 'exec "$(dirname "$0")/%s" --backend=%s "$@"\n' "$packed" "${name#fuzz_torch_}" \
      >> "$OUT/$name"
    chmod +x "$OUT/$name"
  fi
  python3 - "$OUT/${name}_seed_corpus.zip" corpus/torch/*.seq <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as pack:
    for path in sys.argv[2:]:
        pack.write(path, path.rpartition("/")[2])
PYTHON
  cp .clusterfuzzlite/torch.options "$OUT/$name.options"
done

mkdir -p "$OUT/known"
for folder in bench/bugs/torch fuzz_targets/known; do
  if [ -d "$folder" ]; then cp -r "$folder/." "$OUT/known/"; fi
done
