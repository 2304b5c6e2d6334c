"""FIFO buffers."""

from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.tensor import Tensor
from relax_mlir.topi.manipulate import concatenate, strided_slice
from relax_mlir.topi.support import axis_of, tensor


def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """Return a buffer with new elements at its end along an axis, and as many less in front.

    Raises:
        ExprError: there is no such axis, or the other dimensions differ.
    """
    along = axis_of(axis, tensor(buffer, "nn.fifo_buffer").ndim, "nn.fifo_buffer")
    if tensor(data, "nn.fifo_buffer").ndim != buffer.ndim:
        raise ExprError(f"topi.nn.fifo_buffer: {data} does not go into {buffer}")
    whole = concatenate([buffer, data], along)
    start, end = SymExpr.of(data.shape[along]), SymExpr.of(whole.shape[along])
    ends: list[Any] = [each if each.value is None else each.value for each in (start, end)]
    return strided_slice(whole, [ends[0]], [ends[1]], [1], [along])
