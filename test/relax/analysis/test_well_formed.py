"""Functions that Python built and that are no programs: `check_well_formed` says why."""

import re

import pytest

from relax_mlir import relax, tir
from relax_mlir.errors import ExprError
from relax_mlir.ir import IRModule
from relax_mlir.relax import analysis
from relax_mlir.script import relax as R


def test_well_formed_of_built_functions():
    def built(value):
        x, y = (relax.Var(name, R.Tensor((4,), "float32")) for name in "xy")
        bindings = [relax.VarBinding(y, value(x, y))]
        return relax.Function([x], relax.SeqExpr([relax.BindingBlock(bindings)], y))

    assert analysis.check_well_formed(built(lambda x, y: relax.op.exp(x)))
    found = analysis.check_well_formed(built(relax.op.add))
    assert not found
    assert "unknown variable 'y'" in str(found)
    for dtype, problem in (
        ("float32", ""),
        ("int32", "is declared .* but its value is .*int32"),
    ):
        z = relax.Var("z", R.Object)
        relax.expr._update_type(z, R.Tensor((4,), dtype))
        found = analysis.check_well_formed(relax.Function([z], built(lambda x, y, z=z: z).body))
        assert bool(found) is not bool(problem)
        assert re.search(problem, str(found))
    n, m = tir.Var("n"), tir.Var("m")
    x, y = relax.Var("x", R.Tensor((n, m))), relax.Var("y", R.Tensor((n, m, 3)))
    block = relax.BindingBlock([relax.VarBinding(y, x + x)])
    # A module holds what is no program, for the check; what else needs the program says why not.
    for mod in (
        IRModule({"main": relax.Function([x], relax.SeqExpr([block], y))}),
        IRModule.from_expr(relax.Function([x], relax.SeqExpr([block], y))),
    ):
        assert not analysis.check_well_formed(mod)
        assert "not well formed: 'y' is declared" in repr(mod)
        for use in (str, IRModule.script, relax.build, IRModule.clone):
            with pytest.raises(ExprError, match=r"'y' is declared .*, 3\)\), but its value is"):
                use(mod)


def test_variables_are_bound_once_and_where_they_belong():
    x, y = (relax.Var(name, R.Tensor((4,), "float32")) for name in "xy")
    lv = relax.DataflowVar("lv", R.Tensor((4,), "float32"))

    def checked(block, *bindings):
        body = relax.SeqExpr([block(bindings)], bindings[-1].var)
        return str(analysis.check_well_formed(relax.Function([x], body)))

    once, again = relax.VarBinding(y, x + x), relax.VarBinding(y, x * x)
    assert checked(relax.BindingBlock, once) == "well formed"
    assert "'y' is bound twice" in checked(relax.BindingBlock, once, again)
    assert "'y' is bound twice" in checked(relax.DataflowBlock, once, again)
    assert "'lv' is bound outside" in checked(relax.BindingBlock, relax.VarBinding(lv, x + x))
