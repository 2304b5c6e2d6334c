"""Prefetches of the next queries, keys and values into L2, beside the tiles of scores.

Without them, packing the next keys and the first products of a tile wait for L3.
"""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.attention.setup import Setup, Span
from relax_mlir.lowering.tir_to_vector.attention.tile import Matrix
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# The last queries of a head, beside which the next head's keys and values are prefetched. Earlier
# they would compete with this head's for L2; with fewer queries, too many lines at once.
SPREAD = 192


@dataclass(frozen=True)
class Prefetcher:
    """What is prefetched beside the tiles of a head.

    Attributes:
        query: the queries of this head, and the length of one.
        out: their results; stores read these lines for ownership.
        block: queries of a block.
        start: the first query beside which keys are prefetched.
        spread: the number of queries that share the prefetches of keys.
        copied: whether queries are copied first; if they are read in place, they are prefetched
            into L1, because vectors that cross lines wait twice.
        operands: keys and values of the next step of the outer loops, and the length of a row.
        there: whether there is a next step.
    """

    query: tuple[Matrix, Index]
    out: tuple[Matrix, Index]
    block: int
    start: Index
    spread: int
    copied: bool
    operands: tuple[tuple[Matrix, Index], ...]
    there: ir.Value

    def prefetch(
        self, at: tuple[Index, Index], row: Index, column: Index, panel: int, tile: int
    ) -> None:  # fmt: skip
        """Write the prefetches of one tile of scores.

        Args:
            at: the first query of the block, and the first key.
            row: the tile's first query, counted from there.
            column: its first key, counted from there.
            panel: keys of a tile.
            tile: queries of a tile.
        """
        emit, (first, key) = self.query[0].use.emit, at
        number = emit.div(column, panel)
        with emit.when(emit.compare("slt", number, tile)):
            # Rows past a head's last one are the next head's, or unused: a prefetch never faults.
            line = emit.add(first, emit.add(row, number))
            _prefetch_row(self.out, line, far=True)
            _prefetch_row(self.query, emit.add(line, self.block), far=self.copied)
        is_last_part = emit.compare("sge", first, self.start)
        with emit.when(emit.both(is_last_part, self.there)):
            keys = -(-panel * tile // self.spread)
            part = emit.div(emit.add(emit.sub(first, self.start), row), tile)
            start = emit.add(emit.add(key, column), emit.mul(part, keys))
            with emit.loop(start, emit.add(start, keys)) as loop:
                for operand in self.operands:
                    _prefetch_row(operand, loop.counter, far=True)


def find_prefetcher(
    setup: Setup, env: dict[int, Index], spans: dict[int, Span], rows: Span, block: int,
    copied: bool,
) -> Prefetcher | None:  # fmt: skip
    """Return the prefetcher of a head, None if L2 holds all heads or there is one head.

    Args:
        setup: the attention.
        env: counters of the outer loops.
        spans: their ranges.
        rows: the range of queries.
        block: queries of a block.
        copied: whether queries are copied first.
    """
    emit, attention = setup.emit, setup.attention
    steps = [i for i in setup.own if emit.size(attention.outer[i]) != 1]
    if not steps:
        return None
    size: Index = emit.mul(setup.keys, emit.add(setup.depth, setup.width))
    for i in steps:
        size = emit.mul(size, emit.size(attention.outer[i]))
    limit = setup.machine.l2_bytes // 2 // (attention.element.width // 8)
    if isinstance(size, int) and size <= limit:
        return None
    following = {**env, steps[-1]: emit.add(env[steps[-1]], 1)}
    whole = emit.round_down(emit.sub(rows[1], rows[0]), block)
    spread = max(SPREAD // block, 1) * block
    if isinstance(whole, int):
        spread = max(min(spread, whole), block)
    return Prefetcher(
        (setup.matrix(attention.query, env), setup.depth),
        (setup.matrix(attention.out, env), setup.width),
        block,
        emit.add(rows[0], emit.max(emit.sub(whole, spread), 0)),
        spread,
        copied,
        (
            (setup.matrix(attention.key, following), setup.depth),
            (setup.matrix(attention.value, following), setup.width),
        ),
        emit.compare("slt", following[steps[-1]], spans[steps[-1]][1]),
    )


def _prefetch_row(operand: tuple[Matrix, Index], row: Index, *, far: bool) -> None:
    matrix, length = operand
    if matrix.column != 1:
        return
    emit = matrix.use.emit
    step = emit.isa.line(matrix.base.type.element_type.width)
    with emit.loop(0, length, step) as part:
        emit.prefetch(matrix.base, matrix.place(row, part.counter), far=far)
