"""Matchers of decomposed activations, which become one function each."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.activations import gelu, over_one_plus_exp
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_llvm.math.value_ranges import range_of

_ROOT_HALF = math.sqrt(0.5)


@dataclass(frozen=True)
class Composed:
    """A function found in arithmetic.

    Attributes:
        root: the operation whose result it is.
        function: what computes it.
        operands: of what.
    """

    root: ir.Operation
    function: Callable[..., Lanes]
    operands: list[ir.Value]


def find_composed(op: ir.Operation) -> Composed | None:
    """Return what an operation is the core of: an error function or a division, of f32."""
    if not _is_single(op.results[0].type):
        return None
    return _gelu(op) if op.name == "math.erf" else _logistic(op)


def erase_unused(op: ir.Operation) -> None:
    """Erase an operation of the arithmetic, and what nothing else uses of what it is made of."""
    todo = [op]
    while todo:
        op = todo.pop()
        if any(True for _ in op.results[0].uses):
            continue
        owners = {value.owner for value in op.operands if not isinstance(value.owner, ir.Block)}
        op.erase()
        for made in (owner.operation for owner in owners):
            # Once only: what is erased must not be looked at again.
            if made.name.startswith(("arith.", "math.")) and made not in todo:
                todo.append(made)


def _is_single(type_: ir.Type) -> bool:
    return str(type_.element_type if isinstance(type_, ir.VectorType) else type_) == "f32"


def _gelu(erf: ir.Operation) -> Composed | None:
    """Find x * 1/2 * (1 + erf(x * sqrt(1/2))), in any order."""
    total = _only_user(erf, "arith.addf")
    if total is None or not any(_is_number(value, 1.0) for value in total.operands):
        return None
    root: ir.Operation | None = total
    for _ in range(2):
        root = _only_user(root, "arith.mulf")
        if root is None:
            return None
        factors = [value for value in _factors(root) if value != total.results[0]]
        halves = [value for value in factors if _is_number(value, 0.5)]
        if len(factors) == 2 and len(halves) == 1:
            x = factors[1 - factors.index(halves[0])]
            return Composed(root, gelu, [x]) if _is_over_root(erf.operands[0], x) else None
    return None


def _factors(product: ir.Operation) -> list[ir.Value]:
    """Return the factors of a product, and of those that are products themselves."""
    result = []
    for value in product.operands:
        made = _made_by(value, "arith.mulf")
        result += [value] if made is None else list(made.operands)
    return result


def _is_over_root(value: ir.Value, x: ir.Value) -> bool:
    """Whether a value is x over the square root of 2."""
    divided = _made_by(value, "arith.divf")
    if divided is not None:
        return divided.operands[0] == x and _is_number(divided.operands[1], 1 / _ROOT_HALF)
    product = _made_by(value, "arith.mulf")
    if product is None:
        return False
    a, b = product.operands
    return (a == x and _is_number(b, _ROOT_HALF)) or (b == x and _is_number(a, _ROOT_HALF))


def _logistic(division: ir.Operation) -> Composed | None:
    """Find x / (1 + e**y), or 1 / (1 + e**y) and a product of that and x."""
    dividend, divisor = division.operands
    total = _made_by(divisor, "arith.addf")
    if total is None or _only_user(total, "arith.divf") is None:
        return None
    for one, value in (total.operands, list(total.operands)[::-1]):
        power = _made_by(value, "math.exp")
        if power is None or not _is_number(one, 1.0) or _only_user(power, "arith.addf") is None:
            continue
        product = _only_user(division, "arith.mulf")
        if product is not None and _is_number(dividend, 1.0):
            (dividend,) = (each for each in product.operands if each != division.results[0])
            division = product
        return Composed(division, over_one_plus_exp, [dividend, power.operands[0]])
    return None


def _is_number(value: ir.Value, number: float) -> bool:
    low, high = range_of(value)
    return low == high and abs(low - number) <= 1e-6


def _made_by(value: ir.Value, name: str) -> ir.Operation | None:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != name:
        return None
    return value.owner.operation


def _only_user(op: ir.Operation, name: str) -> ir.Operation | None:
    uses = list(op.results[0].uses)
    user = uses[0].owner.operation if len(uses) == 1 else None
    return user if user is not None and user.name == name else None
