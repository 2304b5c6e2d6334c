"""Where the operands of a contraction lie, and their packed panels."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import Flat
from relax_mlir.lowering.tir_to_vector.contraction.panel_loads import PanelLoad
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess
from relax_mlir.lowering.tir_to_vector.index_emit import Index


@dataclass
class Edge:
    """A panel of the last columns, where all others are read as they lie.

    Attributes:
        base: what holds it, from its start.
        used: whether it is used; an i1 where that is known at run time only.
    """

    base: ir.Value
    used: ir.Value | bool


@dataclass
class Panels:
    """Where a panel of B begins: `offset + number * panel_stride`, and where its next row is.

    Panels are of `width` columns, of which the first asked for is number `first`; a width of 0 says
    that all columns lie beside each other. The last of `padded` panels has as many as the others,
    whatever is in them. Elements are asked for `ahead` steps before they are used, and `load` reads
    them where they are others than what is multiplied.
    """

    base: ir.Value
    offset: Index
    row_stride: Index
    panel_stride: Index
    width: int = 0
    first: Index = 0
    padded: bool = False
    ahead: int = 0
    edge: Edge | None = None
    load: PanelLoad | None = None


class Layout:
    """An access as an offset and a stride for each iterator, as values."""

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

    def at(self, env: dict[int, Index]) -> Flat:
        """Return the place at given counters."""
        offset = self._offset
        for iterator, value in env.items():
            offset = self._emit.add(offset, self._emit.mul(value, self.stride(iterator)))
        return Flat(self.base, offset, self._strides)
