"""Unique elements or slices as prim funcs: sort, count, compact.

Equal elements follow each other once they are sorted. One kernel sorts them, a second one counts
where others begin, a `match_cast` gives that number a name, and a third one fills results of that
length. Parts along an axis are sorted by one of their elements after the other, the last first.
"""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import get_item, is_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, Scalar, binary, cast, compare, const, select
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer, matched
from relax_mlir.lowering.relax_to_tir.support.imperative import class_annotation, when
from relax_mlir.lowering.relax_to_tir.support.sort_keys import sort_key
from relax_mlir.lowering.relax_to_tir.support.sorter import Row, Sorter

_ONE = SymExpr.const(1)
_EXTRA = ("return_index", "return_inverse", "return_counts")


class _Parts:
    """What is compared: elements, or slices along an axis.

    Attributes:
        count: how many there are.
        width: how many elements each has.
    """

    def __init__(self, dims: Sequence[SymExpr], axis: int | None) -> None:
        self.axis, self.dims = axis, list(dims)
        self.count = product(dims) if axis is None else dims[axis]
        self.width = _ONE if axis is None else product([*dims[:axis], *dims[axis + 1 :]])
        self._inner = _ONE if axis is None else product(dims[axis + 1 :])

    def results(self, count: SymExpr) -> list[SymExpr]:
        """Return the dimensions of so many parts."""
        if self.axis is None:
            return [count]
        return [*self.dims[: self.axis], count, *self.dims[self.axis + 1 :]]

    def place(self, builder: PrimFuncBuilder, part: Scalar, at: Scalar, count: SymExpr) -> Scalar:
        """Return where an element of a part is among so many parts."""
        if self.width == 1:
            return part
        inner = _number(builder, self._inner)
        if self._inner == 1:
            return at * _number(builder, count) + part
        outer, column = binary("floordiv", at, inner), binary("mod", at, inner)
        return (outer * _number(builder, count) + part) * inner + column

    def types(self, count: SymExpr, dtype: str, wanted: Sequence[str]) -> list[ir.Type]:
        """Return the types of so many distinct parts, and of the other results."""
        extra = [self.count if name == "return_inverse" else count for name in wanted]
        return [
            T.tensor_type(self.results(count), dtype),
            *(T.tensor_type([length], "int64") for length in extra),
        ]


def _legalize_unique(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise `unique`; what is not known of the shape or the dtype is for the library."""
    (x,) = op.operands
    dims, attrs = T.tensor_dims(x.type), attributes(op)
    if dims is None or not T.tensor_dtype(x.type) or (attrs["axis"] is not None and not dims):
        return None
    # Parts of a vector are its elements.
    axis = None if attrs["axis"] is None or len(dims) == 1 else attrs["axis"] % len(dims)
    parts = _Parts(dims, axis)
    numbers = T.tensor_type([parts.count], "int64")
    sizes = ir.TupleType.get_tuple([numbers, numbers, T.tensor_type([_ONE], "int64")])

    def order(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        _order(builder, buffers, parts)

    unique = legalizer.call_prim(op, "unique_order", [x], order, str(axis), result=sizes)
    if unique is None:
        return None
    with ir.InsertionPoint(op), op.location:
        places, groups, total = (get_item(unique, i) for i in range(3))
        size = legalizer.counted_size(op, total)
    wanted = [name for name in _EXTRA if attrs[name]]
    types = parts.types(size, T.tensor_dtype(x.type), wanted)

    def fill(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        extra = dict(zip(wanted, buffers[4:], strict=True))
        _fill(builder, buffers[:4], parts, extra, by_place=not attrs["sorted"])

    key = f"{axis} {attrs['sorted']} {wanted}"
    result = ir.TupleType.get_tuple(types)
    values = legalizer.call_prim(op, "unique", [x, places, groups], fill, key, result=result)
    if values is None:
        return None
    if is_tuple(op.results[0].type):
        return matched(op, values)
    with ir.InsertionPoint(op), op.location:
        (value,) = (get_item(values, i) for i in range(len(types)))
    return matched(op, value)


def _order(builder: PrimFuncBuilder, buffers: Sequence[Buffer], parts: _Parts) -> None:
    """Write the parts in order by their numbers, the group of each, and how many groups are."""
    x, order, groups, total = buffers
    source = builder.linear(x)
    with builder.block("order", [], annotations=class_annotation("sort")):
        following = builder.alloc("Following", [parts.count], "int64")
        ordered = builder.alloc("Ordered", [parts.count], x.dtype)
        differs = builder.alloc("Differs", [_ONE], "int64")
        sorter = Sorter(builder, x.dtype, parts.count, parts.count, (True, "int64"))
        with builder.loop(parts.count) as i:
            order.store(cast(i, "int64"), i)
        with builder.loop(parts.width) as step:
            at = step if parts.width == 1 else _number(builder, parts.width) - 1 - step

            def value(i: Scalar, at: Scalar = at) -> Scalar:
                return source[parts.place(builder, order[i], at, parts.count)]

            def store(to: Scalar, value: Scalar, place: Scalar) -> None:
                following.store(order[cast(place, "int64")], to)
                if parts.axis is None:
                    ordered.store(value, to)

            sorter.sort(Row(parts.count, parts.count, value, store, _key))
            with builder.loop(parts.count) as i:
                order.store(following[i], i)
        total.store(0, 0)
        with builder.loop(parts.count) as i:
            differs.store(cast(compare("eq", i, 0), "int64"), 0)
            with when(compare("gt", i, 0)):
                if parts.axis is None:
                    is_new = compare("ne", _key(ordered[i]), _key(ordered[i - 1]))
                    differs.store(cast(is_new, "int64"), 0)
                else:
                    _compare(builder, source, parts, [order[i - 1], order[i]], differs)
            total.store(total[0] + differs[0], 0)
            groups.store(total[0] - 1, i)


def _compare(
    builder: PrimFuncBuilder, source: Buffer, parts: _Parts, pair: Sequence[Scalar], differs: Buffer
) -> None:
    """Write whether two parts differ; those with a NaN do, as in numpy."""
    with builder.loop(parts.width) as at:
        one, other = (source[parts.place(builder, part, at, parts.count)] for part in pair)
        differs.store(binary("or", differs[0], cast(compare("ne", one, other), "int64")), 0)


def _key(value: Scalar) -> Scalar:
    return sort_key(value, False)


def _fill(
    builder: PrimFuncBuilder, buffers: Sequence[Buffer], parts: _Parts, extra: dict[str, Buffer],
    *, by_place: bool,
) -> None:  # fmt: skip
    """Write one of each group, and the other results: in order, or as they are found."""
    x, order, groups, values = buffers
    source, target = builder.linear(x), builder.linear(values)
    size = values.dims[0] if parts.axis is None else values.dims[parts.axis]
    with builder.block("unique", [], annotations=class_annotation("scatter")):
        last = builder.alloc("Last", [_ONE], "int64")
        rank = _ranks(builder, parts, size, order, groups, last) if by_place else None
        last.store(-1, 0)
        with builder.loop(parts.count) as i:
            here, group = order[i], groups[i]
            to = group if rank is None else rank[group]
            with when(compare("ne", group, last[0])):
                last.store(group, 0)
                with builder.loop(parts.width) as at:
                    where = parts.place(builder, here, at, parts.count)
                    target.store(source[where], parts.place(builder, to, at, size))
                if "return_index" in extra:
                    extra["return_index"].store(here, to)
                if "return_counts" in extra:
                    extra["return_counts"].store(0, to)
            if "return_inverse" in extra:
                extra["return_inverse"].store(to, here)
            if "return_counts" in extra:
                counts = extra["return_counts"]
                counts.store(counts[to] + 1, to)


def _ranks(
    builder: PrimFuncBuilder, parts: _Parts, size: SymExpr, order: Buffer, groups: Buffer,
    last: Buffer,
) -> Buffer:  # fmt: skip
    """Return which group is found as which, read from the first part on."""
    rank = builder.alloc("Rank", [size], "int64")
    begins = builder.alloc("Begins", [parts.count], "int64")
    last.store(-1, 0)
    with builder.loop(parts.count) as i:
        group = groups[i]
        is_new = compare("ne", group, last[0])
        begins.store(select(is_new, group, const(-1, "int64")), order[i])
        last.store(group, 0)
    last.store(0, 0)
    with builder.loop(parts.count) as i:
        group = begins[i]
        with when(compare("ge", group, 0)):
            rank.store(last[0], group)
            last.store(last[0] + 1, 0)
    return rank


def _number(builder: PrimFuncBuilder, size: SymExpr) -> Scalar:
    return const(size.value, INDEX) if size.value is not None else builder.symbol(size)


LEGALIZE = {"unique": _legalize_unique}
