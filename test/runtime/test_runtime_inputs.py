"""Arguments and results: whose memory, which layouts, which libraries, how many threads."""

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import native_code
import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime import ExecBuilder, VirtualMachine
from relax_mlir.runtime.native.loader import ffi_tensor
from relax_mlir.runtime.values.convert import numpy_dtype, to_value
from relax_mlir.script import from_source

tvm_ffi = pytest.importorskip("tvm_ffi")


class ByDLPack:
    """A tensor of some other library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class ByInterface:
    """An object that says where its numbers are."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


class ByArray:
    """An object that makes an array of itself when asked."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array


def misaligned(array: np.ndarray) -> np.ndarray:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert array.size == 0 or not view.flags.aligned
    return view


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "plain": lambda x: x,
    "read-only": read_only,
    "every second": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "misaligned": misaligned,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "all one element": lambda x: np.broadcast_to(x[:1], x.shape) if x.size else x,
    "overlapping": lambda x: np.lib.stride_tricks.as_strided(x, x.shape, (0,)) if x.size else x,
    "column": lambda x: np.stack([x, x], axis=1)[:, 1],
    "record field": lambda x: np.rec.fromarrays([np.zeros(len(x), "i1"), x])["f1"],
    "subclass": lambda x: x.view(type("Mine", (np.ndarray,), {})),
    "memory map": lambda x: x,
    "dlpack": ByDLPack,
    "dlpack strided": lambda x: ByDLPack(np.repeat(x, 3)[::3]),
    "dlpack read-only": lambda x: ByInterface(read_only(x)),
    "array interface": ByInterface,
    "interface backwards": lambda x: ByInterface(x[::-1].copy()[::-1]),
    "__array__": ByArray,
    "ffi tensor": lambda x: tvm_ffi.from_dlpack(x.copy()),
}


@pytest.fixture(scope="module")
def vm() -> VirtualMachine:
    return VirtualMachine(native_code.add_one_model())


@pytest.mark.parametrize("n", [0, 1, 2, 17, 1000])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(vm: VirtualMachine, layout: str, n: int) -> None:
    x = np.arange(n, dtype="float32")
    given = LAYOUTS[layout](x)
    seen = np.asarray(to_value(given)).copy()
    result = vm["main"](given)
    np.testing.assert_array_equal(result, seen + 1)
    assert result.flags.carray
    np.testing.assert_array_equal(np.asarray(to_value(given)), seen)
    # The result is the caller's own.
    again = vm["main"](given)
    result[...] = -1
    np.testing.assert_array_equal(again, seen + 1)


@pytest.mark.parametrize("layout", ["every second", "misaligned", "big-endian", "backwards"])
def test_outputs_that_must_be_copied_are_written(vm: VirtualMachine, layout: str) -> None:
    x = np.arange(9, dtype="float32")
    out = LAYOUTS[layout](np.zeros(9, "float32"))
    vm["add1"](x, out)
    np.testing.assert_array_equal(out, x + 1)
    with pytest.raises(ArgumentTypeError, match="argument 1 is an output, but"):
        vm["add1"](x, read_only(np.zeros(9, "float32")))


def test_inputs_that_overlap_each_other_and_the_output(vm: VirtualMachine) -> None:
    memory = np.arange(20, dtype="float32")
    vm["add1"](memory[:10], memory[:10])
    np.testing.assert_array_equal(memory[:10], np.arange(10) + 1)
    x = memory[4:12]
    result = vm["main"](x)
    assert not np.shares_memory(result, memory)


@pytest.mark.parametrize("layout", ["plain", "read-only", "dlpack", "array interface"])
def test_no_copy_where_the_layout_allows(layout: str) -> None:
    x = np.arange(64, dtype="float32")
    given = LAYOUTS[layout](x)
    source = given if isinstance(given, np.ndarray) else given.array
    assert np.shares_memory(to_value(given), source)


@pytest.mark.parametrize("value", [np.float32(2), np.int64(3), np.bool_(True), np.float16(0.5)])
def test_numpy_scalars_are_tensors(value: Any) -> None:
    found = to_value(value)
    assert (found.shape, found.dtype, found[()]) == ((), value.dtype, value)


def test_what_is_no_tensor() -> None:
    for value in (np.ma.array([1, 2]), [np.ma.array([1])]):
        with pytest.raises(ArgumentTypeError, match="masked"):
            to_value(value)

    class Elsewhere(ByDLPack):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("this tensor is on a GPU")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

    with pytest.raises(ArgumentTypeError, match=r"cannot read a .*Elsewhere as a CPU tensor: "):
        to_value(Elsewhere(np.zeros(1)))

    class Broken:
        @property
        def __array_interface__(self) -> dict[str, Any]:
            return {"shape": (1 << 40,), "typestr": "<f4", "data": None, "version": 3}

    with pytest.raises(ArgumentTypeError, match="cannot read"):
        to_value(Broken())


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_other_libraries(vm: VirtualMachine, library: str) -> None:
    module = pytest.importorskip(library)
    x = np.arange(6, dtype="float32")
    ones = module.ones(6, dtype=module.float32)
    np.testing.assert_array_equal(vm["main"](module.asarray(x)), x + 1)
    np.testing.assert_array_equal(vm["main"](ones[::2]), [2, 2, 2])
    half = to_value(module.ones(3, dtype=module.bfloat16))
    assert half.dtype.name == "bfloat16"


# bfloat16


def test_bfloat16_both_ways() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    tensor = ffi_tensor(x)
    assert (str(tensor.dtype), tuple(tensor.shape)) == ("bfloat16", (2, 3))
    back = to_value(tensor)
    assert back.dtype == x.dtype
    assert np.shares_memory(back, x)
    for other in (np.repeat(x, 2, axis=0)[::2], read_only(x), x[:0]):
        np.testing.assert_array_equal(to_value(ffi_tensor(to_value(other))), other)
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("vm.builtin.check_tensor", [ib.r(0), 2, "bfloat16", "main(x)"])
        ib.emit_call("vm.builtin.alloc_storage", [12, "cpu"], dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(1), 0, (2, 3), "bfloat16"], dst=ib.r(2))
        ib.emit_call("same_length", [ib.r(0), ib.r(2)])
        ib.emit_ret(ib.r(2))
    # It adds nothing, but takes both through the FFI.
    code = (
        "define i32 @__tvm_ffi_same_length(ptr %s, ptr %a, i32 %n, ptr %r) {\n"
        "  store i32 0, ptr %r\n  ret i32 0\n}\n"
    )
    vm = VirtualMachine(ib.get([native_code.compile_object("k", code, "same_length")]))
    assert vm["main"](x).dtype == x.dtype
    assert vm["main"](tensor).dtype == x.dtype
    assert vm["same_length"](x) is None
    with pytest.raises(ArgumentTypeError, match="bfloat16"):
        vm["main"](x.astype("float32"))


def test_bfloat16_without_ml_dtypes() -> None:
    code = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "from relax_mlir.runtime.values.convert import numpy_dtype\n"
        "from relax_mlir.errors import ArgumentTypeError\n"
        "try: numpy_dtype('bfloat16')\n"
        "except ArgumentTypeError as e: print(e)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install ml_dtypes" in done.stdout, done.stderr
    with pytest.raises(ArgumentTypeError):
        numpy_dtype("bfloat17")


# Threads


def test_eight_threads_meet_in_native_code() -> None:
    # Each waits in native code until all are there: with one lock around it none would get on.
    ib = ExecBuilder()
    with ib.function("main", 2):
        ib.emit_call("meet", [ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    vm = VirtualMachine(ib.get([native_code.compile_object("k", native_code.MEET, "meet")]))
    for name in ("main", "meet"):
        counter, together = np.zeros(1, "int64"), []
        func = vm[name]

        def work(func: Any = func, counter: Any = counter, together: list = together) -> None:
            together.append(func(counter, 8))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert together == [True] * 8
        assert counter[0] == 8


def test_eight_threads_call_one_machine(vm: VirtualMachine) -> None:
    main, wrong = vm["main"], []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        kept = []
        for _ in range(300):
            x = rng.random(int(rng.integers(0, 40_000)), dtype="float32")
            kept.append((x, main(x)))
            kept = kept[-5:]
        wrong.extend(1 for x, y in kept if not np.array_equal(x + 1, y))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_views_of_a_wrong_shape_are_not_copied() -> None:
    """Copies of them would need a quarter of all addresses."""
    module = from_source(
        "@I.ir_module\nclass M:\n    @R.function\n"
        '    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((3,), "float32")):\n'
        "        return (R.exp(x), R.exp(y))\n"
    )
    vm = VirtualMachine(relax.build(module))
    x, y = np.ones((2, 4), "float32"), np.ones(3, "float32")
    for dtype in ("<f4", ">f4"):
        one = np.ones((), dtype)
        with pytest.raises(ShapeMismatchError, match=r"argument 'x'.*dimension 1 is 5, expected 4"):
            vm["main"](np.broadcast_to(one, (1 << 58, 5)), y)
        with pytest.raises(ShapeMismatchError, match=r"argument 'y'.*dimension 0 is 2882.*, exp"):
            vm["main"](x.T.copy().T, y=np.broadcast_to(one, (1 << 58,)))
        with pytest.raises(ArgumentTypeError, match=r"argument .x.*got ndim 3"):
            vm["main"](np.broadcast_to(one, (1 << 40, 1 << 10, 4)), y)
        got = vm["main"](np.broadcast_to(one, (3, 4)), np.broadcast_to(one, (3,)))
        np.testing.assert_allclose(got[0], np.full((3, 4), np.e), rtol=1e-6)
