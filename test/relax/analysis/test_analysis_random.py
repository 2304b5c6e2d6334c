"""What analyses, visitors and equality say of one program fits together, on random programs."""

import random

import pytest
from random_programs import HELPERS, program

from relax_mlir import relax
from relax_mlir.ir import Op, assert_structural_equal, structural_hash
from relax_mlir.relax import analysis
from relax_mlir.script import from_source


def _program(seed: int) -> str:
    rng = random.Random(seed)
    step = lambda: (rng.randrange(1000), rng.randrange(1000), rng.randrange(1000))  # noqa: E731
    return program([[step() for _ in range(rng.randint(1, 12))] for _ in range(3)])


class _Uses(relax.PyExprVisitor):
    def __init__(self) -> None:
        self.defined: set[relax.Var] = set()
        self.used: set[relax.Var] = set()
        self.early: list[relax.Var] = []

    def visit_var_def_(self, var: relax.Var) -> None:
        self.defined.add(var)

    def visit_var_(self, var: relax.Var) -> None:
        self.used.add(var)
        if var not in self.defined:
            self.early.append(var)


@pytest.mark.parametrize("seed", range(10))
def test_analyses_agree(seed: int) -> None:
    module = from_source(_program(seed))
    assert analysis.well_formed(module)
    assert analysis.estimate_memory_usage(module)
    for name in module.function_names:
        func = module.functions[module.get_global_var(name)]
        if not isinstance(func, relax.Function):
            continue
        bound, every = analysis.bound_vars(func), analysis.all_vars(func)
        assert not analysis.free_vars(func)
        assert set(bound) == set(every)
        uses = _Uses()
        uses.visit_expr(func)
        assert not uses.early
        assert uses.defined == set(bound)
        assert uses.used <= uses.defined
        seen: list[object] = []
        analysis.post_order_visit(func, seen.append)
        assert {each for each in seen if isinstance(each, relax.Var)} <= set(every)
        if name not in HELPERS:
            assert not analysis.free_symbolic_vars(func)
        assert relax.PyExprMutator(module).visit_expr(func) is func
        for block in func.body.blocks:
            chain = analysis.udchain(block)
            assert set(chain) <= set(every)
        assert analysis.remove_all_unused(func) is not None


@pytest.mark.parametrize("seed", range(10))
def test_equality_is_kept_by_copies_and_texts(seed: int) -> None:
    module = from_source(_program(seed))
    for other in (module.clone(), from_source(module.script())):
        assert_structural_equal(module, other)
        assert structural_hash(module) == structural_hash(other)


@pytest.mark.parametrize("op", ["relax.exp", "relax.add"])
def test_another_operation_is_a_difference(op: str) -> None:
    module = from_source(program([[(i, i * 7, i * 3) for i in range(12)]]))
    other = from_source(module.script())
    bb = relax.BlockBuilder(other)
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with bb.function("more", [x]):
        bb.emit_func_output(relax.Call(Op.get(op), [x] * (2 if op.endswith("add") else 1)))
    with pytest.raises(ValueError, match="more"):
        assert_structural_equal(module, bb.get())
