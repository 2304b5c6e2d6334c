"""The VM's builtin functions, called by their names, and their messages."""

import gc
from typing import Any

import numpy as np
import pytest

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError, VMError
from relax_mlir.runtime import AssertOpError, get_global_func
from relax_mlir.runtime.device.memory import NaiveAllocator, PooledAllocator, VMState

CONTEXT = "main: argument 'x' (declared R.Tensor((n, 64), 'float32') at model.py:12)"


def call(name: str, *args: Any) -> Any:
    prefix = "" if name.startswith("vm.") else "vm.builtin."
    return get_global_func(prefix + name)(*args)


def test_heap_round_trip_skips_slots() -> None:
    heap = call("alloc_shape_heap", 4)
    assert (heap.dtype, heap.tolist()) == (np.int64, [0, 0, 0, 0])
    call("store_shape", np.zeros((3, 5, 7)), heap, 2, -1, 0)
    call("store_shape", (9,), heap, 3)
    call("store_shape", 8, heap, 1)
    assert call("load_shape", heap, 3, 2, 1, 0) == (9, 3, 8, 7)
    assert call("load_value", heap, 2) == 3
    assert call("load_shape", heap) == ()
    call("store_shape", np.zeros(()), heap)
    with pytest.raises(ShapeMismatchError, match="has 2 dimensions, expected 1"):
        call("store_shape", (1, 2), heap, 0)


def test_assert_shape_messages() -> None:
    heap = np.array([4, 64])
    call("assert_shape", np.zeros((4, 64)), heap, CONTEXT, 0, 1)
    call("assert_shape", (5, 64), heap, CONTEXT, -1, 1)
    call("assert_shape", 4, heap, CONTEXT, 0)
    with pytest.raises(ShapeMismatchError) as raised:
        call("assert_shape", np.zeros((4, 65), "float32"), heap, CONTEXT, 0, 1)
    assert str(raised.value) == (
        CONTEXT + ": dimension 1 is 65, expected 64 (got a float32 tensor of shape (4, 65))"
    )
    with pytest.raises(ShapeMismatchError, match=r"expected 1 dimension, got \(4, 64\)"):
        call("assert_shape", (4, 64), heap, CONTEXT, 0)
    with pytest.raises(ShapeMismatchError, match=r"value is 5, expected 4$"):
        call("assert_shape", 5, heap, CONTEXT, 0)
    with pytest.raises(ArgumentTypeError, match="expected a tensor or a shape, got None"):
        call("assert_shape", None, heap, CONTEXT, 0)


@pytest.mark.parametrize(
    ("value", "ndim", "dtype", "message"),
    [
        (
            np.zeros((2, 3, 4), "f4"),
            2,
            "",
            r"expected 2 dimensions, got ndim 3 \(shape \(2, 3, 4\)\)",
        ),
        (np.zeros(2), 1, "float32", "expected dtype float32, got float64"),
        (np.zeros(2, "u1"), -1, "int8", "expected dtype int8, got uint8"),
        (1.5, 0, "float32", r"got the Python float 1.5; pass numpy.float32\(1.5\)"),
        ((1, 2), 1, "int64", r"got a shape \(1, 2\); pass numpy.asarray"),
        (None, 1, "", "expected a tensor, got None"),
        ("s", 1, "", "expected a tensor, got a str"),
    ],
)
def test_check_tensor_messages(value: Any, ndim: int, dtype: str, message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message) as raised:
        call("check_tensor", value, ndim, dtype, CONTEXT)
    assert str(raised.value).startswith(CONTEXT + ": ")


def test_checks_accept() -> None:
    for dtype in ("bool", "int8", "uint64", "float16", "float32", "float64"):
        call("check_tensor", np.zeros((2, 3), dtype), 2, dtype, CONTEXT)
    call("check_tensor", np.zeros(()), -1, "", CONTEXT)
    call("check_shape_value", (1, 2), 2, CONTEXT)
    call("check_shape_value", (), -1, CONTEXT)
    call("check_tuple", (1, np.zeros(2)), 2, CONTEXT)
    call("check_int", 3, CONTEXT)


def test_other_checks_refuse() -> None:
    with pytest.raises(ArgumentTypeError, match="expected a shape of 1 dimension, got"):
        call("check_shape_value", (1, 2), 1, CONTEXT)
    with pytest.raises(ArgumentTypeError, match="expected a shape, got a tuple of 2"):
        call("check_shape_value", (1, 2.0), 2, CONTEXT)
    with pytest.raises(ArgumentTypeError, match=r"expected a tuple of 3, got a shape \(1, 2\)"):
        call("check_tuple", (1, 2), 3, CONTEXT)
    with pytest.raises(ArgumentTypeError, match="expected an integer, got the Python bool True"):
        call("check_int", True, CONTEXT)


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (7, 13), (64, 65)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float64"])
@pytest.mark.parametrize("memory", ["naive", "pooled"])
def test_alloc_tensor(shape: tuple[int, ...], dtype: str, memory: str) -> None:
    state = VMState(memory)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    storage = call("alloc_storage", state, size + 64, "cpu")
    tensor = call("alloc_tensor", storage, 64, shape, dtype)
    assert (tensor.shape, tensor.dtype, tensor.flags.carray) == (shape, np.dtype(dtype), True)
    assert tensor.ctypes.data % 64 == 0
    tensor[...] = 1
    if size:
        with pytest.raises(VMError, match="does not fit its storage of"):
            call("alloc_tensor", storage, 65, shape, dtype)
    with pytest.raises(VMError, match="does not fit"):
        call("alloc_tensor", storage, 0, (-1,), dtype)


def test_alloc_errors() -> None:
    with pytest.raises(VMError, match="cannot allocate a storage of -1 bytes"):
        call("alloc_storage", -1)
    with pytest.raises(VMError, match=f"cannot allocate a storage of {1 << 60} bytes"):
        call("alloc_storage", (1 << 60,), "cpu")
    with pytest.raises(ArgumentTypeError, match="unknown dtype 'float33'"):
        call("alloc_tensor", call("alloc_storage", 64), 0, (1,), "float33")
    with pytest.raises(ValueError, match="'pooled' or 'naive'"):
        VMState("fast")


def test_views_keep_storage_out_of_the_pool() -> None:
    allocator = PooledAllocator()
    kept = []
    for i in range(50):
        storage = allocator.alloc(4096)
        tensor = np.ndarray((1024,), "float32", storage)
        tensor[:] = i
        kept.append(tensor[5:].reshape(1, -1)[:, ::2])
        del storage, tensor
    assert [int(k.min()) for k in kept] == [int(k.max()) for k in kept] == list(range(50))
    addresses = {k.ctypes.data // 4096 for k in kept}
    del kept
    gc.collect()
    again = allocator.alloc(4096)
    assert again.ctypes.data // 4096 in {a + d for a in addresses for d in (-1, 0, 1)}
    allocator.release()
    assert again[:10].size == 10
    assert not isinstance(NaiveAllocator().alloc(8), type(again))


def test_values() -> None:
    assert call("make_tuple", 1, "a") == (1, "a")
    assert call("tuple_getitem", (1, "a"), 1) == "a"
    with pytest.raises(ArgumentTypeError, match="a tuple of 0 has no element 0"):
        call("tuple_getitem", (), 0)
    x = np.arange(3)
    assert np.shares_memory(call("move", x), x)
    copied = call("copy", (x, 1))
    assert not np.shares_memory(copied[0], x)
    assert call("null_value") is None
    assert call("kill_object", x) is None
    assert [call("to_int", v) for v in (3, np.array(4), np.array([[5]], "u1"), True)] == [
        3,
        4,
        5,
        1,
    ]
    for wrong in (1.5, np.zeros(2, int), np.zeros(1), None):
        with pytest.raises(ArgumentTypeError, match="expected one integer"):
            call("to_int", wrong)
    assert call("shape_to_tensor", (2, 3)).tolist() == [2, 3]
    assert call("shape_to_tensor", ()).dtype == np.int64
    assert call("tensor_to_shape", np.array([2, 3], "int32")) == (2, 3)
    with pytest.raises(ArgumentTypeError, match="1-d integer tensor"):
        call("tensor_to_shape", np.zeros(2))


def test_reshape() -> None:
    x = np.arange(6)
    y = call("reshape", x, (2, 3))
    assert np.shares_memory(x, y)
    assert call("reshape", np.zeros((0, 3)), (5, 0)).shape == (5, 0)
    assert call("reshape", np.zeros((1, 1)), ()).shape == ()
    for shape in ((4,), (-1,), (2, -1)):
        with pytest.raises(ShapeMismatchError, match=r"tensor of shape \(6,\) \(6 elements\) to"):
            call("reshape", x, shape)
    with pytest.raises(ArgumentTypeError, match="takes a tensor and a shape"):
        call("reshape", 1, (1,))


def test_print_and_assert(capsys: pytest.CaptureFixture[str]) -> None:
    call("print", np.arange(2), "x")
    assert capsys.readouterr().out == "[0 1] x\n"
    call("assert_op", np.array(True), "no {}")
    with pytest.raises(AssertionError, match="Assertion Failed: n is 3"):
        call("assert_op", False, "n is {}", 3)
    with pytest.raises(AssertOpError, match=r"Assertion Failed: {} {}"):
        call("assert_op", False, "{} {}", 3)


@pytest.mark.parametrize("shape", [(0,), (1,), (17,), (5, 7)])
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_unique(shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 6, shape).astype(dtype)
    np.testing.assert_array_equal(call("unique", x), np.unique(x))
    values, index, inverse, counts = call("unique", x, False, True, True, True)
    flat = x.reshape(-1)
    np.testing.assert_array_equal(values, list(dict.fromkeys(flat.tolist())))
    np.testing.assert_array_equal(flat[index], values)
    np.testing.assert_array_equal(values[inverse], flat)
    assert counts.sum() == x.size
    assert call("unique", x).flags.carray


def test_unique_along_an_axis() -> None:
    x = np.array([[2, 2], [1, 1], [2, 2]])
    np.testing.assert_array_equal(call("unique", x, True, False, False, False, 0), [[1, 1], [2, 2]])
    unsorted = call("unique", x, False, False, False, False, 0)
    np.testing.assert_array_equal(unsorted, [[2, 2], [1, 1]])


def test_nonzero() -> None:
    x = np.array([[0, 1], [2, 0]])
    result = call("nonzero", x)
    assert result.tolist() == [[0, 1], [1, 0]]
    assert (result.dtype, result.flags.c_contiguous) == (np.int64, True)
    assert call("nonzero", np.array(3)).shape == (0, 1)
    assert call("nonzero", np.zeros((0, 2))).shape == (2, 0)


def test_broadcast_shapes() -> None:
    infer = get_global_func("vm.binary_broadcast_shape_infer")
    assert infer((2, 1), np.zeros((3,))) == (2, 3)
    assert infer((), (0, 1)) == (0, 1)
    with pytest.raises(ShapeMismatchError, match=r"shapes \(2,\) and \(3,\) do not broadcast"):
        infer((2,), (3,))


def test_call_tir_dyn() -> None:
    assert call("vm.call_tir_dyn", lambda *a: a, 1, (2, 4)) == (1, 2, 4)
    with pytest.raises(ArgumentTypeError, match="a shape as its last argument"):
        call("vm.call_tir_dyn", print, 1)
