"""The accumulators of a reduction, and how they are combined."""

import functools
import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import COMBINERS, FlatNest

# Extrema of floats that propagate NaN: the comparison that keeps the new value.
_EXTREMA = {"arith.maximumf": 2, "arith.minimumf": 4}


class Sums:
    """Accumulators of a reduction, vectors of several lengths and scalars.

    A maximum that propagates NaN takes six instructions. Here it takes one that drops NaN, and each
    accumulator has a mask of the lanes, or pairs of lanes, that have seen one.

    Args:
        flat: the reduction.
        emit: writes the code.
        lanes: of one register.
        shared: whether all lanes are parts of one sum, so that a mask bit may stand for two lanes.
        fma: whether products are added with FMA.
    """

    def __init__(
        self, flat: FlatNest, emit: Emitter, lanes: int, *, shared: bool, fma: bool = False
    ) -> None:
        self._emit, self._name, self._lanes = emit, flat.combiner, lanes
        self._shared = shared
        self._fma = fma and self._name == "arith.addf"
        self._element = flat.value.type
        self._keep = _EXTREMA.get(self._name)

    @property
    def has_marks(self) -> bool:
        """Whether accumulators have NaN masks."""
        return self._keep is not None

    def combine(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Combine two accumulators."""
        return self._emit.op(self._name, [a, b], a.type)

    def added(self, total: ir.Value, value: ir.Value) -> ir.Value:
        """Add a value to an accumulator; a product by FMA."""
        product = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if not self._fma or product is None or product.name != "arith.mulf":
            return self.combine(total, value)
        left, right = product.operands
        return self._emit.fused(left, right, total)

    def neutral(self, lanes: int) -> ir.Value:
        """Return the identity."""
        identity = COMBINERS[self._name]
        number = identity if isinstance(identity, float) else identity(self._element.width)
        type_ = self._element if lanes == 1 else ir.VectorType.get([lanes], self._element)
        return self._emit.constant(type_, number)

    def begin(self, total: ir.Value) -> list[ir.Value]:
        """Return the loop-carried values for an accumulator."""
        if not self._marks(total.type):
            return [total]
        type_ = ir.VectorType.get([self._marked(total)], self._emit.bool_type)
        return [total, self._emit.constant(type_, 0)]

    def step(self, carried: Sequence[ir.Value], value: ir.Value) -> list[ir.Value]:
        """Return the loop-carried values after a value was added."""
        total = carried[0]
        if self._keep is None or not self._marks(value.type):
            return [self.added(total, value)]
        total = self._larger(value, total)
        pair = self._halves(value) if self._marked(value) != value.type.shape[0] else (value, value)
        found = self._emit.unordered(*pair)
        return [total, self._either(carried[1], found)]

    def steps(self, carried: Sequence[ir.Value], values: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the loop-carried values after vectors were added; a mask is for two of them."""
        if self._keep is None:
            return functools.reduce(
                lambda parts, value: self.step(parts, value), values, [*carried]
            )
        total, mark = carried
        for i in range(0, len(values), 2):
            some = values[i : i + 2]
            total = functools.reduce(lambda low, value: self._larger(value, low), some, total)
            mark = self._either(mark, self._emit.unordered(some[0], some[-1]))
        return [total, mark]

    def end(self, carried: Sequence[ir.Value]) -> ir.Value:
        """Return the accumulator."""
        if not self._marks(carried[0].type):
            return carried[0]
        total, mark = carried
        lanes = total.type.shape[0]
        if mark.type.shape[0] != lanes:
            both = [i % (lanes // 2) for i in range(lanes)]
            mark = self._emit.shuffle(mark, mark, both)
        nan = self._emit.constant(total.type, math.nan)
        return self._emit.op("arith.select", [mark, nan, total], nan.type)

    def marked(self, mark: ir.Value, value: ir.Value) -> ir.Value:
        """Return a mask that is on in every lane if a scalar is NaN."""
        found = self._emit.unordered(value, value)
        return self._either(mark, self._emit.splat(found, mark.type))

    def single(self, parts: Sequence[Sequence[ir.Value]], lanes: int) -> ir.Value:
        """Return the sum of all lanes of several loops' accumulators, in one fixed order.

        NaN masks are applied at the end.
        """
        totals = [part[0] for part in parts]
        if lanes == 1:
            return functools.reduce(self.combine, totals)
        join = self._larger if self.has_marks else self.combine
        total = functools.reduce(join, [self._narrow(each, lanes, join) for each in totals])
        total = self._emit.extract(self._narrow(total, 1, join), 0)
        if not self.has_marks:
            return total
        found = functools.reduce(self._either, [self._any(part[1]) for part in parts])
        nan = self._emit.constant(total.type, math.nan)
        return self._emit.op("arith.select", [found, nan, total], nan.type)

    def _narrow(
        self, value: ir.Value, lanes: int, join: Callable[[ir.Value, ir.Value], ir.Value]
    ) -> ir.Value:
        """Combine lanes by halves, in a fixed order, until `lanes` are left."""
        while value.type.shape[0] > lanes:
            value = join(*self._halves(value))
        return value

    def _larger(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return the extremum of numbers without NaN."""
        assert self._keep is not None  # only extrema have marks
        return self._emit.op(
            "arith.select", [self._emit.compare_floats(self._keep, a, b), a, b], a.type
        )

    def _either(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._emit.op("arith.ori", [a, b], a.type)

    def _any(self, mark: ir.Value) -> ir.Value:
        kind = ir.Attribute.parse("#vector.kind<or>")
        return self._emit.op("vector.reduction", [mark], self._emit.bool_type, kind=kind)

    def _halves(self, value: ir.Value) -> tuple[ir.Value, ir.Value]:
        half = value.type.shape[0] // 2
        low, high = (self._emit.part(value, half * i, half) for i in (0, 1))
        return low, high

    def _marks(self, type_: ir.Type) -> bool:
        return self._keep is not None and isinstance(type_, ir.VectorType)

    def _marked(self, total: ir.Value) -> int:
        """Return the lanes of a mask: half as many if that fills a register."""
        lanes = total.type.shape[0]
        return lanes // 2 if self._shared and lanes > self._lanes else lanes
