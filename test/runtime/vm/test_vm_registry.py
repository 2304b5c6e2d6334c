"""Functions by name: Python ones, TVM FFI's, and compiled ones registered for others."""

import functools
import inspect
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from relax_mlir.errors import ArgumentTypeError, FunctionNotFoundError, ShapeMismatchError
from relax_mlir.runtime import (
    ExecBuilder,
    VirtualMachine,
    get_global_func,
    list_global_func_names,
    register_func,
    remove_global_func,
)

tvm_ffi = pytest.importorskip("tvm_ffi")


@pytest.fixture
def name() -> Iterator[str]:
    yield "test.registry.func"
    if get_global_func("test.registry.func", allow_missing=True) is not None:
        tvm_ffi.remove_global_func("test.registry.func")
        register_func("test.registry.func", print, override=True)
        remove_global_func("test.registry.func")


def _caller(name: str) -> VirtualMachine:
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call(name, [ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    return VirtualMachine(ib.get())


def test_register_look_up_remove(name: str) -> None:
    @register_func(name)
    def func(x: int) -> int:
        return x + 1

    assert get_global_func(name) is func
    assert name in list_global_func_names()
    with pytest.raises(ValueError, match="registered already; pass override=True"):
        register_func(name, print)
    register_func(name, len, override=True)
    assert get_global_func(name) is len

    @register_func
    def named_by_itself() -> None:
        pass

    assert get_global_func("named_by_itself") is named_by_itself
    remove_global_func("named_by_itself")
    remove_global_func(name)
    assert get_global_func(name, allow_missing=True) is None
    with pytest.raises(FunctionNotFoundError, match="is not registered; register it with"):
        get_global_func(name)
    with pytest.raises(FunctionNotFoundError):
        remove_global_func(name)


def test_wrong_registrations() -> None:
    with pytest.raises(ValueError, match="reserved"):
        register_func("vm.builtin.copy", print)
    with pytest.raises(TypeError, match="not callable"):
        register_func("test.registry.x", 3)
    with pytest.raises(TypeError, match="is a string, got None"):
        register_func(functools.partial(print))
    with pytest.raises(FunctionNotFoundError, match=r"did you mean 'vm\.builtin\.shape_of'"):
        get_global_func("vm.builtin.shapeof")


def test_ffi_sees_ours_as_arrays(name: str) -> None:
    seen = []

    def func(*args: object) -> object:
        seen.extend(args)
        return args[0] * 2

    register_func(name, func)
    x = np.arange(3.0)
    result = tvm_ffi.get_global_func(name)(x, tvm_ffi.Shape((2, 3)), 1, "s")
    np.testing.assert_array_equal(np.from_dlpack(result), x * 2)
    assert isinstance(seen[0], np.ndarray)
    assert seen[1:] == [(2, 3), 1, "s"]


def test_vm_finds_ffi_functions(name: str) -> None:
    tvm_ffi.register_global_func(name, lambda x: x)
    with pytest.raises(ValueError, match="registered already"):
        register_func(name, print)
    x = np.arange(3.0)
    for func in (_caller(name)["main"], get_global_func(name)):
        result = func(x)
        assert isinstance(result, np.ndarray)
        np.testing.assert_array_equal(result, x)
        assert func((1, (2, "a"))) == (1, (2, "a"))
        assert func(None) is None


def test_compiled_functions_can_be_registered(name: str) -> None:
    main = _caller("vm.builtin.copy")["main"]
    assert (main.__name__, str(inspect.signature(main))) == ("main", "(arg0)")
    register_func(name, main)
    x = np.arange(4.0)
    np.testing.assert_array_equal(_caller(name)["main"](x), x)
    np.testing.assert_array_equal(np.from_dlpack(tvm_ffi.get_global_func(name)(x)), x)


@pytest.mark.parametrize("result", [np.arange(6).reshape(2, 3).T, np.float32(3), [np.arange(2)]])
def test_results_of_python_functions_become_values(name: str, result: object) -> None:
    register_func(name, lambda x: result)
    value = _caller(name)["main"](1)
    array = value[0] if isinstance(value, tuple) else value
    assert isinstance(array, np.ndarray)
    assert array.flags.carray
    np.testing.assert_array_equal(array, result[0] if isinstance(result, list) else result)


CPP = r"""
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
namespace ffi = tvm::ffi;
static double total(ffi::Tensor x) {
  const float* data = static_cast<const float*>(x.data_ptr());
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += data[i];
  return sum;
}
TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("test.registry.total", total)
      .def("test.registry.ask", [](ffi::Tensor x, int64_t n) -> ffi::Any {
        return ffi::Function::GetGlobalRequired("test.registry.python")(x, n + 1, "from C++");
      });
}
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler")
@pytest.mark.slow
class Foreign:
    """A tensor of another library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: object) -> object:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> object:
        return self.array.__dlpack_device__()


def filling(name: str) -> VirtualMachine:
    def fill(x: np.ndarray) -> None:
        np.asarray(x)[...] = 7

    register_func(name, fill)
    ib = ExecBuilder()
    with ib.function("main", 2, ["x", "pair"]):
        ib.emit_call(name, [ib.r(0)])
        ib.emit_call("vm.builtin.tuple_getitem", [ib.r(1), 1], dst=ib.r(2))
        ib.emit_call(name, [ib.r(2)])
        ib.emit_ret(ib.r(0))
    return VirtualMachine(ib.get())


LAYOUTS = {
    "plain": np.zeros((3, 2), "float32"),
    "transposed": np.zeros((2, 3), "float32").T,
    "part": np.zeros((3, 4), "float32")[:, ::2],
    "big-endian": np.zeros((3, 2), ">f4"),
    "misaligned": np.frombuffer(bytearray(25), np.uint8)[1:].view("float32").reshape(3, 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_write_their_arguments(name: str, layout: str) -> None:
    vm = filling(name)
    x, y = LAYOUTS[layout].copy(order="K"), LAYOUTS[layout][...]
    for kind in (np.asarray, Foreign) if x.dtype.isnative else (np.asarray,):
        x[...] = y[...] = 0
        vm["main"](kind(x), (np.ones(1), kind(y)))
        assert (x == 7).all()
        assert (y == 7).all()


def test_writing_copies_of_read_only_arguments(name: str) -> None:
    x, y = np.broadcast_to(np.float32(0), (3, 2)), np.zeros(3)
    with pytest.raises(ArgumentTypeError, match=r"main: argument 0 is an output, .*read-only"):
        filling(name)["main"](x, (y, y))


@pytest.mark.slow
def test_cpp_and_python_call_each_other(tmp_path: Path) -> None:
    info = tvm_ffi.libinfo
    (tmp_path / "lib.cc").write_text(CPP)
    folder = Path(info.find_libtvm_ffi()).parent
    command = ["g++", "-std=c++17", "-O0", "-shared", "-fPIC", "lib.cc", "-o", "lib.so"]
    command += [f"-I{p}" for p in {info.find_include_path(), info.find_dlpack_include_path()}]
    built = subprocess.run(
        [*command, f"-L{folder}", "-ltvm_ffi"], cwd=tmp_path, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    library = tvm_ffi.load_module(str(tmp_path / "lib.so"))
    seen = []

    def python(*args: object) -> object:
        seen.append(args)
        if args[1] == 0:
            raise KeyError("said Python")
        return args[0] * args[1]

    register_func("test.registry.python", python)
    x = np.arange(4, dtype="float32")
    assert (
        get_global_func("test.registry.total")(x) == _caller("test.registry.total")["main"](x) == 6
    )
    ib = ExecBuilder()
    with ib.function("main", 2):
        ib.emit_call("test.registry.ask", [ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    main = VirtualMachine(ib.get())["main"]
    np.testing.assert_array_equal(main(x, 2), 3 * x)
    assert seen[0][1:] == (3, "from C++")
    assert isinstance(seen[0][0], np.ndarray)
    with pytest.raises(KeyError, match="said Python"):
        main(x, -1)
    remove_global_func("test.registry.python")
    with pytest.raises(Exception, match=r"test\.registry\.python"):
        main(x, 2)
    for registered in ("test.registry.total", "test.registry.ask"):
        tvm_ffi.remove_global_func(registered)
    del library


def test_tensors_that_share_their_storage() -> None:
    shared = get_global_func("runtime.TVMTensorIsStorageShared")
    x = np.zeros((2, 3), "float32")
    assert shared(x, x) is True
    assert shared(x, x.view("int32").reshape(6))
    assert not shared(x, x.copy())
    assert not shared(x, x[:1])
    view = get_global_func("runtime.TVMTensorCreateView")
    made = view(x, (3,), "int16", 8)
    assert made.dtype == "int16"
    assert np.shares_memory(made, x)
    with pytest.raises(ShapeMismatchError, match="only contains 24 bytes"):
        view(x, (3,), "int64", 8)
