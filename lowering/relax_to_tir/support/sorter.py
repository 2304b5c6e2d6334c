"""Sorting rows of tensors, and keeping the first few in order, by loops.

Every row is sorted by one thread. Numbers become unsigned keys whose order is numpy's: NaN after
every number, zeros of both signs equal. Short rows count for each element how many go before it;
longer ones are sorted by bytes, the lowest first, which keeps the order of equal elements. A few
of many are kept in order while the row is read once.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, Scalar, binary, cast, const, is_float, unary
from relax_mlir.lowering.relax_to_tir.support.imperative import parts, when
from relax_mlir.lowering.relax_to_tir.support.sort_keys import key_bits, key_dtype, sort_key
from relax_mlir.lowering.relax_to_tir.support.sort_select import Keys, Selection

# Rows up to this length are sorted by counting, which vectors do.
_SHORT = 96
# So many at most are kept in order while the row is read, a block of it at a time.
_FEW, _BLOCK = 64, 64
# More than these are not inserted one by one.
_INSERTED = 40
_BYTE, _DIGITS = 8, 256
# Counts for a short row are those of so many elements at a time.
_VECTOR = 16


@dataclass
class Row:
    """One row being sorted.

    Attributes:
        length: of the row.
        count: how many of the result are wanted.
        value: reads an element.
        store: writes a place of the result: where, which element, and where that was.
        key: the order of an element, lowest first.
    """

    length: SymExpr
    count: SymExpr
    value: Callable[[Scalar], Scalar]
    store: Callable[[Scalar, Scalar, Scalar], None]
    key: Callable[[Scalar], Scalar]


class Sorter:
    """Writes how a row is sorted, with the scratch memory of a thread."""

    def __init__(
        self, builder: PrimFuncBuilder, dtype: str, length: SymExpr, count: SymExpr,
        needs: tuple[bool, str],
    ) -> None:  # fmt: skip
        """Allocate the scratch.

        Args:
            builder: the function's.
            dtype: of the elements.
            length: of a row.
            count: how many of it are wanted.
            needs: whether places are wanted, and the dtype that holds them.
        """
        self._builder, self._dtype, self._key = builder, dtype, key_dtype(dtype)
        self._passes = key_bits(dtype) // _BYTE
        known = length.value
        self._short = known is None or known <= _SHORT
        long = known is None or known > _SHORT
        k = count.value
        few = _FEW if known is None else max(_FEW, min(known // 16, 16 * _FEW))
        self._select = long and k is not None and k <= few
        self._radix = long and not self._select
        alloc = builder.alloc
        if self._short:
            size = SymExpr.const(_SHORT)
            self._keys = alloc("Keys", [size], self._key)
            self._ranks = alloc("Ranks", [size], self._key)
            self._steps = alloc("Steps", [size], self._key)
            with builder.loop(size) as i:
                self._steps.store(cast(i, self._key), i)
        self._selection = None
        if self._select and k is not None and k > _INSERTED:
            keys = Keys(self._key, key_bits(dtype))
            self._selection = Selection(builder, k, keys, needs[1])
        elif self._select:
            self._best = alloc("Best", [count], self._key)
            self._place = alloc("Place", [count], needs[1])
            self._peak = alloc("Peak", [1], self._key)
            self._at = alloc("At", [1], "int64")
        if self._radix:
            self._work = alloc("Work", [length * 2], dtype)
            self._number = alloc("Number", [length * 2], needs[1]) if needs[0] else None
            counter = "int32" if known is not None and known < 1 << 31 else "int64"
            self._counts = alloc("Counts", [self._passes * _DIGITS], counter)
            self._sum = alloc("Sum", [1], counter)
            self._side = alloc("Side", [1], "int64")
            # Integers are often of a small range: bytes that only zeros would have are left out.
            self._range = None
            if not is_float(dtype) and self._passes >= 4:
                self._range = alloc("Range", [2], self._key)

    def sort(self, row: Row) -> None:
        """Write how a row is sorted."""
        long = self._top if self._select else self._by_bytes
        if not self._short:
            long(row)
        elif not (self._select or self._radix):
            self._by_counting(row)
        else:
            is_short = self._builder.symbol(row.length) <= _SHORT
            with when(is_short):
                self._by_counting(row)
            with when(binary("xor", is_short, 1)):
                long(row)

    def _by_counting(self, row: Row) -> None:
        """Count for every element those before it; each step is one for all elements at once."""
        builder, keys, ranks = self._builder, self._keys, self._ranks
        # Whole vectors: what is counted for places beyond the end is not looked at.
        whole = row.length.ceildiv(_VECTOR) * _VECTOR
        with builder.loop(whole) as i:
            ranks.store(0, i)
        with builder.loop(row.length) as i:
            keys.store(row.key(row.value(i)), i)
        with builder.loop(row.length) as i:
            key, here = keys[i], self._steps[i]
            with builder.loop(whole) as j:
                other = keys[j]
                tie = binary("and", key == other, here < self._steps[j])
                before = binary("or", key < other, tie)
                ranks.store(ranks[j] + cast(before, self._key), j)
        with builder.loop(row.length) as i:
            rank = ranks[i]
            if row.count == row.length:
                row.store(_index(rank), row.value(i), i)
            else:
                # Not more than the key's dtype has.
                most = row.count.min(_SHORT)
                limit = cast(builder.symbol(most), self._key) if most.value is None else most.value
                with when(rank < limit):
                    row.store(_index(rank), row.value(i), i)

    def _by_bytes(self, row: Row) -> None:
        builder, work, counts, side = self._builder, self._work, self._counts, self._side
        n = builder.symbol(row.length)
        passes: int | Scalar = self._passes
        if self._range is not None:
            row, passes = self._narrowed(row)
        with builder.loop(_times(passes, _DIGITS)) as i:
            counts.store(0, i)
        with builder.loop(row.length) as i:
            value = row.value(i)
            work.store(value, i)
            if self._number is not None:
                self._number.store(cast(i, self._number.dtype), i)
            key = row.key(value)
            with self._each(passes) as numbers:
                for number in numbers:
                    at = self._digit(key, number)
                    counts.store(counts[at] + 1, at)
        side.store(0, 0)
        with builder.loop(passes) as number:
            start = side[0] * n
            first = self._digit(row.key(work[start]), number)
            # A byte that all have in common is in order.
            with when(counts[first] != cast(n, counts.dtype)):
                self._pass(row, number, start, n - start)
                side.store(1 - side[0], 0)
        begin = side[0] * n
        with builder.loop(row.count) as i:
            place = i if self._number is None else _index(self._number[begin + i])
            row.store(i, work[begin + i], place)

    @contextmanager
    def _each(self, passes: int | Scalar) -> Iterator[list[Scalar]]:
        """Write what is done for each pass: once for all where their number is known."""
        if isinstance(passes, int):
            yield [const(number, INDEX) for number in range(passes)]
            return
        with self._builder.loop(passes) as number:
            yield [number]

    def _narrowed(self, row: Row) -> tuple[Row, Scalar]:
        """Return the row with keys from 0, and how many bytes the largest has."""
        builder, limits = self._builder, self._range
        assert limits is not None
        limits.store((1 << key_bits(self._dtype)) - 1, 0)
        limits.store(0, 1)
        with builder.loop(row.length) as i:
            key = row.key(row.value(i))
            limits.store(binary("min", limits[0], key), 0)
            limits.store(binary("max", limits[1], key), 1)
        low = limits[0]
        width = 64 - unary("clz", cast(limits[1] - low, "uint64"))
        passes = _index(binary("div", width + (_BYTE - 1), _BYTE))
        return replace(row, key=lambda value: row.key(value) - low), passes

    def _digit(self, key: Scalar, number: Scalar) -> Scalar:
        """Return where a key's byte of that number is counted."""
        if self._passes == 1:
            return _index(key)
        moved = binary("shr", key, cast(number * _BYTE, key.dtype))
        return _index(binary("and", moved, _DIGITS - 1)) + number * _DIGITS

    def _pass(self, row: Row, number: Scalar, start: Scalar, target: Scalar) -> None:
        """Write one pass: from counts to places, then each element to its place."""
        builder, work, counts, total = self._builder, self._work, self._counts, self._sum
        total.store(0, 0)
        with builder.loop(_DIGITS) as i:
            at = number * _DIGITS + i
            here = counts[at]
            counts.store(total[0], at)
            total.store(total[0] + here, 0)
        with builder.loop(row.length) as i:
            value = work[start + i]
            at = self._digit(row.key(value), number)
            place = counts[at]
            counts.store(place + 1, at)
            where = target + _index(place)
            work.store(value, where)
            if self._number is not None:
                self._number.store(self._number[start + i], where)

    def _top(self, row: Row) -> None:
        """Keep the first few in order; of a block nothing is looked at when none is among them."""
        if self._selection is not None:
            self._selection.select(row.length, lambda i: row.key(row.value(i)))
            with self._builder.loop(row.count) as i:
                selected = cast(self._selection.ordered[i], INDEX)
                row.store(i, row.value(selected), selected)
            return
        builder, best, place, peak = self._builder, self._best, self._place, self._peak
        last = builder.symbol(row.count - 1)
        known = row.length.value
        size = _BLOCK if known is None or known > _BLOCK * _BLOCK else _BLOCK // 4
        with builder.loop(row.count) as i:
            self._insert(row.key(row.value(i)), i, i)

        def look(i: Scalar) -> None:
            key = row.key(row.value(i))
            with when(key < best[last]):
                self._insert(key, i, last)

        blocks = ((row.length - row.count) // size).max(0)
        with builder.loop(blocks) as block:
            start = block * size + builder.symbol(row.count)
            peak.store((1 << key_bits(self._dtype)) - 1, 0)
            with builder.loop(size) as i:
                peak.store(binary("min", peak[0], row.key(row.value(start + i))), 0)
            with when(peak[0] < best[last]), builder.loop(size) as i:
                look(start + i)
        done = row.count + blocks * size
        with builder.loop((row.length - done).max(0), start=builder.symbol(done)) as i:
            look(i)
        with builder.loop(row.count) as i:
            selected = _index(place[i])
            row.store(i, row.value(selected), selected)

    def _insert(self, key: Scalar, number: Scalar, last: Scalar) -> None:
        """Insert behind all that are no later, in a list whose end moves to `last`."""
        builder, best, place, at = self._builder, self._best, self._place, self._at
        at.store(0, 0)
        with builder.loop(last) as i:
            at.store(at[0] + cast(best[i] <= key, "int64"), 0)
        where = at[0]
        with builder.loop(last - where) as i:
            to = last - i
            best.store(best[to - 1], to)
            place.store(place[to - 1], to)
        best.store(key, where)
        place.store(cast(number, place.dtype), where)


def write_sorted(
    builder: PrimFuncBuilder, name: str, source: Buffer, axis: int, count: SymExpr,
    outs: tuple[Buffer | None, Buffer | None], descending: bool,
) -> None:  # fmt: skip
    """Write the sorted rows of a tensor along an axis: elements, their places, or both."""
    length, inner = source.dims[axis], product(source.dims[axis + 1 :])
    rows = product(source.dims[:axis]) * inner
    dtype = source.dtype
    data = builder.linear(source)
    values, places = (None if out is None else builder.linear(out) for out in outs)
    small = length.value is not None and length.value < 1 << 31
    wide = places is not None and not small and T.dtype_size(places.dtype) > 4
    with parts(builder, name, rows, "sort") as each:
        sorter = Sorter(
            builder, dtype, length, count, (places is not None, "int64" if wide else "int32")
        )
        with each as row:
            outer, column = (row, 0) if inner == 1 else _divided(builder, row, inner)
            step = builder.symbol(inner)
            start = outer * builder.symbol(length) * step + column
            out_start = outer * builder.symbol(count) * step + column

            def store(at: Scalar, value: Scalar, place: Scalar) -> None:
                where = out_start + at * step
                if values is not None:
                    values.store(value, where)
                if places is not None:
                    places.store(cast(place, places.dtype), where)

            sorter.sort(
                Row(
                    length,
                    count,
                    lambda i: data[start + i * step],
                    store,
                    lambda value: sort_key(value, descending),
                )
            )


def _index(value: Scalar) -> Scalar:
    return cast(value, "int64")


def _times(count: int | Scalar, by: int) -> SymExpr | Scalar:
    return SymExpr.const(count * by) if isinstance(count, int) else count * by


def _divided(builder: PrimFuncBuilder, row: Scalar, inner: SymExpr) -> tuple[Scalar, Scalar]:
    by = builder.symbol(inner) if inner.value is None else inner.value
    return row // by, row % by
