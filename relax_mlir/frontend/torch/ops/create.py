"""Operators that make tensors from numbers and sizes."""

from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.torch.importer import Importer, target_name
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr.values import const


def _filled(m: Importer, value: Any) -> Any:
    return op.full(m.dims, m.cast(value, m.dtype), m.dtype)


@converts("full.default", "full_like.default", "new_full.default", "fill.Scalar", "fill.Tensor")
def _full(m: Importer, _: Any, *values: Any, fill_value: Any = None, **__: Any) -> Any:
    return _filled(m, values[-1] if values else fill_value)


@converts("scalar_tensor.default", "prims.scalar_tensor.default")
def _scalar_tensor(m: Importer, value: Any, **_: Any) -> Any:
    return m.cast(value, m.dtype)


@converts("ones.default", "ones_like.default", "new_ones.default")
def _ones(m: Importer, *_: Any, **__: Any) -> Any:
    return _filled(m, 1)


# What is not initialised is zero here.
@converts(
    "zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format",
    "empty_like.default", "new_empty.default", "empty_strided.default",
    "new_empty_strided.default", "empty_permuted.default", "zero.default",
)  # fmt: skip
def _zeros(m: Importer, *_: Any, **__: Any) -> Any:
    return _filled(m, 0)


@converts("arange.default", "arange.start", "arange.start_step")
def _arange(m: Importer, *bounds: Any, **_: Any) -> Any:
    start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return op.arange(start, end, step, dtype=m.dtype)


@converts("eye.default", "eye.m")
def _eye(m: Importer, rows: Any, columns: Any = None, **_: Any) -> Any:
    return op.eye(rows, rows if columns is None else columns, dtype=m.dtype)


@converts("tril_indices.default", "triu_indices.default")
def _triangle(m: Importer, rows: int, columns: int, offset: int = 0, **_: Any) -> Any:
    """Return where a triangle of a matrix is, row after row."""
    is_lower = target_name(m.node) == "aten.tril_indices.default"
    places = np.subtract.outer(np.arange(rows), np.arange(columns)) + offset
    # The rows of the upper triangle begin at its diagonal.
    return const(np.array(np.nonzero(places >= 0 if is_lower else places <= 0)), m.dtype)


@converts("linspace.default")
def _linspace(m: Importer, start: Any, end: Any, steps: int, **_: Any) -> Any:
    """Return numbers at equal distances, counted from both ends as torch does."""
    dtype = m.dtype
    if steps == 1:
        return _filled(m, start)
    step = (end - start) / (steps - 1)
    places = op.arange(0, steps, 1, dtype="int64")
    first = op.add(m.cast(start, dtype), op.multiply(m.cast(places, dtype), m.cast(step, dtype)))
    back = m.cast(op.subtract(m.cast(steps - 1, "int64"), places), dtype)
    last = op.subtract(m.cast(end, dtype), op.multiply(back, m.cast(step, dtype)))
    return op.where(op.less(places, m.cast(steps // 2, "int64")), first, last)


@converts("one_hot.default")
def _one_hot(m: Importer, x: Any, classes: int = -1) -> Any:
    return op.one_hot(x, 1, 0, depth=m.dims[-1])


@converts("_local_scalar_dense.default", "item.default")
def _item(m: Importer, x: Any) -> Any:
    """Bind the integer of a tensor to a symbol; a float or bool stays a scalar tensor."""
    bindings = m.node.meta.get("unbacked_bindings") or {}
    names = [symbol.name for symbol in bindings]
    if not names or "float" in x.ty.dtype or x.ty.dtype == "bool":
        return op.reshape(x, ())
    return m.bind_size(x, names[0])


@converts(
    "_assert_scalar.default", "_assert_tensor_metadata.default", "_assert_async.msg",
    "sym_constrain_range.default", "sym_constrain_range_for_size.default",
    "_assert_async.default", "_functional_assert_async.msg", "_functional_assert_scalar.default",
)  # fmt: skip
def _assertion(m: Importer, *_: Any, **__: Any) -> None:
    """Checks of sizes: shapes are checked by `match_cast` where they are bound."""


@converts("sym_size.int", "sym_numel.default", "sym_stride.int", "sym_storage_offset.default")
def _sym(m: Importer, *_: Any) -> Any:
    """Return an integer that torch knows; a symbolic one never gets here."""
    return SymExpr.const(m.value)


@converts("sym_is_contiguous.default")
def _is_contiguous(m: Importer, x: Any, *_: Any) -> bool:
    return True
