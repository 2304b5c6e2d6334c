"""Tiles, blocks and packing of the attention kernel."""

from typing import Any

from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.setup import Setup
from relax_mlir.lowering.tir_to_vector.attention.vnni_packing import PAIR, find_pair_dot_product
from relax_mlir.lowering.tir_to_vector.attention.winograd_dot import (
    balanced_factors,
    winograd_dot_pays,
)
from relax_mlir.lowering.tir_to_vector.contraction.blocking import PAGE, has_set_conflicts
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Columns of a register tile, in vectors.
VECTORS = 2
# Keys of a block: the scores of a block stay in L1.
KEY_BLOCK = 512
# Queries of a block, before rounding to tiles. More share a panel of keys, but their scores evict
# keys and values, and causal masks hide more of a block.
QUERY_BLOCK = 12
# Panels of values that are read in place, if rows are contiguous.
MAX_PANELS = 4
# Keys from which on the norms of queries and keys are computed to bound scores.
BOUNDED_MIN_KEYS = 128
# Registers that a tile needs to exponentiate its scores in registers.
REGISTERS = 32
# Queries up to which packing keys and values does not pay.
DECODE_MAX_QUERIES = 6


class Plan:
    """Sizes of tiles and blocks, and which operands are packed."""

    setup: Setup
    rows: Index
    keys: Index
    depth: Index
    width: Index

    def __init__(self, setup: Setup) -> None:
        self.setup, self.emit, self.use = setup, setup.emit, setup.use
        self.attention = setup.attention
        self.panel: int = VECTORS * self.use.lanes
        self.rows, self.keys, self.depth, self.width = (
            setup.rows, setup.keys, setup.depth, setup.width,
        )  # fmt: skip
        self.pairs = find_pair_dot_product(self.attention, setup.machine)
        # Keys of one step of the sums over values.
        self.unit = 1 if self.pairs is None else PAIR
        self.steps: Index = self._units(self.depth)
        self.tile: int = tile_rows(self.rows, setup.machine)
        self.block: int = max(round(QUERY_BLOCK / self.tile), 1) * self.tile
        value, width = self.attention.value, self.width
        # Panels partition the rows, so each cache line is used in full.
        self.values_in_place = (
            isinstance(width, int) and width % self.panel == 0 and width <= MAX_PANELS * self.panel
            and value.widen is None and value.column == 1 and value.row == self.attention.width
        )  # fmt: skip
        one_block = isinstance(self.keys, int) and 0 < self.keys <= KEY_BLOCK
        self.alone: bool = one_block and setup.mask is None
        # With a sliding window few keys are seen by all queries of a block.
        windowed = setup.mask is not None and setup.mask.window is not None
        unchanged = not (self.attention.added or self.attention.seen is not None or windowed)
        known = isinstance(self.keys, int)
        self.enough_keys = (
            self.keys >= BOUNDED_MIN_KEYS
            if known
            else self.emit.compare("sge", self.keys, BOUNDED_MIN_KEYS)
        )
        self.may_be_bounded: bool = (
            unchanged and self.enough_keys is not False and self.use.is_single
        )
        self.uses_winograd_dot: Any | bool = (
            self.may_be_bounded and self.pairs is None and self.attention.query.column == 1
            and winograd_dot_pays(setup.machine, self.depth)
        )  # fmt: skip
        self.factors = setup.factor, None
        self.queries_in_place: bool = not self.uses_winograd_dot and self._queries_fit_in_place()
        if self.queries_in_place:
            self.factors = None, setup.factor
        elif self.uses_winograd_dot:
            self.factors = balanced_factors(self.use, setup.factor)

    def _units(self, count: Index) -> Index:
        """Return the number of steps of a sum over `count` elements: numbers or pairs."""
        return self.emit.div(self.emit.add(count, self.unit - 1), self.unit)

    def _queries_fit_in_place(self) -> bool:
        """Whether tiles read queries in place; keys are then multiplied by the scale."""
        query, machine = self.attention.query, self.setup.machine
        row = query.row.value
        if row is None or query.widen is not None or query.column != 1:
            return False
        if not isinstance(self.depth, int):
            return False
        size = self.use.vector.element_type.width // 8
        ways = machine.l1_bytes // PAGE - VECTORS
        return not has_set_conflicts(self.tile, row * size, self.depth * size, ways)


def tile_rows(rows: Index, machine: Machine) -> int:
    """Return the rows of a register tile, chosen for a full last tile if `rows` is static."""
    most = machine.row_tiles[0]
    if not isinstance(rows, int):
        return most
    if rows <= most:
        return max(rows, 1)

    def cost(tile: int) -> tuple[float, int]:
        # A tile with few accumulators is limited by the latency of an FMA.
        left = rows % tile
        return (rows // tile + (max(left, most // 3) / tile if left else 0)) * tile, -tile

    return min(range(most * 2 // 3, most + 1), key=cost)
