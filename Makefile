# Rondo's commands. Set-up is part of each: a stamp file remembers that it was done, and it is done
# again when the packages that are asked for, or the extension's sources, have changed.

PYTHON ?= python3
VENV ?= .venv
SECONDS ?= 60
FLAGS ?=

BIN := $(VENV)/bin
READY := $(VENV)/.ready
BUILT := $(VENV)/.built
NATIVE := $(wildcard rondo/_native/*.pyx rondo/_native/*.pxd rondo/_native/*.h)
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help setup fuzz test frameworks lint format bench docs clean

help: #- print this list
	@grep -hE '^[a-z]+:.*#-' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*#- (.*)/  make \1\t\2/' | expand -t 16

setup: $(BUILT) #- make .venv with the pinned versions and build the extension

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rondo needs Python 3.11 or newer: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt setuptools wheel cython
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[dev]'
	touch $@

$(BUILT): $(READY) setup.py $(NATIVE)
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

fuzz: $(BUILT) #- look for bugs in torch.compile for SECONDS=60; more flags in FLAGS=
	mkdir -p campaign/corpus
	$(BIN)/python -m rondo.fuzz campaign/corpus corpus/ -max_total_time=$(SECONDS) -artifact_prefix=campaign/findings/ -print_final_stats=1 $(FLAGS)

test: $(BUILT) #- run the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile $(FLAGS)

# Each other framework has an environment of its own: they want different versions of the same
# packages, and Rondo must work where torch is not installed. Rondo itself runs from this folder.
FRAMEWORKS ?= jax tensorflow paddle
PACKAGE_jax := jax
PACKAGE_tensorflow := tensorflow-cpu
PACKAGE_paddle := paddlepaddle

$(VENV)-%/.ready: $(BUILT) constraints.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet -c constraints.txt click coverage hypothesis jinja2 matplotlib msgpack psutil pytest pytest-xdist rich xxhash $(PACKAGE_$*)
	touch $@

frameworks: $(FRAMEWORKS:%=$(VENV)-%/.ready) #- run the tests of the FRAMEWORKS beside torch
	set -e; for name in $(FRAMEWORKS); do $(VENV)-$$name/bin/python -m pytest -n 2 --dist loadfile tests/frameworks tests/$$name $(FLAGS); done

lint: $(BUILT) #- ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(BUILT) #- have ruff rewrite what it can
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: $(BUILT) #- measure the throughput
	$(BIN)/python bench/throughput.py $(FLAGS)

docs: $(BUILT) #- check and build the documentation site
	$(BIN)/python docs/build.py

clean: #- remove what was built, but neither .venv nor campaign/
	rm -rf build htmlcov .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	rm -f rondo/_native/*.c rondo/_native/*.cpp rondo/_native/*.so rondo/_native/*.html $(BUILT)
	find rondo tests -name __pycache__ -type d -prune -exec rm -rf {} +
