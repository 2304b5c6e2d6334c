"""Relax types: construction, queries, and the shape of a value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import AnyDtype, Dims, Object, Shape
from relax_mlir.dialects.symbolic.expr import IntLike, SymExpr
from relax_mlir.errors import did_you_mean

UNKNOWN_DTYPE = ""
_DYNAMIC = ir.ShapedType.get_dynamic_size()

_DTYPES = {
    "float16": lambda: ir.F16Type.get(),
    "bfloat16": lambda: ir.BF16Type.get(),
    "float32": lambda: ir.F32Type.get(),
    "float64": lambda: ir.F64Type.get(),
    "bool": lambda: ir.IntegerType.get_signless(1),
    **{f"int{n}": (lambda n=n: ir.IntegerType.get_signless(n)) for n in (8, 16, 32, 64)},
    **{f"uint{n}": (lambda n=n: ir.IntegerType.get_unsigned(n)) for n in (8, 16, 32, 64)},
}
_ALIASES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool",
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip
_FLOATS = {
    ir.F16Type: "float16", ir.BF16Type: "bfloat16", ir.F32Type: "float32", ir.F64Type: "float64",
}  # fmt: skip
_SIZES = {"bool": 1, "bfloat16": 2}


def normalize_dtype(dtype: str | None) -> str:
    """Return TVM's long name of a dtype (`f32` is `float32`); None and `""` mean unknown.

    Raises:
        ValueError: no such dtype.
    """
    if not dtype:
        return UNKNOWN_DTYPE
    name = _ALIASES.get(dtype, dtype)
    if name not in _DTYPES:
        raise ValueError(f"unknown dtype '{dtype}'{did_you_mean(dtype, [*_DTYPES, *_ALIASES])}")
    return name


def dtype_size(dtype: str) -> int:
    """Return the size of one element in bytes."""
    return _SIZES.get(dtype) or int("".join(ch for ch in dtype if ch.isdigit())) // 8


def element_type(dtype: str | None) -> ir.Type:
    """Return the MLIR element type of a dtype; unknown gives `!relax.any_dtype`."""
    name = normalize_dtype(dtype)
    return _DTYPES[name]() if name else AnyDtype.get()


def dtype_of_element(element: ir.Type) -> str:
    """Return the dtype of an MLIR element type, `""` for `!relax.any_dtype`.

    Raises:
        ValueError: the element type is none that Relax has.
    """
    if isinstance(element, AnyDtype):
        return UNKNOWN_DTYPE
    # Most are floats, and asking for the text takes ten times as long.
    name = _FLOATS.get(type(element))
    if name is not None:
        return name
    text = str(element)
    name = {"i1": "bool"}.get(text) or _ALIASES.get(text.replace("ui", "u"))
    if name is None:
        raise ValueError(f"'{text}' is not an element type of a Relax tensor")
    return name


def scalar_dtype(type_: ir.Type) -> str | None:
    """Return the dtype of a scalar that is no tensor, None for any other type."""
    is_scalar = isinstance(type_, (*_FLOATS, ir.IntegerType))
    return dtype_of_element(type_) if is_scalar else None


def is_scalar(type_: ir.Type) -> bool:
    """Whether the type is that of one number, `R.Prim("float32")`."""
    return scalar_dtype(type_) is not None


def tensor_type(
    shape: Sequence[IntLike] | None = None, dtype: str | None = None, ndim: int = -1
) -> ir.Type:
    """Return a tensor type.

    Args:
        shape: dimensions, integers or symbolic; None when unknown.
        dtype: TVM name or alias; None or `""` when unknown.
        ndim: number of dimensions when the shape is unknown; -1 when that is unknown too.

    Raises:
        ValueError: a dimension is negative or needs more than 64 bits, or unknown dtype.
    """
    element = element_type(dtype)
    if shape is None:
        if ndim < 0:
            return ir.UnrankedTensorType.get(element)
        return ir.RankedTensorType.get([_DYNAMIC] * ndim, element)
    dims = [SymExpr.of(dim) for dim in shape]
    for dim in dims:
        size = dim.value
        if size is not None and not 0 <= size < 2**63:
            reason = "cannot be negative" if size < 0 else "does not fit 64 bits"
            raise ValueError(f"a dimension {reason}, got {dim}")
    sizes = [_DYNAMIC if dim.value is None else dim.value for dim in dims]
    encoding = None if all(dim.is_const for dim in dims) else Dims.of(dims)
    return ir.RankedTensorType.get(sizes, element, encoding)


def is_tensor(type_: ir.Type) -> bool:
    """Whether the type is a tensor, ranked or not."""
    return isinstance(type_, (ir.RankedTensorType, ir.UnrankedTensorType))


def tensor_dtype(type_: ir.Type) -> str:
    """Return the dtype of a tensor type, `""` when unknown."""
    return dtype_of_element(type_.element_type)


def tensor_ndim(type_: ir.Type) -> int:
    """Return the number of dimensions of a tensor type, -1 when unknown."""
    return type_.rank if isinstance(type_, ir.RankedTensorType) else -1


def tensor_dims(type_: ir.Type) -> list[SymExpr] | None:
    """Return the dimensions of a tensor type, None unless all are known."""
    if not isinstance(type_, ir.RankedTensorType):
        return None
    encoding = type_.encoding
    if isinstance(encoding, Dims):
        return encoding.dims
    if type_.has_static_shape:
        return [SymExpr.const(size) for size in type_.shape]
    return None


def shape_type(dims: Sequence[IntLike] | None = None, ndim: int = -1) -> ir.Type:
    """Return the type of a shape value: known dimensions, a known count, or nothing known."""
    if dims is not None:
        return Shape.get(Dims.of(dims))
    if ndim >= 0:
        return Shape.get(ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ndim))
    return Shape.get(ir.UnitAttr.get())


def shape_dims(type_: ir.Type) -> list[SymExpr] | None:
    """Return the values of a shape type where known symbolically, else None."""
    known = type_.known.maybe_downcast()
    return known.dims if isinstance(known, Dims) else None


def known_dims(type_: ir.Type) -> list[SymExpr]:
    """Return the dimensions of a tensor or shape type that are known to be known.

    Raises:
        ValueError: they are not.
    """
    dims = tensor_dims(type_) if is_tensor(type_) else shape_dims(type_)
    if dims is None:
        raise ValueError(f"the dimensions of {type_} are not known")
    return dims


def all_dims(types: Iterable[ir.Type]) -> list[list[SymExpr]] | None:
    """Return the dimensions of each tensor type, None unless those of all are known."""
    result = []
    for type_ in types:
        dims = tensor_dims(type_)
        if dims is None:
            return None
        result.append(dims)
    return result


def shape_ndim(type_: ir.Type) -> int:
    """Return the length of a shape type, -1 when unknown."""
    known = type_.known.maybe_downcast()
    if isinstance(known, Dims):
        return len(ir.AffineMapAttr(known.exprs).value.results)
    return known.value if isinstance(known, ir.IntegerAttr) else -1


def object_type() -> ir.Type:
    """Return the type of an opaque run-time value."""
    return Object.get()


# Operations with the shape of their result as an operand, and which it is.
_CARRIES_SHAPE = {
    "relax.call_tir": 0, "relax.call_dps_packed": 0, "relax.call_tir_inplace": 0,
    "relax.call_dps_packed_inplace": 0, "relax.alloc_tensor": 0, "relax.reshape": 1,
    "relax.broadcast_to": 1, "relax.full": 0, "relax.zeros": 0, "relax.ones": 0,
}  # fmt: skip


@dataclass(frozen=True)
class ShapeField:
    """What is known of a value's shape: exactly one of the design's three cases.

    Attributes:
        case: `"V0"`, `"V1"` or `"V2"`.
        dims: the symbolic dimensions in case V0.
        value: the shape value that computes it in case V1.
    """

    case: str
    dims: tuple[SymExpr, ...] | None = None
    value: ir.Value | None = None


def shape_field(value: ir.Value) -> ShapeField:
    """Answer what the shape of a tensor value is: V0 symbolic, V1 another value, V2 unknown."""
    dims = tensor_dims(value.type)
    if dims is not None:
        return ShapeField("V0", dims=tuple(dims))
    owner = value.owner
    if isinstance(owner, ir.Operation) or hasattr(owner, "operation"):
        operation = owner.operation
        if operation.name in _CARRIES_SHAPE:
            operand = operation.operands[_CARRIES_SHAPE[operation.name]]
            if isinstance(operand.type, Shape):
                return ShapeField("V1", value=operand)
    return ShapeField("V2")
