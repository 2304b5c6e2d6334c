"""Pass `single-rounding-casts`: integers of 32 bits and more become the nearest bfloat16.

Later steps take every integer to float32 first, which is a rounding too many where that does not
hold it.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.walk import named

_CASTS = ("arith.sitofp", "arith.uitofp")
# The bits of an integer that a float64 need not hold, in addition to 52 that it does.
_LOST = (1 << 12) - 1


def single_rounding_casts(op: ir.Operation) -> None:
    """Replace the conversions in a module that would be rounded twice by ones of float64."""
    for cast in filter(_is_twice, named(op, _CASTS)):
        with cast.location, ir.InsertionPoint(cast):
            number = Lanes(cast.operands[0])
            if _element(number.value.type).width == 64:
                number = _held(number, signed=cast.name == "arith.sitofp")
            single = _odd(number.converted(cast.name, ir.F64Type.get()))
            narrow = single.converted("arith.truncf", ir.BF16Type.get())
            cast.results[0].replace_all_uses_with(narrow.value)
        cast.erase()


def _is_twice(op: ir.Operation) -> bool:
    is_bfloat = isinstance(_element(op.results[0].type), ir.BF16Type)
    return is_bfloat and _element(op.operands[0].type).width >= 32


def _held(number: Lanes, *, signed: bool) -> Lanes:
    """Return integers that float64 holds, and that a bfloat16 is as near to.

    Of large ones only so many bits are kept, the last of which says whether others are lost.
    """
    rest = number & _LOST
    odd = rest.equals(0).select(number.like(0), _LOST + 1)
    kept = (number & ~_LOST) | odd
    # Those that float64 holds anyway: from minus 2**53, or from 0, up to 2**53.
    top = (number + (1 << 53) if signed else number).without_sign_shifted(54 if signed else 53)
    return top.equals(0).select(number, kept)


def _odd(double: Lanes) -> Lanes:
    """Return float64 as float32, of two neighbours the odd one, which says that bits are lost.

    Canonicalisation makes one conversion of an integer's two, so these must not follow each other.
    """
    word = ir.IntegerType.get_signless(32)
    near = double.converted("arith.truncf", ir.F32Type.get())
    back = near.converted("arith.extf", ir.F64Type.get())
    is_beyond = (back.magnitude() > double.magnitude()).converted("arith.extui", word)
    is_other = back.differs(double).converted("arith.extui", word)
    return ((near.bits() - is_beyond) | is_other).from_bits()


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_
