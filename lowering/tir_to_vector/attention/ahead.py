"""What tiles of attention read next is asked for while others are computed.

From the third-level cache it comes too late: copying keys and a tile's first products would wait.
"""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.attention.pack import Matrix
from relax_mlir.lowering.tir_to_vector.attention.setup import Setup, Span
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Queries beside which the next keys and values are asked for: the last ones, as till then these
# would share the second-level cache with this head's; of so many, lest those all wait at once.
SPREAD = 192


@dataclass(frozen=True)
class Ahead:
    """What to ask for, beside the tiles of a head.

    Attributes:
        query: the queries of this head.
        out: their results, which stores would wait for.
        block: how many of them a block has.
        start: the first query beside which keys are asked for.
        spread: beside how many they are.
        copied: whether queries are copied first; where they lie, vectors that look at their lengths
            may cross lines, and wait twice for what is not near.
        operands: keys and values of the next step of the outer loops, and how long one of each is.
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

    def ask(
        self, at: tuple[Index, Index], row: Index, column: Index, panel: int, tile: int
    ) -> None:  # fmt: skip
        """Write what is asked for beside one tile of scores, a part of what all ask for.

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
            # Beyond the last query of a head there is the next head's, or nothing that does harm.
            line = emit.add(first, emit.add(row, number))
            _ask_line(self.out, line, far=True)
            _ask_line(self.query, emit.add(line, self.block), far=self.copied)
        is_late = emit.compare("sge", first, self.start)
        with emit.when(emit.both(is_late, self.there)):
            keys = -(-panel * tile // self.spread)
            part = emit.div(emit.add(emit.sub(first, self.start), row), tile)
            start = emit.add(emit.add(key, column), emit.mul(part, keys))
            with emit.loop(start, emit.add(start, keys)) as loop:
                for operand in self.operands:
                    _ask_line(operand, loop.counter, far=True)


def find_ahead(
    setup: Setup, env: dict[int, Index], spans: dict[int, Span], rows: Span, block: int,
    copied: bool,
) -> Ahead | None:  # fmt: skip
    """Return what to ask for in a head, None where the second-level cache holds all or one is all.

    Args:
        setup: the attention.
        env: counters of the outer loops.
        spans: their ranges.
        rows: the first query, and what follows the last.
        block: how many queries a block has.
        copied: whether these are copied first.
    """
    emit, found = setup.emit, setup.found
    steps = [i for i in setup.own if emit.size(found.outer[i]) != 1]
    if not steps:
        return None
    size: Index = emit.mul(setup.keys, emit.add(setup.depth, setup.width))
    for i in steps:
        size = emit.mul(size, emit.size(found.outer[i]))
    limit = setup.machine.l2_bytes // 2 // (found.element.width // 8)
    if isinstance(size, int) and size <= limit:
        return None
    following = {**env, steps[-1]: emit.add(env[steps[-1]], 1)}
    whole = emit.round_down(emit.sub(rows[1], rows[0]), block)
    spread = max(SPREAD // block, 1) * block
    if isinstance(whole, int):
        spread = max(min(spread, whole), block)
    return Ahead(
        (setup.matrix(found.query, env), setup.depth),
        (setup.matrix(found.out, env), setup.width),
        block,
        emit.add(rows[0], emit.max(emit.sub(whole, spread), 0)),
        spread,
        copied,
        (
            (setup.matrix(found.key, following), setup.depth),
            (setup.matrix(found.value, following), setup.width),
        ),
        emit.compare("slt", following[steps[-1]], spans[steps[-1]][1]),
    )


def _ask_line(operand: tuple[Matrix, Index], row: Index, *, far: bool) -> None:
    matrix, length = operand
    if matrix.column != 1:
        return
    emit = matrix.use.emit
    step = emit.isa.line(matrix.base.type.element_type.width)
    with emit.loop(0, length, step) as part:
        emit.prefetch(matrix.base, matrix.place(row, part.counter), far=far)
