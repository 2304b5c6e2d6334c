"""Attention: softmax of products of queries and keys, applied to values."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, broadcast_dims, join_dtypes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.elementwise import expect_kind
from relax_mlir.dialects.relax.symbolic import SymExpr

CAUSAL_MASKS = ("TopLeft", "BottomRight")


def bias_dims(dims: Sequence[SymExpr]) -> list[SymExpr]:
    """Return the dimensions of a bias as batch, heads, queries and keys, those left out as 1."""
    one = SymExpr.const(1)
    batch, *queries, keys = dims if len(dims) < 4 else (dims[0], *dims[2:])
    heads = dims[1] if len(dims) == 4 else one
    return [batch, heads, *(queries or [one]), keys]


def _same(what: str, first: SymExpr, second: SymExpr) -> None:
    if first != second and (first - second).is_const:
        raise InferError(f"{what} must match, got {first} and {second}")


def _attention(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    given = [type_ for type_ in types if type_ is not None]
    for name, type_ in zip(("query", "key", "value"), types, strict=False):
        expect_kind(type_, "floating-point", name)
        if T.tensor_ndim(type_) not in (-1, 4):
            raise InferError(f"{name} must have 4 dimensions, got {T.tensor_ndim(type_)}")
    dtype = join_dtypes(given)
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
    query, key, value = (T.tensor_dims(type_) for type_ in types[:3])
    bias = types[3]
    if bias is not None and T.tensor_ndim(bias) not in (-1, 2, 3, 4):
        raise InferError(f"bias must have 2, 3 or 4 dimensions, got {T.tensor_ndim(bias)}")
    if query is None or key is None or value is None:
        return T.tensor_type(None, dtype, 4)
    for what, axis in (("batch sizes", 0), ("numbers of heads", 2)):
        _same(what, query[axis], key[axis])
        _same(what, query[axis], value[axis])
    _same("lengths of key and value", key[1], value[1])
    _same("depths of query and key", query[3], key[3])
    added = None if bias is None else T.tensor_dims(bias)
    if added is not None:
        scores = [query[0], query[2], query[1], key[1]]
        both = broadcast_dims(scores, bias_dims(added))
        for wanted, found in zip(scores, both if both is not None else scores, strict=True):
            _same("dimensions of bias and scores", found, wanted)
    return T.tensor_type([*query[:3], value[3]], dtype)


declare(
    "attention",
    "softmax(query key^T * scale + bias) value, all of shape (batch, length, heads, depth).",
    [
        Param("query", "tensor"),
        Param("key", "tensor"),
        Param("value", "tensor"),
        Param("bias", "tensor", None),
        Param("scale", "float", None),
        Param("causal_mask", "str", None),
        Param("window_size", "int", None),
    ],
    _attention,
)
