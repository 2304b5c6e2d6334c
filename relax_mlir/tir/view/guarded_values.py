"""Values under conditions in scripts: `T.if_then_else(a and b, value, other)`."""

from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices

_WORDS = ("eq", "ne", "lt", "le", "gt", "ge")


def choose(
    condition: ir.Value, type_: ir.Type, then: Callable[[], ir.Value],
    other: Callable[[], ir.Value],
) -> ir.Value:  # fmt: skip
    """Write a choice at the current insertion point; only what is chosen is computed."""
    op = ir.Operation.create("scf.if", results=[type_], operands=[condition], regions=2)
    for region, write in zip(op.regions, (then, other), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            ir.Operation.create("scf.yield", operands=[write()])
    return op.result


def all_of(indices: Indices, conditions: Sequence[Comparison]) -> ir.Value:
    """Write comparisons joined by 'and' at the current insertion point."""
    first, *rest = conditions
    lhs, rhs = indices.scalar(first.lhs), indices.operand(first.rhs)
    value = S.compare(_WORDS[first.sign], lhs, rhs).value
    if not rest:
        return value
    return choose(
        value, value.type, lambda: all_of(indices, rest), lambda: S.const(False, "bool").value
    )


def conditions_of(indices: Indices, value: ir.Value) -> list[Comparison] | None:
    """Return the comparisons that a condition joins by 'and'; None where it is anything else."""
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if op.name == "scf.if":
        other = yielded(op, 1)
        if isinstance(other.owner, ir.Block) or other.owner.operation.name != "arith.constant":
            return None
        if ir.IntegerAttr(other.owner.operation.attributes["value"]).value:
            return None
        first = conditions_of(indices, op.operands[0])
        rest = conditions_of(indices, yielded(op, 0))
        return None if first is None or rest is None else first + rest
    result = indices.conditions(value)
    kept = [each for each in result if isinstance(each, Comparison)]
    return kept if len(kept) == len(result) else None


def yielded(op: ir.Operation, region: int) -> ir.Value:
    """Return what a region of an `scf.if` with one result gives."""
    return list(op.regions[region].blocks[0].operations)[-1].operation.operands[0]
