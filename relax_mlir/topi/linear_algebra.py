"""Matrix products, einsum and tensordot."""

import functools
import operator
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.relax.einsum import expand_ellipsis, is_broadcast, parse_subscripts
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.conversion import cast
from relax_mlir.tir.scalar.dtypes import checked, promoted
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.support import at, broadcast_shape, narrowed, same, tensor, wide_of


def common_dtype(tensors: Sequence[Tensor], out_dtype: Any) -> tuple[str, str]:
    """Return the dtype of a product, and the one to add up in."""
    dtype = functools.reduce(promoted, (each.dtype for each in tensors))
    dtype = checked(out_dtype) if out_dtype else dtype
    return dtype, wide_of(dtype)


def check_inner(a: Dim, b: Dim, where: str) -> None:
    """Check that two dimensions to be added up over are equal.

    Raises:
        ExprError: they are not, or it is not known whether they are.
    """
    if not same(a, b):
        raise ExprError(
            f"topi.{where}: the inner dimensions {a} and {b} differ; if they are equal at run "
            "time, say so by match_cast"
        )


def matmul(
    a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False, out_dtype: Any = None
) -> Tensor:
    """Return the product of matrices, or of batches of them that broadcast; vectors as numpy's.

    Args:
        a: rows by inner dimension, or transposed.
        b: inner dimension by columns, or transposed.
        transp_a: whether `a` is transposed.
        transp_b: whether `b` is transposed.
        out_dtype: of the product, by default the operands'.

    Raises:
        ExprError: the dimensions do not fit.
    """
    for each in (a, b):
        if tensor(each, "matmul").ndim < 1:
            raise ExprError("topi.matmul takes tensors of one dimension or more")
    rows, columns = a.ndim > 1, b.ndim > 1
    inner_a = a.shape[-2 if transp_a and rows else -1]
    inner_b = b.shape[-2 if columns and not transp_b else -1]
    check_inner(inner_a, inner_b, "matmul")
    batch = broadcast_shape([a.shape[:-2], b.shape[:-2]], "matmul")
    height = [a.shape[-1 if transp_a else -2]] if rows else []
    width = [b.shape[-2 if transp_b else -1]] if columns else []
    dtype, wide = common_dtype([a, b], out_dtype)
    k = te.reduce_axis((0, inner_a), "k")

    def element(*i: Any) -> PrimExpr:
        lead, rest = i[: len(batch)], i[len(batch) :]
        row, column = rest[:rows], rest[rows:]
        a_at = (k, *row) if transp_a else (*row, k)
        b_at = (*column, k) if transp_b else (k, *column)
        left = a[(*_lead(a, batch, lead), *a_at)]
        right = b[(*_lead(b, batch, lead), *b_at)]
        return te.sum(cast(left, wide) * cast(right, wide), axis=k)

    made = compute([*batch, *height, *width], element, name="T_matmul")
    return narrowed(made, dtype, "T_cast")


def _lead(source: Tensor, batch: Sequence[Dim], indices: Sequence[Any]) -> list[Any]:
    own = source.shape[:-2]
    skip = len(batch) - len(own)
    return [
        0 if same(dim, 1) and not same(batch[i], 1) else indices[i]
        for i, dim in enumerate(own, skip)
    ]


def batch_matmul(
    tensor_a: Tensor, tensor_b: Tensor, oshape: Any = None, out_dtype: Any = None,
    transpose_a: bool = False, transpose_b: bool = True,
) -> Tensor:  # fmt: skip
    """Return products of batches of matrices; the second ones are transposed by default."""
    if tensor(tensor_a, "nn.batch_matmul").ndim != 3 or tensor_b.ndim != 3:
        raise ExprError("topi.nn.batch_matmul takes tensors of three dimensions")
    return matmul(tensor_a, tensor_b, transpose_a, transpose_b, out_dtype)


def dense(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: Any = None,
    auto_scheduler_rewritten_layout: str = "", meta_schedule_original_shape: Any = None,
) -> Tensor:  # fmt: skip
    """Return `data @ weight.T + bias`.

    Raises:
        ExprError: the dimensions do not fit.
    """
    if tensor(data, "nn.dense").ndim < 1 or weight.ndim != 2:
        raise ExprError(f"topi.nn.dense takes a weight of two dimensions, got {weight.ndim}")
    check_inner(data.shape[-1], weight.shape[1], "nn.dense")
    dtype, wide = common_dtype([data, weight], out_dtype)
    k = te.reduce_axis((0, data.shape[-1]), "k")
    made = compute(
        [*data.shape[:-1], weight.shape[0]],
        lambda *i: te.sum(cast(data[(*i[:-1], k)], wide) * cast(weight[i[-1], k], wide), axis=k),
        name="T_dense",
    )
    if bias is None:
        return narrowed(made, dtype, "T_cast")
    return compute(
        made.shape,
        lambda *i: cast(made[i] + cast(at(bias, made.shape, i), wide), dtype),
        name="T_bias",
    )


def einsum(subscripts: str, *operand: Tensor) -> Tensor:
    """Return a sum of products in Einstein's notation.

    Raises:
        ExprError: the notation is wrong or does not fit the operands.
    """
    tensors = [tensor(each, "einsum") for each in operand]
    try:
        parsed = expand_ellipsis(
            parse_subscripts(subscripts, len(tensors)), [each.ndim for each in tensors]
        )
    except (ValueError, TypeError) as error:
        raise ExprError(f"topi.einsum: {error}") from error
    sizes: dict[str, Dim] = {}
    for items, each in zip(parsed.inputs, tensors, strict=True):
        for item, dim in zip(items, each.shape, strict=True):
            known = sizes.get(item)
            if known is None or (is_broadcast(item) and same(known, 1)):
                sizes[item] = dim
            elif not (is_broadcast(item) and same(dim, 1)):
                check_inner(known, dim, "einsum")
    axes = {x: te.reduce_axis((0, sizes[x]), f"k{i}")
            for i, x in enumerate(x for x in sizes if x not in parsed.output)}  # fmt: skip
    dtype, wide = common_dtype(tensors, None)

    def element(*i: Any) -> PrimExpr:
        place: dict[str, Any] = {**dict(zip(parsed.output, i, strict=True)), **axes}
        terms = [
            cast(each[tuple(
                0 if same(dim, 1) and not same(sizes[item], 1) else place[item]
                for item, dim in zip(items, each.shape, strict=True)
            )], wide)
            for items, each in zip(parsed.inputs, tensors, strict=True)
        ]  # fmt: skip
        return te.sum(functools.reduce(operator.mul, terms), axis=list(axes.values()))

    made = compute([sizes[item] for item in parsed.output], element, name="T_einsum")
    return narrowed(made, dtype, "T_cast")


def tensordot(a: Tensor, b: Tensor, axes: Any = 2) -> Tensor:
    """Return the sum of products over axes of both, numpy's.

    Args:
        a: left operand.
        b: right operand.
        axes: so many last axes of `a` and first ones of `b`, or a list of axes of each.

    Raises:
        ExprError: the dimensions do not fit.
    """
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = ([x] if isinstance(x, int) else list(x) for x in axes)
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    of_a = [next(letters) for _ in range(a.ndim)]
    of_b = [next(letters) for _ in range(b.ndim)]
    if len(left) != len(right):
        raise ExprError(f"topi.tensordot: {len(left)} axes of one, {len(right)} of the other")
    for i, j in zip(left, right, strict=True):
        of_b[j] = of_a[i]
    out = [x for i, x in enumerate(of_a) if i not in left]
    out += [x for j, x in enumerate(of_b) if j not in right]
    return einsum(f"{''.join(of_a)},{''.join(of_b)}->{''.join(out)}", a, b)
