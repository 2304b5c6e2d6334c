"""Types of collectives among workers, `R.ccl`; programs run on one CPU, which has no workers."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, normalize_axes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_different

# As Disco's functions number them.
REDUCTIONS = ("sum", "prod", "min", "max", "avg")


def _reduction(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    if attrs["op_type"] not in REDUCTIONS:
        raise InferError(f"op_type must be one of {', '.join(REDUCTIONS)}, got {attrs['op_type']}")
    return types[0]


def _resized(x: ir.Type, axis: int, size: SymExpr) -> ir.Type:
    dims = T.known_dims(x)
    return T.tensor_type([*dims[:axis], size, *dims[axis + 1 :]], T.tensor_dtype(x))


def _workers(attrs: dict[str, Any]) -> int:
    if attrs["num_workers"] < 1:
        raise InferError(f"num_workers must be at least 1, got {attrs['num_workers']}")
    return attrs["num_workers"]


def _gathered(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    count, dims = _workers(attrs), T.tensor_dims(types[0])
    if T.tensor_ndim(types[0]) == 0:
        raise InferError("x needs a dimension to gather along")
    return types[0] if dims is None else _resized(types[0], 0, dims[0] * count)


def _scattered(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    (x,), count, dims = types, _workers(attrs), T.tensor_dims(types[0])
    if dims is None:
        raise InferError("the shape of what is scattered must be known")
    (axis,) = normalize_axes([attrs["axis"]], len(dims))
    if can_prove_different(dims[axis] % count, 0):
        raise InferError(f"axis {axis} of {dims[axis]} elements is not divisible by {count}")
    return _resized(x, axis, dims[axis] // count)


_X, _IN_GROUP = Param("x", "tensor"), Param("in_group", "bool", True)
_COUNT = Param("num_workers", "int")

declare(
    "ccl_allreduce",
    "The sum, product, ... of a tensor over all workers.",
    [_X, Param("op_type", "str", "sum"), _IN_GROUP],
    _reduction,
)
declare(
    "ccl_allgather",
    "The tensors of all workers one after another.",
    [_X, _COUNT, _IN_GROUP],
    _gathered,
)
declare(
    "ccl_broadcast_from_worker0",
    "The tensor of the first worker.",
    [_X],
    lambda types, attrs: types[0],
)
declare(
    "ccl_scatter_from_worker0",
    "A worker's part of the first worker's tensor.",
    [_X, _COUNT, Param("axis", "int", 0)],
    _scattered,
)
