"""Resetting for real: for each cache that a compile fills, nothing survives a reset."""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
import torch._dynamo
from torch._dynamo import convert_frame, pgo
from torch._dynamo import utils as dynamo_utils
from torch._dynamo.callback import callback_handler
from torch._inductor import codecache
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.compiler._cache import CacheArtifactManager

from rondo import drafts
from rondo.frameworks.shared.store import store_folder
from rondo.frameworks.torch import headers, kernels, state


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


Size = Callable[[], int]


def entries() -> int:
    return len(torch._dynamo.eval_frame._debug_get_cache_entry_list(function.__code__))


def files() -> int:
    return sum(each.is_file() for each in Path(os.environ[state.CACHE_VARIABLE]).rglob("*"))


def files_named(part: str) -> Size:
    def count() -> int:
        folder = Path(os.environ[state.CACHE_VARIABLE])
        return sum(part in str(each.relative_to(folder)) for each in folder.rglob("*"))

    return count


MEMORY: dict[str, Size] = {
    "compiled code and guards": entries,
    "compiled code objects": lambda: len(list(convert_frame.input_codes.seen)),
    "automatic-dynamic memory": lambda: len(pgo.get_code_state()),
    "dispatch cache of FakeTensorMode": lambda: FakeTensorMode.cache_info().size,
    "guard failures": lambda: len(dynamo_utils.guard_failures),
    "back ends seen": lambda: len(torch._dynamo.eval_frame.cached_backends),
    "frame numbers": lambda: len(convert_frame.FRAME_COMPILE_COUNTER),
    "counters": lambda: len(dynamo_utils.counters),
    "compilation metrics": lambda: len(dynamo_utils.get_compilation_metrics()),
    "compile callbacks": lambda: len(callback_handler.start_callbacks),
}
"""What a compile on a cheap back end leaves in memory."""

DISK: dict[str, Size] = {
    "FX graph cache": files_named("fxgraph"),
    "AOTAutograd cache": files_named("aotautograd"),
    "generated Python modules": lambda: len(codecache.PyCodeCache.modules),
    "loaded kernels": lambda: len(codecache.CppPythonBindingsCodeCache.cache),
    "artifacts to save": lambda: len(CacheArtifactManager._seen_artifacts),
    "automatic-dynamic memory on disk": files_named("code_state"),
    "disk folder": files,
}
"""What Inductor adds with its caches on."""


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[int, int]]]:
    """Name -> size after compiles and after the reset that follows them."""
    root = tmp_path_factory.mktemp("caches")
    measured: dict[str, tuple[int, int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(state.CACHE_VARIABLE, str(root))
        patch.setenv("TRITON_CACHE_DIR", str(root))
        folders = state.CacheFolders(root)
        for backend, caches in (("aot_eager", MEMORY), ("inductor", DISK)):
            disk = backend == "inductor"
            # Without a job's name, automatic-dynamic memory is not written to disk.
            named = torch.compiler.config.patch(job_id="rondo")
            with named, state.configured(disk=disk):
                state.reset_compiler(folders, disk=disk)
                callback_handler.register_start_callback(lambda _: None)
                compile_twice(backend)
                full = {name: size() for name, size in caches.items()}
                state.reset_compiler(folders, disk=disk)
                empty = {name: size() for name, size in caches.items()}
            measured |= {name: (full[name], empty[name]) for name in caches}
        folders.drop()
        yield measured


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MEMORY, *DISK])
def test_no_cache_survives_a_reset(name: str, sizes: dict[str, tuple[int, int]]) -> None:
    full, empty = sizes[name]
    assert full > 0, "nothing was there that could survive"
    assert empty == 0


def test_cudagraph_trees_are_reset(
    folders: state.CacheFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch._inductor import cudagraph_trees

    called: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(cudagraph_trees, "reset_cudagraph_trees", lambda: called.append(1))
    state.reset_compiler(folders, disk=False)
    assert called == [1]


KNOWN_SURVIVORS = {
    "torch._dynamo.bytecode_transformation._cached_cleaned_instructions": "a code object's own",
    "torch._dynamo.guards.code_framelocals_names_reversed_cached": "a code object's own",
    "torch._dynamo.eval_frame.DynamoTLS.traced_frame_infos": "lines for a log message",
    "torch._inductor.codecache.PyCodeCache.stack_frames_for_code": "a line to its text",
}


def containers() -> dict[str, int]:
    """The size of every table and memo that the compiler's modules and classes hold."""
    sizes: dict[str, int] = {}
    for name, module in list(sys.modules.items()):
        if not name.startswith(("torch._dynamo", "torch._functorch", "torch._inductor")):
            continue
        for key, value in list(vars(module).items()):
            found = {f"{name}.{key}": value}
            if isinstance(value, type) and value.__module__ == name:
                inner = vars(value).items()
                found |= {f"{name}.{key}.{each}": item for each, item in inner}
            for path, each in found.items():
                plain = each.__func__ if isinstance(each, (staticmethod, classmethod)) else each
                if isinstance(plain, functools._lru_cache_wrapper):
                    sizes[path] = plain.cache_info().currsize
                elif isinstance(plain, (dict, list, set)):
                    sizes[path] = len(plain)
    return sizes


def test_nothing_else_grows_with_what_is_compiled(folders: state.CacheFolders) -> None:
    """Compiles of new code, with a reset between them, leave every table as large as it was."""

    def compile_new(number: int) -> None:
        source = f"def scaled_{number}(x):\n    return (x * {number}.5).cos().sum()\n"
        namespace: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {}
        exec(source, namespace)
        compiled = torch.compile(namespace[f"scaled_{number}"], backend="aot_eager")
        for size in (3, 4):
            compiled(torch.ones(size + number, requires_grad=True)).backward()
        del compiled
        state.reset_compiler(folders, disk=False)
        gc.collect()

    with state.configured(disk=False):
        for number in (1, 2):
            compile_new(number)
        before = containers()
        for number in (3, 4, 5):
            compile_new(number)
        after = containers()
    grown = {name for name, size in after.items() if size >= before.get(name, 0) + 3}
    assert len(before) > 500
    assert grown <= KNOWN_SURVIVORS.keys()


def test_a_stance_and_callbacks_do_not_survive(folders: state.CacheFolders) -> None:
    torch.compiler.set_stance("force_eager")
    state.reset_compiler(folders, disk=False)
    with state.configured(disk=False):
        compile_twice("eager")
        assert dynamo_utils.counters["frames"]["ok"]
    state.reset_compiler(folders, disk=False)


def test_another_thread_compiles_under_the_settings_of_the_sequence() -> None:
    """Settings are context variables: without being carried over none is there in a new thread."""
    seen: list[tuple[bool, int]] = []
    with state.configured(disk=False), torch._dynamo.config.patch(recompile_limit=3):
        take_over = state.carried_settings()

        def look() -> None:
            take_over()
            seen.append(
                (torch._inductor.config.fallback_random, torch._dynamo.config.recompile_limit)
            )

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [(True, 3)]
    assert (torch._inductor.config.fallback_random, torch._dynamo.config.recompile_limit) != (
        True,
        3,
    )


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


def test_a_precompiled_header_is_known_by_its_name_alone(tmp_path: Path) -> None:
    """It lies in the folder of one campaign, where the store's own cannot be written."""
    compiler = Compiler()
    store = kernels.KernelStore(tmp_path / "store", compiler)
    for number, header in enumerate(("/a/hash.h", "/b/hash.h", "/b/other.h")):
        build(store, tmp_path / str(number), "one", flags=f"-include {header}")
    assert compiler.runs == 2


def test_a_header_whose_compiler_is_killed_is_not_there(tmp_path: Path) -> None:
    whole = tmp_path / "hash.h.gch"
    command = f"true -x c++-header {tmp_path}/hash.h -o {whole} -O1"

    def run(command: str, cwd: str, *, killed: bool) -> None:
        words = command.split()
        assert words[-1] == "-O1"
        Path(words[words.index("-o") + 1]).write_text("part" if killed else "whole")
        if killed:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernels.KernelStore(tmp_path / "store", partial(run, killed=True))(command, str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    kernels.KernelStore(tmp_path / "store", partial(run, killed=False))(command, str(tmp_path))
    assert whole.read_text() == "whole"


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_HEADER_DIR", "_HEADER_LOCK_DIR"):
        monkeypatch.setattr(codecache, name, "elsewhere")


@pytest.mark.usefixtures("elsewhere")
def test_precompiled_headers_are_kept_for_the_next_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers.share_headers(tmp_path / "with space")
    (tmp_path / "file").write_text("")
    headers.share_headers(tmp_path / "file" / "headers")
    with monkeypatch.context() as full:
        full.setattr(headers, "ROOM", 1 << 60)
        headers.share_headers(tmp_path / "headers")
    assert codecache._HEADER_DIR == "elsewhere", "where it cannot be, all stays as it was"
    headers.share_headers(tmp_path / "headers")
    here = Path(codecache._HEADER_DIR)
    assert here.parent == tmp_path / "headers"
    assert Path(codecache._HEADER_LOCK_DIR) == here / "locks"
    monkeypatch.setattr(headers, "processor", lambda: "another")
    headers.share_headers(tmp_path / "headers")
    assert Path(codecache._HEADER_DIR) != here


@pytest.mark.parametrize("suffix", headers.SUFFIXES)
def test_the_precompiled_headers_that_nobody_uses_go(
    elsewhere: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """The header itself stays: a running worker names it in every command."""
    here = tmp_path / "processor"
    here.mkdir()
    for age, name in enumerate(("used", "unused", "new")):
        for end in ("", suffix):
            path = here / f"{name}.h{end}"
            path.write_text("x" * 60)
            os.utime(path, (age, age))
    left = here / drafts.draft_of(here / f"new.h{suffix}").name.replace(
        f"-{os.getpid()}.", "-99999999."
    )
    left.write_text("x" * 60)
    store = kernels.KernelStore(tmp_path / "store", Compiler())
    build(store, tmp_path / "a", "one", flags=f"-include {here}/used.h")
    monkeypatch.setattr(headers, "LARGEST", 130)
    headers.share_headers(tmp_path)
    kept = sorted(path.name for path in here.iterdir())
    assert kept == sorted(["new.h", f"new.h{suffix}", "unused.h", "used.h", f"used.h{suffix}"])


def test_a_header_that_cannot_be_precompiled_is_done_without(tmp_path: Path) -> None:
    def run(command: str, cwd: str) -> None:
        Path(command.split()[-1]).write_text("part")
        raise OSError("no space left on device")

    store = kernels.KernelStore(tmp_path / "store", run)
    store(f"true -x c++-header {tmp_path}/hash.h -o {tmp_path}/hash.h.gch", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_kernels_of_another_processor_are_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Compiler()
    store = kernels.KernelStore(tmp_path / "store", compiler)
    for name in ("one", "other", "one"):
        monkeypatch.setattr(kernels, "processor", lambda name=name: name)
        build(store, tmp_path / "a", "kernel", flags="-march=native")
    assert compiler.runs == 2


def test_a_store_is_named_from_the_root_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler runs in a folder of its own, and a reset drops those of its caches."""
    monkeypatch.chdir(tmp_path)
    for variable, folder in (
        ("XDG_CACHE_HOME", "cache/rondo/name"),
        ("RONDO_KERNEL_CACHE", "kept/in"),
    ):
        monkeypatch.setenv(variable, folder.partition("/")[0])
        assert store_folder("name", within="in") == tmp_path / folder


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
