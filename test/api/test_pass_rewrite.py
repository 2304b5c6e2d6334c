"""Rewrite patterns as passes: Python functions and PDL under MLIR's greedy driver."""

import pytest

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import build
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import PassContext, Sequential, mlir, pattern, pdl, rewrite

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.add"(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
PDL = """
pdl.pattern : benefit(1) {
  %lhs = operand
  %rhs = operand
  %type = type
  %root = operation "relax.add"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  CONSTRAINT
  rewrite %root { REWRITE }
}
"""
TO_MULTIPLY = """
  %new = operation "relax.multiply"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  replace %root with %new
"""


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse(TEXT)


def names(mod):
    return [op.operation.name for op in mod["main"].regions[0].blocks[0].operations]


@pattern("relax.add")
def same_to_multiply(op, rewriter):
    """`x + x` becomes a product, the rest stays."""
    lhs, rhs = op.operands
    if lhs == rhs:
        return build("multiply", [lhs, rhs], {})
    return None


@pattern("relax.multiply")
def to_square(op, rewriter):
    return build("exp", [op.operands[0]], {})


def test_where_it_matches(mod):
    out = rewrite(same_to_multiply)(mod)
    assert names(out) == ["relax.multiply", "relax.add", "func.return"]
    assert names(mod) == ["relax.add", "relax.add", "func.return"]


def test_patterns_work_on_each_others_results(mod):
    assert names(rewrite(same_to_multiply, to_square)(mod))[0] == "relax.exp"


def test_locations_are_kept(mod):
    out = rewrite(same_to_multiply)(mod)
    new = out["main"].regions[0].blocks[0].operations[0]
    assert "3:8" in str(new.location)


def test_benefit_decides():
    tried = []
    first = pattern("relax.add", benefit=3)(lambda op, rewriter: tried.append("first"))
    second = pattern("relax.add")(lambda op, rewriter: tried.append("second"))
    rewrite(second, first)(IRModule.parse(TEXT))
    assert tried[:2] == ["first", "second"]


@pytest.mark.parametrize("as_list", [False, True])
def test_results_in_every_form(mod, as_list):
    @pattern("relax.add")
    def forward(op, rewriter):
        return [op.operands[0]] if as_list else op.operands[0]

    assert names(rewrite(forward)(mod)) == ["func.return"]


def test_a_pattern_that_does_it_itself(mod):
    @pattern("relax.add")
    def mark(op, rewriter):
        if "test.seen" in op.attributes:
            return None
        op.attributes["test.seen"] = ir.UnitAttr.get()
        return True

    assert str(rewrite(mark)(mod)).count("test.seen") == 2


def test_it_is_a_pass_like_any_other(mod):
    both = Sequential([mlir("cse"), rewrite(same_to_multiply, name="Mul", opt_level=3)])
    assert "relax.multiply" not in str(both(mod))
    with PassContext(opt_level=3):
        assert "relax.multiply" in str(both(mod))


def test_a_pattern_that_feeds_itself(mod):
    @pattern("relax.add")
    def swap(op, rewriter):
        return build("add", [op.operands[1], op.operands[0]], {})

    with pytest.raises(PassError, match="pass 'swap' failed: no end after 50 rewrites"):
        rewrite(swap, max_rewrites=50)(mod)


def test_an_error_names_the_operation_and_its_place(mod):
    @pattern("relax.add")
    def wrong(op, rewriter):
        return op.operands[3]

    with pytest.raises(PassError) as caught:
        rewrite(wrong)(mod)
    assert caught.value.pass_name == "wrong"
    assert isinstance(caught.value.__cause__, IndexError)
    (line,) = caught.value.diagnostics
    assert line.startswith("-:3:8: error: 'relax.add' op pattern 'wrong': IndexError")


def test_only_patterns():
    with pytest.raises(TypeError, match=r"is @pattern\('op.name'\) missing"):
        rewrite(lambda op, rewriter: None)


def test_pdl(mod):
    text = PDL.replace("CONSTRAINT", "").replace("REWRITE", TO_MULTIPLY)
    assert names(pdl(text)(mod)) == ["relax.multiply", "relax.multiply", "func.return"]


def test_pdl_with_a_constraint_in_python(mod):
    text = PDL.replace(
        "CONSTRAINT", 'apply_native_constraint "same"(%lhs, %rhs : !pdl.value, !pdl.value)'
    ).replace("REWRITE", TO_MULTIPLY)
    run = pdl(text, constraints={"same": lambda lhs, rhs: lhs == rhs})
    assert names(run(mod)) == ["relax.multiply", "relax.add", "func.return"]


def test_pdl_with_a_rewrite_in_python(mod):
    text = PDL.replace("CONSTRAINT", "").replace(
        "REWRITE",
        '%new = apply_native_rewrite "make"(%root : !pdl.operation) : !pdl.operation\n'
        "  replace %root with %new",
    )
    run = pdl(
        text,
        rewrites={"make": lambda rewriter, op: build("multiply", list(op.operands), {}).owner},
    )
    assert names(run(mod)) == ["relax.multiply", "relax.multiply", "func.return"]


def test_pdl_that_does_not_parse(mod):
    with pytest.raises(PassError, match="pass 'mine' failed: the patterns do not parse"):
        pdl("nonsense", name="mine")(mod)


def test_pdl_with_a_bug_in_python(mod):
    text = PDL.replace(
        "CONSTRAINT", 'apply_native_constraint "bug"(%lhs, %rhs : !pdl.value, !pdl.value)'
    ).replace("REWRITE", TO_MULTIPLY)
    with pytest.raises(PassError, match="ZeroDivisionError"):
        pdl(text, constraints={"bug": lambda lhs, rhs: 1 / 0})(mod)
