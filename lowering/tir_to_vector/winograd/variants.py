"""Tile sizes of a Winograd convolution, of which run time chooses one."""

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.winograd.pattern import Winograd
from relax_mlir.lowering.tir_to_vector.winograd.sizes import BlockSizes, block_sizes
from relax_mlir.lowering.tir_to_vector.winograd.transforms import TAPS, Transforms


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


class WinogradVariants:
    """One tile size, or two with a choice at run time: loops are written for both at once.

    Attributes:
        all: the variants, the smaller tiles first.
        largest: outputs of the tiles that weights were transformed for.
        panel: output channels of a panel.
        first: whether the first variant is chosen, an i1; None if there is one.
    """

    largest: int
    panel: int
    first: ir.Value | None

    def __init__(
        self, conv: Winograd, emit: Emitter, machine: Machine, tiles: list[int],
        first: ir.Value | None,
    ) -> None:  # fmt: skip
        assert conv.note is not None  # or it would be computed directly
        self.largest, self.panel, _ = conv.note
        self.first, self._emit = first, emit
        vector = ir.VectorType.get([machine.lanes(conv.element) or 1], conv.element)
        self.all: list[WinogradVariant] = [
            WinogradVariant(
                outputs,
                block_sizes(conv, machine, outputs, self.panel),
                Transforms(emit, vector, machine.fma, outputs, self.largest),
            )
            for outputs in tiles
        ]

    def pick(self, number: Callable[[WinogradVariant], int]) -> Index:
        """Return a number of the chosen variant."""
        numbers = [number(variant) for variant in self.all]
        if self.first is None or len(set(numbers)) == 1:
            return numbers[-1]
        return self._emit.select(self.first, numbers[0], numbers[1])

    def most(self, number: Callable[[WinogradVariant], int]) -> int:
        """Return the largest of a number of all variants."""
        return max(number(variant) for variant in self.all)

    def each(self, write: Callable[[WinogradVariant], None]) -> None:
        """Write what differs between variants."""
        if self.first is None:
            write(self.all[-1])
            return
        with self._emit.when(self.first) as branch:
            write(self.all[0])
        with self._emit.otherwise(branch):
            write(self.all[1])

    def element(self, number: Index) -> Index:
        """Return the element of the transformed weights for an element of a tile."""
        emit, small = self._emit, self.all[0]
        if small.outputs == self.largest:
            return number
        down = emit.div(number, small.side)
        places = []
        for place in (down, emit.sub(number, emit.mul(down, small.side))):
            last = emit.compare("eq", place, small.side - 1)
            places.append(emit.select(last, small.transforms.elements[-1], place))
        element = emit.add(emit.mul(places[0], self.largest + TAPS - 1), places[1])
        return element if self.first is None else emit.select(self.first, element, number)
