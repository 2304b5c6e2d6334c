"""Matchers of causal and sliding-window masks."""

from dataclasses import dataclass

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.runtime.values.convert import numpy_dtype
from relax_mlir.transform.fusion.attention_patterns import attributes, owner

_SWAPPED = {
    "less_equal": "greater_equal", "less": "greater", "greater_equal": "less_equal",
    "greater": "less",
}  # fmt: skip


@dataclass(frozen=True)
class Band:
    """Which keys a query sees: those up to its own number, of them the last few.

    Attributes:
        corner: which corners numbers count from, as the operation names it.
        window: how many; None for all.
        sees_some: whether every query sees a key.
    """

    corner: str
    window: int | None
    sees_some: bool


@dataclass(frozen=True)
class _Side:
    """Keys up to (or from) a query's number and an offset; `upper` for up to."""

    upper: bool
    offset: SymExpr


def read_band(mask: ir.Value, inverted: bool, rows: SymExpr, keys: SymExpr) -> Band | None:
    """Return which keys a mask lets queries see, None where it is no such mask.

    Args:
        mask: of bool.
        inverted: whether it says what is not seen.
        rows: how many queries.
        keys: how many keys.
    """
    while (op := owner(mask, "broadcast_to")) is not None:
        mask = op.operands[0]
    dims = T.tensor_dims(mask.type)
    if dims is None or dims[-2:] != [rows, keys] or any(dim != 1 for dim in dims[:-2]):
        return None
    sides = _sides(mask, inverted, [rows, keys])
    if sides is None:
        return _constant_band(mask, inverted)
    upper = [side.offset for side in sides if side.upper]
    lower = [side.offset for side in sides if not side.upper]
    if len(upper) != 1 or len(lower) > 1:
        return None
    window = (upper[0] - lower[0] + 1).value if lower else None
    if lower and (window is None or window < 1):
        return None
    return _band(upper[0], window, rows, keys)


def _band(offset: SymExpr, window: int | None, rows: SymExpr, keys: SymExpr) -> Band | None:
    if offset == 0 and window is None:
        return Band("TopLeft", None, True)
    if offset == keys - rows:
        least = offset.lower_bound()
        return Band("BottomRight", window, least is not None and least >= 0)
    return None


def _constant_band(mask: ir.Value, inverted: bool) -> Band | None:
    op = owner(mask, "constant")
    if op is None:
        return None
    seen = constant_array(op.attributes["value"]).astype(bool) ^ inverted
    rows, keys = (int(size) for size in seen.shape[-2:])
    seen = seen.reshape(rows, keys)
    distance = np.arange(rows)[:, None] - np.arange(keys)
    for offset in {0, keys - rows}:
        window = int(seen[-1].sum()) if rows else 0
        for width in (None, max(window, 1)):
            inside = (distance + offset >= 0) & (width is None or distance + offset < (width or 0))
            if np.array_equal(inside, seen):
                sizes = (SymExpr.const(rows), SymExpr.const(keys))
                return _band(SymExpr.const(offset), width, *sizes)
    return None


def _sides(mask: ir.Value, inverted: bool, sizes: list[SymExpr]) -> list[_Side] | None:
    """Return the conditions that all have to hold, None where they are others."""
    op, dims = owner(mask), T.tensor_dims(mask.type)
    if op is None or dims is None or dims[-2:] != sizes:
        return None
    name = op.name.removeprefix("relax.")
    if name == "logical_not":
        return _sides(op.operands[0], not inverted, sizes)
    if name == "expand_dims" or (name == "astype" and _keeps_zeros(op.operands[0], mask)):
        return _sides(op.operands[0], inverted, sizes)
    if name == "logical_and" and not inverted:
        both = [_sides(operand, False, sizes) for operand in op.operands]
        return None if None in both else [side for each in both for side in each or ()]
    if name in ("tril", "triu"):
        return _triangle(op, name == "tril", inverted)
    return _compared(op, name, inverted) if name in _SWAPPED else None


def _triangle(op: ir.Operation, upper: bool, inverted: bool) -> list[_Side] | None:
    if not _is_full(op.operands[0]):
        return None
    offset = attributes(op)["k"]
    if not isinstance(offset, (int, SymExpr)):
        return None
    offset = SymExpr.of(offset)
    if inverted:
        upper, offset = not upper, offset + (1 if upper else -1)
    return [_Side(upper, offset)]


def _is_full(value: ir.Value) -> bool:
    """Whether no element is zero."""
    numbers = _numbers(value)
    return numbers is not None and bool(numbers.astype(bool).all())


def _numbers(value: ir.Value) -> np.ndarray | None:
    """Return the numbers that a tensor of constants consists of, None where that is not clear."""
    op = owner(value, "constant", "full", "ones", "ones_like", "astype", "broadcast_to")
    if op is None:
        return None
    if op.name == "relax.constant":
        return constant_array(op.attributes["value"])
    if op.name in ("relax.ones", "relax.ones_like"):
        return np.ones((), bool)
    source = op.operands[1 if op.name == "relax.full" else 0]
    numbers = _numbers(source)
    if numbers is None or _keeps_zeros(source, value):
        return numbers
    # What numbers outside of the range become is the machine's choice.
    with np.errstate(invalid="ignore", over="ignore"):
        cast = numbers.astype(numpy_dtype(T.tensor_dtype(value.type)))
        return cast if np.array_equal(cast.astype(numbers.dtype), numbers) else None


def _keeps_zeros(source: ir.Value, target: ir.Value) -> bool:
    """Whether a conversion makes zeros of zeros alone: 0.5 is no such number as an integer."""
    before, after = T.tensor_dtype(source.type), T.tensor_dtype(target.type)
    if before is None or after is None:
        return False
    return after == "bool" or np.can_cast(numpy_dtype(before), numpy_dtype(after))


def _compared(op: ir.Operation, name: str, inverted: bool) -> list[_Side] | None:
    sides = [_line(operand) for operand in op.operands]
    if None in sides:
        return None
    (first, a), (second, b) = [side for side in sides if side is not None]
    if {first, second} != {"row", "key"}:
        return None
    if first == "row":
        name, a, b = _SWAPPED[name], b, a
    if inverted:
        name = {"less_equal": "greater", "greater": "less_equal", "less": "greater_equal",
                "greater_equal": "less"}[name]  # fmt: skip
    # key + a  <name>  row + b
    offset = b - a
    if name in ("less", "less_equal"):
        return [_Side(True, offset - (1 if name == "less" else 0))]
    return [_Side(False, offset + (1 if name == "greater" else 0))]


def _line(value: ir.Value) -> tuple[str, SymExpr] | None:
    """Return whether a tensor numbers rows or keys, and from where."""
    dims = T.tensor_dims(value.type)
    if not dims:
        return None
    what = "row" if len(dims) > 1 and dims[-1] == 1 else "key"
    along = len(dims) - (2 if what == "row" else 1)
    if any(dim != 1 for axis, dim in enumerate(dims) if axis != along):
        return None
    start = SymExpr.const(0)
    while (op := owner(value)) is not None:
        name = op.name.removeprefix("relax.")
        if name in ("expand_dims", "reshape"):
            value = op.operands[0]
        elif name in ("add", "subtract"):
            step = _integer(op.operands[1])
            if step is None:
                return None
            start = start + step if name == "add" else start - step
            value = op.operands[0]
        elif name == "constant":
            array = constant_array(op.attributes["value"]).reshape(-1)
            if not array.size or array.dtype.kind not in "iu":
                return None
            if not np.array_equal(array - array[0], np.arange(array.size)):
                return None
            return what, start + int(array[0])
        elif name == "arange":
            attrs = attributes(op)
            first, end, by = (attrs[key] for key in ("start", "end", "step"))
            if by not in (1, SymExpr.const(1)) or T.tensor_dtype(value.type) not in (
                "int32",
                "int64",
            ):
                return None
            first = SymExpr.const(0) if end is None else first
            return (what, start + first) if isinstance(first, SymExpr) else None
        else:
            return None
    return None


def _integer(value: ir.Value) -> SymExpr | None:
    op = owner(value, "constant", "reshape", "shape_to_tensor")
    if op is None:
        return None
    if op.name == "relax.reshape":
        return _integer(op.operands[0])
    if op.name == "relax.shape_to_tensor":
        sizes = T.shape_dims(op.operands[0].type)
        return sizes[0] if sizes is not None and len(sizes) == 1 else None
    array = constant_array(op.attributes["value"])
    return (
        SymExpr.const(int(array.reshape(())))
        if array.size == 1 and array.dtype.kind in "iu"
        else None
    )
