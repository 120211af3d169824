"""Resetting for real: for each cache that a compile fills, nothing survives a reset."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
import torch._dynamo
from torch._dynamo import utils as dynamo_utils
from torch._subclasses.fake_tensor import FakeTensorMode

from rondo.frameworks.torch import kernels, state


def function(x: torch.Tensor, scale: float) -> torch.Tensor:
    return (x * scale).relu().sum()


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> state.CacheFolders:
    monkeypatch.setenv(state.CACHE_VARIABLE, str(tmp_path))
    return state.CacheFolders(tmp_path)


def compile_twice(backend: str) -> None:
    compiled = torch.compile(function, backend=backend)
    for size in (3, 4):
        compiled(torch.ones(size, requires_grad=True), 2.0).backward()


def test_memory_is_empty_after_a_reset(folders: state.CacheFolders) -> None:
    with state.configured(disk=False):
        state.reset_compiler(folders, disk=False)
        compile_twice("aot_eager")
        code = function.__code__
        assert torch._dynamo.eval_frame._debug_get_cache_entry_list(code)
        assert torch._dynamo.pgo.get_code_state()
        assert FakeTensorMode.cache_info().size
        assert dynamo_utils.counters["frames"]["ok"] == 2
        state.reset_compiler(folders, disk=False)
        assert not torch._dynamo.eval_frame._debug_get_cache_entry_list(code)
        assert not torch._dynamo.pgo.get_code_state()
        assert not FakeTensorMode.cache_info().size
        assert not dynamo_utils.counters
        assert not dynamo_utils.get_compilation_metrics()
        assert not list(torch._dynamo.convert_frame.input_codes.seen)


def test_a_stance_and_callbacks_do_not_survive(folders: state.CacheFolders) -> None:
    torch.compiler.set_stance("force_eager")
    state.reset_compiler(folders, disk=False)
    with state.configured(disk=False):
        compile_twice("eager")
        assert dynamo_utils.counters["frames"]["ok"]
    state.reset_compiler(folders, disk=False)


@pytest.mark.slow
def test_disk_caches_are_empty_after_a_reset(folders: state.CacheFolders) -> None:
    with state.configured(disk=True):
        for _ in range(2):
            state.reset_compiler(folders, disk=True)
            compile_twice("inductor")
            assert not dynamo_utils.counters["inductor"]["fxgraph_cache_hit"]
            assert dynamo_utils.counters["aot_autograd"]["autograd_cache_miss"]
            folder = Path(os.environ[state.CACHE_VARIABLE])
            assert any(folder.rglob("*"))
        folders.drop()
        assert not folder.exists()


def test_with_memory_caching_kernels_share_a_folder(folders: state.CacheFolders) -> None:
    folders.use(disk=False)
    kept = os.environ[state.CACHE_VARIABLE]
    folders.use(disk=True)
    assert os.environ[state.CACHE_VARIABLE] != kept
    folders.use(disk=False)
    assert os.environ[state.CACHE_VARIABLE] == kept


class Compiler:
    """Stands in for g++: writes the source it was given, and counts how often it ran."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, command: str, cwd: str) -> None:
        self.runs += 1
        words = command.split()
        source = next(word for word in words if word.endswith(".cpp"))
        Path(words[words.index("-o") + 1]).write_text("built " + Path(source).read_text())


def build(store: kernels.KernelStore, folder: Path, source: str, flags: str = "-O3") -> str:
    folder.mkdir(exist_ok=True)
    (folder / "kernel.cpp").write_text(source)
    store(f"true {flags} {folder}/kernel.cpp -o {folder}/kernel.so", str(folder))
    return (folder / "kernel.so").read_text()


def test_equal_kernels_are_built_once_whatever_their_folder(tmp_path: Path) -> None:
    compiler = Compiler()
    store = kernels.KernelStore(tmp_path / "store", compiler)
    assert build(store, tmp_path / "a", "one") == "built one"
    assert build(store, tmp_path / "b", "one") == "built one"
    assert compiler.runs == 1
    assert build(store, tmp_path / "b", "two") == "built two"
    assert build(store, tmp_path / "b", "two", flags="-O0") == "built two"
    assert compiler.runs == 3


def test_a_store_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    compiler = Compiler()
    store = kernels.KernelStore(blocker / "store", compiler)
    assert build(store, tmp_path / "a", "one") == build(store, tmp_path / "b", "one")
    assert compiler.runs == 2


def test_the_store_is_bounded(tmp_path: Path) -> None:
    store = kernels.KernelStore(tmp_path / "store", Compiler())
    for number in range(5):
        build(store, tmp_path / "a", f"kernel {number}" + "x" * 100)
    for age, entry in enumerate(sorted(store.folder.iterdir())):
        os.utime(entry, (age, age))
    newest = sorted(store.folder.iterdir())[-1]
    store.prune(limit=150)
    assert list(store.folder.iterdir()) == [newest]


def test_commands_without_sources_pass_through(tmp_path: Path) -> None:
    ran = []
    store = kernels.KernelStore(tmp_path, lambda command, cwd: ran.append(command))
    store("true -shared -o out.so object.o", str(tmp_path))
    assert ran == ["true -shared -o out.so object.o"]
