"""The kernel of attention: tiles of queries pass over blocks of keys (online softmax).

Keys and values of a head are packed once. For a block of queries, scores of a block of keys are
computed by register tiles, raised in the cache, and multiplied by values; what was summed up
before is made smaller where a larger score turns up. No more than such a block of scores exists.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.ahead import Ahead, find_ahead
from relax_mlir.lowering.tir_to_vector.attention.changes import Changes
from relax_mlir.lowering.tir_to_vector.attention.crossed import Crossing
from relax_mlir.lowering.tir_to_vector.attention.few_queries import FewQueries
from relax_mlir.lowering.tir_to_vector.attention.near import (
    Near,
    are_near,
    longest_key,
    longest_query,
)
from relax_mlir.lowering.tir_to_vector.attention.pack import (
    Matrix,
    Rows,
    copy_rows,
    pack_columns,
    pack_rows,
)
from relax_mlir.lowering.tir_to_vector.attention.pairs import (
    PAIR,
    copy_row_pairs,
    first_of_pairs,
    pack_column_pairs,
    pack_row_pairs,
)
from relax_mlir.lowering.tir_to_vector.attention.pattern import Attention
from relax_mlir.lowering.tir_to_vector.attention.plan import FEW, KEYS, REGISTERS, VECTORS, Plan
from relax_mlir.lowering.tir_to_vector.attention.setup import Setup
from relax_mlir.lowering.tir_to_vector.attention.softmax import RowState, Softmax
from relax_mlir.lowering.tir_to_vector.attention.sums import Sums
from relax_mlir.lowering.tir_to_vector.attention.tile import Lines, sum_products
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index


@dataclass(frozen=True)
class _Buffers:
    """What a thread works in; what already is where tiles want it is not copied."""

    keys: ir.Value
    values: ir.Value | None
    queries: ir.Value | None
    sums: Sums
    softmax: Softmax
    crossing: Crossing | None


@dataclass(frozen=True)
class _Head:
    """The operands of one step of the outer loops."""

    query: Matrix
    value: Matrix
    out: Matrix
    changes: Changes
    ahead: Ahead | None
    longest: ir.Value | None


@dataclass(frozen=True)
class _Keys:
    """A block of keys.

    Attributes:
        first: the first.
        count: how many there are.
        goes_on: whether there were blocks before.
        is_last: whether there is none behind it.
    """

    first: Index
    count: Index
    goes_on: bool | ir.Value
    is_last: bool | ir.Value


def emit_attention(found: Attention, emit: Emitter, machine: Machine) -> None:
    """Write the kernel at the insertion point."""
    setup = Setup(found, emit, machine)
    adjacent = all(place.column == 1 for place in (found.query, found.key, found.value))
    if not adjacent:
        _Kernel(setup).write()
    elif isinstance(setup.rows, int):
        kernel = FewQueries(setup) if setup.rows <= FEW else _Kernel(setup)
        kernel.write()
    else:
        with emit.when(emit.compare("sle", setup.rows, FEW)) as branch:
            FewQueries(setup).write()
        with emit.otherwise(branch):
            _Kernel(setup).write()


class _Kernel(Plan):
    """Writes it, as planned."""

    def write(self) -> None:
        """Write the loops."""
        emit, setup, found = self.emit, self.setup, self.found
        with setup.team(self.block) as (spans, rows), ExitStack() as stack:
            self.buffers = self._allocate()
            env: dict[int, Index] = {}
            for position in setup.own:
                env[position] = stack.enter_context(emit.loop(*spans[position])).counter
            longest = self._pack(env)
            for position in setup.shared:
                env[position] = stack.enter_context(emit.loop(*spans[position])).counter
            head = _Head(
                setup.matrix(found.query, env),
                setup.matrix(found.value, env),
                setup.matrix(found.out, env),
                setup.changes(env),
                find_ahead(setup, env, spans, rows, self.block, not self.queries_lie_well),
                longest,
            )
            if rows[0] == 0 and isinstance(rows[1], int) and rows[1] <= self.block:
                self._rows(head, 0, rows[1])
                return
            with emit.loop(*rows, self.block) as loop:
                count = emit.min(emit.sub(rows[1], loop.counter), self.block)
                self._rows(head, loop.counter, count)

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
            key_size = emit.add(emit.mul(panels, self.steps), lanes * self.panel)
            self.columns = emit.mul(
                emit.div(emit.add(self.width, self.panel - 1), self.panel), self.panel
            )
            value_size = emit.mul(self._units(self.keys), self.columns)
            self.query_stride = emit.add(
                emit.mul(emit.div(emit.add(self.steps, lanes - 1), lanes), lanes), lanes
            )
            sum_stride = emit.add(self.columns, lanes)
            query_size = emit.mul(self.query_stride, self.block)
            sum_size = emit.mul(sum_stride, self.block)
        parts = emit.alloc(rows * lanes, element) if self.may_be_near else None
        crossing = None
        if self.crosses and isinstance(self.steps, int):
            noted = emit.alloc(panels, element), emit.alloc(rows, element)
            crossing = Crossing(self.use, self.steps, *noted)
        state = RowState(*(emit.alloc(rows, element) for _ in range(5)), parts=parts)
        scores = emit.alloc(self.block * stride, element)
        at_once = self.alone and self.found.out.column == 1
        kept = None if at_once else emit.alloc(sum_size, element)
        return _Buffers(
            emit.alloc(key_size, element),
            None if self.values_lie_well else emit.alloc(value_size, element),
            None if self.queries_lie_well else emit.alloc(query_size, element),
            Sums(self.setup, kept, sum_stride, state, self.tile, VECTORS),
            Softmax(
                self.use, scores, stride, state, self.alone, self.pairs is not None, self._none()
            ),
            crossing,
        )

    def _none(self) -> bool | ir.Value:
        """Return whether rows that see nothing get zeros; where there are no keys they do."""
        if self.found.zeros or isinstance(self.keys, int):
            return self.found.zeros or self.keys == 0
        return self.emit.compare("eq", self.keys, 0)

    def _pack(self, env: dict[int, Index]) -> ir.Value | None:
        """Copy keys and values; return the square of the longest key's length if it matters."""
        key, value = (self.setup.matrix(p, env) for p in (self.found.key, self.found.value))
        if self.pairs is not None:
            pack_row_pairs(key, self.keys, self.depth, self.buffers.keys, self.panel)
            pack_column_pairs(value, self.keys, self.width, self.buffers.values, self.panel)
        else:
            pack_rows(key, self.keys, self.depth, self.buffers.keys, self.panel, self.factors[1])
            if self.buffers.values is not None:
                pack_columns(value, self.keys, self.width, self.buffers.values, self.panel)
        if not self.may_be_near:
            return None
        # What lies in keys that no query sees does not matter.
        count = self._if_many(self.setup.visible(0, self.rows, self.panel)[1])
        some = self.setup.mask is not None
        if self.buffers.crossing is not None:
            self.buffers.crossing.note_keys(self.buffers.keys, count, self.panel)
        return longest_key(
            self.use, self.buffers.keys, count, self.steps, self.panel, self.pairs, some
        )  # fmt: skip

    def _if_many(self, count: Index) -> Index:
        return count if self.many is True else self.emit.select(self.many, count, 0)

    def _near(self, head: _Head, first: Index, rows: Index) -> Near | None:
        """Return whether scores of a block of queries may be raised as they are, None for no."""
        if head.longest is None:
            return None
        emit, crossing = self.emit, self.buffers.crossing
        queries = self._queries(head.query, first, 0, None)
        factor = None if self.pairs is None else emit.extract(self.setup.factor, 0)
        longest = longest_query(self.use, queries, self._if_many(rows), self.steps, self.pairs)
        near = are_near(self.use, longest, head.longest, factor)
        near = near if self.many is True else emit.both(near, self.many)
        if crossing is None:
            return Near(near, None)
        return Near(near, crossing.note_queries(queries, rows, (longest, head.longest), near))

    def _rows(self, head: _Head, first: Index, rows: Index) -> None:
        """Write what is done for a block of queries."""
        emit, softmax = self.emit, self.buffers.softmax
        # Tiles compute rows that are not there; of garbage, subnormal numbers would take long.
        known, unit = isinstance(self.rows, int), max(1, self.tile // 2)
        made = rows if known else emit.round_down(emit.add(rows, unit - 1), unit)
        if self.buffers.queries is not None:
            copied = Rows(first, made, None if known else emit.sub(self.rows, 1))
            to = self.buffers.queries, self.query_stride
            if self.pairs is None:
                copy_rows(head.query, copied, self.depth, *to, self.factors[0])
            else:
                copy_row_pairs(head.query, copied, self.depth, *to)
        near = self._near(head, first, rows)
        if self.alone:
            self._block(head, _Keys(0, self.keys, False, True), first, rows, near)
        else:
            softmax.begin(rows)
            self._blocks(head, first, rows, near)
        self.buffers.sums.finish(head.out, first, rows)

    def _blocks(self, head: _Head, first: Index, rows: Index, near: Near | None) -> None:
        """Write the loop over blocks of keys; there is one of none where no key is seen."""
        emit, mask = self.emit, self.setup.mask
        lower, upper = self.setup.visible(first, rows, self.panel)
        known = mask is None and isinstance(upper, int) and upper > 0
        even = known and upper % KEYS == 0
        with emit.loop(
            lower, upper if known else emit.max(upper, emit.add(lower, 1)), KEYS
        ) as loop:
            key = loop.counter
            left = emit.sub(upper, key)
            columns = KEYS if even else emit.min(left, KEYS)
            if not known:
                columns = emit.max(columns, 0)
            goes_on = emit.compare("sgt", key, lower)
            is_last = emit.compare("sle", left, KEYS)
            self._block(head, _Keys(key, columns, goes_on, is_last), first, rows, near)

    def _block(
        self, head: _Head, keys: _Keys, first: Index, rows: Index, near: Near | None
    ) -> None:  # fmt: skip
        """Write what is done for a block of keys."""
        emit, use, softmax, columns = self.emit, self.use, self.buffers.softmax, keys.count
        at = (first, keys.first)
        # Of a panel whose second half is empty only the first is computed.
        whole = emit.round_down(emit.add(columns, use.lanes * (VECTORS - 1)), self.panel)
        seen = self._seen_by_all(at, rows, columns)
        full = emit.round_down(seen, self.panel)
        softmax.expect(rows)
        for lower, upper, vectors in ((0, whole, VECTORS), (whole, columns, VECTORS - 1)):
            if isinstance(lower, int) and isinstance(upper, int) and lower >= upper:
                continue
            with emit.loop(lower, upper, self.panel) as panel:
                here = None
                if near is not None and vectors == VECTORS:
                    all_see = emit.compare("slt", panel.counter, full)
                    here = replace(near, scores=emit.both(near.scores, all_see))
                self._products(head, at, rows, panel.counter, vectors, here)
        self._adjust(head, at, rows, columns, seen)
        raised = None if near is None else near.scores
        softmax.write(rows, columns, raised, full)
        with emit.loop(0, self.columns, self.panel) as panel:
            values = self._values(head, at[1], panel.counter)

            def shares(row: Index, count: int) -> None:
                powers = Lines(softmax.scores, emit.mul(row, softmax.stride), softmax.stride)
                start = self.buffers.sums.before(keys.goes_on, row, panel.counter, count)
                sums = self._sums(count, powers, values, columns, start)
                where = (first, row, rows)
                self.buffers.sums.put(head.out, keys.is_last, where, panel.counter, sums)

            self._tiles(rows, shares)

    def _products(
        self, head: _Head, at: tuple[Index, Index], rows: Index, column: Index, vectors: int,
        near: Near | None,
    ) -> None:  # fmt: skip
        """Write the scores of a panel, from that column of the block that starts at a key.

        They are raised at once if they are near; that is None where they never are.
        """
        emit, use, softmax = self.emit, self.use, self.buffers.softmax
        ahead, (first, key) = head.ahead, at
        start = emit.mul(emit.add(key, column), self.steps)
        keys = Lines(self.buffers.keys, start, self.panel)
        # That takes more code than kernels of unknown sizes have time to be compiled.
        known = isinstance(self.rows, int) and isinstance(self.keys, int)
        in_registers = known and self.setup.machine.registers >= REGISTERS

        def products(row: Index, count: int) -> None:
            # Rows that are not there may be in tiles of what is left only.
            last = None
            if not isinstance(self.rows, int) and count < self.tile:
                last = emit.sub(self.rows, 1)
            queries = self._queries(head.query, first, row, last)
            shape = (count, vectors)
            sums = self._scores(shape, queries, keys, (row, emit.add(key, column)), near)
            if self.pairs is not None:
                # Queries times the factor would have to be rounded once more.
                sums = [
                    [emit.op("arith.mulf", [x, self.setup.factor], use.vector) for x in each]
                    for each in sums
                ]
            if near is None or not in_registers or count < self.tile:
                softmax.keep(row, column, sums)
            else:
                with emit.when(near.scores) as branch:
                    for r, scores in enumerate(sums):
                        softmax.raise_row(emit.add(row, r), column, scores)
                with emit.otherwise(branch):
                    softmax.keep(row, column, sums)
            if ahead is not None and (count, vectors) == (self.tile, VECTORS):
                ahead.ask(at, row, column, self.panel, count)

        # Half the rows keep one unit busy, as that for pairs is: there is no tile of all.
        one_unit = self.pairs is not None or self.setup.machine.fma_units == 1
        self._tiles(rows, products, one_unit and vectors < VECTORS)
        if near is not None:
            # What tiles have not raised.
            start = emit.round_down(rows, self.tile) if in_registers else 0
            with emit.when(near.scores):
                softmax.raise_panel((start, rows), column, vectors)

    def _scores(
        self, shape: tuple[int, int], queries: Lines, keys: Lines, at: tuple[Index, Index],
        near: Near | None,
    ) -> list[list[ir.Value]]:  # fmt: skip
        """Return the scores of a tile, the first query of which is counted from its block's."""
        crossing = self.buffers.crossing
        if near is None or near.crossed is None or crossing is None or shape[0] < self.tile:
            return sum_products(self.use, shape, queries, keys, self.steps, pairs=self.pairs)
        return crossing.sums(shape, queries, keys, at, near.crossed)

    def _queries(self, query: Matrix, first: Index, row: Index, last: Index | None) -> Lines:
        """Return where the queries of a tile are, none of which lies behind the last one."""
        emit, copies = self.emit, self.buffers.queries
        if copies is None:
            last = None if last is None else query.place(last, 0)
            return Lines(query.base, query.place(emit.add(first, row), 0), query.row, last)
        return Lines(copies, emit.mul(row, self.query_stride), self.query_stride)

    def _sums(
        self, rows: int, powers: Lines, values: Lines, keys: Index, start: list[ir.Value] | None
    ) -> list[list[ir.Value]]:
        """Return the sums of a tile of powers times values of so many keys."""
        emit, shape = self.emit, (rows, VECTORS)
        if self.pairs is None or self.setup.mask is None:
            steps = self._units(keys)
            return sum_products(self.use, shape, powers, values, steps, start, self.pairs)
        # The next key is one that nobody sees, whatever its value is.
        whole = emit.div(keys, PAIR)
        sums = sum_products(self.use, shape, powers, values, whole, start, self.pairs)
        powers = replace(powers, offset=emit.add(powers.offset, whole))
        values = replace(values, offset=emit.add(values.offset, emit.mul(whole, values.stride)))
        return sum_products(
            self.use, shape, powers, values, emit.sub(keys, emit.mul(whole, PAIR)),
            [value for each in sums for value in each], self.pairs,
            lambda column: first_of_pairs(self.use, column),
        )  # fmt: skip

    def _values(self, head: _Head, key: Index, column: Index) -> Lines:
        """Return where a panel of values is, from a key on."""
        emit, packed = self.emit, self.buffers.values
        if packed is None:
            value = head.value
            return Lines(value.base, value.place(key, column), value.row)
        line = emit.div(key, self.unit)
        start = emit.add(emit.mul(column, self._units(self.keys)), emit.mul(line, self.panel))
        return Lines(packed, start, self.panel)

    def _seen_by_all(self, at: tuple[Index, Index], rows: Index, columns: Index) -> Index:
        """Return how many keys of a block every query of a block sees before one that some do not.

        Args:
            at: the first query, and the first key.
            rows: how many queries.
            columns: how many keys.
        """
        emit, mask = self.emit, self.setup.mask
        if mask is None:
            return columns
        upto = emit.add(emit.add(at[0], mask.offset), 1)
        seen = emit.max(emit.min(emit.sub(upto, at[1]), columns), 0)
        if mask.window is None:
            return seen
        last = emit.add(upto, emit.sub(rows, 1))
        gone = emit.compare("sgt", emit.sub(last, mask.window), at[1])
        return emit.select(gone, 0, seen)

    def _adjust(
        self, head: _Head, at: tuple[Index, Index], rows: Index, columns: Index, seen: Index
    ) -> None:
        emit, softmax = self.emit, self.buffers.softmax
        softmax.hide_rest(rows, columns)
        if head.changes.reads:
            softmax.adjust(rows, (0, columns), at, head.changes)
        elif self.setup.mask is not None:
            start = emit.round_down(seen, self.use.lanes)
            with emit.when(emit.compare("slt", seen, columns)):
                softmax.adjust(rows, (start, columns), at, head.changes)

    def _tiles(self, rows: Index, write: Callable[[Index, int], None], small: bool = False) -> None:
        """Write register tiles over the rows of a block, small ones only if sizes are not known.

        The last may hold rows that are not there: of those whatever is computed is of no use.
        """
        emit = self.emit
        most = self.tile
        whole: Index = 0
        if not small or isinstance(self.rows, int):
            whole = emit.round_down(rows, most)
            with emit.loop(0, whole, most) as loop:
                write(loop.counter, most)
        if isinstance(self.rows, int):
            left = self.rows % most
            if left:
                with emit.loop(whole, rows, left) as loop:
                    write(loop.counter, left)
            return
        # Fewer rows still would wait for their own sums.
        with emit.loop(whole, rows, most // 2) as loop:
            write(loop.counter, most // 2)
