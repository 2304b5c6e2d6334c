"""Pass `saturate-casts`: floats that no integer of the type holds become its nearest; NaN is 0.

What a processor's conversions make of those differs from one to the next, and from a lane of a
vector to a single number; to LLVM it is undefined. `arith` has no other conversion.
"""

import struct

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import named

_INTRINSICS = {"arith.fptosi": "llvm.fptosi.sat", "arith.fptoui": "llvm.fptoui.sat"}
_NARROW = ("bf16", "f16")
# Of `arith.cmpf`: ordered and less, greater, greater or equal, and not ordered.
_LESS, _GREATER, _AT_LEAST, _UNORDERED = 4, 2, 3, 14


def saturate_casts(op: ir.Operation) -> None:
    """Replace the conversions of floats to integers in a module by ones that are always defined."""
    for cast in named(op, _INTRINSICS):
        with cast.location, ir.InsertionPoint(cast):
            cast.results[0].replace_all_uses_with(_saturated(cast))
        cast.erase()


def _saturated(cast: ir.Operation) -> ir.Value:
    value, to = cast.operands[0], cast.results[0].type
    if str(_element(value.type)) in _NARROW:
        # Exact, and what LLVM would do.
        value = _made("arith.extf", _like(value.type, ir.F32Type.get()), value)
    if not isinstance(to, ir.VectorType) or to.rank == 0:
        name = f"{_INTRINSICS[cast.name]}.{to}.{_element(value.type)}"
        return ir.Operation.create(
            "llvm.call_intrinsic",
            results=[to],
            operands=[value],
            attributes={
                "intrin": ir.StringAttr.get(name),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0]),
                "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            },
        ).results[0]
    if to.rank == 1:
        return _lanes(value, to, cast.name == "arith.fptosi")
    row = _lanes(
        _made("vector.shape_cast", _in_a_row(value.type), value),
        _in_a_row(to),
        cast.name == "arith.fptosi",
    )
    return _made("vector.shape_cast", to, row)


def _lanes(value: ir.Value, to: ir.VectorType, signed: bool) -> ir.Value:
    """Return a vector's lanes as integers: bounded as floats, converted, the exceptions put right.

    LLVM has intrinsics for this, which it computes lane by lane on x86.
    """
    least, most = _limits(to.element_type.width, signed)
    upper = _below(float(most + 1), str(_element(value.type)))
    low, high = _splat(value.type, float(least)), _splat(value.type, min(upper, float(most)))
    bounded = _chosen(_compared(_GREATER, value, low), value, low)
    bounded = _chosen(_compared(_LESS, bounded, high), bounded, high)
    made = _made("llvm.fptosi" if signed else "llvm.fptoui", to, bounded)
    if upper < most:
        # Between the largest float that fits and the largest integer there is no other float.
        above = _compared(_AT_LEAST, value, _splat(value.type, float(most + 1)))
        made = _chosen(above, _whole(to, most), made)
    return _chosen(_compared(_UNORDERED, value, value), _whole(to, 0), made)


def _limits(width: int, signed: bool) -> tuple[int, int]:
    return (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)


def _below(power: float, dtype: str) -> float:
    """Return the float of a dtype just below a power of two."""
    real, bits = ("<f", "<I") if dtype == "f32" else ("<d", "<Q")
    (place,) = struct.unpack(bits, struct.pack(real, power))
    return struct.unpack(real, struct.pack(bits, place - 1))[0]


def _compared(how: int, left: ir.Value, right: ir.Value) -> ir.Value:
    flags = ir.VectorType.get(left.type.shape, ir.IntegerType.get_signless(1))
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), how)
    return ir.Operation.create(
        "arith.cmpf", results=[flags], operands=[left, right], attributes={"predicate": predicate}
    ).results[0]


def _chosen(flags: ir.Value, yes: ir.Value, no: ir.Value) -> ir.Value:
    return ir.Operation.create(
        "arith.select", results=[no.type], operands=[flags, yes, no]
    ).results[0]


def _splat(type_: ir.Type, number: float) -> ir.Value:
    return _constant(type_, ir.FloatAttr.get(type_.element_type, number))


def _whole(type_: ir.VectorType, number: int) -> ir.Value:
    # The same bits for both signs, in the range that attributes take.
    width = type_.element_type.width
    signed = number - (1 << width) if number >= 1 << (width - 1) else number
    return _constant(type_, ir.IntegerAttr.get(type_.element_type, signed))


def _constant(type_: ir.Type, element: ir.Attribute) -> ir.Value:
    value = ir.DenseElementsAttr.get_splat(type_, element)
    return ir.Operation.create(
        "arith.constant", results=[type_], attributes={"value": value}
    ).results[0]


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def _like(type_: ir.Type, element: ir.Type) -> ir.Type:
    return ir.VectorType.get(type_.shape, element) if isinstance(type_, ir.VectorType) else element


def _in_a_row(type_: ir.Type) -> ir.VectorType:
    count = 1
    for size in type_.shape:
        count *= size
    return ir.VectorType.get([count], type_.element_type)


def _made(name: str, type_: ir.Type, value: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=[value]).results[0]
