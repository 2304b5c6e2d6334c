"""A program to rewrite, and the check that a mutator makes of it what it should."""

from relax_mlir import ir, relax
from relax_mlir.relax import analysis
from relax_mlir.relax.expr import Function, Op, functions
from relax_mlir.relax.expr_functor import PyExprMutator
from relax_mlir.script import from_source

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n"
BEFORE = """
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32"),
             flag: R.Tensor((), "bool")):
        a = R.add(x, y)
        with R.dataflow():
            b = R.exp(a)
            c = R.add(b, R.const(1.0))
            d = R.multiply(c, b)
            R.output(c, d)
        if flag:
            e = R.abs(c)
            r = R.add(e, d)
        else:
            r = R.add(c, x)
        return (r, d)
"""
WITHOUT_EXP = (
    BEFORE.replace("            b = R.exp(a)\n", "").replace("(b,", "(a,").replace(", b)", ", a)")
)
ADD, EXP, MULTIPLY = (Op.get(f"relax.{name}") for name in ("add", "exp", "multiply"))


def module(source=BEFORE):
    """Return the module of some functions' source."""
    return from_source(HEAD + source)


def put(mod, func):
    """Return the module with another function in place of main, after checking it."""
    bb = relax.BlockBuilder(mod)
    bb.update_func("main", func)
    made = bb.get()
    made.verify()
    analysis.check_well_formed(made)
    return made


def rewrite(cls, source=BEFORE, expected=None):
    """Return the module with main rewritten, None where that must be the very function."""
    mod = module(source)
    before = ir.structural_hash(mod)
    func = functions(mod)["main"]
    found = cls(mod).visit_expr(func)
    assert ir.structural_hash(mod) == before
    if expected is None:
        assert found is func
        return None
    assert isinstance(found, Function)
    made = put(mod, found)
    ir.assert_structural_equal(made, module(expected))
    return made


def replaced(old, new, source=BEFORE):
    """Return a source with one text in place of another that is in it."""
    assert old in source
    return source.replace(old, new)


class Same(PyExprMutator):
    """Changes nothing."""
