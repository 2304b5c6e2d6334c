"""Code is compiled once: equal kernels share it, and what was compiled before is found again."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scripts import SOFTMAX_OF_PRODUCT

from relax_mlir import relax, script
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.codegen import compile_cache
from relax_mlir.lowering.codegen.compile_cache import CompileCache, Entry, key_of
from relax_mlir.lowering.codegen.native import NativeCode, compile_module
from relax_mlir.lowering.target.target import Target
from relax_mlir.relax import BuildLog
from relax_mlir.runtime.native.loader import load_objects
from relax_mlir.runtime.program import NativeObject
from relax_mlir.transform import PassContext

KERNEL = """func.func @{name}({buffers}) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  %v = arith.constant {value:.1f} : f32
  scf.for %i = %c0 to %n step %c1 {{
    %a = memref.load %X[%i] : memref<?xf32>
    %r = arith.addf %a, %v : f32
    memref.store %r, %Y[%i] : memref<?xf32>
  }}
  return
}}
"""


def kernel(name: str, value: float = 1.0, buffers: tuple[str, str] = ("A", "B")) -> str:
    dims = '#relax.dims<["n"], affine_map<()[s0] -> (s0)>>'
    listed = ", ".join(
        f'%{here}: memref<?xf32> {{tir.name = "{there}", tir.shape = {dims}}}'
        for here, there in zip("XY", buffers, strict=True)
    )
    return KERNEL.format(name=name, value=value, buffers=listed)


def compiled(text: str, cache: CompileCache | None = None) -> NativeCode:
    with make_context(), ir.Location.unknown():
        return compile_module(ir.Module.parse(text), Target(), cache)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.relaxobj"))


def test_equal_kernels_are_compiled_once() -> None:
    code = compiled(kernel("first") + kernel("second", buffers=("In", "Out")) + kernel("third", 2))
    assert code.names == ("first", "second", "third")
    text = code.llvm_ir(optimized=False)
    assert text.count("@relax_kernel_first(ptr") > text.count("define internal void @relax_kernel")
    assert "define internal void @relax_kernel_second" not in text
    assert "define internal void @relax_kernel_third" in text
    loaded = load_objects([NativeObject("test", code.object, code.symbols)])
    for name, value in (("first", 1), ("second", 1), ("third", 2)):
        x, y = np.arange(37, dtype="f4"), np.zeros(37, "f4")
        loaded[name](x, y)
        np.testing.assert_array_equal(y, x + value)
    # Messages are the function's own.
    with pytest.raises(ValueError, match="second: buffer 'Out' dimension 0"):
        loaded["second"](x, y[:3])


def test_names_of_symbols_make_no_difference() -> None:
    def through_a_buffer(name: str, symbol: str) -> str:
        dims = f'#relax.dims<["{symbol}"], affine_map<()[s0] -> (s0)>>'
        alloc = f'  %t = memref.alloc(%n) {{tir.name = "t", tir.shape = {dims}}} : memref<?xf32>\n'
        store = "    memref.store %r, %{}[%i] : memref<?xf32>\n"
        load = "    %s = memref.load %t[%i] : memref<?xf32>\n"
        text = kernel(name).replace("  scf.for", alloc + "  scf.for")
        last = store.format("Y")
        return text.replace(last, store.format("t") + load + last.replace("%r", "%s"))

    code = compiled(through_a_buffer("first", "n") + through_a_buffer("second", "k"))
    text = code.llvm_ir(optimized=False)
    assert len(re.findall("define internal (void|i32) @relax_kernel_", text)) == 1


def test_an_argument_that_is_written_makes_a_difference() -> None:
    inplace = kernel("second").replace('tir.name = "A"', 'tir.name = "A", tir.inplace')
    text = compiled(kernel("first") + inplace).llvm_ir(optimized=False)
    assert text.count("define internal void @relax_kernel_") == 2


def test_second_build_takes_the_code_from_the_cache(tmp_path: Path) -> None:
    module = script.from_source(SOFTMAX_OF_PRODUCT)
    x, w = np.ones((3, 8), "f4"), np.arange(40, dtype="f4").reshape(8, 5)
    with PassContext(config={"relax.compile_cache": tmp_path / "cache"}):
        seconds, results, objects, kept = [], [], [], []
        for _ in range(2):
            log = BuildLog()
            executable = relax.build(module, log=log)
            code = [
                s.seconds
                for s in log.stages
                if s.name in ("MemrefToLLVM", "llvm-optimize", "llvm-emit")
            ]
            seconds.append((sum(code), len(code)))
            results.append(relax.VirtualMachine(executable)["main"](x, w))
            objects.append(executable.native[0].data)
            kept.append(entries(tmp_path / "cache"))
    np.testing.assert_array_equal(*results)
    assert objects[0] == objects[1]
    assert seconds[1][1] < seconds[0][1]  # LLVM did not run
    assert seconds[1][0] <= 0.1 * seconds[0][0]
    # The program, and each part of it where there are several.
    parts = len(executable.native)
    assert kept[0] == kept[1]
    assert len(kept[0]) == (1 + parts if parts > 1 else 1)


def test_the_cache_keeps_what_people_read(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path)
    first, second = (compiled(kernel("f"), cache) for _ in range(2))
    assert "llvm-optimize" not in second.seconds
    assert second == first
    assert second.llvm_ir(optimized=False) == first.llvm_ir(optimized=False)
    assert second.assembly() == first.assembly()


def test_dumps_are_of_stages_that_ran(tmp_path: Path) -> None:
    with PassContext(config={"relax.compile_cache": tmp_path / "cache"}):
        relax.build(script.from_source(SOFTMAX_OF_PRODUCT))
        log = BuildLog(tmp_path / "dump")
        relax.build(script.from_source(SOFTMAX_OF_PRODUCT), log=log)
    assert "llvm-optimize" in [stage.name for stage in log.stages]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda data: data[:100],
    "empty": lambda data: b"",
    "last bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "another file": lambda data: b"x" * len(data),
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_damaged_entries_are_compiled_anew(
    tmp_path: Path, change: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    cache = CompileCache(tmp_path)
    first = compiled(kernel("f"), cache)
    (path,) = entries(tmp_path)
    path.write_bytes(change(path.read_bytes()))
    with caplog.at_level("INFO", "relax_mlir.cache"):
        second = compiled(kernel("f"), cache)
    assert caplog.messages == [f"{path} is damaged; it is compiled again"]
    assert "llvm-optimize" in second.seconds
    assert second.object == first.object
    assert "llvm-optimize" not in compiled(kernel("f"), cache).seconds


def test_the_key_is_all_that_matters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache = CompileCache(tmp_path)
    compiled(kernel("f"), cache)
    for text in (kernel("g"), kernel("f", 3), kernel("f", buffers=("A", "C"))):
        assert "llvm-optimize" in compiled(text, cache).seconds
    assert len(entries(tmp_path)) == 4
    old = key_of("text", {"cpu": "a"})
    assert old != key_of("text", {"cpu": "b"})
    assert old != key_of("texu", {"cpu": "a"})
    assert old == key_of("text", {"cpu": "a"})
    monkeypatch.setattr(compile_cache, "_compiler", lambda: b"another version")
    assert old != key_of("text", {"cpu": "a"})


def test_the_folder_is_bounded(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path, max_bytes=5000)
    entry = Entry(((bytes(1500), ("f",)),), "source")
    for number, name in enumerate("abc"):
        cache.store(name, entry)
        os.utime(tmp_path / f"{name}.relaxobj", (number, number))
    assert cache.load("a") == entry  # now used last
    cache.store("d", entry)
    assert [path.stem for path in entries(tmp_path)] == ["a", "c", "d"]


def test_folders_with_room_are_looked_through_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (looks.append(path), scan(path))[1])
    cache = CompileCache(tmp_path, max_bytes=1 << 20)
    for number in range(20):
        cache.write(f"{number}.relaxexe", [bytes(1000)])
    assert len(looks) == 1
    for number in range(60):  # the sixteenth part of what was left
        cache.write(f"more {number}.relaxexe", [bytes(1000)])
    assert len(looks) == 2


def test_the_bound_follows_the_free_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CompileCache(tmp_path)
    monkeypatch.setattr(compile_cache, "_MAX_BYTES", 100)
    for free, size, kept in ((0, 50, True), (0, 51, False), (2000, 100, True), (2000, 101, False)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        name = f"{free} {size}.relaxexe"
        cache.write(name, [bytes(size)])
        assert (cache.find_file(name) is not None) == kept


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    code = compiled(kernel("f"), CompileCache(file))
    assert code.object
    assert file.read_text() == "no folder"


def test_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path))
    assert CompileCache.find() == CompileCache(tmp_path)
    assert CompileCache.find(False) is None
    assert CompileCache.find("elsewhere") == CompileCache(Path("elsewhere"))
    for off in ("0", "off", ""):
        monkeypatch.setenv("RELAX_MLIR_CACHE", off)
        assert CompileCache.find() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for on in ("1", "on", "ON", "true", "yes"):
        monkeypatch.setenv("RELAX_MLIR_CACHE", on)
        assert CompileCache.find() == CompileCache(tmp_path / "relax-mlir")
    monkeypatch.delenv("RELAX_MLIR_CACHE")
    assert CompileCache.find() == CompileCache(tmp_path / "relax-mlir")
    with pytest.raises(TypeError, match=r"relax\.compile_cache"):
        PassContext(config={"relax.compile_cache": 3})


@pytest.mark.slow
def test_threads_and_processes_share_a_folder(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path)
    entry = Entry(((bytes(range(256)) * 64, ("f", "g")), (b"more", ())), "source" * 100)
    end = time.monotonic() + 1

    def use(number: int) -> int:
        seen = 0
        while time.monotonic() < end:
            cache.store(f"key{number % 2}", entry)
            found = cache.load("key0")
            assert found in (None, entry)
            seen += found is not None
        return seen

    code = (
        "import sys; from pathlib import Path; "
        "from relax_mlir.lowering.codegen.compile_cache import CompileCache, Entry\n"
        f"cache, entry = CompileCache(Path({str(tmp_path)!r})), "
        "Entry(((bytes(range(256)) * 64, ('f', 'g')), (b'more', ())), 'source' * 100)\n"
        "for i in range(300):\n"
        "    cache.store('key0', entry)\n"
        "    assert cache.load('key0') == entry\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(use, range(4)))
        assert process.wait(60) == 0
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []
