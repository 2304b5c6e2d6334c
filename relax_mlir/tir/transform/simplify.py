"""Simplification of indices, conditions and predicates by the ranges of variables."""

from relax_mlir.dialects.bindings import ir, passmanager
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.lowering.tir_to_vector.scheduled.index import integer_of
from relax_mlir.lowering.walk import collect
from relax_mlir.tir.transform.cleanup import remove_zero_trip
from relax_mlir.tir.transform.functions import prim_funcs
from relax_mlir.tir.view.conditions import Comparison, assume
from relax_mlir.tir.view.edit import normalize
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.simplify import simplify as simplified

# Upstream folds constants through arithmetic and takes branches that are decided.
_FOLD = "func.func(canonicalize{region-simplify=disabled})"


def simplify(op: ir.Operation) -> None:
    """Simplify index arithmetic, minima, quotients, conditions, predicates and dead branches.

    Variables of loops and blocks are known by their ranges, sizes to be no less than 0; what a
    condition says holds where it is true.

    Args:
        op: the module, changed in place.
    """
    with op.context, op.location:
        fold = passmanager.PassManager.parse(_FOLD)
        for func in prim_funcs(op):
            fold.run(func.operation)
            indices = Indices(func.operation)
            for top in collect(func.operation, _is_nest):
                if top.parent.operation.name not in ("tir.for", "tir.block"):
                    normalize(indices, top)
            indices = Indices(func.operation)
            for condition in collect(func.operation, lambda op: op.name == "arith.cmpi"):
                _decide(condition, indices)
            for condition in collect(func.operation, _has_indices):
                _shorten(condition, indices)
            fold.run(func.operation)
            remove_zero_trip(func)


stmt_simplify = simplify
# Quotients and remainders that splits leave behind come to one form there too.
renormalize_split_pattern = simplify


def _is_nest(op: ir.Operation) -> bool:
    return op.name in ("tir.for", "tir.block")


def _has_indices(op: ir.Operation) -> bool:
    return op.name in ("memref.load", "memref.store", "arith.index_cast") or (
        op.name == "arith.cmpi" and isinstance(op.operands[0].type, ir.IndexType)
    )


def _decide(op: ir.Operation, indices: Indices) -> None:
    """Replace a comparison that is certain, either way, by its answer."""
    conditions = indices.conditions(op.results[0])
    if len(conditions) != 1 or not isinstance(conditions[0], Comparison):
        return
    facts, one = _facts(op, indices), conditions[0]
    answer = None
    if one.holds(facts):
        answer = True
    elif Comparison(one.lhs, _OPPOSITE[one.sign], one.rhs).holds(facts):
        answer = False
    if answer is None:
        return
    with op.location, ir.InsertionPoint(op):
        type_ = op.results[0].type
        made = ir.Operation.create(
            "arith.constant", results=[type_], attributes={"value": ir.BoolAttr.get(answer)}
        )
    op.results[0].replace_all_uses_with(made.results[0])


# By arith.cmpi's numbers: eq ne, ne eq, slt sge, sle sgt, sgt sle, sge slt.
_OPPOSITE = (1, 0, 5, 4, 3, 2)


def _shorten(op: ir.Operation, indices: Indices) -> None:
    """Write an operation's indices as simply as can be."""
    facts = None
    for position, value in enumerate(list(op.operands)):
        if not isinstance(value.type, ir.IndexType) or isinstance(value.owner, ir.Block):
            continue
        if isinstance(integer_of(value), int):
            continue
        facts = facts or _facts(op, indices)
        old = indices.lift(value)
        new = simplified(old, facts)
        if new != old or _is_roundabout(value, new, indices):
            with op.location, ir.InsertionPoint(op):
                op.operands[position] = indices.emit(new)


def _is_roundabout(value: ir.Value, expr: SymExpr, indices: Indices) -> bool:
    """Whether a value takes a minimum, maximum or quotient that its expression has no more of."""
    if expr.is_const:
        return True
    plain = None if expr.name is None else indices.value_of(expr.name)
    if plain is not None and plain != value:
        return True
    result, todo = set(), [value]
    while todo:
        owner = todo.pop().owner
        if not isinstance(owner, ir.Block):
            result.add(owner.operation.name)
            todo += owner.operation.operands
    spelled = str(expr)
    return any(name in result and word not in spelled for name, word in _WORDS.items())


_WORDS = {"arith.maxsi": "max", "arith.minsi": "min", "arith.floordivsi": "//"}


def _facts(op: ir.Operation, indices: Indices) -> Facts:
    """Return what is known at an operation, conditions of the branches around it included."""
    facts = indices.facts(op)
    inner, outer = op, op.parent.operation
    while inner.name != "func.func":
        if outer.name == "scf.if" and inner.block == outer.regions[0].blocks[0]:
            assume(facts, indices.conditions(outer.operands[0]))
        if outer.name == "tir.block" and inner.block == outer.regions[0].blocks[0]:
            assume(facts, indices.block_conditions(outer))
        if outer.name == "func.func":
            break
        inner, outer = outer, outer.parent.operation
    return facts
