"""Random numbers as prim funcs: each element computes its own bits, on any number of threads."""

import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import infer_result
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, unary
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE
from relax_mlir.philox import DIGITS, element_words, leading_bits

# From an element's random words, the parameters and the dtype to its value.
Value = Callable[[Sequence[Scalar], Sequence[float], str], Scalar]


def _unit(words: Sequence[Scalar], dtype: str, wide: str) -> Scalar:
    """Return a number from 0 to 1, 1 excluded."""
    digits = DIGITS[dtype]
    return cast(leading_bits(words, digits, binary), wide) * 0.5**digits


def _uniform(words: Sequence[Scalar], parameters: Sequence[float], dtype: str) -> Scalar:
    low, high = parameters
    return _unit(words, dtype, ACCUMULATE.get(dtype, dtype)) * (high - low) + low


def _normal(words: Sequence[Scalar], parameters: Sequence[float], dtype: str) -> Scalar:
    """Write the transform of Box and Muller (1958), whose logarithm never is that of 0."""
    wide = ACCUMULATE.get(dtype, dtype)
    radius, turn = (_unit(part, wide, wide) for part in (words[:2], words[2:]))
    length = unary("sqrt", unary("log", 1.0 - radius) * -2.0)
    mean, scale = parameters
    return length * unary("cos", turn * (2 * math.pi)) * scale + mean


def _legalize(value: Value, names: tuple[str, str]) -> Callable:
    def legalize(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
        attrs, result = attributes(op), infer_result(op)
        if T.tensor_dims(result) is None:
            return None
        parameters, dtype = [attrs[name] for name in names], T.tensor_dtype(result)

        def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
            source, out = buffers[0], builder.linear(buffers[1])
            with builder.nest(op.name.removeprefix("relax."), spatial(out.dims)) as block:
                (number,) = block
                key = [source[i] for i in range(2)]
                words = element_words(cast(number, "uint64"), key, binary)
                out.store(cast(value(words, parameters, dtype), dtype), number)

        return legalizer.call_inferred(op, [op.operands[0]], body, f"{parameters} {dtype}")

    return legalize


LEGALIZE = {
    "random_uniform": _legalize(_uniform, ("low", "high")),
    "random_normal": _legalize(_normal, ("mean", "scale")),
}
