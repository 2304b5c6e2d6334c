"""Top-k of a row for small k: collect candidates, and select among them when they are many."""

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, const
from relax_mlir.lowering.relax_to_tir.support.imperative import when

# Elements that are looked at together, and that ranks are counted for.
_BLOCK, _VECTOR = 64, 16


@dataclass(frozen=True)
class Keys:
    """The unsigned numbers that elements are ordered by: their dtype and how many bits count."""

    dtype: str
    bits: int


class Selection:
    """Finds the first `count` of a row, the lowest key first, of equal ones the earlier.

    What is lower than the last of them goes to the end of a list. When that has twice as many, only
    the first stay. At the end each of them counts how many go before it.
    """

    def __init__(self, builder: PrimFuncBuilder, count: int, keys: Keys, place: str) -> None:
        """Allocate the lists.

        Args:
            builder: the function's.
            count: how many are wanted.
            keys: what they are ordered by.
            place: the dtype of places in a row.
        """
        self._builder, self._count = builder, count
        self._bits, self._most = keys.bits, (1 << keys.bits) - 1
        # Between two looks at its length a block and the end of the row come to a full list.
        self._size = SymExpr.const(2 * count + 2 * _BLOCK)
        self._room = SymExpr.const(-(-count // _VECTOR) * _VECTOR)
        # Ranks go up to the room, which bytes do not.
        self._rank = keys.dtype if keys.bits > 8 else "uint16"
        alloc = builder.alloc
        self.keys = alloc("Best", [self._size], keys.dtype)
        self.places = alloc("Place", [self._size], place)
        self.ordered = alloc("Ordered", [SymExpr.const(count)], place)
        self._ranks = alloc("Ranked", [self._room], self._rank)
        self._steps = alloc("Numbers", [self._room], self._rank)
        self._below = alloc("Below", [1], self._rank)
        self._equal = alloc("Equal", [1], "int64")
        self._limit = alloc("Limit", [1], keys.dtype)
        self._peak = alloc("Peak", [1], keys.dtype)
        self._fill = alloc("Fill", [1], "int64")
        with builder.loop(self._room) as i:
            self._steps.store(cast(i, self._rank), i)

    def select(self, length: SymExpr, key: Callable[[Scalar], Scalar]) -> None:
        """Write the selection from a row of at least so many; `ordered` has their places then."""
        builder, count = self._builder, self._count
        with builder.loop(SymExpr.const(count)) as i:
            self._put(key(i), i, i)
        self._fill.store(count, 0)
        self._limit.store(self._most, 0)

        def look(i: Scalar) -> None:
            here = key(i)
            with when(here < self._limit[0]):
                at = self._fill[0]
                self._put(here, i, at)
                self._fill.store(at + 1, 0)

        blocks = ((length - count) // _BLOCK).max(0)
        with builder.loop(blocks) as block:
            start = block * _BLOCK + count
            self._peak.store(self._most, 0)
            with builder.loop(_BLOCK) as i:
                self._peak.store(binary("min", self._peak[0], key(start + i)), 0)
            with when(self._peak[0] < self._limit[0]):
                with builder.loop(_BLOCK) as i:
                    look(start + i)
                with when(self._fill[0] > 2 * count):
                    self._thin()
        done = blocks * _BLOCK + count
        with builder.loop((length - done).max(0), start=builder.symbol(done)) as i:
            look(i)
        self._thin()
        self._order()

    def _put(self, key: Scalar, place: Scalar, at: Scalar) -> None:
        self.keys.store(key, at)
        self.places.store(cast(place, self.places.dtype), at)

    def _thin(self) -> None:
        """Leave the first of the list, as they came: those below the last of them, and some equal.

        That key is found from its highest bit on: as many as are wanted are not below it.
        """
        builder, keys, below, limit = self._builder, self.keys, self._below, self._limit
        count, fill = self._count, self._fill[0]
        limit.store(0, 0)
        with builder.loop(self._bits) as step:
            by = cast(self._bits - 1 - step, keys.dtype)
            bit = binary("shl", const(1, keys.dtype), by)
            candidate = binary("or", limit[0], bit)
            below.store(0, 0)
            with builder.loop(fill) as i:
                below.store(below[0] + cast(keys[i] < candidate, below.dtype), 0)
            with when(below[0] < count):
                limit.store(candidate, 0)
        last = limit[0]
        below.store(0, 0)
        with builder.loop(fill) as i:
            below.store(below[0] + cast(keys[i] < last, below.dtype), 0)
        self._equal.store(count - cast(below[0], "int64"), 0)
        self._fill.store(0, 0)
        with builder.loop(fill) as i:
            key, at, left = keys[i], self._fill[0], self._equal[0]
            is_last = key == last
            stays = binary("or", key < last, binary("and", is_last, left > 0))
            self._put(key, self.places[i], at)
            self._fill.store(at + cast(stays, "int64"), 0)
            self._equal.store(left - cast(is_last, "int64"), 0)

    def _order(self) -> None:
        """Bring the first of the list in order: each counts how many go before it."""
        builder, keys, ranks = self._builder, self.keys, self._ranks
        with builder.loop(self._room) as i:
            ranks.store(0, i)
        with builder.loop(SymExpr.const(self._count)) as i:
            key, here = keys[i], self._steps[i]
            # Whole vectors: what is counted for places beyond the end is not looked at.
            with builder.loop(self._room) as j:
                other = keys[j]
                tie = binary("and", key == other, here < self._steps[j])
                before = binary("or", key < other, tie)
                ranks.store(ranks[j] + cast(before, self._rank), j)
        with builder.loop(SymExpr.const(self._count)) as i:
            self.ordered.store(self.places[i], cast(ranks[i], "int64"))
