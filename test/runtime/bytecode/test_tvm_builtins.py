"""Builtins under TVM's names, and those of the design document."""

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import ArgumentTypeError, DeviceError, ShapeMismatchError, TypeMismatchError
from relax_mlir.relax.testing.runtime_builtin import MakeShapeCode, MatchShapeCode

MAKE, MATCH = MakeShapeCode, MatchShapeCode
X = np.zeros((2, 3), "int32")


def call(name: str, *args: Any) -> Any:
    return relax_mlir.get_global_func(f"vm.builtin.{name}")(*args)


def test_shapes_go_through_the_heap() -> None:
    heap = call("alloc_heap", 4)
    call("match_shape", X, heap, 2, MATCH.STORE_TO_HEAP, 3, MATCH.NO_OP, 0, "x")
    assert heap.tolist() == [0, 0, 0, 2]
    call("match_shape", (2, 9), heap, 2, MATCH.ASSERT_EQUAL_TO_LOAD, 3,
         MATCH.ASSERT_EQUAL_TO_IMM, 9, "s")  # fmt: skip
    assert call("make_shape", heap, 2, MAKE.USE_IMM, 10, MAKE.LOAD_SHAPE, 3) == (10, 2)
    assert call("make_shape", heap, 0) == ()
    call("match_prim_value", 7, heap, MATCH.STORE_TO_HEAP, 0, "")
    assert call("make_prim_value", heap, MAKE.LOAD_SHAPE, 0) == 7


@pytest.mark.parametrize(
    ("name", "args", "error", "message"),
    [
        ("match_shape", (X, np.zeros(1, "int64"), 1, 2, 0, "x"), ShapeMismatchError, "ndim 2"),
        ("match_shape", (X, np.zeros(1, "int64"), 2, 2, 0, 0, 4, "x"), ShapeMismatchError,
         "dimension 1 of x is 3, expected 4"),
        ("match_shape", (1.5, np.zeros(1, "int64"), 1, 2, 0, "x"), ArgumentTypeError,
         "expected a tensor or shape of x"),
        ("make_shape", (np.zeros(1, "int64"), 2, 0, 1), ArgumentTypeError, "2 dimensions need 4"),
        ("check_tensor_info", (X, 3, "int32", "x"), TypeMismatchError, "of x has ndim 2, expected"),
        ("check_tensor_info", (X, 2, "int8", "x"), ValueError, "of x has dtype int32, expected"),
        ("check_tensor_info", ((), 2, "x"), TypeError, "expected a tensor of x, got"),
        ("check_shape_info", ((1, 2), 3, "s"), ValueError, "the shape of s has ndim 2, expected 3"),
        ("check_shape_info", (X, 3, "s"), TypeError, "expected a shape of s"),
        ("check_tuple_info", ((X,), 2, "t"), ValueError, "the tuple of t has 1 elements, not 2"),
        ("check_tuple_info", (X, 2, ""), TypeError, "expected a tuple, got"),
        ("check_func_info", (X, "f"), TypeError, "expected a function of f"),
        ("check_prim_value_info", (1.5, "int64", "n"), TypeError, "expected a int64 of n"),
        ("to_device", (X, 77, 0), DeviceError, "DLPack's number 77"),
        ("multinomial_from_uniform", (X, X), ShapeMismatchError, r"expected .batch, n. and"),
        ("assert", (False, "{} is odd", 3), AssertionError, "3 is odd"),
    ],
)  # fmt: skip
def test_wrong_values(name: str, args: tuple[Any, ...], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call(name, *args)


def test_right_values() -> None:
    call("check_tensor_info", X, -1, "")
    call("check_tensor_info", X, 2, None, "")
    call("check_shape_info", (1, 2), -1, "")
    call("check_tuple_info", (X, X), 2, "")
    call("check_func_info", len, "")
    call("check_prim_value_info", 3, "float32", "")
    call("assert", True)
    copied = call("to_device", X, 1, 0)
    assert copied.device.dlpack_device_type() == 1
    assert not np.shares_memory(copied, X)


@pytest.mark.parametrize("kill", ["kill_object", "free_tensor", "free_storage"])
def test_a_freed_value_is_gone(kill: str) -> None:
    builder = relax.ExecBuilder()
    with builder.function("main"):
        r0, r1 = builder.r(0), builder.r(1)
        args = [builder.vm_state(), (4, 6), 0, relax_mlir.DataType("float32"), "global"]
        builder.emit_call("vm.builtin.alloc_storage", args, r0)
        builder.emit_call("vm.builtin.alloc_tensor", [r0, 0, (4, 6), "float32"], r1)
        builder.emit_call(f"vm.builtin.{kill}", [r0])
        builder.emit_call("vm.builtin.make_tuple", [r0, r1], builder.r(2))
        builder.emit_ret(builder.r(2))
    storage, tensor = relax.VirtualMachine(builder.get())["main"]()
    assert storage is None
    assert tensor.shape == (4, 6)


def test_samples_choose_indices() -> None:
    rows = np.array([[0.25, 0.5, 0.25], [0.0, 0.5, 0.49], [1.0, 0.0, 0.0]], "float32")
    samples = np.array([[0.25], [1.0], [0.0]], "float32")
    assert call("multinomial_from_uniform", rows, samples).tolist() == [[1], [2], [0]]
