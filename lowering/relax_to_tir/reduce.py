"""Reductions as prim funcs: a block with an init region, then what follows the sum."""

import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.relax.symbolic import product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, is_float, is_unsigned
from relax_mlir.errors import PassError
from relax_mlir.lowering.relax_to_tir.elementwise import arithmetic, spatial
from relax_mlir.lowering.relax_to_tir.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.linear_algebra import ACCUMULATE


def lowest(dtype: str) -> int | float:
    """Return the smallest value of a dtype, minus infinity for floats."""
    if is_float(dtype):
        return -math.inf
    return 0 if is_unsigned(dtype) else -(1 << (8 * T.dtype_size(dtype) - 1))


def highest(dtype: str) -> int | float:
    """Return the largest value of a dtype, infinity for floats."""
    if is_float(dtype):
        return math.inf
    if dtype == "bool":
        return 1
    bits = 8 * T.dtype_size(dtype)
    return (1 << bits) - 1 if is_unsigned(dtype) else (1 << (bits - 1)) - 1


# Name -> (identity element of the dtype, combiner).
COMBINERS: dict[str, tuple[Callable[[str], int | float], Callable[[Scalar, Scalar], Scalar]]] = {
    "sum": (lambda _: 0, arithmetic("add", "or")),
    "prod": (lambda _: 1, arithmetic("mul", "and")),
    "max": (lowest, lambda a, b: binary("max", a, b)),
    "min": (highest, lambda a, b: binary("min", a, b)),
    "mean": (lambda _: 0, lambda a, b: a + b),
}


def legalize_reduce(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a reduction over any axes; what they leave empty gets the combiner's identity.

    Raises:
        PassError: a mean of bools.
    """
    name = op.name.removeprefix("relax.")
    attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
    dims = T.tensor_dims(op.operands[0].type)
    dtype = T.tensor_dtype(op.operands[0].type)
    if dtype == "bool" and name == "mean":
        op.location.emit_error(
            f"'{op.name}' op is not defined for bool: cast the operand first, as in "
            f'R.{name}(R.astype(x, "float32"))'
        )
        raise PassError("LegalizeOps", f"'{op.name}' of a bool tensor")
    if dims is None:
        return None
    ndim = len(dims)
    axes = {a % ndim for a in attrs["axis"]} if attrs["axis"] is not None else set(range(ndim))
    identity, combine = COMBINERS[name]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        wide = ACCUMULATE.get(out.dtype, out.dtype)
        if name == "mean" and not is_float(wide):
            # The sum of the elements need not fit their dtype, their mean does.
            wide = "uint64" if is_unsigned(wide) else "int64"
        target = out if wide == out.dtype else builder.alloc("Acc", out.dims, wide)
        iters = [("reduction" if i in axes else "spatial", d) for i, d in enumerate(source.dims)]

        def position(at: Sequence[Scalar]) -> tuple[Scalar | int, ...]:
            if attrs["keepdims"]:
                return tuple(0 if i in axes else at[i] for i in range(ndim))
            return tuple(at[i] for i in range(ndim) if i not in axes)

        if not iters:
            target.store(cast(source[()], wide), ())
        else:
            with builder.nest(name, iters) as block:
                at = tuple(block)
                with block.init() as init:
                    target.store(cast(identity(wide), wide), position(init))
                value = cast(source[at], wide)
                target.store(combine(target[position(at)], value), position(at))
        if name == "mean" or target is not out:
            count = builder.symbol(product([source.dims[i] for i in sorted(axes)]))
            with builder.nest("finish", spatial(out.dims)) as block:
                at = tuple(block)
                value = target[at]
                if name == "mean":
                    value = value / cast(cast(count, "int64"), wide)
                out.store(cast(value, out.dtype), at)

    key = f"{sorted(axes)}{attrs['keepdims']}"
    return legalizer.call_prim(op, name, [op.operands[0]], body, key=key)


LEGALIZE = dict.fromkeys(COMBINERS, legalize_reduce)
