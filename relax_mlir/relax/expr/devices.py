"""The devices that types name: found in operands, given to results."""

from collections.abc import Iterable, Iterator

from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.global_info import VDevice
from relax_mlir.relax.expr.types import TensorType, TupleType, Type


def _devices(type_: Type) -> Iterator[VDevice]:
    if isinstance(type_, TensorType) and type_.vdevice is not None:
        yield type_.vdevice
    elif isinstance(type_, TupleType):
        for field in type_.fields:
            yield from _devices(field)


def common_device(types: Iterable[Type]) -> VDevice | None:
    """Return the device that operands are on, None where none of them says.

    Raises:
        ExprTypeError: two of them are on different ones.
    """
    result = dict.fromkeys(device for type_ in types for device in _devices(type_))
    if len(result) > 1:
        raise ExprTypeError(f"operands must be on one device, got {', '.join(map(str, result))}")
    return next(iter(result), None)


def on_device(type_: Type, device: VDevice | None) -> Type:
    """Return a type whose tensors are on a device, or on none that is known."""
    if isinstance(type_, TensorType):
        if type_.vdevice == device:
            return type_
        made = TensorType(None, type_.dtype, device, type_.ndim)
        made.dims, made.shape_expr = type_.dims, type_.shape_expr
        return made
    if isinstance(type_, TupleType):
        return TupleType([on_device(field, device) for field in type_.fields])
    return type_
