"""Quantising and dequantising as prim funcs: one elementwise block, which fuses as such."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.quantize import is_single
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, is_float, unary
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.constant_scalars import number, scalar_of
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.limits import highest, lowest

# The largest numbers of floats that are narrower than what is computed in.
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}


def legalize_quantize(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise quantize and dequantize; scales that are one constant are numbers in the kernel."""
    name = op.name.removeprefix("relax.")
    data, *parameters = op.operands
    dims = T.tensor_dims(data.type)
    if dims is None or not all(T.tensor_dtype(value.type) for value in op.operands):
        return None
    # A tensor without dimensions has no axis: its parameters are single.
    axis = attributes(op)["axis"] % len(dims) if dims else 0
    for value in parameters:
        if not is_single(value.type) and T.tensor_dims(value.type) != dims[axis : axis + 1]:
            return None
    numbers = [scalar_of(value) for value in parameters]
    tensors = [value for value, given in zip(parameters, numbers, strict=True) if given is None]
    doubles = "float64" in map(T.tensor_dtype, (v.type for v in (*op.operands, *op.results)))
    wide = "float64" if doubles else "float32"
    write = _quantized if name == "quantize" else _dequantized

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, *given, out = buffers
        rest = iter(given)
        with builder.nest(f"{name}d", spatial(out.dims)) as block:
            at, loaded = tuple(block), []
            for value, constant in zip(parameters, numbers, strict=True):
                if constant is not None:
                    loaded.append(number(constant, value.type))
                    continue
                buffer = next(rest)
                single = is_single(value.type)
                loaded.append(buffer[(0,) * len(buffer.dims) if single else (at[axis],)])
            zero = numbers[1] is not None and numbers[1].value == 0
            out.store(
                write(source[at], loaded[0], None if zero else loaded[1], out.dtype, wide), at
            )

    known = [
        f"{given}: {value.type}" if given is not None else ""
        for value, given in zip(parameters, numbers, strict=True)
    ]
    return legalizer.call_prim(op, name, [data, *tensors], body, key=f"{axis} {known}")


def _quantized(x: Scalar, scale: Scalar, zero: Scalar | None, dtype: str, wide: str) -> Scalar:
    value = unary("round", cast(x, wide) / cast(scale, wide))
    if zero is not None:
        value = value + cast(zero, wide)
    bounds = (float(bound) for bound in (lowest(dtype), highest(dtype)))
    return cast(_between(value, *bounds), dtype)


def _dequantized(x: Scalar, scale: Scalar, zero: Scalar | None, dtype: str, wide: str) -> Scalar:
    if zero is not None:
        exact = _exact(x.dtype, zero.dtype, wide)
        x = cast(x, exact) - cast(zero, exact)
    value = cast(cast(x, wide) * cast(scale, wide), wide)
    largest = _LARGEST.get(dtype)
    return cast(value if largest is None else _between(value, -largest, largest), dtype)


def _between(value: Scalar, low: float, high: float) -> Scalar:
    return binary("min", binary("max", value, low), high)


def _exact(data: str, zero: str, wide: str) -> str:
    """Return the dtype in which a zero point is taken off without loss, as far as there is one."""
    if is_float(data) or is_float(zero):
        return wide
    bits = max(8 * T.dtype_size(dtype) for dtype in (data, zero))
    return "int32" if bits < 32 else "int64" if bits == 32 else "float64"


LEGALIZE = {"quantize": legalize_quantize, "dequantize": legalize_quantize}
