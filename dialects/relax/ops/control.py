"""Loops, and operations that bind and compare loop counters."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.base import CheckedOp
from relax_mlir.dialects.relax.tuples import field_types, is_tuple
from relax_mlir.dialects.relax.validity import dims_problem
from relax_mlir.dialects.verify import STOCK_TERMINATOR, attribute, expect_parent, op_error

LOOPS = ("relax.while", "relax.for")
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
_LOGIC = ("and", "or", "not")


def is_condition(type_: ir.Type) -> bool:
    """Whether a branch or a loop may decide on a value of this type: a scalar bool."""
    if T.is_tensor(type_):
        return T.tensor_ndim(type_) <= 0 and T.tensor_dtype(type_) in ("bool", "")
    return str(type_) in ("i1", "!relax.object")


def _body(
    view: ir.OpView, index: int, what: str, terminator: str, arguments: Sequence[ir.Type]
) -> ir.Operation | None:
    """Return the terminator of a region of a loop, None after an error was emitted."""
    regions = view.operation.regions
    blocks = list(regions[index].blocks) if index < len(regions) else []
    if len(blocks) != 1:
        op_error(view, f"{what} must be one block, got {len(blocks)}")
        return None
    actual = [argument.type for argument in blocks[0].arguments]
    if actual != list(arguments):
        op_error(
            view,
            f"{what} must take ({', '.join(map(describe, arguments))}), "
            f"got ({', '.join(map(describe, actual))})",
        )
        return None
    operations = list(blocks[0].operations)
    last = operations[-1].operation if operations else None
    if last is None or last.name not in (terminator, STOCK_TERMINATOR):
        op_error(view, f"{what} must end with '{terminator}'")
        return None
    return last


def _verify_carried(view: ir.OpView, position: int) -> list[ir.Type] | None:
    """Return the types of the carried values, None after an error was emitted."""
    op = view.operation
    if len(op.operands) != position + 1 or len(op.results) != 1:
        op_error(view, f"takes {position + 1} operands and has one result")
        return None
    initial = op.operands[position].type
    if not is_tuple(initial):
        op_error(view, f"carries the fields of a tuple, got {describe(initial)}")
        return None
    if op.results[0].type != initial:
        op_error(
            view,
            f"gives what it carries, {describe(initial)}, declared {describe(op.results[0].type)}",
        )
        return None
    return field_types(initial)


def _verify_yield(view: ir.OpView, end: ir.Operation) -> bool:
    """Check that the next turn of a loop gets what the first one got."""
    wanted = view.operation.results[0].type
    result = [operand.type for operand in end.operands]
    if result == [wanted]:
        return True
    return op_error(
        view,
        f"body yields ({', '.join(map(describe, result))}), the carried values are "
        f"{describe(wanted)}",
    )


class WhileOp(CheckedOp, name="while"):
    """Repeats its body as long as its condition holds.

    The operand is the tuple of the values carried into the first turn, the result that of the last
    one. Both regions take the fields; the first ends with `relax.condition`, the second with
    `relax.yield` of the tuple for the next turn.
    """

    initial: ext.Operand[Any]
    result: ext.Result[Any]
    condition: ext.Region
    body: ext.Region

    def check(self) -> bool:
        return _verify_carried(self, 0) is not None

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        carried = field_types(op.operation.results[0].type)
        if _body(op, 0, "condition", "relax.condition", carried) is None:
            return False
        end = _body(op, 1, "body", "relax.yield", carried)
        return end is not None and _verify_yield(op, end)


class ForOp(CheckedOp, name="for"):
    """Repeats its body for every integer of a range; start, stop and step are the first operand.

    The body takes the integer and the carried values, and ends with `relax.yield` of their tuple
    for the next turn. A step of 0 is an error at run time.
    """

    bounds: ext.Operand[Any]
    initial: ext.Operand[Any]
    result: ext.Result[Any]
    body: ext.Region

    def check(self) -> bool:
        op = self.operation
        if _verify_carried(self, 1) is None:
            return False
        bounds = op.operands[0].type
        if not is_tuple(bounds) or [str(t) for t in field_types(bounds)] != ["i64"] * 3:
            return op_error(
                self, f"needs start, stop and step as a tuple of integers, got {describe(bounds)}"
            )
        return True

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        carried = field_types(op.operation.results[0].type)
        integer = ir.IntegerType.get_signless(64, op.operation.context)
        end = _body(op, 0, "body", "relax.yield", [integer, *carried])
        return end is not None and _verify_yield(op, end)


class ConditionOp(CheckedOp, name="condition", traits=[ir.IsTerminatorTrait]):
    """Ends the condition of a `relax.while`: whether there is another turn."""

    value: ext.Operand[Any]

    def check(self) -> bool:
        if not expect_parent(self, "relax.while"):
            return False
        types = [operand.type for operand in self.operation.operands]
        if len(types) == 1 and is_condition(types[0]):
            return True
        return op_error(self, f"takes a scalar bool, got ({', '.join(map(describe, types))})")


class MatchPrimOp(CheckedOp, name="match_prim"):
    """Gives an integer known at run time a symbol, so that shapes can be made of it.

    A symbol that is bound already, or a larger expression, is asserted instead.
    """

    operand: ext.Operand[Any]
    value: Any

    def check(self) -> bool:
        op = self.operation
        value = attribute(op, "value")
        problem = dims_problem(value)
        if problem:
            return op_error(self, f"attribute 'value': {problem}")
        if len(value.dims) != 1:
            return op_error(self, f"needs 'value' to be one expression, got {value}")
        if len(op.operands) != 1 or str(op.operands[0].type) != "i64" or len(op.results):
            return op_error(self, "takes one integer and has no result")
        return True


class ComparePrimOp(CheckedOp, name="compare_prim", traits=[ext.Pure]):
    """Compares two integers; the result is a condition."""

    lhs: ext.Operand[Any]
    rhs: ext.Operand[Any]
    kind: ir.StringAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        kind = attribute(op, "kind")
        if not isinstance(kind, ir.StringAttr) or kind.value not in COMPARISONS:
            return op_error(self, f"'kind' must be one of {', '.join(COMPARISONS)}, got {kind}")
        if [str(v.type) for v in op.operands] != ["i64", "i64"]:
            return op_error(self, "takes two integers")
        if [str(v.type) for v in op.results] != ["i1"]:
            return op_error(self, "has one result of type i1")
        return True


class LogicPrimOp(CheckedOp, name="logic_prim", traits=[ext.Pure]):
    """`and`, `or` and `not` of conditions, whose operand is their tuple."""

    values: ext.Operand[Any]
    kind: ir.StringAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        kind = attribute(op, "kind")
        if not isinstance(kind, ir.StringAttr) or kind.value not in _LOGIC:
            return op_error(self, f"'kind' must be one of {', '.join(_LOGIC)}, got {kind}")
        operands = op.operands[0].type if len(op.operands) == 1 else None
        if operands is None or not is_tuple(operands):
            return op_error(self, "takes the tuple of its conditions")
        types = field_types(operands)
        if not all(map(is_condition, types)) or (kind.value == "not") != (len(types) == 1):
            return op_error(self, f"'{kind.value}' cannot be applied to {describe(operands)}")
        if [str(v.type) for v in op.results] != ["i1"]:
            return op_error(self, "has one result of type i1")
        return True
