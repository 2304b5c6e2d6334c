"""structural_equal and structural_hash of sequences, functions and variables of a program."""

import pytest
import tvm_ffi

from relax_mlir import ir, relax, tir
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.errors import StructuralEqualError
from relax_mlir.script import from_source

RELU = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    return R.nn.relu(x)
"""


def test_sequences_are_compared_item_by_item() -> None:
    n, m = SymExpr.var("n"), SymExpr.var("m")
    assert ir.structural_equal([n, m * 2], (n, m * 2))
    assert not ir.structural_equal([n, m], [m, n])
    assert ir.structural_equal([n, m], [m, n], map_free_vars=True)
    # One renaming for all items.
    assert not ir.structural_equal([n, n], [n, m], map_free_vars=True)
    assert not ir.structural_equal([n], n)
    assert ir.structural_equal([[n], relax.ShapeType([n])], [[m], relax.ShapeType([m])], True)
    assert ir.structural_hash([n, m]) == ir.structural_hash((n, m)) != ir.structural_hash([m, n])
    assert ir.structural_hash([n, m], True) == ir.structural_hash([m, n], True)
    with pytest.raises(StructuralEqualError, match="item 1: expected n, got m"):
        ir.assert_structural_equal([n, m], [n, n])
    with pytest.raises(StructuralEqualError, match="number of items: expected 1, got 2"):
        ir.assert_structural_equal([n, m], [n])
    with pytest.raises(TypeError, match="not object"):
        ir.assert_structural_equal([object()], [object()])


def test_a_function_is_the_same_as_a_module_of_it_alone() -> None:
    module = from_source(RELU)
    assert ir.structural_equal(module["main"], module)
    assert ir.structural_equal(module, module["main"])
    other = from_source(RELU.replace("relu", "gelu"))
    with pytest.raises(StructuralEqualError, match=r"expected relax\.gelu"):
        ir.assert_structural_equal(module["main"], other)
    two = ir.IRModule({"main": module["main"], "second": module["main"]})
    assert not ir.structural_equal(module["main"], two)


def test_variables_of_a_program_are_the_same_as_themselves() -> None:
    module = from_source(RELU)
    (x,), (y,) = module["main"].params, from_source(RELU)["main"].params
    call = module["main"].body.blocks[0].bindings[0].value
    assert ir.structural_equal(call.args, [x])
    assert ir.structural_equal([x, x], [x, x])
    assert not ir.structural_equal([x], [y])


def test_a_dataflow_block_without_bindings_is_none():
    block = from_source("""
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = x
        R.output(y)
    return R.exp(y)
""")
    plain = from_source("""
@R.function
def main(x: R.Tensor((2,), "float32")):
    return R.exp(x)
""")
    assert ir.structural_equal(block, plain)
    assert ir.structural_hash(block) == ir.structural_hash(plain)


def test_bindings() -> None:
    x = relax.Var("x", relax.TensorType(("n", 3), "float32"))
    y = relax.Var("y")
    cast = [
        relax.MatchCast(relax.Var(name), y, relax.TensorType(shape, "float32"))
        for name, shape in (("a", ("n", "m")), ("b", ("n", "m")), ("c", ("n", "n")))
    ]
    bound = [
        relax.VarBinding(relax.Var(name), value)
        for name, value in (("a", relax.op.add(x, x)), ("b", relax.op.add(x, x)), ("c", x))
    ]
    for first, same, other in (cast, bound):
        assert ir.structural_equal(first, same)
        assert ir.structural_hash(first) == ir.structural_hash(same)
        assert not ir.structural_equal(first, other)
    assert not ir.structural_equal(cast[0], bound[0])
    assert y.ty.is_missing()
    func = from_source(
        "@R.function\ndef main(x: R.Tensor((3,))):\n    y = R.add(x, x)\n    z = R.add(x, x)\n"
        "    return R.subtract(y, z)\n"
    )["main"]
    first, same, other = func.body.blocks[0].bindings
    assert ir.structural_equal(first, same)
    assert not ir.structural_equal(first, other)


def test_tvm_ffi_hashes_bindings_by_what_they_bind() -> None:
    u, n = relax.Var("u"), tir.Var("n")
    binding = relax.MatchCast(relax.Var("v"), u, relax.TensorType([n, 4], "float32"))
    other = relax.MatchCast(relax.Var("v"), u, relax.TensorType([n, 5], "float32"))
    again = ir.load_json(ir.save_json(binding))
    digest = tvm_ffi.structural_hash(binding, True)
    assert digest == tvm_ffi.structural_hash(again, True) != tvm_ffi.structural_hash(other, True)
