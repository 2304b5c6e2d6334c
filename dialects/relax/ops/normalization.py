"""Normalisation over batches and layers, and dropout.

Attributes with defaults are not declared to MLIR, so that text may leave them out.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import (
    InferError,
    InferTypeError,
    expect_tensor,
    join_dtypes,
    normalize_axes,
)
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, declare, define
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_different


def _float(type_: ir.Type, what: str) -> None:
    expect_tensor(type_, what)
    dtype = T.tensor_dtype(type_)
    if dtype and "float" not in dtype:
        raise InferTypeError(f"{what} must have a floating-point dtype, got {dtype}")


def _parameter(type_: ir.Type, what: str, expected: Sequence[SymExpr] | int) -> None:
    """Check a tensor of parameters against the dimensions, or the count of them, it must have."""
    expect_tensor(type_, what)
    rank = expected if isinstance(expected, int) else len(expected)
    if T.tensor_ndim(type_) not in (-1, rank):
        raise InferError(f"{what} must have {rank} dimensions, got {T.tensor_ndim(type_)}")
    dims = T.tensor_dims(type_)
    if dims is None or isinstance(expected, int):
        return
    for actual, wanted in zip(dims, expected, strict=True):
        if can_prove_different(actual, wanted):
            raise InferError(f"{what} must have {wanted} elements along an axis, got {actual}")


class BatchNormBase(ComputeOp):
    """Normalise over all axes but one, then scale and shift.

    The result is a tuple of the normalised data and the new running mean and variance. In training
    the statistics are those of the batch; else they are the running ones, which stay as they are.
    """

    PARAMS = (
        Param("data", "tensor"),
        Param("gamma", "tensor"),
        Param("beta", "tensor"),
        Param("moving_mean", "tensor"),
        Param("moving_var", "tensor"),
        Param("axis", "int", 1),
        Param("epsilon", "float", 1e-5),
        Param("center", "bool", True),
        Param("scale", "bool", True),
        Param("momentum", "float", 0.1),
        Param("training", "bool", True),
    )
    data: ext.Operand[Any]
    gamma: ext.Operand[Any]
    beta: ext.Operand[Any]
    moving_mean: ext.Operand[Any]
    moving_var: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        _float(types[0], "data")
        join_dtypes(types)
        ndim, dims = T.tensor_ndim(types[0]), T.tensor_dims(types[0])
        expected: Sequence[SymExpr] | int = 1
        if ndim >= 0:
            (axis,) = normalize_axes([attrs["axis"]], ndim)
            expected = 1 if dims is None else [dims[axis]]
        names = [p.name for p in cls.PARAMS if p.is_operand]
        for name, type_ in zip(names[1:], types[1:], strict=True):
            _parameter(type_, name, expected)
        return ir.TupleType.get_tuple([types[0], types[3], types[4]])


class LayerNormBase(ComputeOp):
    """Normalise over some axes, then scale and shift element by element of those axes."""

    PARAMS = (
        Param("data", "tensor"),
        Param("gamma", "tensor"),
        Param("beta", "tensor"),
        Param("axes", "ints", [-1]),
        Param("epsilon", "float", 1e-5),
        Param("center", "bool", True),
        Param("scale", "bool", True),
    )
    data: ext.Operand[Any]
    gamma: ext.Operand[Any]
    beta: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        _float(types[0], "data")
        join_dtypes(types)
        axes, ndim, dims = attrs["axes"], T.tensor_ndim(types[0]), T.tensor_dims(types[0])
        if not axes:
            raise InferError("layer_norm needs at least one axis")
        expected: Sequence[SymExpr] | int = len(axes)
        if ndim >= 0:
            axes = normalize_axes(axes, ndim)
            expected = len(axes) if dims is None else [dims[axis] for axis in axes]
        for name, type_ in zip(("gamma", "beta"), types[1:], strict=True):
            _parameter(type_, name, expected)
        return types[0]


class DropoutBase(ComputeOp):
    """Zero elements at random and scale the others, in training; a tuple with the mask.

    What compiles here runs inference, where it changes nothing and the mask is all ones.
    """

    PARAMS = (Param("x", "tensor"), Param("rate", "float", 0.5))
    x: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        if not 0 <= attrs["rate"] < 1:
            raise InferError(f"rate must be at least 0 and below 1, got {attrs['rate']}")
        return ir.TupleType.get_tuple([types[0], types[0]])


def _rms_norm(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    _float(types[0], "data")
    join_dtypes(types)
    axes, ndim, dims = attrs["axes"], T.tensor_ndim(types[0]), T.tensor_dims(types[0])
    if not axes:
        raise InferError("rms_norm needs at least one axis")
    axes = normalize_axes(axes, ndim) if ndim >= 0 else axes
    expected = len(axes) if dims is None else [dims[axis] for axis in axes]
    _parameter(types[1], "weight", expected)
    return types[0]


def _by_channel(types: Sequence[Any], attrs: dict[str, Any]) -> SymExpr | None:
    """Check what has scale and shift by channel; return the number of channels if it is known."""
    _float(types[0], "data")
    join_dtypes(types)
    ndim, dims = T.tensor_ndim(types[0]), T.tensor_dims(types[0])
    channels = None
    if ndim >= 0:
        channel, *_ = normalize_axes([attrs["channel_axis"], *attrs["axes"]], ndim)
        channels = None if dims is None else dims[channel]
    for name, type_ in zip(("gamma", "beta"), types[1:], strict=True):
        _parameter(type_, name, 1 if channels is None else [channels])
    return channels


def _instance_norm(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    _by_channel(types, attrs)
    return types[0]


def _group_norm(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    channels, groups = _by_channel(types, attrs), attrs["num_groups"]
    if groups < 1:
        raise InferError(f"num_groups must be positive, got {groups}")
    if channels is not None and channels.value is not None and channels.value % groups:
        raise InferError(f"{channels} channels do not divide into {groups} groups")
    return types[0]


_DATA = (Param("data", "tensor"), Param("gamma", "tensor"), Param("beta", "tensor"))
_SCALING = (
    Param("epsilon", "float", 1e-5),
    Param("center", "bool", True),
    Param("scale", "bool", True),
)

define(BatchNormBase, "batch_norm", "Batch normalisation.")
define(LayerNormBase, "layer_norm", "Layer normalisation.")
define(DropoutBase, "dropout", "Dropout.")
declare(
    "rms_norm",
    "Divide by the root of the mean square over some axes, then scale element by element of them.",
    [
        Param("data", "tensor"),
        Param("weight", "tensor"),
        Param("axes", "ints", [-1]),
        Param("epsilon", "float", 1e-5),
    ],
    _rms_norm,
)
declare(
    "instance_norm",
    "Normalise over some axes, then scale and shift by channel.",
    [*_DATA, Param("channel_axis", "int"), Param("axes", "ints"), *_SCALING],
    _instance_norm,
)
declare(
    "group_norm",
    "Normalise over some axes and the channels of a group, then scale and shift by channel.",
    [
        *_DATA,
        Param("num_groups", "int"),
        Param("channel_axis", "int"),
        Param("axes", "ints"),
        *_SCALING,
    ],
    _group_norm,
)
