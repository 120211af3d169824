"""The Cython extensions; every other piece of metadata lives in pyproject.toml.

Two environment variables, both for people who work on the extensions themselves:

* ``RONDO_SANITIZE=address`` builds with a sanitizer (see ``tests/native/memcheck.sh``);
* ``RONDO_ANNOTATE=1`` also writes Cython's HTML pages that show where Python objects are touched.
"""

from __future__ import annotations

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

NATIVE = "rondo/_native"
MODULES = ("behaviour", "lines", "tracer", "counters")

compile_args = ["-O2", "-fno-strict-aliasing"]
link_args: list[str] = []
if sanitizer := os.environ.get("RONDO_SANITIZE"):
    compile_args += [f"-fsanitize={sanitizer}", "-fno-omit-frame-pointer", "-g", "-O1"]
    link_args += [f"-fsanitize={sanitizer}"]

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"rondo._native.{name}",
                [f"{NATIVE}/{name}.pyx"],
                include_dirs=[NATIVE],
                depends=[f"{NATIVE}/interpreter.h"],
                extra_compile_args=compile_args,
                extra_link_args=link_args,
            )
            for name in MODULES
            if os.path.exists(f"{NATIVE}/{name}.pyx")
        ],
        build_dir="build/cython",
        annotate=bool(os.environ.get("RONDO_ANNOTATE")),
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "embedsignature": True,
        },
    ),
)
