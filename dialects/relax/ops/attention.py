"""Attention: softmax of products of queries and keys, applied to values."""

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, broadcast_dims, join_dtypes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.elementwise import expect_kind
from relax_mlir.dialects.symbolic.expr import SymExpr

CAUSAL_MASKS = ("TopLeft", "BottomRight")
# Dimensions of the operands by letter, in the operation's own order: batch, length (of the
# sequence), heads (their number), depth of a head.
LAYOUT = "BSNH"


def operand_layouts(layout: str) -> list[str]:
    """Return the letters of the dimensions of query, key, value and result.

    Args:
        layout: letters of all four, or of each, by comma. Batch and heads may be left out: there is
            one then.

    Raises:
        InferError: it is no layout.
    """
    each = layout.split(",")
    each = each * 4 if len(each) == 1 else each
    for letters in each:
        known = len(set(letters)) == len(letters) and set("SH") <= set(letters) <= set(LAYOUT)
        if len(each) != 4 or not known:
            raise InferError(
                f"layout must be letters of {LAYOUT} with S and H, or four such by comma, "
                f"got {layout!r}"
            )
    return each


def dims_by_letter(dims: Sequence[SymExpr], letters: str) -> dict[str, SymExpr]:
    """Return a tensor's dimensions by letter, those that it does not have as 1."""
    result = {letter: SymExpr.const(1) for letter in LAYOUT}
    result.update(zip(letters, dims, strict=True))
    return result


def heads_of_each(query: SymExpr, key: SymExpr) -> SymExpr | None:
    """Return how many heads of queries share one of keys, None where that is not known."""
    if query == key:
        return SymExpr.const(1)
    if key.value == 0:
        return None
    count = query // key
    return count if count * key == query else None


def bias_dims(dims: Sequence[SymExpr]) -> list[SymExpr]:
    """Return the dimensions of a bias as batch, heads, queries and keys, those left out as 1."""
    one = SymExpr.const(1)
    batch, *queries, keys = dims if len(dims) < 4 else (dims[0], *dims[2:])
    heads = dims[1] if len(dims) == 4 else one
    return [batch, heads, *(queries or [one]), keys]


def _same(what: str, first: SymExpr, second: SymExpr) -> None:
    if first != second and (first - second).is_const:
        raise InferError(f"{what} must match, got {first} and {second}")


def _check_mask(attrs: dict[str, Any]) -> None:
    if attrs["causal_mask"] not in (None, *CAUSAL_MASKS):
        raise InferError(
            f"causal_mask must be one of {', '.join(CAUSAL_MASKS)} or None, "
            f"got {attrs['causal_mask']}"
        )
    if attrs["window_size"] is not None:
        if attrs["causal_mask"] != "BottomRight":
            raise InferError("window_size needs causal_mask='BottomRight'")
        if attrs["window_size"] < 1:
            raise InferError(f"window_size must be positive, got {attrs['window_size']}")


def _attention(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    *layouts, result = operand_layouts(attrs["layout"])
    for name, type_, letters in zip(("query", "key", "value"), types, layouts, strict=False):
        expect_kind(type_, "floating-point", name)
        ndim = T.tensor_ndim(type_)
        if ndim not in (-1, len(letters)):
            raise InferError(f"{name} must have {len(letters)} dimensions, got {ndim}")
    *floats, mask = types
    dtype = join_dtypes([type_ for type_ in floats if type_ is not None])
    _check_mask(attrs)
    dims_of = [T.tensor_dims(type_) for type_ in types[:3]]
    known = [dims for dims in dims_of if dims is not None]
    if mask is not None:
        expect_kind(mask, "bool", "mask")
    for name, added in (("bias", types[3]), ("mask", mask)):
        if added is not None and T.tensor_ndim(added) not in (-1, 2, 3, 4):
            raise InferError(f"{name} must have 2, 3 or 4 dimensions, got {T.tensor_ndim(added)}")
    if len(known) < len(dims_of):
        return T.tensor_type(None, dtype, len(result))
    query, key, value = (
        dims_by_letter(dims, letters) for dims, letters in zip(known, layouts, strict=True)
    )
    _same("batch sizes", query["B"], key["B"])
    _same("batch sizes", query["B"], value["B"])
    _same("numbers of heads of key and value", key["N"], value["N"])
    _check_heads(query["N"], key["N"])
    _same("lengths of key and value", key["S"], value["S"])
    _same("depths of query and key", query["H"], key["H"])
    scores = [query["B"], query["N"], query["S"], key["S"]]
    for name, type_ in (("bias", types[3]), ("mask", mask)):
        added = None if type_ is None else T.tensor_dims(type_)
        both = None if added is None else broadcast_dims(scores, bias_dims(added))
        for wanted, actual in zip(scores, both if both is not None else scores, strict=True):
            _same(f"dimensions of {name} and scores", actual, wanted)
    made = {**query, "H": value["H"]}
    for letter in set(LAYOUT) - set(result):
        _same(f"dimension {letter} is not in the result: it and 1", made[letter], SymExpr.const(1))
    return T.tensor_type([made[letter] for letter in result], dtype)


def _check_heads(query: SymExpr, key: SymExpr) -> None:
    """Reject query heads that are certainly no multiple of the key heads."""
    if query.value is None or key.value is None:
        return
    if query != key and (key.value == 0 or query.value % key.value):
        raise InferError(
            f"the number of heads of query must be a multiple of that of key, got {query} and {key}"
        )


declare(
    "attention",
    "softmax(where(mask, query key^T * scale + bias, unseen_score)) value, all of shape "
    "(batch, length, heads, depth); several heads of query may share one of key.",
    [
        Param("query", "tensor"),
        Param("key", "tensor"),
        Param("value", "tensor"),
        Param("bias", "tensor", None),
        Param("scale", "float", None),
        Param("causal_mask", "str", None),
        Param("window_size", "int", None),
        Param("layout", "str", LAYOUT),
        # Whether a query that sees no key gets zeros; else NaN, as of a softmax.
        Param("zero_unseen", "bool", True),
        # Whether a query sees a key, of the dimensions of a bias; and the score where it does not.
        Param("mask", "tensor", None),
        Param("unseen_score", "float", -math.inf),
    ],
    _attention,
)
