"""Matchers of composed attention: softmax, score modifications, operands."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.symbolic.expr import SymExpr

INFINITY = float("inf")
# How many operations there may be between products and their softmax.
_MAX_STEPS = 16
# A number of float32 that stays what it is when a score is added.
_SWALLOWS = -1e30


@dataclass
class Scores:
    """What becomes of products before their softmax: scale, then biases, then a mask.

    Attributes:
        product: the product of queries and keys.
        scale: what it is multiplied by.
        factors: numbers that only run time knows; whether it is divided by them.
        biases: what is added.
        mask: whether a query sees a key, or None; where `inverted`, whether it does not.
        unseen: the score where it does not.
    """

    product: ir.Operation | None = None
    scale: float = 1.0
    factors: list[tuple[ir.Value, bool]] = field(default_factory=list)
    biases: list[ir.Value] = field(default_factory=list)
    mask: ir.Value | None = None
    inverted: bool = False
    unseen: float = -INFINITY


@dataclass
class Operand:
    """Where a query, key or value comes from.

    Attributes:
        value: the tensor.
        letters: of its dimensions.
        scale: what it is multiplied by.
        heads: how many heads the product was given.
    """

    value: ir.Value
    letters: str
    scale: float = 1.0
    heads: SymExpr | None = None


def attributes(op: ir.Operation) -> dict[str, Any]:
    """Return the attributes of a computation, defaults filled in."""
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)


def owner(value: ir.Value, *names: str) -> ir.Operation | None:
    """Return the operation that makes a value, None where it has another name."""
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    return op if not names or op.name.removeprefix("relax.") in names else None


def uses(value: ir.Value) -> list[ir.Operation]:
    """Return who uses a value, as often as they do."""
    return [use.owner.operation for use in value.uses]


def made_by(value: ir.Value, *names: str) -> ir.Operation | None:
    """Return the operation of one of these names which makes a value that is used once."""
    return owner(value, *names) if len(uses(value)) == 1 else None


def number(value: ir.Value) -> float | None:
    """Return the number that a constant of one element is, None for another value or NaN."""
    op = owner(value, "constant")
    if op is None:
        return None
    array = constant_array(op.attributes["value"])
    if array.size != 1 or array.dtype.kind in "b":
        return None
    result = float(array.reshape(()))
    return result if result == result else None


def axes(op: ir.Operation, rank: int) -> list[int]:
    """Return the axes of a transpose."""
    given = attributes(op)["axes"]
    return list(reversed(range(rank))) if given is None else [axis % rank for axis in given]


def before_zeros(shares: ir.Value) -> ir.Value | None:
    """Return a tensor in whose place this one is but for NaN, which are zeros here."""
    op = made_by(shares, "where")
    if op is None or number(op.operands[1]) != 0.0:
        return None
    test, _, value = op.operands
    nan = made_by(test, "isnan")
    return value if nan is not None and nan.operands[0] == value else None


def softmax_input(shares: ir.Value, rank: int, users: int = 1) -> ir.Value | None:
    """Return what a softmax along the last of so many axes takes, None where shares are none.

    It may be spelled in parts: exponentials of what is left over the largest, by their sum.

    Args:
        shares: what a softmax may make.
        rank: the number of axes.
        users: how often shares are used.
    """
    op = owner(shares, "softmax", "divide")
    if op is None or len(uses(shares)) != users:
        return None
    if op.name == "relax.softmax":
        last = attributes(op)["axis"] in (-1, rank - 1)
        return op.operands[0] if last and len(uses(op.operands[0])) == 1 else None
    exps, total = op.operands
    added, raised = made_by(total, "sum"), owner(exps, "exp")
    if added is None or raised is None or added.operands[0] != exps:
        return None
    less = made_by(raised.operands[0], "subtract")
    if less is None or sorted(o.name for o in uses(exps)) != ["relax.divide", "relax.sum"]:
        return None
    x, peak = less.operands
    top = made_by(peak, "max")
    if top is None or top.operands[0] != x or len(uses(x)) != 2:
        return None
    return x if _is_row_wise(added, rank) and _is_row_wise(top, rank) else None


def _is_row_wise(op: ir.Operation, rank: int) -> bool:
    attrs = attributes(op)
    return attrs["keepdims"] and attrs["axis"] in ([-1], [rank - 1])


def read_scores(value: ir.Value, dtypes: Sequence[str]) -> Scores | None:
    """Return what becomes of products up to a value, None where it is no chain from products.

    Args:
        value: what a softmax takes; it may be used by the parts of that softmax.
        dtypes: that scores may have.
    """
    result, dims = Scores(), T.tensor_dims(value.type)
    first = True
    for _ in range(_MAX_STEPS):
        if T.tensor_dims(value.type) != dims or T.tensor_dtype(value.type) not in dtypes:
            return None
        op = owner(value) if first else made_by(value)
        first = False
        if op is None:
            return None
        step = _STEPS.get(op.name.removeprefix("relax."))
        if op.name == "relax.matmul":
            result.product = op
            return result
        if step is None:
            return None
        before = step(result, op)
        if before is None:
            return None
        value = before
    return None


def _cast(scores: Scores, op: ir.Operation) -> ir.Value | None:
    return op.operands[0]


def mask_of_bias(scores: Scores) -> None:
    """Make a mask of a bias that is 0 where a key is seen, and elsewhere swallows any score."""
    op = owner(scores.biases[0], "where") if len(scores.biases) == 1 else None
    if op is None or scores.mask is not None:
        return
    mask, *values = op.operands
    seen, unseen = (number(value) for value in values)
    inverted = unseen == 0.0
    low = seen if inverted else unseen
    if low is not None and low <= _SWALLOWS and 0.0 in (seen, unseen):
        scores.biases, scores.mask, scores.inverted, scores.unseen = [], mask, inverted, low


def _masked(scores: Scores, op: ir.Operation) -> ir.Value | None:
    if scores != Scores():
        return None
    mask, value, other = op.operands
    score = number(other)
    if score is None:
        value, score, scores.inverted = other, number(value), True
    if score is None or score == INFINITY:
        return None
    scores.mask, scores.unseen = mask, score
    return value


def _added(scores: Scores, op: ir.Operation) -> ir.Value | None:
    if scores.scale != 1.0 or scores.factors:
        return None
    a, b = op.operands
    chain, bias = (a, b) if _leads_to_product(a) else (b, a)
    scores.biases.append(bias)
    return chain


def _scaled(scores: Scores, op: ir.Operation) -> ir.Value | None:
    divides = op.name == "relax.divide"
    a, b = op.operands
    if not divides and not _is_single(b):
        a, b = b, a
    if not _is_single(b):
        return None
    scale = number(b)
    if scale is None:
        scores.factors.append((b, divides))
        return a
    if abs(scale) == INFINITY or (divides and scale == 0.0):
        return None
    scores.scale = scores.scale / scale if divides else scores.scale * scale
    return a


_STEPS = {
    "astype": _cast, "where": _masked, "add": _added, "multiply": _scaled, "divide": _scaled,
}  # fmt: skip


def _is_single(value: ir.Value) -> bool:
    """Whether a tensor has one element."""
    dims = T.tensor_dims(value.type)
    return dims is not None and all(dim == 1 for dim in dims)


def _leads_to_product(value: ir.Value, steps: int = _MAX_STEPS) -> bool:
    op = made_by(value, "matmul", *_STEPS)
    if op is None or not steps:
        return False
    if op.name == "relax.matmul":
        return True
    return any(_leads_to_product(operand, steps - 1) for operand in op.operands)


def read_operand(value: ir.Value, letters: str, dtype: str, *, scaled: bool = True) -> Operand:
    """Return where an operand of a product comes from.

    Args:
        value: the operand.
        letters: of its dimensions.
        dtype: what may have been widened.
        scaled: whether it may be multiplied by a number.
    """
    dims = T.tensor_dims(value.type) or []
    result = Operand(value, letters, heads=dict(zip(letters, dims, strict=False)).get("N"))
    while (op := owner(result.value)) is not None:
        name = op.name.removeprefix("relax.")
        if name == "permute_dims":
            own = [""] * len(letters)
            order = axes(op, len(letters))
            for letter, axis in zip(result.letters, order, strict=True):
                own[axis] = letter
            result.value, result.letters = op.operands[0], "".join(own)
        elif before := _matrices(op):
            result.value = before
            result.letters = result.letters[:-2] + result.letters[:-3:-1]
        elif name == "astype" and _widens(op, dtype):
            result.value = op.operands[0]
        elif scaled and name in ("multiply", "divide"):
            chain = Scores()
            before = _scaled(chain, op)
            same = before is not None and T.tensor_dims(before.type) == T.tensor_dims(
                result.value.type
            )
            if before is None or not same or chain.factors:
                break
            result.value, result.scale = before, result.scale * chain.scale
        elif "N" in result.letters and (fewer := _repeated(op, result.letters.index("N"))):
            result.value = fewer
        else:
            break
    return result


def _matrices(op: ir.Operation) -> ir.Value | None:
    """Return what matrices are transposes of, all in one row meanwhile; None for other values."""
    transposed = owner(op.operands[0], "permute_dims") if op.name == "relax.reshape" else None
    row = None if transposed is None else owner(transposed.operands[0], "reshape")
    if transposed is None or row is None or axes(transposed, 3) != [0, 2, 1]:
        return None
    values = (row.operands[0], row.results[0], op.results[0])
    shapes = T.all_dims(value.type for value in values)
    if shapes is None:
        return None
    source, (_, *matrix), result = shapes
    same = source[:-2] == result[:-2] and source[-2:] == matrix == result[:-3:-1]
    return row.operands[0] if same else None


def _widens(op: ir.Operation, dtype: str) -> bool:
    """Whether a conversion keeps what numbers of a dtype are."""
    before, after = (T.tensor_dtype(value.type) for value in (op.operands[0], op.results[0]))
    return before == dtype and after in (dtype, "float32" if "16" in dtype else "float64")


def _repeated(op: ir.Operation, axis: int) -> ir.Value | None:
    """Return that of which every slice along an axis is repeated in place, None for none."""
    if op.name == "relax.repeat":
        along = attributes(op)["axis"]
        source = op.operands[0]
        rank = T.tensor_ndim(source.type)
        return source if along is not None and along % max(rank, 1) == axis else None
    wide = owner(op.operands[0], "broadcast_to") if op.name == "relax.reshape" else None
    thin = None if wide is None else owner(wide.operands[0], "expand_dims", "reshape")
    if wide is None or thin is None:
        return None
    source = thin.operands[0]
    values = (source, thin.results[0], wide.results[0], op.results[0])
    shapes = T.all_dims(value.type for value in values)
    if shapes is None:
        return None
    few, split, full, merged = shapes
    before, count, after = few[:axis], few[axis : axis + 1], few[axis + 1 :]
    times = full[axis + 1 : axis + 2]
    same = (
        split == [*before, *count, SymExpr.const(1), *after]
        and full == [*before, *count, *times, *after]
        and merged == [*before, *(a * b for a, b in zip(count, times, strict=True)), *after]
    )
    return source if same else None
