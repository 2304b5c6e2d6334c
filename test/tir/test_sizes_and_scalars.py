"""Sizes as expressions of TIR, scalars of scripts outside of scripts, and TVM FFI's comparisons."""

import copy
import pickle

import pytest
import tvm_ffi

from relax_mlir import relax, tir
from relax_mlir.errors import ExprError
from relax_mlir.relax.dpl import is_op, wildcard
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

N = tir.Var("n", "int64")
SIZES = relax.TensorType((4, "n", N + 1)).shape


@pytest.mark.parametrize(
    ("value", "number", "symbol"),
    [
        (SIZES[0], True, False),
        (SIZES[1], False, True),
        (SIZES[2], False, False),
        (N, False, True),
        (tir.IntImm("int32", 4), True, False),
        (4, False, False),
        (None, False, False),
    ],
)
def test_what_a_size_is(value: object, number: bool, symbol: bool) -> None:
    assert isinstance(value, tir.IntImm) == number
    assert isinstance(value, tir.Var) == symbol


def test_sizes_that_are_converted() -> None:
    assert relax.TensorType((tir.Cast("int64", N), 4)).shape[0].same_as(SIZES[1])


def test_nodes_are_sizes_too() -> None:
    two = tir.const(2, "int64")
    made = {
        tir.Add(N, two): N + 2,
        tir.Sub(N, two): N - 2,
        tir.Mul(N, tir.Add(N, two)): N * (N + 2),
        tir.FloorDiv(N, two): N // 2,
        tir.FloorMod(N, two): N % 2,
        tir.Max(N, two): N.max(2),
        tir.Min(N, two): N.min(2),
    }
    for node, size in made.items():
        assert relax.TensorType((node,)).shape[0].same_as(size)
    for node in (
        tir.Add(tir.const(1, "int32"), tir.const(2, "int32")),
        tir.FloorDiv(N, tir.const(0, "int64")),
        tir.Div(N, two),
        tir.LT(N, two),
    ):
        assert node.as_size() is None


def test_sizes_have_a_dtype() -> None:
    assert [size.dtype for size in SIZES] == ["int64"] * 3
    for dtype in ("int32", "int64"):
        symbol = tir.Var("n", dtype)
        for each in (symbol, copy.deepcopy(symbol), pickle.loads(pickle.dumps(symbol))):
            assert (each, each.dtype) == (N, dtype)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (T.int64(2), tir.const(2, "int64")),
        (T.float16(0.5), tir.const(0.5, "float16")),
        (T.bool(True), tir.const(True, "bool")),
        (T.exp(T.float32(1)), tir.exp(tir.const(1.0, "float32"))),
        (T.float32(T.int32(3)), tir.const(3.0, "float32")),
        (T.floordiv(N, 2), tir.floordiv(N, 2)),
    ],
)
def test_scalars_outside_of_scripts(value: tir.PrimExpr, expected: tir.PrimExpr) -> None:
    assert (repr(value), value.dtype) == (repr(expected), expected.dtype)


def test_numbers_that_a_dtype_does_not_have() -> None:
    with pytest.raises(ExprError, match="300 does not fit int8"):
        T.int8(300)


@pytest.mark.parametrize("name", ["handle", "grid", "Buffer"])
def test_names_of_the_language_stay_names(name: str) -> None:
    assert repr(getattr(T, name)(3, 4)) == f"T.{name}"


def test_attributes_of_patterns_are_scalars_too() -> None:
    x = relax.Var("x", R.Tensor((4,), "float32"))
    pattern = is_op("relax.split")(wildcard())
    call = relax.op.split(x, 2)
    assert pattern.has_attr({"indices_or_sections": T.int64(2)}).match(call)
    assert not pattern.has_attr({"indices_or_sections": T.int64(4)}).match(call)


def test_types_and_shapes_in_tvm_ffi() -> None:
    one, same, other = (relax.TensorType((4, name), "float32") for name in ("n", "n", "m"))
    for equal in (tvm_ffi.structural_equal(one, same), tvm_ffi.structural_equal(SIZES, SIZES)):
        assert equal
    assert not tvm_ffi.structural_equal(one, other)
    assert not tvm_ffi.structural_equal(one.shape, other.shape)
