"""Recognising integer operations that are guarded: division by 0 or -1, shifts beyond the width.

Building `a // b` makes half a dozen operations when nothing is known of `b`; script shows one
operator.
"""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir


@dataclass(frozen=True)
class Guarded:
    """A guarded operation.

    Attributes:
        word: `//`, `%`, `<<`, `>>`, `T.truncdiv` or `T.truncmod`.
        lhs: left operand.
        rhs: right operand as written.
        inner: the operations that the guard is made of.
    """

    word: str
    lhs: ir.Value
    rhs: ir.Value
    inner: tuple[ir.Operation, ...]


_QUOTIENTS = {"arith.floordivsi": "//", "arith.divsi": "T.truncdiv", "arith.divui": "//"}
_REMAINDERS = {"arith.remsi": "T.truncmod", "arith.remui": "%"}


def find_guarded(op: ir.Operation) -> dict[ir.Operation, Guarded]:
    """Return the guarded operations of a function by their last operation."""
    result: dict[ir.Operation, Guarded] = {}

    def visit(inner: ir.Operation) -> ir.WalkResult:
        inner = inner.operation
        guarded = _quotient(inner) or _remainder(inner) or _shift(inner)
        if guarded is not None:
            result[inner] = guarded
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return result


def _made_by(value: ir.Value, *names: str) -> ir.Operation | None:
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    return op if op.name in names else None


def _is_number(value: ir.Value, number: int) -> bool:
    op = _made_by(value, "arith.constant")
    if op is None:
        return False
    attribute = op.attributes["value"].maybe_downcast()
    return isinstance(attribute, ir.IntegerAttr) and attribute.value == number


def _equals(value: ir.Value, number: int) -> ir.Operation | None:
    """Return the comparison of something with a number."""
    op = _made_by(value, "arith.cmpi")
    if op is None or ir.IntegerAttr(op.attributes["predicate"]).value != 0:
        return None
    return op if _is_number(op.operands[1], number) else None


def _divisor(value: ir.Value) -> tuple[ir.Value, list[ir.Operation]] | None:
    """Recognise select(b == 0 or b == -1, 1, b)."""
    op = _made_by(value, "arith.select")
    if op is None or not _is_number(op.operands[1], 1):
        return None
    either = _made_by(op.operands[0], "arith.ori")
    zero = _equals(either.operands[0] if either else op.operands[0], 0)
    if zero is None or zero.operands[0] != op.operands[2]:
        return None
    inner = [op, zero]
    if either is not None:
        minus_one = _equals(either.operands[1], -1)
        if minus_one is None:
            return None
        inner += [either, minus_one]
    return op.operands[2], inner


def _quotient(op: ir.Operation) -> Guarded | None:
    if op.name != "arith.select" or not _is_number(op.operands[1], 0):
        return None
    middle = _made_by(op.operands[2], "arith.select")
    if middle is not None:
        negated = _made_by(middle.operands[1], "arith.subi")
        if negated is None or not _is_number(negated.operands[0], 0):
            return None
        division = _made_by(middle.operands[2], *_QUOTIENTS)
        inner = [middle, negated]
    else:
        division = _made_by(op.operands[2], "arith.divui")
        inner = []
    divisor = _divisor(division.operands[1]) if division is not None else None
    if division is None or divisor is None:
        return None
    if (
        middle is not None
        and middle.operands[1].owner.operation.operands[1] != division.operands[0]
    ):
        return None
    inner = [*inner, division, *divisor[1]]
    return Guarded(_QUOTIENTS[division.name], division.operands[0], divisor[0], tuple(inner))


def _remainder(op: ir.Operation) -> Guarded | None:
    if op.name in _REMAINDERS:
        divisor = _divisor(op.operands[1])
        if divisor is None:
            return None
        return Guarded(_REMAINDERS[op.name], op.operands[0], divisor[0], tuple(divisor[1]))
    if op.name != "arith.subi":
        return None
    product = _made_by(op.operands[1], "arith.muli")
    if product is None:
        return None
    division = _made_by(product.operands[0], "arith.floordivsi")
    if division is None or division.operands[0] != op.operands[0]:
        return None
    if product.operands[1] != division.operands[1]:
        return None
    divisor = _divisor(division.operands[1])
    rhs, inner = divisor if divisor is not None else (division.operands[1], [])
    return Guarded("%", op.operands[0], rhs, (product, division, *inner))


def _shift(op: ir.Operation) -> Guarded | None:
    """Recognise select(b <= last, a << min(b, last), 0), and a >> min(b, last) where signed."""
    shift = op if op.name == "arith.shrsi" else None
    inner: list[ir.Operation] = []
    if op.name == "arith.select" and _is_number(op.operands[2], 0):
        shift = _made_by(op.operands[1], "arith.shli", "arith.shrui")
        compare = _made_by(op.operands[0], "arith.cmpi")
        if shift is None or compare is None:
            return None
        inner = [shift, compare]
    clamp = _made_by(shift.operands[1], "arith.minui") if shift is not None else None
    if shift is None or clamp is None:
        return None
    if len(inner) == 2 and list(inner[1].operands) != list(clamp.operands):
        return None
    word = "<<" if shift.name == "arith.shli" else ">>"
    return Guarded(word, shift.operands[0], clamp.operands[0], (*inner, clamp))
