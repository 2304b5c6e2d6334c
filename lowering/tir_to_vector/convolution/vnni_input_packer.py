"""Packed inputs for dot-product instructions: groups of input channels."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import groups_type
from relax_mlir.lowering.tir_to_vector.contraction.packing import Loader
from relax_mlir.lowering.tir_to_vector.contraction.vnni_packing import VnniLoader, flipped_zeros
from relax_mlir.lowering.tir_to_vector.convolution.input_packer import InputPacker
from relax_mlir.lowering.tir_to_vector.convolution.input_packing import (
    PackedConvolution,
    VnniGroups,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index


class VnniInputPacker(InputPacker):
    """A packed input of groups; channels after the last are zeros.

    Args:
        copied: the convolution.
        grouped: how channels are grouped.
        emit: where to write.
        machine: what for.
        units: as `InputPacker` takes them.
        beyond: as `InputPacker` takes it.
    """

    def __init__(
        self, copied: PackedConvolution, grouped: VnniGroups, emit: Emitter, machine: Machine,
        units: dict[int | None, int], beyond: int,
    ) -> None:  # fmt: skip
        self._grouped = grouped
        # The channels of the present group, None for all.
        self._live: Index | None = None
        super().__init__(copied, emit, machine, units, beyond)
        dot = grouped.dot
        self._groups = VnniLoader(
            emit, self._source, dot, dot.widen[1], dot.flips_signs, self._lanes
        )  # fmt: skip
        self._channels = emit.size(copied.flat.iters[grouped.position].extent)

    def _type(self) -> ir.VectorType:
        return groups_type(self._lanes)

    def _length(self, d: int) -> Index:
        length = super()._length(d)
        return self._grouped.count(self._emit, length) if d == self._grouped.axis else length

    def _loader(self) -> Loader:
        dot = self._grouped.dot
        part = ir.VectorType.get([self._lanes], dot.part)
        return Loader(self._emit, self._source, dot.widen[1], part)

    def _nothing(self) -> ir.Value:
        if not self._grouped.dot.flips_signs:
            return super()._nothing()
        return flipped_zeros(self._emit, self._grouped.dot, self._vector)

    def _level(self, level: int, place: Index, to: Index) -> None:
        emit, d, group = self._emit, self._order[level], self._grouped.dot.group
        if d != self._grouped.axis or level + 1 == len(self._order):
            super()._level(level, place, to)
            return

        def copy(number: Index, live: Index | None) -> None:
            self._live = live
            first = emit.mul(emit.mul(number, group), self._source_strides[d])
            there = emit.add(to, emit.mul(number, self._strides[d]))
            self._level(level + 1, emit.add(place, first), there)

        whole = emit.div(self._channels, group)
        with self._each(0, whole) as number:
            copy(number, None)
        left = emit.sub(self._channels, emit.mul(whole, group))
        if not isinstance(left, int):
            with emit.when(emit.compare("sgt", left, 0)):
                copy(whole, left)
        elif left:
            copy(whole, left)

    def _joins(self, level: int) -> bool:
        return self._grouped.axis not in self._order[level:] and super()._joins(level)

    def _row(self, place: Index, to: Index, count: Index, step: int) -> None:
        if self._order[-1] != self._grouped.axis:
            super()._row(place, to, count, step)
            return
        # All channels of a pixel, which are adjacent.
        emit, group = self._emit, self._grouped.dot.group
        reach = self._lanes * group
        whole = emit.round_down(self._channels, reach)

        def copy(at: Index, left: Index | None) -> None:
            value = self._groups.along_k(emit.add(place, at), left)
            emit.vector_store(value, self.base, [emit.add(to, emit.div(at, group))])

        with emit.loop(0, whole, reach) as at:
            copy(at.counter, None)
        left = emit.sub(self._channels, whole)
        if not (isinstance(left, int) and left == 0):
            copy(whole, left)

    def _one(self, place: Index) -> ir.Value:
        return self._groups.one(place, self._source_strides[self._grouped.axis], self._live)

    def _vector_of(self, from_: Index, left: Index, step: int) -> ir.Value:
        emit, live = self._emit, self._live
        apart = self._source_strides[self._grouped.axis]
        rows = []
        for i in range(live if isinstance(live, int) else self._grouped.dot.group):
            there = left
            if isinstance(live, ir.Value):
                there = emit.select(emit.compare("slt", i, live), left, 0)
            rows.append(super()._vector_of(emit.add(from_, emit.mul(i, apart)), there, step))
        return self._groups.together(rows)
