"""`save_json` and `load_json`: what is read equals what was written, and parts stay shared."""

import json

import numpy as np
import pytest

from relax_mlir import DataType, ir, relax, tir
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.supply import UniqueNameSupply
from relax_mlir.relax import op
from relax_mlir.runtime import convert
from relax_mlir.script import from_source

n = tir.var("n")
TENSOR = relax.TensorType((n, 4), "float32")
TYPES = [
    TENSOR, relax.TensorType(ndim=2), relax.ShapeType([n + 1, 3]), relax.ShapeType(ndim=1),
    relax.TupleType([TENSOR, relax.ObjectType()]), relax.FuncType([TENSOR], TENSOR, False),
    relax.FuncType.opaque_func(), relax.PrimType("float16"), relax.PrimType("int64", n * 2),
    relax.PackedFuncType(),
]  # fmt: skip


@pytest.mark.parametrize("ty", TYPES, ids=str)
def test_types(ty):
    assert ir.load_json(ir.save_json(ty)) == ty
    assert type(ir.load_json(ir.save_json(ty))) is type(ty)


def test_expressions_share_what_they_shared():
    x = relax.Var("x", TENSOR)
    half = op.multiply(x, relax.const(0.5))
    expr = relax.If(relax.const(True), op.add(half, half), op.sum(half, axis=[1], keepdims=True))
    found = ir.load_json(ir.save_json(expr))
    assert ir.structural_equal(found, expr, map_free_vars=True)
    left, right = found.true_branch.body.args
    assert left is right
    v = relax.DataflowVar("v")
    block = relax.DataflowBlock([relax.MatchCast(v, relax.Var("u"), TENSOR)])
    found = ir.load_json(ir.save_json(relax.SeqExpr([block], v)))
    assert type(found.blocks[0]) is relax.DataflowBlock
    assert found.blocks[0].bindings[0].var is found.body
    assert found.body.ty.is_missing()


def test_modules_tensors_and_containers():
    module = from_source("""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    return R.add(x, R.const(1.0))
""")
    assert ir.structural_equal(ir.load_json(ir.save_json(module)), module)
    assert ir.structural_equal(ir.load_json(ir.save_json(module["main"])), module["main"])
    for dtype in ("float32", "int8", "bool", "float16"):
        for shape in ((), (0, 2), (3,)):
            array = np.ones(shape, dtype)
            found = ir.load_json(ir.save_json({"a": [array, None]}))["a"][0]
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array)
    values = [1, 2.5, True, float("inf"), float("-inf"), "xy\x01z", n * 2]
    assert ir.load_json(ir.save_json(values)) == values
    assert ir.load_json(ir.save_json(convert([1, "a"]))) == [1, "a"]


def test_scalar_expressions():
    a = tir.const(1.5, "float32")
    expr = a * tir.const(2.0, "float32") + tir.min_value("float32")
    assert ir.structural_equal(ir.load_json(ir.save_json(expr)), expr)
    assert not ir.structural_equal(tir.const(1.0, "float32"), tir.const(1.0, "float64"))
    assert not ir.structural_equal(a, tir.const(2.5, "float32"))


def test_what_has_no_form():
    with pytest.raises(ExprTypeError, match="no form for object"):
        ir.save_json(object())
    for text in ("{", "{}", '{"root": {"class": "Popen", "fields": {}}}', '{"root": {"_x": 1}}'):
        with pytest.raises(ExprTypeError, match="expected what save_json writes"):
            ir.load_json(text)


def test_nodes_by_name():
    attrs = ir.make_node("ir.DictAttrs", x=1, name="xyz")
    assert isinstance(attrs, ir.DictAttrs)
    assert (attrs.x, attrs["name"], len(attrs)) == (1, "xyz", 2)
    assert ir.structural_equal(attrs, ir.make_node("ir.DictAttrs", name="xyz", x=1))
    assert not ir.structural_equal(attrs, ir.make_node("ir.DictAttrs", x=1, name=None))
    assert ir.load_json(ir.save_json(attrs)).x == 1
    number = ir.make_node("ir.IntImm", ty=ir.PrimType("int32"), value=10, span=None)
    assert (number.value, number.dtype) == (10, "int32")
    with pytest.raises(ExprTypeError, match=r"no class 'ir\.Nothing'"):
        ir.make_node("ir.Nothing")
    with pytest.raises(ExprTypeError, match=r"relax\.StringImm"):
        ir.make_node("relax.StringImm", text="a")
    assert "tvm_version" in json.loads(ir.save_json(1))["metadata"]


def test_names_and_dtypes():
    names = UniqueNameSupply("p")
    assert [names.fresh_name("x"), names.fresh_name("x"), names.fresh_name("")] == [
        "p_x", "p_x_1", "p_v",
    ]  # fmt: skip
    assert names.reserve_name("y", add_prefix=False) == "y"
    assert names.contains_name("y", add_prefix=False)
    assert not names.contains_name("y")
    assert names.fresh_name("y", add_prefix=False, add_underscore=False) == "y1"
    assert DataType("float32x4").itemsize == 16


def test_hashes_of_tvm_ffi():
    structural_hash = pytest.importorskip("tvm_ffi").structural_hash
    for ty in TYPES:
        assert structural_hash(ty) == structural_hash(ir.load_json(ir.save_json(ty)))
    word = relax.StringImm("int8")
    assert structural_hash(word) == structural_hash(relax.StringImm("int8"))
    assert structural_hash(word) != structural_hash(relax.DataTypeImm("int8"))
