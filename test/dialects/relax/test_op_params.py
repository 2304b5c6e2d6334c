"""How operations are declared: kinds of parameters, what `build` takes for them, weak scalars."""

from collections.abc import Iterator

import numpy as np
import pytest

from relax_mlir import IRModule, relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax import SymExpr, build
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import (
    UNKNOWN,
    Param,
    constant_value,
    from_attribute,
    infer_result,
    is_absent,
    library_order,
    read_attributes,
    to_attribute,
)
from relax_mlir.dialects.relax.ops.core import impurity
from relax_mlir.errors import ArgumentTypeError
from relax_mlir.script import from_source, script

n, m = SymExpr.var("n"), SymExpr.var("m")


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with default_context(), ir.Location.unknown():
        yield


@pytest.fixture
def block() -> Iterator[ir.Block]:
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        yield module.body


def value(*dims: object, dtype: str = "float32") -> ir.Value:
    """Return a tensor that comes from nowhere."""
    type_ = T.tensor_type(dims, dtype) if dims != (None,) else T.tensor_type(None, dtype)
    return ir.Operation.create("relax.call_pure_packed", results=[type_]).result


@pytest.mark.parametrize(
    ("kind", "given", "text", "back"),
    [
        ("dim", 3, "3 : i64", SymExpr.const(3)),
        ("dim", n + 1, '#relax.dims<["n"], affine_map<()[s0] -> (s0 + 1)>>', n + 1),
        ("dims", [1, -2], "array<i64: 1, -2>", [SymExpr.const(1), SymExpr.const(-2)]),
        ("dims", 4, "array<i64: 4>", [SymExpr.const(4)]),
        ("dims", [1, n], '#relax.dims<["n"], affine_map<()[s0] -> (1, s0)>>', [1, n]),
        ("number", 1.5, "1.500000e+00 : f64", 1.5),
        ("number", True, "1 : i64", SymExpr.const(1)),
        ("number", n, '#relax.dims<["n"], affine_map<()[s0] -> (s0)>>', n),
        ("int_or_ints", 2, "2 : i64", 2),
        ("int_or_ints", [2], "array<i64: 2>", [2]),
        ("ints", None, "unit", None),
    ],
)
def test_attributes(kind: str, given: object, text: str, back: object) -> None:
    attribute = to_attribute(kind, given)
    assert str(attribute) == text
    assert from_attribute(kind, attribute) == back


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("dim", 1.5, "expected an integer or symbol, got 1.5"),
        ("dims", "12", "expected integers and symbols, got '12'"),
        ("number", "1", "expected a number or symbol, got '1'"),
        ("int_or_ints", [1.5], r"expected int_or_ints, got \[1.5\]"),
        ("dim", 2**63, "expected an integer or symbol"),
        ("ints", [2**63], "expected ints"),
    ],
)
def test_values_of_another_kind(kind: str, given: object, message: str) -> None:
    with pytest.raises(InferError, match=message):
        to_attribute(kind, given)


def test_values_for_the_library() -> None:
    assert constant_value([SymExpr.const(1), SymExpr.const(2)]) == (1, 2)
    assert constant_value(SymExpr.const(4)) == 4
    assert constant_value([SymExpr.const(1), n]) is UNKNOWN
    assert constant_value(None) is None
    kinds = ("tensor", "int", "dims", "str", "number")
    order = library_order([Param(kind, kind) for kind in kinds])
    assert [param.kind for param in order] == ["dims", "number", "int", "str"]


def test_what_build_makes_values_of(block: ir.Block) -> None:
    x = value(n, m)
    total = build("add", [x, 1], {})
    assert total.type == x.type
    assert str(total.owner.operands[1].type) == "tensor<f32>"
    both = build("concat", [[x, np.zeros((2, 3), "float32")]], {})
    assert T.tensor_dims(both.type) == [n + 2, 3]
    assert T.tensor_dims(build("zeros", [[n, 4]], {"dtype": "int8"}).type) == [n, 4]
    assert T.tensor_dims(build("reshape", [x, [-1]], {}).type) == [n * m]
    later = build("reshape", [value(None), [0, -1]], {})
    assert later.owner.operands[1].owner.name == "relax.resolve_shape"


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "message"),
    [
        ("add", [1.5], {}, "add takes 2 operands, got 1"),
        ("concat", [3], {}, "tensors must be a sequence of tensors, got 3"),
        ("zeros", [["n"]], {"dtype": "int8"}, "shape: a shape dimension must be an integer"),
        ("zeros", [3], {"dtype": "int8"}, "shape must be a shape, got 3"),
        ("add", [None, 1], {}, "x1 cannot be left out"),
        ("concat", [[np.zeros((2, 3))]], {"axis": None}, "tensors of 2 dimensions need an axis"),
        ("flip", [np.zeros(3)], {"axis": None}, "axis cannot be None"),
        ("tril", ["x"], {}, "x must be a tensor or number, got 'x'"),
    ],
)
def test_what_build_refuses(
    block: ir.Block, name: str, operands: list, attrs: dict, message: str
) -> None:
    with pytest.raises(InferError, match=message):
        build(name, operands, attrs)
    assert not list(block.operations)


def test_numbers_that_the_dtype_does_not_have(block: ir.Block) -> None:
    x = value(n, dtype="int8")
    for number in (1.5, 300):
        with pytest.raises(InferError, match=f"{number} is not a number of dtype int8"):
            build("add", [x, number], {})
    assert len(list(block.operations)) == 1


def test_operands_left_out() -> None:
    text = script(
        from_source("""
@R.function
def f(q: R.Tensor((1, "n", 2, 4), "float32"), b: R.Tensor((1, 2, "n", "n"), "float32")):
    x = R.nn.attention(q, q, q)
    y = R.nn.attention(q, q, q, b)
    z = R.nn.attention(q, q, q, None, 0.5)
    return (x, y, z)
""")
    )
    assert "= R.nn.attention(q, q, q)\n" in text
    assert "= R.nn.attention(q, q, q, b)\n" in text
    assert "= R.nn.attention(q, q, q, scale=0.5)\n" in text
    found = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "relax.attention":
            found.append([is_absent(operand) for operand in op.operands])
            assert infer_result(op) == op.results[0].type
            assert read_attributes(op, [Param("scale", "float", None)]).keys() == {"scale"}
        return ir.WalkResult.ADVANCE

    from_source(text).mlir_module.operation.walk(visit)
    assert [flags[3] for flags in found] == [True, False, True]


def test_operations_with_an_effect() -> None:
    module = from_source("""
@R.function(pure=False)
def f(x: R.Tensor(("n",), "float32")):
    R.print(x)
    return x
""")
    reasons = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "relax.print":
            reasons.append(impurity(op))
        return ir.WalkResult.ADVANCE

    module.mlir_module.operation.walk(visit)
    assert reasons in ([], ["has a side effect"])


WEAK = """
@R.function
def f(x: R.Tensor, y: R.Tensor(ndim=1)):
    a = 2 * (x + 1)
    return (a, R.maximum(y, 1.5), a > 3)
"""


def test_numbers_take_a_dtype_that_only_run_time_knows() -> None:
    vm = relax.VirtualMachine(relax.build(from_source(WEAK)))
    for dtype in ("float16", "float64", "int8", "uint32"):
        x, y = np.arange(4, dtype=dtype), np.arange(3, dtype="float32")
        got = vm["f"](x, y)
        for found, wanted in zip(
            got, (2 * (x + 1), np.maximum(y, np.float32(1.5)), 2 * (x + 1) > 3), strict=True
        ):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ArgumentTypeError, match=r"1\.5 is not a number of dtype int64.*"):
        vm["f"](x, np.arange(3))


def test_a_dtype_that_is_found_out_while_compiling_makes_a_constant() -> None:
    module = IRModule.parse("""
func.func @f(%x: tensor<3xi16>) -> tensor<3xi16> attributes {relax.function} {
  %0 = "relax.scalar_like"(%x) {value = 2 : i64} : (tensor<3xi16>) -> tensor<i16>
  %1 = "relax.add"(%x, %0) : (tensor<3xi16>, tensor<i16>) -> tensor<3xi16>
  return %1 : tensor<3xi16>
}""")
    executable = relax.build(module)
    assert "scalar_like" not in executable.as_text()
    x = np.arange(3, dtype="int16")
    np.testing.assert_array_equal(relax.VirtualMachine(executable)["f"](x), x + 2)
