"""The kernel of attention: tiles of queries pass over blocks of keys (online softmax).

Keys and values of a head are packed once. For a block of queries, scores of a block of keys are
computed by register tiles, raised in the cache, and multiplied by values; what was summed up
before is made smaller where a larger score turns up. No more than such a block of scores exists.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.lowering.tir_to_vector.attention import Attention, Place
from relax_mlir.lowering.tir_to_vector.attention_pack import (
    Matrix,
    copy_rows,
    pack_columns,
    pack_rows,
)
from relax_mlir.lowering.tir_to_vector.attention_scores import copy_fixed
from relax_mlir.lowering.tir_to_vector.attention_softmax import LOG2_E, Mask, RowState, Softmax
from relax_mlir.lowering.tir_to_vector.attention_tile import Arithmetic, Lines, sum_products
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.team import Part

import os
# Columns of a register tile, in vectors.
VECTORS = 2
# Keys of a block: their scores for the queries of a block stay in the first-level cache.
KEYS = int(os.environ.get("AKEYS","256"))
# Register tiles that share a block of keys while it is in the first-level cache.
TILES = int(os.environ.get("ATILES","4"))


@dataclass(frozen=True)
class _Buffers:
    """What a thread works in."""

    keys: ir.Value
    values: ir.Value
    queries: ir.Value
    sums: ir.Value
    softmax: Softmax


@dataclass(frozen=True)
class _Head:
    """The operands of one step of the outer loops."""

    query: Matrix
    out: Matrix
    added: list[Matrix]


def emit_attention(found: Attention, emit: Emitter, machine: Machine) -> None:
    """Write the kernel at the insertion point."""
    _Kernel(found, emit, machine).write()


class _Kernel:
    def __init__(self, found: Attention, emit: Emitter, machine: Machine) -> None:
        self.found, self.emit, self.machine = found, emit, machine
        lanes = machine.lanes(found.element)
        assert lanes is not None  # other elements are left to plain loops
        self.use = Arithmetic(emit, ir.VectorType.get([lanes], found.element), machine.fma)
        self.panel = VECTORS * lanes
        self.rows, self.keys, self.depth, self.width = map(
            emit.size, (found.rows, found.keys, found.depth, found.width)
        )
        self.tile = _tile_rows(self.rows, machine)
        self.block = TILES * self.tile
        places = (found.key, found.value)
        count = len(found.outer)
        # Keys and values are the same for every step of the loops that walk along neither.
        self.shared = [i for i in range(count) if all(p.outer[i] == 0 for p in places)]
        self.own = [i for i in range(count) if i not in self.shared]
        one_block = isinstance(self.keys, int) and 0 < self.keys <= KEYS
        self.alone = one_block and not found.scores.causal

    def write(self) -> None:
        """Write the loops."""
        emit, found = self.emit, self.found
        self.factor = self._factor()
        self.mask = self._mask()
        with ExitStack() as stack:
            order = [*self.own, *self.shared]
            extents = [emit.size(found.outer[i]) for i in order]
            parts = [Part(extent, 1, 2 * emit.threads) for extent in extents]
            parts.append(Part(self.rows, self.block))
            *spans, rows = stack.enter_context(emit.team(parts, self._work()))
            self.buffers = self._allocate()
            env: dict[int, Index] = {}
            for number, position in enumerate(order):
                if number == len(self.own):
                    self._pack(env)
                env[position] = stack.enter_context(emit.loop(*spans[number])).counter
            if not self.shared:
                self._pack(env)
            head = _Head(
                self._matrix(found.query, env),
                self._matrix(found.out, env),
                [self._matrix(place, env) for place in found.added],
            )
            with emit.loop(*rows, self.block) as loop:
                left = emit.sub(rows[1], loop.counter)
                count = emit.min(left, self.block)
                self._rows(head, loop.counter, count)

    def _work(self) -> Index:
        found, emit = self.found, self.emit
        if emit.threads == 1:
            return 0
        total: Index = 1
        for extent in (*found.outer, found.rows, found.keys, found.depth + found.width):
            total = emit.mul(total, emit.size(extent))
        return total

    def _factor(self) -> ir.Value:
        """Return what queries are multiplied by, a vector: scores are then powers of two."""
        emit, element = self.emit, self.found.element
        factor = emit.constant(element, LOG2_E if self.use.is_single else 1.0)
        for value in self.found.scores.factors:
            factor = emit.op("arith.mulf", [copy_fixed(value), factor], element)
        return self.use.splat(factor)

    def _mask(self) -> Mask | None:
        scores, emit = self.found.scores, self.emit
        if not scores.causal:
            return None
        offset: Index = 0
        if scores.offset is not None:
            offset = emit.op("arith.index_cast", [copy_fixed(scores.offset)], emit.index_type)
        return Mask(offset, scores.window)

    def _allocate(self) -> _Buffers:
        emit, lanes = self.emit, self.use.lanes
        element = self.found.element
        width = KEYS
        if isinstance(self.keys, int):
            width = min(KEYS, -(-max(self.keys, 1) // self.panel) * self.panel)
        # Rows lie off the powers of two: at those they would evict each other from the cache.
        stride = width + lanes
        rows = -(-self.block // lanes) * lanes
        with emit.outside():
            panels = emit.mul(emit.div(emit.add(self.keys, self.panel - 1), self.panel), self.panel)
            key_size = emit.add(emit.mul(panels, self.depth), lanes * self.panel)
            self.columns = emit.mul(
                emit.div(emit.add(self.width, self.panel - 1), self.panel), self.panel
            )
            value_size = emit.mul(self.keys, self.columns)
            self.query_stride = emit.add(
                emit.mul(emit.div(emit.add(self.depth, lanes - 1), lanes), lanes), lanes
            )
            self.sum_stride = emit.add(self.columns, lanes)
            query_size = emit.mul(self.query_stride, self.block)
            sum_size = emit.mul(self.sum_stride, self.block)
        state = RowState(*(emit.alloc(size, element) for size in (rows, rows, rows, rows * lanes)))
        scores = emit.alloc(self.block * stride, element)
        return _Buffers(
            emit.alloc(key_size, element),
            emit.alloc(value_size, element),
            emit.alloc(query_size, element),
            emit.alloc(sum_size, element),
            Softmax(self.use, scores, stride, self.panel, state, self.alone),
        )

    def _matrix(self, place: Place, env: dict[int, Index]) -> Matrix:
        emit = self.emit
        offset = emit.size(place.offset)
        for position, counter in env.items():
            offset = emit.add(offset, emit.mul(counter, emit.size(place.outer[position])))
        base = emit.flatten_once(place.buffer)
        row, column = emit.size(place.row), emit.size(place.column)
        return Matrix(self.use, base, offset, row, column, place.widen)

    def _pack(self, env: dict[int, Index]) -> None:
        key, value = (self._matrix(p, env) for p in (self.found.key, self.found.value))
        pack_rows(key, self.keys, self.depth, self.buffers.keys, self.panel)
        pack_columns(value, self.keys, self.width, self.buffers.values, self.panel)

    def _rows(self, head: _Head, first: Index, rows: Index) -> None:
        """Write what is done for a block of queries."""
        emit, softmax = self.emit, self.buffers.softmax
        copy_rows(
            head.query, first, rows, self.depth, self.buffers.queries, self.query_stride,
            self.factor,
        )  # fmt: skip
        if self.alone:
            self._block(head, (first, 0), rows, self.keys)
        else:
            softmax.begin(rows)
            self._clear(rows)
            lower, upper = self._visible(first, rows)
            with emit.loop(lower, upper, KEYS) as loop:
                columns = emit.min(emit.sub(upper, loop.counter), KEYS)
                self._block(head, (first, loop.counter), rows, columns)
        self._finish(head.out, first, rows)

    def _visible(self, first: Index, rows: Index) -> tuple[Index, Index]:
        """Return which keys any of some queries sees."""
        emit, mask = self.emit, self.mask
        if mask is None:
            return 0, self.keys
        start = emit.add(first, mask.offset)
        upper = emit.min(emit.add(start, rows), self.keys)
        if mask.window is None:
            return 0, upper
        lower = emit.max(emit.sub(start, mask.window - 1), 0)
        return emit.round_down(lower, self.panel), upper

    def _block(
        self, head: _Head, at: tuple[Index, Index], rows: Index, columns: Index
    ) -> None:
        """Write what is done for a block of keys."""
        emit, use, softmax = self.emit, self.use, self.buffers.softmax
        lanes = use.lanes
        with emit.loop(0, columns, self.panel) as panel:
            start = emit.mul(emit.add(at[1], panel.counter), self.depth)
            keys = Lines(self.buffers.keys, start, self.panel)

            def products(row: Index, count: int) -> None:
                queries = Lines(
                    self.buffers.queries, emit.mul(row, self.query_stride), self.query_stride
                )
                sums = sum_products(use, (count, VECTORS), queries, keys, self.depth)
                line = emit.add(emit.mul(row, softmax.stride), panel.counter)
                for r, vectors in enumerate(sums):
                    for h, value in enumerate(vectors):
                        place = emit.add(line, r * softmax.stride + h * lanes)
                        emit.vector_store(value, softmax.scores, [place])

            self._tiles(rows, products)
        self._adjust(head, at, rows, columns)
        softmax.write(rows, columns)
        with emit.loop(0, self.columns, self.panel) as panel:
            start = emit.mul(panel.counter, self.keys)
            start = emit.add(start, emit.mul(at[1], self.panel))
            values = Lines(self.buffers.values, start, self.panel)

            def shares(row: Index, count: int) -> None:
                powers = Lines(softmax.scores, emit.mul(row, softmax.stride), softmax.stride)
                sums = sum_products(use, (count, VECTORS), powers, values, columns)
                for r, vectors in enumerate(sums):
                    self._add(emit.add(row, r), panel.counter, vectors)

            self._tiles(rows, shares)

    def _add(self, row: Index, column: Index, vectors: list[ir.Value]) -> None:
        """Add to the sums of a row, made smaller."""
        emit, use = self.emit, self.use
        shrink = None
        if not self.alone:
            shrink = use.splat(emit.load(self.buffers.softmax.state.shrink, [row]))
        line = emit.add(emit.mul(row, self.sum_stride), column)
        for h, value in enumerate(vectors):
            place = emit.add(line, h * use.lanes)
            if shrink is not None:
                value = use.multiply_add(use.load(self.buffers.sums, place), shrink, value)
            emit.vector_store(value, self.buffers.sums, [place])

    def _adjust(
        self, head: _Head, at: tuple[Index, Index], rows: Index, columns: Index
    ) -> None:
        emit, softmax, mask = self.emit, self.buffers.softmax, self.mask
        if not head.added:
            softmax.hide_rest(rows, columns)
            if mask is None:
                return
            seen = emit.add(emit.add(at[0], mask.offset), 1)
            partial = emit.compare("slt", seen, emit.add(at[1], columns))
            if mask.window is not None:
                last = emit.add(seen, emit.sub(rows, 1))
                gone = emit.compare("sgt", emit.sub(last, mask.window), at[1])
                partial = emit.op("arith.ori", [partial, gone], emit.bool_type)
            with emit.when(partial):
                softmax.adjust(rows, columns, at, [], mask)
            return
        softmax.hide_rest(rows, columns)
        softmax.adjust(rows, columns, at, head.added, mask)

    def _clear(self, rows: Index) -> None:
        emit, use = self.emit, self.use
        zero = emit.constant(use.vector, 0)
        with emit.loop(0, rows) as row:
            line = emit.mul(row.counter, self.sum_stride)
            with emit.loop(0, self.columns, use.lanes) as column:
                emit.vector_store(zero, self.buffers.sums, [emit.add(line, column.counter)])

    def _finish(self, out: Matrix, first: Index, rows: Index) -> None:
        """Divide the sums of rows by those of their powers."""
        emit, use, element = self.emit, self.use, self.found.element
        one, zero = emit.constant(element, 1), emit.constant(element, 0)
        narrow = out.base.type.element_type
        stored = ir.VectorType.get([use.lanes], narrow)
        equal = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
        with emit.loop(0, rows) as row:
            at = emit.mul(row.counter, use.lanes)
            total = use.across(use.load(self.buffers.softmax.state.totals, at), use.add)
            none = emit.op("arith.cmpf", [total, zero], emit.bool_type, predicate=equal)
            if not self.found.zeros:
                none = emit.both(none, emit.compare("eq", self.keys, 0))
            total = emit.op("arith.select", [none, one, total], element)
            share = use.splat(emit.op("arith.divf", [one, total], element))
            line = emit.mul(row.counter, self.sum_stride)
            target = out.place(emit.add(first, row.counter), 0)
            with emit.loop(0, self.width, use.lanes) as column:
                value = use.load(self.buffers.sums, emit.add(line, column.counter))
                value = emit.op("arith.mulf", [value, share], use.vector)
                if narrow != element:
                    value = emit.op("arith.truncf", [value], stored)
                mask = emit.mask(emit.sub(self.width, column.counter), use.lanes)
                emit.vector_store(value, out.base, [emit.add(target, column.counter)], mask)

    def _tiles(self, rows: Index, write: Callable[[Index, int], None]) -> None:
        """Write register tiles over the rows of a block."""
        emit = self.emit
        if isinstance(self.rows, int):
            sizes = [self.tile, self.rows % self.tile]
        else:
            sizes = list(self.machine.row_tiles)
        done: Index = 0
        for size in sizes:
            if not size:
                continue
            left = emit.sub(rows, done)
            upto = emit.add(done, emit.round_down(left, size))
            with emit.loop(done, upto, size) as loop:
                write(loop.counter, size)
            done = upto


def _tile_rows(rows: Index, machine: Machine) -> int:
    """Return the rows of a register tile: where it is known how many there are, with few left."""
    most = machine.row_tiles[0]
    if not isinstance(rows, int):
        return most
    if rows <= most:
        return max(rows, 1)

    def cost(tile: int) -> tuple[float, int]:
        # A tile of few rows waits for its own sums: it takes as long as one of a third more.
        left = rows % tile
        return (rows // tile + (max(left, most // 3) / tile if left else 0)) * tile, -tile

    return min(range(most * 2 // 3, most + 1), key=cost)
