"""Inference rules (FInferShape): symbolic where possible, less where not, errors if impossible."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax import infer
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, to_attribute
from relax_mlir.dialects.symbolic.expr import SymExpr

n, m = SymExpr.var("n"), SymExpr.var("m")
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 7]), max_size=4)


@pytest.fixture(autouse=True)
def _context():
    with default_context(), ir.Location.unknown():
        yield


def tensor(*shape, dtype="f32"):
    return T.tensor_type(shape, dtype)


@given(SHAPES, SHAPES)
def test_broadcast_is_numpys(left, right) -> None:
    with default_context(), ir.Location.unknown():
        try:
            expected = list(np.broadcast_shapes(tuple(left), tuple(right)))
        except ValueError:
            with pytest.raises(infer.InferError, match="cannot be broadcast"):
                infer.broadcast(tensor(*left), tensor(*right))
        else:
            assert T.tensor_dims(infer.broadcast(tensor(*left), tensor(*right))) == expected


@given(SHAPES, SHAPES)
def test_matmul_is_numpys(left, right) -> None:
    with default_context(), ir.Location.unknown():
        try:
            expected = np.matmul(np.zeros(left), np.zeros(right)).shape
        except ValueError:
            with pytest.raises(infer.InferError):
                infer.matmul(tensor(*left), tensor(*right))
        else:
            assert T.tensor_dims(infer.matmul(tensor(*left), tensor(*right))) == list(expected)


@given(SHAPES, st.none() | st.lists(st.integers(-4, 3), max_size=3), st.booleans())
def test_reduce_is_numpys(shape, axes, keepdims) -> None:
    with default_context(), ir.Location.unknown():
        try:
            axis = None if axes is None else tuple(axes)
            expected = np.sum(np.zeros(shape), axis=axis, keepdims=keepdims).shape
        except ValueError:
            with pytest.raises(infer.InferError):
                infer.reduce(tensor(*shape), axes, keepdims)
        else:
            found = T.tensor_dims(infer.reduce(tensor(*shape), axes, keepdims))
            assert found == list(expected)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ([n, m], [m], [n, m]),
        ([n, 1, m], [2, m], [n, 2, m]),
        ([n], [1], [n]),
        ([n], [4], [4]),
        ([n], [m], None),
        ([n * 2], [2 * n], [n * 2]),
    ],
)
def test_symbolic_broadcast(left, right, result) -> None:
    found = infer.broadcast(tensor(*left), tensor(*right))
    assert T.tensor_dims(found) == result
    assert T.tensor_ndim(found) == max(len(left), len(right))


def test_rank_and_dtype_survive_what_is_unknown() -> None:
    unknown = T.tensor_type(None, "f32", 2)
    nothing = T.tensor_type()
    assert infer.broadcast(unknown, tensor(3)) == unknown
    assert infer.broadcast(unknown, nothing) == nothing
    assert infer.matmul(unknown, tensor(4, 3)) == unknown
    assert infer.flatten(unknown) == T.tensor_type(None, "f32", 1)
    assert infer.permute(nothing, None) == nothing
    assert infer.reduce(nothing, None, False) == T.tensor_type([], None)
    assert infer.reduce(unknown, [0], True) == unknown


def test_products_of_symbols() -> None:
    assert T.tensor_dims(infer.flatten(tensor(n, 4, m))) == [4 * n * m]
    assert T.tensor_dims(infer.reshape(tensor(n, 4), T.shape_type([n * 2, 2]))) == [n * 2, 2]
    assert T.tensor_dims(infer.permute(tensor(n, 4, m), [-1, 0, 1])) == [m, n, 4]


@pytest.mark.parametrize(
    ("declared", "inferred", "agree"),
    [
        ((3,), (3,), True),
        ((3,), (4,), False),
        ((n,), (4,), True),
        ((n, 3), (m, 4), False),
        ((3, 4), (3,), False),
    ],
)
def test_compatible(declared, inferred, agree) -> None:
    assert infer.compatible(tensor(*declared), tensor(*inferred)) is agree
    assert infer.compatible(T.shape_type(declared), T.shape_type(inferred)) is agree


def test_compatible_with_what_is_unknown() -> None:
    assert infer.compatible(T.tensor_type(), tensor(3))
    assert infer.compatible(tensor(3), T.object_type())
    assert not infer.compatible(tensor(3), tensor(3, dtype="f16"))
    assert not infer.compatible(tensor(3), T.shape_type([3]))
    pair = ir.TupleType.get_tuple([tensor(3), T.shape_type()])
    assert infer.compatible(pair, pair)
    assert not infer.compatible(pair, ir.TupleType.get_tuple([tensor(3)]))


def values(module: ir.Module):
    block = module.body.operations[0].regions[0].blocks[0]
    return block, list(block.arguments)


def test_build_infers_and_takes_defaults() -> None:
    module = ir.Module.parse("func.func @f(%x: tensor<2x3xf32>) { return }")
    block, (x,) = values(module)
    with ir.InsertionPoint.at_block_terminator(block):
        assert build("sum", [x], {}).type == tensor()
        assert build("sum", [x], {"axis": 1, "keepdims": True}).type == tensor(2, 1)
        assert build("softmax", [x], {}).type == x.type
        assert build("less", [x, x], {}).type == tensor(2, 3, dtype="bool")
        assert build("astype", [x], {"dtype": "i8"}).type == tensor(2, 3, dtype="int8")
    assert module.operation.verify()


@pytest.mark.parametrize(
    ("name", "attrs", "message"),
    [
        ("sum", {"axis": [5]}, "axis 5 is out of range"),
        ("sum", {"axis": "x"}, "expected ints, got 'x'"),
        ("softmax", {"axis": "x"}, "expected int, got 'x'"),
        ("astype", {"dtype": "flaot32"}, "did you mean 'float32'"),
        ("permute_dims", {"axes": [0]}, "needs 2 axes, got 1"),
        ("matmul", {}, "takes 2 operands, got 1"),
        ("softmax", {"axes": 1}, "has no attribute 'axes'; did you mean 'axis'?"),
        ("astype", {}, "needs attribute 'dtype'"),
    ],
)
def test_build_errors(name, attrs, message) -> None:
    module = ir.Module.parse("func.func @f(%x: tensor<2x3xf32>) { return }")
    block, (x,) = values(module)
    before = str(module)
    with (
        ir.InsertionPoint.at_block_terminator(block),
        pytest.raises(infer.InferError, match=re.escape(message)),
    ):
        build(name, [x], attrs)
    assert str(module) == before


def test_every_operation_says_what_it_is() -> None:
    for name, cls in COMPUTE_OPS.items():
        assert cls.__doc__.endswith("."), name
        assert cls.PARAMS, name


@pytest.mark.parametrize("kind", ["int", "ints", "bool", "float"])
def test_a_string_is_no_number_and_no_sequence(kind) -> None:
    with pytest.raises(infer.InferError, match=f"expected {kind}, got '1'"):
        to_attribute(kind, "1")


@pytest.mark.parametrize(("kind", "value"), [("int", 1.5), ("ints", [1, 2.5]), ("str", 3)])
def test_attributes_are_not_rounded(kind, value) -> None:
    with pytest.raises(infer.InferError, match=re.escape(f"expected {kind}, got {value!r}")):
        to_attribute(kind, value)


def test_numbers_of_numpy_are_numbers() -> None:
    assert list(to_attribute("ints", np.array([1, -1]))) == [1, -1]
    assert list(to_attribute("ints", np.int64(2))) == [2]


@pytest.mark.parametrize(
    ("declared", "inferred", "agree"),
    [
        ([n + 1], [n], False),
        ([n * 2 - 3], [n * 2], False),
        ([n * m, m + 1], [m * n, m], False),
        ([n], [m], True),
        ([n], [3], True),
        ([n * 2], [n], True),
        ([n + 1], [1 + n], True),
        ([3], [4], False),
    ],
)
def test_dimensions_that_differ_by_a_constant_never_agree(declared, inferred, agree) -> None:
    assert infer.compatible(tensor(*declared), tensor(*inferred)) is agree
    shapes = T.shape_type(declared), T.shape_type(inferred)
    assert infer.compatible(*shapes) is agree
    nested = [ir.TupleType.get_tuple([tensor(*dims)]) for dims in (declared, inferred)]
    assert infer.compatible(*nested) is agree


def test_the_symbols_of_two_functions_are_not_the_same() -> None:
    assert infer.compatible(tensor(n + 1), tensor(n), same_symbols=False)
    assert not infer.compatible(tensor(3), tensor(4), same_symbols=False)
