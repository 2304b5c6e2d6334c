"""What is decided of the kernel of attention before it is written."""

from typing import Any

from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.crossed import can_cross, equal_factors
from relax_mlir.lowering.tir_to_vector.attention.pairs import PAIR, pairs_of
from relax_mlir.lowering.tir_to_vector.attention.setup import Setup
from relax_mlir.lowering.tir_to_vector.contraction.blocking import PAGE, has_set_conflicts
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Columns of a register tile, in vectors.
VECTORS = 2
# Keys of a block: their scores for the queries of a block stay in the first-level cache.
KEYS = 512
# About so many queries are a block. More would share each panel of keys, but their scores take the
# caches from keys and values, and masks hide more of them; fewer would read panels too often.
ROWS = 12
# Panels of values that are read where they lie, if rows follow each other.
MOST_PANELS = 4
# From so many keys on it pays to look at lengths of queries and keys before their scores.
MANY = 128
# So many leave a tile room to raise its scores in registers.
REGISTERS = 32
# Up to so many queries it does not pay to rearrange keys and values.
FEW = 6


class Plan:
    """Sizes of tiles and blocks, and what tiles read."""

    setup: Setup
    rows: Index
    keys: Index
    depth: Index
    width: Index

    def __init__(self, setup: Setup) -> None:
        self.setup, self.emit, self.use = setup, setup.emit, setup.use
        self.found = setup.found
        self.panel: int = VECTORS * self.use.lanes
        self.rows, self.keys, self.depth, self.width = (
            setup.rows, setup.keys, setup.depth, setup.width,
        )  # fmt: skip
        self.pairs = pairs_of(self.found, setup.machine)
        # Steps of the sums over a key, and how many keys one of those over values takes.
        self.unit = 1 if self.pairs is None else PAIR
        self.steps: Index = self._units(self.depth)
        self.tile: int = _tile_rows(self.rows, setup.machine)
        self.block: int = max(round(ROWS / self.tile), 1) * self.tile
        value, width = self.found.value, self.width
        # What a panel leaves out of a row is the next panel's, so all that is fetched is read.
        self.values_lie_well = (
            isinstance(width, int) and width % self.panel == 0 and width <= MOST_PANELS * self.panel
            and value.widen is None and value.column == 1 and value.row == self.found.width
        )  # fmt: skip
        one_block = isinstance(self.keys, int) and 0 < self.keys <= KEYS
        self.alone: bool = one_block and setup.mask is None
        # Of a window few keys are seen by all queries of a block: it would not pay.
        windowed = setup.mask is not None and setup.mask.window is not None
        unchanged = not (self.found.added or self.found.seen is not None or windowed)
        known = isinstance(self.keys, int)
        self.many = self.keys >= MANY if known else self.emit.compare("sge", self.keys, MANY)
        self.may_be_near: bool = unchanged and self.many is not False and self.use.is_single
        self.crosses: Any | bool = (
            self.may_be_near and self.pairs is None and self.found.query.column == 1
            and can_cross(setup.machine, self.depth)
        )  # fmt: skip
        self.factors = setup.factor, None
        self.queries_lie_well: bool = not self.crosses and self._queries_lie_well()
        if self.queries_lie_well:
            self.factors = None, setup.factor
        elif self.crosses:
            self.factors = equal_factors(self.use, setup.factor)

    def _units(self, count: Index) -> Index:
        """Return how many elements there are to multiply: numbers, or pairs of them."""
        return self.emit.div(self.emit.add(count, self.unit - 1), self.unit)

    def _queries_lie_well(self) -> bool:
        """Whether tiles read queries where they are; keys are multiplied by the factor then."""
        query, machine = self.found.query, self.setup.machine
        row = query.row.value
        if row is None or query.widen is not None or query.column != 1:
            return False
        if not isinstance(self.depth, int):
            return False
        size = self.use.vector.element_type.width // 8
        ways = machine.l1_bytes // PAGE - VECTORS
        return not has_set_conflicts(self.tile, row * size, self.depth * size, ways)


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
