"""Extrema of floats as extrema of integers: one instruction that propagates NaN."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter

# The extremum of integers, and the quiet NaN that is the extreme in their order.
_EXTREMA = {"arith.maximumf": ("arith.maxsi", False), "arith.minimumf": ("arith.minsi", True)}
# Bits of the mantissa of a float type.
_MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


class OrderedFloats:
    """Integers in the order of floats, with -0 before 0, and NaN last or first.

    Args:
        combiner: the extremum of floats, `arith.maximumf` or `arith.minimumf`.
        vector: the type of vectors of floats.
        emit: where to write.
    """

    combiner: str

    def __init__(self, combiner: str, vector: ir.VectorType, emit: Emitter) -> None:
        self.combiner, negative = _EXTREMA[combiner]
        self._emit, self._vector = emit, vector
        element = vector.element_type
        self._bits = element.width
        integer = ir.IntegerType.get_signless(self._bits)
        self._integers = ir.VectorType.get(vector.shape, integer)
        mantissa = _MANTISSA[str(element)]
        exponent = (1 << self._bits - 1 - mantissa) - 1
        number = (exponent << mantissa) | 1 << mantissa - 1
        self._nan = number | 1 << self._bits - 1 if negative else number

    @staticmethod
    def suit(combiner: str, element: ir.Type) -> bool:
        """Whether a combiner is an extremum of floats."""
        return combiner in _EXTREMA and str(element) in _MANTISSA

    def of(self, value: ir.Value) -> ir.Value:
        """Return a vector of floats as integers."""
        emit, integers = self._emit, self._integers
        found = emit.unordered(value, value)
        bits = emit.op("vector.bitcast", [value], integers)
        nan = self._splat(self._nan)
        return self._flipped(emit.op("arith.select", [found, nan, bits], integers))

    def back(self, value: ir.Value) -> ir.Value:
        """Return the floats of integers."""
        return self._emit.op("vector.bitcast", [self._flipped(value)], self._vector)

    def _flipped(self, value: ir.Value) -> ir.Value:
        """Return bits with all but the sign inverted if that is set; an involution."""
        emit, integers = self._emit, self._integers
        signs = emit.op("arith.shrsi", [value, self._splat(self._bits - 1)], integers)
        inverted = emit.op("arith.andi", [signs, self._splat((1 << self._bits - 1) - 1)], integers)
        return emit.op("arith.xori", [value, inverted], integers)

    def _splat(self, number: int) -> ir.Value:
        attr = ir.IntegerAttr.get(self._integers.element_type, number)
        return self._emit.constant_of(
            self._integers, ir.DenseElementsAttr.get_splat(self._integers, attr)
        )
