"""The memory layout of operands of a contraction, and of packed panels."""

from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import StridedRef
from relax_mlir.lowering.tir_to_vector.contraction.panel_loads import PanelLoad
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess
from relax_mlir.lowering.tir_to_vector.index_emit import Index


@dataclass
class Edge:
    """A packed copy of the last panel, if the other panels are read in place.

    Attributes:
        base: the buffer that begins with it.
        used: whether it is used; an i1 if only run time knows.
    """

    base: ir.Value
    used: ir.Value | bool


@dataclass
class Panels:
    """The panels of B of one block: panel i begins at `offset + i * panel_stride`.

    Attributes:
        base: the buffer.
        offset: where panel 0 begins.
        row_stride: elements from one step of k to the next.
        panel_stride: elements from one panel to the next.
        width: columns of a panel; 0 if B is one row-major matrix.
        first: the block's first column, counted from panel 0.
        padded: whether the last panel is as wide as the others, so that it can be read whole.
        prefetch_distance: steps of k that elements are prefetched ahead; 0 for no prefetch.
        edge: a copy of the last panel, if the others are read in place.
        chosen: whether run time chooses the buffer.
        load: loads elements that have another type than what is multiplied; None for plain loads.
        ahead: what tiles prefetch: the distance from a tile's first element, and elements for each
            step of k; None for nothing.
    """

    base: ir.Value
    offset: Index
    row_stride: Index
    panel_stride: Index
    width: int = 0
    first: Index = 0
    padded: bool = False
    prefetch_distance: int = 0
    edge: Edge | None = None
    chosen: bool = False
    load: PanelLoad | None = None
    ahead: tuple[Index, Index] | None = None

    def beginning(self, column: Index) -> "Panels":
        """Return the panels from a column of the block on."""
        if self.width:
            return replace(self, first=self.first + column)
        return replace(self, offset=self.offset + column)


class Layout:
    """The offset and the strides of an access, as values."""

    def __init__(self, access: FlatAccess, emit: Emitter) -> None:
        self._emit = emit
        self._offset = emit.size(access.offset)
        self._strides: dict[object, Index] = {
            position: emit.size(stride) for position, stride in enumerate(access.strides)
        }
        self.base: ir.Value = emit.flatten_once(access.buffer)

    def stride(self, iterator: int | None) -> Index:
        """Return the stride of an iterator, 0 for none."""
        return self._strides.get(iterator, 0)

    def at(self, env: dict[int, Index]) -> StridedRef:
        """Return the element at given counters."""
        offset = self._offset
        for iterator, value in env.items():
            offset = offset + value * self.stride(iterator)
        return StridedRef(self.base, offset, self._strides)
