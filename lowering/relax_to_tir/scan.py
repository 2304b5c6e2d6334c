"""Scans as prim funcs: one running value for every row, the rows in any order."""

from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, cast
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE

# Name -> (what comes before the first element, how an element is combined).
_SCANS: dict[str, tuple[int, Callable[[Scalar, Scalar], Scalar]]] = {
    "cumsum": (0, lambda a, b: a + b),
    "cumprod": (1, lambda a, b: a * b),
}


def legalize_scan(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise sums or products of the elements up to each."""
    name = op.name.removeprefix("relax.")
    attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
    dims = T.tensor_dims(op.operands[0].type)
    if dims is None or (attrs["axis"] is not None and not dims):
        return None
    axis = None if attrs["axis"] is None else attrs["axis"] % len(dims)
    identity, combine = _SCANS[name]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        along = 0 if axis is None else axis
        if axis is None:
            source = builder.linear(source)
        wide = ACCUMULATE.get(out.dtype, out.dtype)
        rows = [dim for i, dim in enumerate(source.dims) if i != along]
        running = builder.alloc("Running", rows, wide)
        with builder.nest("start", spatial(rows)) as block:
            running.store(cast(identity, wide), tuple(block))
        axes = [("scan" if i == along else "spatial", dim) for i, dim in enumerate(source.dims)]
        with builder.nest(name, axes) as block:
            at = tuple(block)
            row = tuple(value for i, value in enumerate(at) if i != along)
            before = running[row]
            after = combine(before, cast(source[at], wide))
            out.store(cast(before if attrs["exclusive"] else after, out.dtype), at)
            running.store(after, row)

    key = f"{axis}{attrs['exclusive']}"
    return legalizer.call_inferred(op, [op.operands[0]], body, key)


LEGALIZE = dict.fromkeys(_SCANS, legalize_scan)
