"""Constant folding, with the same results as when a script is parsed."""

from collections.abc import Callable

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.lowering.walk import replace_by_body
from relax_mlir.tir.view.index import Indices

_WIDTH_OF_INDEX = 64
_COMPARISONS: list[Callable[[int, int], bool]] = [
    lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b,
    lambda a, b: a > b, lambda a, b: a >= b,
]  # fmt: skip
_SIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.maxsi": max,
    "arith.minsi": min,
}
_DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "arith.floordivsi": lambda a, b: a // b,
    "arith.divsi": lambda a, b: _truncated(a, b),
    "arith.remsi": lambda a, b: a - _truncated(a, b) * b,
}
_SHIFTS: dict[str, Callable[[int, int], int]] = {
    "arith.shli": lambda a, b: a << b,
    "arith.shrsi": lambda a, b: a >> b,
}
_EXTENSIONS = ("arith.extsi", "arith.extui")
_UNSIGNED: dict[str, Callable[[int, int], int]] = {"arith.maxui": max, "arith.minui": min}
# Integers up to here are float64's, so that one rounding makes a narrower float of them.
_EXACT = 1 << 53
_NIBBLE = 4


def fold(indices: Indices, top: ir.Operation) -> None:
    """Compute what an operation computes of nothing but numbers and sizes.

    Such arithmetic comes of iterators that were replaced by numbers, and reading a script does it.
    Additions of 0 and multiplications by 0 and 1 of indices go too, and branches that are decided.

    Args:
        indices: of the function.
        top: a block or a loop, changed in place.
    """
    for region in top.regions:
        for block in region.blocks:
            _fold_all(indices, [view.operation for view in block.operations])


def number_of(value: ir.Value) -> int | None:
    """Return an integer that is a constant, as a signed one; None for any other value."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    if isinstance(value.type, ir.FloatType):
        return None
    return int(ir.IntegerAttr(value.owner.operation.attributes["value"]).value)


def _fold_all(indices: Indices, ops: list[ir.Operation]) -> None:
    for op in ops:
        if op.name == "scf.if" and len(op.results):
            taken = number_of(op.operands[0])
            if taken is not None:
                branch = op.regions[0 if taken else 1].blocks[0]
                _fold_all(indices, replace_by_body(op, branch))
                continue
        fold(indices, op)
        if op.name.startswith(("arith.", "math.")) and op.name != "arith.constant":
            made = _result(indices, op)
            if made is not None and made != op.results[0]:
                op.results[0].replace_all_uses_with(made)


def _result(indices: Indices, op: ir.Operation) -> ir.Value | None:
    """Return a simpler value for the result of an operation, None for none."""
    type_ = op.results[0].type
    if isinstance(type_, ir.IndexType):
        expr = indices.lift(op.results[0])
        if all(indices.value_of(name) is None for name in expr.symbols):
            return indices.entry(expr)
        same = _unchanged(op)
        if same is not None:
            return same
    again = _copied_again(op)
    if again is not None:
        return again
    if op.name == "arith.select":
        taken = number_of(op.operands[0])
        return None if taken is None else op.operands[1 if taken else 2]
    numbers = [number_of(each) for each in op.operands]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or not known:
        return None
    if op.name == "arith.trunci" and _width(type_) == _NIBBLE:
        # Scripts have numbers of a byte, of which a store keeps the low four bits.
        return None
    if op.name == "arith.cmpi" and _guards_block(op.results[0]):
        # A script has no word for two numbers compared: the predicate would read differently.
        return None
    with ir.InsertionPoint(op), op.location:
        if op.name == "arith.sitofp":
            if abs(known[0]) > _EXACT:
                return None
            return S.arith.ConstantOp(type_, ir.FloatAttr.get(type_, float(known[0]))).result
        value = _computed(op, known)
        if value is None:
            return None
        width = _width(type_)
        value = value & ((1 << width) - 1)
        signed = value - (1 << width) if width > 1 and value >> (width - 1) else value
        return S.arith.ConstantOp(type_, ir.IntegerAttr.get(type_, signed)).result


def _copied_again(op: ir.Operation) -> ir.Value | None:
    """Return the byte by way of which four bits were copied, where a copy of them widens it."""
    if op.name not in _EXTENSIONS:
        return None
    narrowed = op.operands[0].owner
    if isinstance(narrowed, ir.Block) or narrowed.operation.name != "arith.trunci":
        return None
    byte = narrowed.operation.operands[0]
    wide = byte.owner
    if isinstance(wide, ir.Block) or wide.operation.name != op.name:
        return None
    same = (
        wide.operation.operands[0].type == op.operands[0].type and byte.type == op.results[0].type
    )
    return byte if same else None


def _computed(op: ir.Operation, known: list[int]) -> int | None:
    """Return what an operation makes of integers, None where it is not known here."""
    name = op.name
    if name in ("arith.index_cast", "arith.extsi", "arith.trunci"):
        return known[0]
    if name == "math.absi":
        return abs(known[0])
    if len(known) != 2:
        return None
    width = _width(op.operands[0].type)
    plain = [number % (1 << width) for number in known]
    if name == "arith.cmpi":
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        if predicate < len(_COMPARISONS):
            return int(_COMPARISONS[predicate](*known))
        return int(_COMPARISONS[predicate - 4](*plain))
    if name in _UNSIGNED:
        return _UNSIGNED[name](*plain)
    if name in _DIVISIONS:
        return _DIVISIONS[name](*known) if known[1] else None
    if name in _SHIFTS:
        return _SHIFTS[name](*known) if plain[1] < width else None
    return _SIGNED[name](*known) if name in _SIGNED else None


def _unchanged(op: ir.Operation) -> ir.Value | None:
    """Return the operand that an addition of 0 or a multiplication by 0 or 1 gives."""
    if op.name not in ("arith.addi", "arith.subi", "arith.muli"):
        return None
    lhs, rhs = op.operands
    left, right = number_of(lhs), number_of(rhs)
    if op.name == "arith.muli":
        return rhs if left == 1 or right == 0 else lhs if right == 1 or left == 0 else None
    return lhs if right == 0 else rhs if left == 0 and op.name == "arith.addi" else None


def _guards_block(value: ir.Value) -> bool:
    """Whether a condition is in the predicate of a block."""
    users = [use.owner.operation for use in value.uses]
    return any(
        user.name == "tir.where" or (user.name == "arith.andi" and _guards_block(user.results[0]))
        for user in users
    )


def _width(type_: ir.Type) -> int:
    return type_.width if isinstance(type_, ir.IntegerType) else _WIDTH_OF_INDEX


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient
