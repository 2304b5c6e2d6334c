"""Nonzero as prim funcs: one counts the elements, one writes their indices.

One kernel counts by blocks, a `match_cast` gives the sum a name, and a second kernel fills a result
of that length.
"""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import get_item
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, Scalar, binary, cast, compare
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer, matched
from relax_mlir.lowering.relax_to_tir.support.imperative import class_annotation, parts

# Elements whose places a thread collects before it writes them out: they stay in its cache.
_BLOCK = 2048


def _legalize_nonzero(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise the places of what is not zero: counted by blocks, then collected by blocks."""
    (x,) = op.operands
    dims = T.tensor_dims(x.type)
    if not dims or not T.tensor_dtype(x.type):
        return None
    dims = list(dims)
    blocks = product(dims).ceildiv(_BLOCK)

    counted = [T.tensor_type([blocks], "int64"), T.tensor_type([SymExpr.const(1)], "int64")]
    both = ir.TupleType.get_tuple(counted)
    counts = legalizer.call_prim(op, "nonzero_count", [x], _count, result=both)
    if counts is None:
        return None
    with ir.InsertionPoint(op), op.location:
        starts, total = get_item(counts, 0), get_item(counts, 1)
        size = legalizer.counted_size(op, total)
        result = T.tensor_type([SymExpr.const(len(dims)), size], "int64")
    places = legalizer.call_prim(op, "nonzero", [x, starts], _fill, result=result)
    return None if places is None else matched(op, places)


def _length(builder: PrimFuncBuilder, source: Buffer, start: Scalar) -> Scalar:
    """Return how many elements a block has that begins there."""
    return binary("min", builder.symbol(source.dims[0]) - start, _BLOCK)


def _count(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
    """Write where the places of each block's elements begin, and how many there are."""
    x, starts, total = buffers
    source = builder.linear(x)
    with parts(builder, "count", starts.dims[0], "reduction") as each:
        count = builder.alloc("Found", [1], "int32")
        with each as block:
            start = block * _BLOCK
            count.store(0, 0)
            with builder.loop(_length(builder, source, start)) as i:
                count.store(count[0] + cast(compare("ne", source[start + i], 0), "int32"), 0)
            starts.store(cast(count[0], "int64"), block)
    with builder.block("starts", [], annotations=class_annotation("scan")):
        total.store(0, 0)
        with builder.loop(starts.dims[0]) as block:
            here = starts[block]
            starts.store(total[0], block)
            total.store(total[0] + here, 0)


def _fill(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
    """Write the places: of a block first into fast memory, without a branch, then by axis."""
    x, starts, out = buffers
    source = builder.linear(x)
    elements = source.dims[0].value
    narrow = elements is not None and elements < 1 << 31
    number = "uint32" if narrow else "uint64"
    with parts(builder, "places", starts.dims[0], "gather") as each:
        places = builder.alloc("Places", [_BLOCK], "int32")
        count = builder.alloc("Found", [1], "int32")
        with each as block:
            start = block * _BLOCK
            count.store(0, 0)
            with builder.loop(_length(builder, source, start)) as i:
                places.store(cast(i, "int32"), cast(count[0], INDEX))
                count.store(count[0] + cast(compare("ne", source[start + i], 0), "int32"), 0)
            first = cast(starts[block], INDEX)
            with builder.loop(cast(count[0], INDEX)) as i:
                rest = cast(start, number) + cast(places[i], number)
                for axis in reversed(range(len(x.dims))):
                    place = rest
                    if axis:
                        length = cast(builder.symbol(x.dims[axis]), number)
                        rest = binary("div", rest, length)
                        place = place - rest * length
                    out.store(cast(place, "int64"), (axis, first + i))


LEGALIZE = {"nonzero": _legalize_nonzero}
