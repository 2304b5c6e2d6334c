"""What the vectors of a reduction carry from step to step, and how they are combined."""

import math
from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import COMBINERS, FlatNest

# Extrema of floats that NaN passes through: the comparison that keeps the new value.
_EXTREMA = {"arith.maximumf": 2, "arith.minimumf": 4}
_UNORDERED = 14


class Sums:
    """Running totals of a reduction, several vectors of them.

    A maximum that NaN passes through takes six instructions. Here it takes one that drops NaN, and
    beside the totals goes a mask of the lanes that have seen one.

    Args:
        flat: the reduction.
        emit: writes the code.
        shared: whether the vectors are parts of one sum, so that one mask serves all.
    """

    def __init__(self, flat: FlatNest, emit: Emitter, *, shared: bool) -> None:
        self._emit, self._name, self._shared = emit, flat.combiner, shared
        self._element = flat.value.type
        self._keep = _EXTREMA.get(self._name)

    def combine(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return two totals as one."""
        return self._emit.op(self._name, [a, b], a.type)

    def neutral(self, type_: ir.Type) -> ir.Value:
        """Return the total of nothing."""
        identity = COMBINERS[self._name]
        number = identity if isinstance(identity, float) else identity(self._element.width)
        return self._emit.constant(type_, number)

    def begin(self, totals: Sequence[ir.Value]) -> list[ir.Value]:
        """Return what a loop over steps carries, beginning with some totals."""
        if not self._marks(totals[0].type):
            return list(totals)
        count = totals[0].type.shape[0]
        type_ = ir.VectorType.get([count], self._emit.bool_type)
        nowhere = self._emit.constant(type_, 0)
        return [*totals, *[nowhere] * (1 if self._shared else len(totals))]

    def step(self, carried: Sequence[ir.Value], values: Sequence[ir.Value]) -> list[ir.Value]:
        """Return what is carried on when each of the first totals got a value."""
        if not self._marks(values[0].type):
            totals = [self.combine(a, b) for a, b in zip(carried, values, strict=False)]
            return [*totals, *carried[len(totals) :]]
        count = len(carried) - 1 if self._shared else len(carried) // 2
        totals, marks = list(carried[:count]), list(carried[count:])
        for i, value in enumerate(values):
            larger = self._compare(self._keep, value, totals[i])
            totals[i] = self._emit.op("arith.select", [larger, value, totals[i]], value.type)
        pairs = [(value, value) for value in values]
        if self._shared and len(values) % 2 == 0:
            pairs = list(zip(values[::2], values[1::2], strict=True))
        for i, pair in enumerate(pairs):
            where = 0 if self._shared else i
            found = self._compare(_UNORDERED, *pair)
            marks[where] = self._emit.op("arith.ori", [marks[where], found], found.type)
        return [*totals, *marks]

    def end(self, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the totals."""
        if not self._marks(carried[0].type):
            return list(carried)
        count = len(carried) - 1 if self._shared else len(carried) // 2
        nan = self._emit.constant(carried[0].type, math.nan)
        totals = list(carried[:count])
        for i, mark in enumerate(carried[count:]):
            totals[i] = self._emit.op("arith.select", [mark, nan, totals[i]], nan.type)
        return totals

    def across(self, value: ir.Value) -> ir.Value:
        """Combine a vector's lanes, halves first, so that the order is the same everywhere."""
        lanes = value.type.shape[0]
        while lanes > 1:
            lanes //= 2
            parts = [self._emit.part(value, lanes * i, lanes) for i in (0, 1)]
            value = self.combine(*parts)
        return self._emit.extract(value, 0)

    def _marks(self, type_: ir.Type) -> bool:
        return self._keep is not None and isinstance(type_, ir.VectorType)

    def _compare(self, predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
        type_ = ir.VectorType.get(a.type.shape, self._emit.bool_type)
        attr = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
        return self._emit.op("arith.cmpf", [a, b], type_, predicate=attr)
