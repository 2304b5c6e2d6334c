"""Value ranges of floats, from the operations that compute them."""

import math
from collections.abc import Callable

from relax_mlir.dialects.bindings import ir

Range = tuple[float, float]
_ALL: Range = (-math.inf, math.inf)
# The mark of an operation whose result is at most 0.
UP_TO_ZERO = "up_to_zero"
# How far a value is followed.
_DEPTH = 8


def range_of(value: ir.Value, depth: int = _DEPTH) -> Range:
    """Return the least and the greatest number that a float, or a vector of them, may be.

    NaN is not counted.
    """
    if isinstance(value.owner, ir.Block) or depth == 0:
        return _ALL
    op = value.owner.operation
    if op.name == "arith.constant":
        return _constant(op)
    if UP_TO_ZERO in op.attributes:
        return -math.inf, 0.0
    rule = _RULES.get(op.name)
    if rule is None:
        return _ALL
    operands = list(op.operands)
    if op.name == "arith.select":
        return _select(operands, depth - 1)
    result = rule(*(range_of(operand, depth - 1) for operand in operands))
    return _ALL if any(math.isnan(bound) for bound in result) else result


def _constant(op: ir.Operation) -> Range:
    attr = op.attributes["value"]
    if isinstance(attr, ir.DenseElementsAttr):
        if not attr.is_splat:
            return _ALL
        attr = attr.get_splat_value()
    number = attr.value if isinstance(attr, ir.FloatAttr) else math.nan
    return _ALL if math.isnan(number) else (number, number)


def _select(operands: list[ir.Value], depth: int) -> Range:
    """Return the range of one or the other; choosing the smaller one bounds it by both."""
    condition, *chosen = operands
    ranges = [range_of(value, depth) for value in chosen]
    either = min(low for low, _ in ranges), max(high for _, high in ranges)
    if isinstance(condition.owner, ir.Block):
        return either
    compared = condition.owner.operation
    if compared.name != "arith.cmpf":
        return either
    predicate = ir.IntegerAttr(compared.attributes["predicate"]).value
    pairs = zip(compared.operands, chosen, ranges, strict=True)
    if predicate in _LESS and all(
        a == b or (one[0] == one[1] and range_of(a, depth) == one) for a, b, one in pairs
    ):
        return _least(*ranges)
    return either


def _least(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def _greatest(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


def _magnitude(a: Range) -> Range:
    low = 0.0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))
    return low, max(abs(a[0]), abs(a[1]))


def _product(a: Range, b: Range) -> Range:
    ends = [x * y if x and y else 0.0 for x in a for y in b]
    return min(ends), max(ends)


def _power(a: Range) -> Range:
    # One rounding may pass what is exact.
    low, high = (math.exp(min(bound, 700.0)) for bound in a)
    return low * 0.999, high * 1.001 if a[1] < 700 else math.inf


_LESS = (4, 5)  # of arith.cmpf: ordered, less, and less or equal
_RULES: dict[str, Callable[..., Range]] = {
    "arith.addf": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "arith.maximumf": _greatest,
    "arith.maxnumf": _greatest,
    "arith.minimumf": _least,
    "arith.minnumf": _least,
    "arith.mulf": _product,
    "arith.negf": lambda a: (-a[1], -a[0]),
    "arith.select": _least,
    "arith.subf": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "math.absf": _magnitude,
    "math.exp": _power,
    "vector.broadcast": lambda a: a,
}
