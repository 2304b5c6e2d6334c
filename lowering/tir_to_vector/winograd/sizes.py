"""The cost model, the blocking and the variants of Winograd convolution."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div
from relax_mlir.lowering.tir_to_vector.nest_cost import tile_cycles
from relax_mlir.lowering.tir_to_vector.winograd.pattern import (
    COLUMNS,
    GROUPS,
    IMAGES,
    INPUTS,
    OUTPUTS,
    ROWS,
    TAPS,
    TILES,
    Transforms,
    Winograd,
    axis_places,
)

# Channels of a partial sum, which limits rounding errors; errors of small tiles are small anyway.
SUMMED = {2: 64, 4: 16}
# Winograd is used if direct convolution takes this many times as long.
MARGIN = 1.25
# Approximate cycles of the transforms of a tile, for a vector of channels; most are stores.
_TRANSFORM = {2: 110, 4: 230}
# Bytes of transformed weights per cycle, from memory at worst.
WEIGHT_BYTES = 6
# A block has tiles enough that its FMAs take this many times as long as weights from memory.
_MEMORY_SHARE = 2
# Pixels of a run along a row: its rows, a vector of channels wide, fit L1.
_RUN_PIXELS = 64
_MAX_VECTORS = 4
# Tiles of a register tile of a dynamic tail.
_REST = 4
# Maximal tiles of a register tile if their number is dynamic, and may be small.
_UNKNOWN = 8


@dataclass(frozen=True)
class Cost:
    """Cycles: `fixed`, and for each tile or pixel."""

    fixed: float
    each: float


def direct_cost(conv: Winograd, machine: Machine) -> float:
    """Return the cycles of direct convolution for each pixel."""
    return _steps(conv, machine) * TAPS * TAPS / machine.fma_units


def winograd_cost(conv: Winograd, machine: Machine, outputs: int) -> Cost:
    """Return the cost of tiles of `outputs` outputs along an axis, for each tile."""
    lanes = _lanes(machine)
    groups, inputs, channels = (conv.extent(axis).value or 1 for axis in (GROUPS, INPUTS, OUTPUTS))
    side = outputs + TAPS - 1
    vectors = groups * (-(-inputs // lanes) + -(-channels // lanes))
    more = 4 * groups * inputs * channels * (side * side - TAPS * TAPS)
    tile = _steps(conv, machine) * side * side / machine.fma_units + vectors * _TRANSFORM[outputs]
    return Cost(more / WEIGHT_BYTES, tile)


def best_outputs(conv: Winograd, machine: Machine, most: int) -> int | None:
    """Return the best tile size up to `most`, None if direct convolution is as fast.

    Dynamic sizes are assumed to be large.
    """
    best: tuple[float, int] | None = None
    direct = direct_cost(conv, machine)
    count, rows, columns = (conv.extent(axis).value for axis in (IMAGES, ROWS, COLUMNS))
    for outputs in _TRANSFORM:
        if outputs > most:
            continue
        cost = winograd_cost(conv, machine, outputs)
        if rows is None or columns is None or count is None:
            total, against = cost.each, direct * outputs * outputs
        else:
            tiles = count * -(-rows // outputs) * -(-columns // outputs)
            total, against = cost.fixed + cost.each * tiles, direct * count * rows * columns
        if total * MARGIN < against and (best is None or total / against < best[0]):
            best = total / against, outputs
    return None if best is None else best[1]


def panel_vectors(conv: Winograd, machine: Machine) -> int:
    """Return the vectors of output channels of a panel."""
    blocks = -(-(conv.extent(OUTPUTS).value or 1) // _lanes(machine))
    costs = {}
    for vectors in range(1, min(_MAX_VECTORS, blocks) + 1):
        rows = tile_rows(machine, vectors)
        costs[vectors] = -(-blocks // vectors) * tile_cycles(rows, vectors) / rows
    return min(costs, key=lambda vectors: (costs[vectors], abs(vectors - 2)))


def tile_rows(machine: Machine, vectors: int) -> int:
    """Return the maximal tiles of a register tile."""
    return max(1, (machine.registers - 1 - vectors) // vectors)


def knows_tiles(conv: Winograd) -> bool:
    """Whether the number of tiles is static, so that a pass has chosen their size."""
    return all(conv.extent(axis).value is not None for axis in (IMAGES, ROWS, COLUMNS))


def fastest_variant(
    conv: Winograd, emit: Emitter, tiles: Sequence[int]
) -> tuple[ir.Value, ir.Value]:
    """Return whether tiles pay for an image of dynamic size, and whether the first are fastest.

    `tiles` are outputs of tiles along an axis, of one size or two.
    """
    images, rows, columns = (emit.size(conv.extent(a)) for a in (IMAGES, ROWS, COLUMNS))
    taken, machine = [], emit.machine
    for outputs in tiles:
        cost = winograd_cost(conv, machine, outputs)
        high, wide = (ceil_div(size, outputs) for size in (rows, columns))
        count = images * high * wide
        taken.append(count * int(cost.each * MARGIN) + int(cost.fixed * MARGIN))
    direct = images * rows * columns * int(direct_cost(conv, machine))
    best = emit.min(taken[0], taken[-1])
    return emit.compare("slt", best, direct), emit.compare("sle", taken[0], taken[-1])


@dataclass(frozen=True)
class BlockSizes:
    """How tiles of an image are blocked.

    Attributes:
        run: tiles that are transformed together.
        tiles: the maximal tiles of a block: a few runs.
        rows: tiles of a register tile.
        rest: tiles of the register tile of the tail.
    """

    run: int
    tiles: int
    rows: int
    rest: int

    @property
    def room(self) -> int:
        """The tiles of a buffer: register tiles are whole."""
        return self.tiles + self.rest - 1


def block_sizes(conv: Winograd, machine: Machine, outputs: int, panel: int) -> BlockSizes:
    """Return blocks that stay in L2 with their sums, unless weights would take longer than FMAs."""
    lanes = _lanes(machine)
    inputs = -(-(conv.extent(INPUTS).value or 1) // lanes) * lanes
    side = outputs + TAPS - 1
    fit = machine.l2_bytes * 3 // 4 // (4 * side * side * (inputs + panel))
    fit = max(fit, _MEMORY_SHARE * machine.fma_units * machine.vector_bits // 8 // WEIGHT_BYTES)
    run = max(1, min(fit, _RUN_PIXELS // outputs))
    most = tile_rows(machine, panel // lanes)
    across = conv.extent(COLUMNS).value
    wide = run if across is None else max(1, -(-across // outputs))
    run = -(-wide // -(-wide // run))
    count, rows = conv.extent(IMAGES).value, conv.extent(ROWS).value
    if across is None or count is None or rows is None:
        most = min(most, _UNKNOWN)
        return BlockSizes(run, max(run, fit // most * most), most, min(_REST, most))
    runs = max(1, fit // run)
    everything = max(1, count * -(-rows // outputs) * -(-wide // run))
    runs = -(-everything // -(-everything // runs))
    tiles = runs * run
    vectors = panel // lanes
    size = min(range(1, min(most, tiles) + 1), key=lambda r: (_cost(r, tiles, vectors), -r))
    left = tiles % size
    return BlockSizes(run, tiles, size, left or min(_REST, size))


def _cost(rows: int, tiles: int, vectors: int) -> float:
    left = tiles % rows
    return tiles // rows * tile_cycles(rows, vectors) + (tile_cycles(left, vectors) if left else 0)


def _steps(conv: Winograd, machine: Machine) -> float:
    """Return the FMAs of vectors for each tap and pixel."""
    groups, inputs, channels = (conv.extent(axis).value or 1 for axis in (GROUPS, INPUTS, OUTPUTS))
    return groups * inputs * -(-channels // _lanes(machine))


def _lanes(machine: Machine) -> int:
    return max(1, machine.vector_bits // 32)


@dataclass(frozen=True)
class WinogradVariant:
    """Tiles with a number of outputs along an axis: their blocking and their maps."""

    outputs: int
    sizes: BlockSizes
    transforms: Transforms

    @property
    def side(self) -> int:
        """Elements of a tile along an axis."""
        return self.outputs + TAPS - 1

    def elements(self, emit: Emitter, row: Index) -> list[Index]:
        """Return where the elements of a row, given by its place, lie among those of a tile."""
        shared = self.outputs
        starts: list[Index] = [row * self.side] * 2
        if shared != min(TILES):
            is_shared = emit.compare("slt", row, shared)
            few = row * shared, row * (self.side - shared) + (shared * shared - shared)
            starts = [emit.select(is_shared, start, row * self.side) for start in few]
        return [starts[place >= shared] + place for place in axis_places(shared)]


class WinogradVariants:
    """One tile size, or two with a choice at run time: loops are written for both at once.

    Attributes:
        all: the variants, the smaller tiles first.
        largest: outputs of the tiles that weights were transformed for.
        panel: output channels of a panel.
        vector: the type of vectors.
        first: whether the first variant is chosen, an i1; None if there is one.
    """

    largest: int
    panel: int
    vector: ir.VectorType
    first: ir.Value | None

    def __init__(
        self, conv: Winograd, emit: Emitter, tiles: list[int], first: ir.Value | None
    ) -> None:
        assert conv.note is not None  # or it would be computed directly
        self.largest, self.panel, _ = conv.note
        self.first, self._emit, machine = first, emit, emit.machine
        self.vector = ir.VectorType.get([machine.lanes(conv.element) or 1], conv.element)
        self.all: list[WinogradVariant] = [
            WinogradVariant(
                outputs,
                block_sizes(conv, machine, outputs, self.panel),
                Transforms(emit, self.vector, outputs, self.largest),
            )
            for outputs in tiles
        ]

    def pick(self, number: Callable[[WinogradVariant], int]) -> Index:
        """Return a number of the chosen variant."""
        numbers = [number(variant) for variant in self.all]
        if self.first is None or len(set(numbers)) == 1:
            return numbers[-1]
        return self._emit.select(self.first, numbers[0], numbers[1])

    def each(self, write: Callable[[WinogradVariant], None]) -> None:
        """Write what differs between variants."""
        if self.first is None:
            write(self.all[-1])
            return
        with self._emit.when(self.first) as branch:
            write(self.all[0])
        with self._emit.otherwise(branch):
            write(self.all[1])
