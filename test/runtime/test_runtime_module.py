"""Runtime modules: imports, cycles, libraries for other programs, the C++ side."""

import gc
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import native_code
import numpy as np
import pytest

from relax_mlir import runtime
from relax_mlir.errors import (
    CompileError,
    ExecutableFormatError,
    FunctionNotFoundError,
    ModuleCycleError,
    ShapeMismatchError,
)
from relax_mlir.runtime import ExecBuilder, Executable, Module, VirtualMachine, load_module

tvm_ffi = pytest.importorskip("tvm_ffi")
needs_linker = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
X = np.arange(5, dtype="float32")


# Functions and imports


def test_functions_by_name() -> None:
    lib = Module({"one": lambda: 1, "main": lambda x: x + 1})
    assert lib.function_names() == ("one", "main")
    assert lib.get_function("one")() == lib["one"]() == lib.one() == 1
    with pytest.raises(AttributeError, match="no attribute or function 'two'"):
        lib.two
    assert lib(2) == 3
    assert lib.get_function("two") is None
    assert not lib.implements_function("two")
    with pytest.raises(FunctionNotFoundError, match=r"'ones'; did you mean 'one'\? \(it"):
        lib["ones"]
    assert repr(lib) == "<Module functions [one, main]>"


def test_imports_are_asked_in_order_and_only_when_wanted() -> None:
    a, b, c = Module(), Module({"f": lambda: "b"}), Module({"f": lambda: "c", "g": lambda: "g"})
    a.import_module(b)
    a.import_module(c)
    a.import_module(b)
    assert a.imported_modules == (b, c)
    assert a.get_function("f") is None
    assert a.get_function("f", query_imports=True)() == a["f"]() == "b"
    assert a["g"]() == "g"
    deep = Module()
    deep.import_module(a)
    assert deep.implements_function("g", query_imports=True)
    assert not deep.implements_function("g")
    assert list(deep.all_modules()) == [deep, a, b, c]


def test_cycles_and_other_things_are_refused() -> None:
    a, b, c = Module({"a": print}), Module(), Module()
    b.import_module(a)
    c.import_module(b)
    for module in (a, b, c):
        with pytest.raises(ModuleCycleError, match=r"circle: <Module functions \[a\]> -> <Mod"):
            a.import_module(module)
    assert a.imported_modules == ()
    # One module under two others is no cycle.
    c.import_module(a)
    for thing in (None, tvm_ffi.system_lib(), print):
        with pytest.raises(TypeError, match=r"only a runtime\.Module"):
            a.import_module(thing)


def test_an_executable_is_a_module() -> None:
    ex = native_code.add_one_model()
    assert isinstance(ex, Module)
    assert ex.function_names() == ("main", "add1")
    np.testing.assert_array_equal(ex(X), X + 1)
    np.testing.assert_array_equal(ex["main"](X), X + 1)
    assert ex.get_function("nothing") is None
    with pytest.raises(FunctionNotFoundError, match="did you mean 'main'"):
        ex["mian"]


def test_bytecode_calls_functions_of_imported_modules() -> None:
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("test.module.twice", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("vm.builtin.copy", [ib.r(1)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    ex = ib.get()
    seen = Module({"test.module.twice": lambda x: x + x, "vm.builtin.copy": lambda x: "mine"})
    with pytest.raises(FunctionNotFoundError):
        VirtualMachine(ex)["main"](X)
    ex.import_module(seen)
    np.testing.assert_array_equal(VirtualMachine(ex)["main"](X), 2 * X)
    # Another executable's functions.
    inner = native_code.add_one_model()
    outer = ExecBuilder()
    with outer.function("twice", 1):
        outer.emit_call("main", [outer.r(0)], dst=outer.r(1))
        outer.emit_call("main", [outer.r(1)], dst=outer.r(2))
        outer.emit_ret(outer.r(2))
    both = outer.get()
    both.import_module(inner)
    np.testing.assert_array_equal(both["twice"](X), X + 2)


# Libraries


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "model.so"
    native_code.add_one_model().export_library(path)
    return path


@needs_linker
def test_a_shared_library_gives_the_executable_back(library: Path) -> None:
    ex = load_module(library)
    original = native_code.add_one_model()
    assert isinstance(ex, Executable)
    assert ex.to_bytes() == original.to_bytes()
    np.testing.assert_array_equal(VirtualMachine(ex)["main"](X), X + 1)
    assert [p.name for p in library.parent.iterdir()] == ["model.so"]


@needs_linker
def test_the_tvm_ffi_loads_a_shared_library(library: Path) -> None:
    mod = tvm_ffi.load_module(str(library))
    y = np.zeros_like(X)
    mod.add1(X, y)
    np.testing.assert_array_equal(y, X + 1)
    with pytest.raises(ValueError, match="differ in n"):
        mod.add1(X, y[1:])


@needs_linker
def test_arrays_of_a_library_outlive_it(tmp_path: Path) -> None:
    ib = ExecBuilder()
    weight = np.arange(4096, dtype="float64")
    with ib.function("main", 0):
        ib.emit_call("vm.builtin.copy", [weight], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    ib.get().export_library(tmp_path / "weights.so")
    ex = load_module(tmp_path / "weights.so")
    array = ex.constants[0]
    assert array.ctypes.data % 64 == 0
    del ex
    gc.collect()
    (tmp_path / "weights.so").unlink()
    np.testing.assert_array_equal(array, weight)
    array[0] = 5


@needs_linker
def test_other_libraries_are_modules(tmp_path: Path) -> None:
    obj = native_code.compile_object("k", native_code.ADD1, "add1")
    (tmp_path / "k.o").write_bytes(obj.data)
    folder = Path(tvm_ffi.libinfo.find_libtvm_ffi()).parent
    command = ["cc", "-shared", "k.o", "-o", "k.so", f"-L{folder}", "-ltvm_ffi"]
    subprocess.run(command, cwd=tmp_path, check=True)
    lib = load_module(tmp_path / "k.so")
    assert lib.kind == "library"
    y = np.zeros(10, "float32")
    lib["add1"](X, y[::2])
    np.testing.assert_array_equal(y[::2], X + 1)
    with pytest.raises(ShapeMismatchError):
        lib["add1"](X, y)
    assert lib.get_function("add2") is None
    model = native_code.add_one_model()
    bare = Executable(
        model.global_funcs, model.constants, model.func_names, model.instr_data, model.instr_offset
    )
    bare.import_module(lib)
    np.testing.assert_array_equal(bare["main"](X), X + 1)


def test_archives_and_objects(tmp_path: Path) -> None:
    ex = native_code.add_one_model()
    ex.export_library(tmp_path / "model.tar")
    with tarfile.open(tmp_path / "model.tar") as archive:
        assert archive.getnames() == ["kernels0.o", "executable.rxe"]
    np.testing.assert_array_equal(load_module(tmp_path / "model.tar")(X), X + 1)
    ex.export_library(tmp_path / "model.o")
    assert (tmp_path / "model.o").read_bytes() == ex.native[0].data
    with pytest.raises(ExecutableFormatError, match="a linker must make a library of it first"):
        load_module(tmp_path / "model.o")
    ex.save(tmp_path / "model.rxe")
    np.testing.assert_array_equal(load_module(tmp_path / "model.rxe")(X), X + 1)


def test_what_cannot_be_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ex = native_code.add_one_model()
    with pytest.raises(CompileError, match=r"does not end in \.so"):
        ex.export_library(tmp_path / "model.dat")
    with pytest.raises(CompileError, match="the executable has none"):
        Executable().export_library(tmp_path / "model.o")
    with monkeypatch.context() as patch:
        patch.setenv("CC", "no-such-compiler-here")
        with pytest.raises(CompileError, match="cannot run no-such-compiler-here"):
            ex.export_library(tmp_path / "model.so")
        patch.delenv("CC")
        patch.setenv("PATH", "")
        with pytest.raises(CompileError, match=r"needs a C compiler, .* export a \.tar"):
            ex.export_library(tmp_path / "model.so")
    if shutil.which("cc"):
        with pytest.raises(CompileError, match="failed:\n"):
            ex.export_library(tmp_path / "model.so", options=["-lno_such_library"])
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data in (b"", b"text", b"\x7fELF" + bytes(12) + b"\3\0" + bytes(50), bytes(2048)):
        path.write_bytes(data)
        with pytest.raises(ExecutableFormatError):
            load_module(path)
    with tarfile.open(path, "w"):
        pass
    with pytest.raises(ExecutableFormatError, match="no archive that export_library wrote"):
        load_module(path)
    with pytest.raises(FileNotFoundError):
        load_module(tmp_path / "nothing")


CPP = r"""
#include <cstdio>
#include <cstdint>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
namespace ffi = tvm::ffi;
static DLTensor tensor(float* data, int64_t* n) {
  DLTensor t{};
  static int64_t one = 1;
  t.data = data; t.device = {kDLCPU, 0}; t.ndim = 1;
  t.dtype = {kDLFloat, 32, 1}; t.shape = n; t.strides = &one;
  return t;
}
int main(int argc, char** argv) {
  ffi::Module mod = ffi::Module::LoadFromFile(argv[1]);
  ffi::Function add1 = mod->GetFunction("add1").value();
  float x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
  int64_t n = 3, m = 2;
  DLTensor a = tensor(x, &n), b = tensor(y, &n), c = tensor(y, &m);
  add1(&a, &b);
  std::printf("%g %g %g\n", y[0], y[1], y[2]);
  try { add1(&a, &c); } catch (const ffi::Error& e) {
    std::printf("%s: %s\n", e.kind().c_str(), e.message().c_str());
  }
  std::printf("%d\n", mod->GetFunction("nothing").has_value());
}
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler")
@needs_linker
@pytest.mark.slow
def test_a_cpp_program_calls_a_model(library: Path, tmp_path: Path) -> None:
    (tmp_path / "main.cc").write_text(CPP)
    info = tvm_ffi.libinfo
    folder = Path(info.find_libtvm_ffi()).parent
    include = {info.find_include_path(), info.find_dlpack_include_path()}
    command = ["g++", "-std=c++17", "-O0", "main.cc", "-o", "main", f"-L{folder}", "-ltvm_ffi"]
    command += [f"-I{path}" for path in include] + [f"-Wl,-rpath,{folder}"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([tmp_path / "main", library], capture_output=True, text=True)
    assert ran.stdout == "2 3 4\nValueError: add1: x and y differ in n\n0\n", ran.stderr


@needs_linker
def test_another_process_runs_the_library(library: Path) -> None:
    code = (
        "import sys, numpy as np\n"
        "from relax_mlir.runtime import load_module\n"
        f"print(load_module({str(library)!r})(np.arange(3, dtype='float32')))\n"
        "assert not {'torch_mlir', 'mlir', 'relax_mlir.dialects'} & set(sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout == "[1. 2. 3.]\n", ran.stderr


def test_exports_of_the_package() -> None:
    assert runtime.load_module is load_module
    assert "Module" in dir(runtime)
