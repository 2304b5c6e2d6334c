"""Random numbers of imported models: keys, and what frameworks compute from uniform numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.relax import op
from relax_mlir.relax.expr import Expr, TensorType, const

Emit = Callable[[Any], Any]


def next_key(emit: Emit) -> Expr:
    """Return a key that is another one at each run of the program; the call is impure."""
    made = op.call_packed("vm.builtin.next_random_key", sinfo_args=TensorType([2], "uint64"))
    return emit(made)


def key_of_seed(seed: float) -> Expr:
    """Return the key that belongs to a seed of ONNX, which is a float."""
    return const(np.array([np.float64(seed).view("uint64"), 0], "uint64"))


def keep_mask(emit: Emit, key: Expr, dims: Any, rate: Expr) -> Expr:
    """Return a tensor of bools that are false with a probability, a float32 scalar."""
    return emit(op.greater_equal(op.random.uniform(key, dims), rate))


def dropout(emit: Emit, key: Expr, x: Any, dims: Any, rate: Expr) -> tuple[Expr, Expr]:
    """Return a tensor with elements set to 0 at random and the others scaled up, and the mask."""
    mask, dtype = keep_mask(emit, key, dims, rate), x.ty.dtype
    kept = op.astype(op.subtract(const(1, "float32"), rate), dtype)
    return op.where(mask, op.divide(x, kept), const(0, dtype)), mask
