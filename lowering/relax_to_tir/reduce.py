"""Reductions as prim funcs: a block with an init region, then what follows the sum."""

from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.symbolic.expr import product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import (
    Scalar,
    binary,
    cast,
    compare,
    is_float,
    is_unsigned,
    select,
    unary,
)
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE, highest, lowest
from relax_mlir.lowering.relax_to_tir.support.moments import Moments
from relax_mlir.lowering.relax_to_tir.support.scalar_functions import arithmetic

# Name -> (identity element of the dtype, combiner).
COMBINERS: dict[str, tuple[Callable[[str], int | float], Callable[[Scalar, Scalar], Scalar]]] = {
    "sum": (lambda _: 0, arithmetic("add", "or")),
    "prod": (lambda _: 1, arithmetic("mul", "and")),
    "max": (lowest, lambda a, b: binary("max", a, b)),
    "min": (highest, lambda a, b: binary("min", a, b)),
    "mean": (lambda _: 0, lambda a, b: a + b),
    "all": (lambda _: 1, lambda a, b: binary("and", a, b)),
    "any": (lambda _: 0, lambda a, b: binary("or", a, b)),
}


# The same for bools, which are combined as bytes.
_OF_BOOLS = {
    **dict.fromkeys(("sum", "max", "any"), (0, lambda a, b: binary("or", a, b))),
    **dict.fromkeys(("prod", "min", "all"), (1, lambda a, b: binary("and", a, b))),
}


def legalize_reduce(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a reduction over any axes; what they leave empty gets the combiner's identity."""
    name = op.name.removeprefix("relax.")
    attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
    dims = T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    ndim = len(dims)
    axes = {a % ndim for a in attrs["axis"]} if attrs["axis"] is not None else set(range(ndim))

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        wide = ACCUMULATE.get(out.dtype, out.dtype)
        identity, combine = COMBINERS[name]
        if out.dtype == "bool" and name in _OF_BOOLS:
            first, combine = _OF_BOOLS[name]
            wide, identity = "uint8", lambda _: first
        if name == "mean" and not is_float(wide):
            # The sum of the elements need not fit their dtype, their mean does.
            wide = "uint64" if is_unsigned(wide) else "int64"
        target = out if wide == out.dtype else builder.alloc("Acc", out.dims, wide)
        iters = [("reduction" if i in axes else "spatial", d) for i, d in enumerate(source.dims)]

        def position(at: Sequence[Scalar]) -> tuple[Scalar | int, ...]:
            if attrs["keepdims"]:
                return tuple(0 if i in axes else at[i] for i in range(ndim))
            return tuple(at[i] for i in range(ndim) if i not in axes)

        def element(at: Sequence[Scalar]) -> Scalar:
            value = source[tuple(at)]
            return cast(cast(value, "bool") if out.dtype == "bool" else value, wide)

        if not iters:
            target.store(element(()), ())
        else:
            with builder.nest(name, iters) as block:
                at = tuple(block)
                with block.init() as init:
                    target.store(cast(identity(wide), wide), position(init))
                before = target[position(at)]
                target.store(combine(before, element(at)), position(at))
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


def legalize_moments(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise variance and standard deviation: the mean first, then distances from it."""
    name = op.name.removeprefix("relax.")
    attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
    dims = T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    ndim = len(dims)
    axes = range(ndim) if attrs["axis"] is None else [axis % ndim for axis in attrs["axis"]]
    kept = [axis for axis in range(ndim) if axis not in axes]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, out = buffers
        wide = ACCUMULATE.get(data.dtype, data.dtype)
        moments = Moments(builder, dims, axes, wide, lambda at: cast(data[tuple(at)], wide))
        with builder.nest("finish", spatial(out.dims)) as block:
            at = tuple(block)
            row = tuple(at[axis] for axis in kept) if attrs["keepdims"] else at
            value = moments.variance(row)
            value = unary("sqrt", value) if name == "std" else value
            out.store(cast(value, out.dtype), at)

    key = f"{sorted(axes)}{attrs['keepdims']}"
    return legalizer.call_inferred(op, [op.operands[0]], body, key)


def legalize_arg_reduce(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise argmax and argmin: the best element so far, and where it is."""
    name = op.name.removeprefix("relax.")
    attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
    dims = T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    axis = None if attrs["axis"] is None else attrs["axis"] % len(dims)
    kind, worst = ("max", lowest) if name == "argmax" else ("min", highest)

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        along = 0 if axis is None else axis
        if axis is None:
            source = builder.linear(source)
        rows = [dim for i, dim in enumerate(source.dims) if i != along]
        best = builder.alloc("Best", rows, source.dtype)
        # Where certainly enough, numbers of half the size: twice as many in a vector.
        count = source.dims[along].value
        number = "int64" if count is None or count > highest("int32") else "int32"
        first = builder.alloc("First", rows, number)
        axes = [("reduction" if i == along else "spatial", d) for i, d in enumerate(source.dims)]

        def row(at: Sequence[Scalar]) -> tuple[Scalar, ...]:
            return tuple(value for i, value in enumerate(at) if i != along)

        with builder.nest("best", axes) as block:
            at = tuple(block)
            with block.init() as init:
                best.store(cast(worst(source.dtype), source.dtype), row(init))
            best.store(binary(kind, best[row(at)], source[at]), row(at))
        nowhere = highest(number)
        with builder.nest(name, axes) as block:
            at = tuple(block)
            with block.init() as init:
                first.store(nowhere, row(init))
            value = source[at]
            better = compare("eq", value, best[row(at)])
            if is_float(source.dtype):
                # NaN is the best where there is one.
                better = binary("or", better, compare("ne", value, value))
            here = select(better, cast(at[along], number), nowhere)
            first.store(binary("min", first[row(at)], here), row(at))
        source, out = builder.linear(first), builder.linear(out)
        with builder.nest("finish", spatial(out.dims)) as (i,):
            place = source[i]
            better = select(compare("eq", place, nowhere), 0, place)
            out.store(cast(better, out.dtype), i)

    return legalizer.call_inferred(op, [op.operands[0]], body, f"{axis}{attrs['keepdims']}")


LEGALIZE = {
    **dict.fromkeys(COMBINERS, legalize_reduce),
    **dict.fromkeys(("variance", "std"), legalize_moments),
    **dict.fromkeys(("argmax", "argmin"), legalize_arg_reduce),
}
