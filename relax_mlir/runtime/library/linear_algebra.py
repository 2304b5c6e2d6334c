"""Contractions at run time."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.bytecode.builtins import binary_broadcast_shape_infer
from relax_mlir.runtime.library.operands import check, check_pair, widen
from relax_mlir.runtime.values.convert import describe, numpy_dtype

_Array = np.ndarray


def _matmul(a: _Array, b: _Array, out_dtype: str | None = None) -> Any:
    dtype = numpy_dtype(out_dtype) if out_dtype else None
    for x in (a, b):
        check(x, "biuf")
    if dtype is None or "b" in (a.dtype.kind, b.dtype.kind):
        check_pair(a, b)
    if not a.ndim or not b.ndim:
        raise ArgumentTypeError(
            f"operands must have at least one dimension, got {describe(a)} and {describe(b)}"
        )
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else -1]:
        raise ShapeMismatchError(f"shapes {a.shape} and {b.shape} do not match")
    binary_broadcast_shape_infer(a.shape[:-2], b.shape[:-2])
    wide = [widen(x) if dtype is None else widen(x.astype(dtype)) for x in (a, b)]
    return np.asarray(np.matmul(*wide)).astype(dtype or a.dtype, copy=False)


def _linear(data: _Array, weight: _Array, bias: Any = ()) -> Any:
    check_pair(data, weight)
    if not data.ndim or weight.ndim not in (1, 2):
        raise ArgumentTypeError(f"weight must have 1 or 2 dimensions, got {weight.ndim}")
    if data.shape[-1] != weight.shape[-1]:
        raise ShapeMismatchError(f"shapes {data.shape} and {weight.shape} do not match")
    result = np.asarray(np.matmul(widen(data), widen(weight).T))
    if isinstance(bias, np.ndarray):
        check_pair(data, bias)
        binary_broadcast_shape_infer(result.shape, bias.shape)
        result = np.asarray(result + bias)
    return result.astype(data.dtype, copy=False)


def _outer(a: _Array, b: _Array) -> Any:
    check_pair(a, b)
    if (a.ndim, b.ndim) != (1, 1):
        raise ArgumentTypeError(f"takes two vectors, got {a.ndim} and {b.ndim} dimensions")
    return np.multiply.outer(a, b)


def _einsum(operands: tuple[_Array, ...], subscripts: str) -> Any:
    for operand in operands:
        check(operand, "iuf")
        check_pair(operands[0], operand)
    text = subscripts.replace(" ", "")
    sizes: dict[str, int] = {}
    for items, operand in zip(text.partition("->")[0].split(","), operands, strict=True):
        before, dots, after = items.partition("...")
        if len(before + after) > operand.ndim:
            raise ShapeMismatchError(f"an operand of '{items}' has {operand.ndim} dimensions")
        ends = [*operand.shape[: len(before)], *operand.shape[operand.ndim - len(after) :]]
        for letter, size in zip(before + after, ends if dots else operand.shape, strict=True):
            before_it = sizes.setdefault(letter, size)
            sizes[letter] = size if before_it == 1 else before_it
            if size not in (1, sizes[letter]):
                raise ShapeMismatchError(
                    f"axes of '{letter}' have {sizes[letter]} and {size} elements"
                )
    if "->" not in text and "..." in text:
        letters = re.sub(r"[^a-zA-Z]", "", text)
        text += "->..." + "".join(sorted(c for c in letters if letters.count(c) == 1))
    result = np.einsum(text, *[widen(operand) for operand in operands])
    return np.asarray(result).astype(operands[0].dtype).copy(order="C")


# Name -> function of the operands, then the attributes in their declared order.
LINEAR_ALGEBRA: dict[str, Callable[..., Any]] = {
    "matmul": _matmul,
    "linear": _linear,
    "outer": _outer,
    "einsum": _einsum,
}
