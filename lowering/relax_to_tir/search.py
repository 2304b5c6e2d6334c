"""Binary search among sorted boundaries, as prim funcs."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import (
    INDEX,
    Scalar,
    binary,
    cast,
    compare,
    const,
    select,
    unary,
)
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.imperative import parts, when
from relax_mlir.lowering.relax_to_tir.support.sort_keys import sort_key

# Searches that go on at once.
_SEARCHES = 16


def write_search(
    builder: PrimFuncBuilder, name: str, buffers: Sequence[Buffer], right: bool
) -> None:
    """Write a binary search for each element, as many steps for all and none of them a branch.

    Of boundaries that are not in order the places are those of such a search, whatever they mean.

    Args:
        builder: the function's.
        name: of the block.
        buffers: what is searched for, the boundaries, a vector, and the places found.
        right: whether a place is behind the boundaries equal to the element.
    """
    source, bounds, out = buffers
    known = bounds.dims[0].value
    number = "int32" if known is not None and known < 1 << 30 else "int64"
    length = cast(builder.symbol(bounds.dims[0]), number)
    source, out = builder.linear(source), builder.linear(out)
    bits: Scalar | int = 0 if known is None else known.bit_length()
    if known is None:
        bits = cast(64 - unary("clz", length), INDEX)
    total = source.dims[0]
    with parts(builder, name, total.ceildiv(_SEARCHES), "search") as each:
        firsts = builder.alloc("Found", [_SEARCHES], number)

        def search(start: Scalar, count: int | Scalar) -> None:
            with builder.loop(count) as i:
                firsts.store(0, i)
            with builder.loop(bits) as step:
                half = binary("shl", const(1, number), cast(bits - 1 - step, number))
                with builder.loop(count) as i:
                    place = firsts[i] + half
                    edge = bounds[cast(binary("min", place, length), "int64") - 1]
                    goes = _before(edge, source[start + i], right)
                    both = binary("and", goes, place <= length)
                    firsts.store(select(both, place, firsts[i]), i)
            with builder.loop(count) as i:
                out.store(cast(firsts[i], out.dtype), start + i)

        with each as group:
            start = group * _SEARCHES
            left = builder.symbol(total) - start
            with when(left >= _SEARCHES):
                search(start, _SEARCHES)
            with when(left < _SEARCHES):
                search(start, left)


def _legalize_search(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs = attributes(op)
    name = op.name.removeprefix("relax.")
    data, edges = op.operands if name == "bucketize" else list(op.operands)[::-1]
    if T.tensor_dims(data.type) is None or T.tensor_ndim(edges.type) != 1:
        return None
    if T.tensor_dtype(data.type) != T.tensor_dtype(edges.type):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        write_search(builder, name, buffers, attrs["right"])

    return legalizer.call_inferred(op, [data, edges], body, str(attrs))


def _before(edge: Scalar, value: Scalar, right: bool) -> Scalar:
    """Whether a boundary goes before an element, or with `right` not after it."""
    a, b = sort_key(edge, False), sort_key(value, False)
    return compare("le" if right else "lt", a, b)


LEGALIZE = {"bucketize": _legalize_search, "searchsorted": _legalize_search}
