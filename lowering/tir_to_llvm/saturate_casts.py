"""Pass `saturate-casts`: floats that no integer of the type holds become its nearest; NaN is 0.

What a processor's conversions make of those differs from one to the next, and from a lane of a
vector to a single number; to LLVM it is undefined. `arith` has no other conversion.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import named

_INTRINSICS = {"arith.fptosi": "llvm.fptosi.sat", "arith.fptoui": "llvm.fptoui.sat"}
_NARROW = ("bf16", "f16")


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
    shaped = isinstance(to, ir.VectorType) and to.rank != 1
    if shaped:
        value = _made("vector.shape_cast", _in_a_row(value.type), value)
    made = ir.Operation.create(
        "llvm.call_intrinsic",
        results=[_in_a_row(to) if shaped else to],
        operands=[value],
        attributes={
            "intrin": ir.StringAttr.get(_name(cast.name, value.type, _element(to))),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        },
    ).results[0]
    return _made("vector.shape_cast", to, made) if shaped else made


def _name(cast: str, source: ir.Type, to: ir.Type) -> str:
    lanes = f"v{source.shape[0]}" if isinstance(source, ir.VectorType) else ""
    return f"{_INTRINSICS[cast]}.{lanes}{to}.{lanes}{_element(source)}"


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def _like(type_: ir.Type, element: ir.Type) -> ir.Type:
    return ir.VectorType.get(type_.shape, element) if isinstance(type_, ir.VectorType) else element


def _in_a_row(type_: ir.VectorType) -> ir.VectorType:
    count = 1
    for size in type_.shape:
        count *= size
    return ir.VectorType.get([count], type_.element_type)


def _made(name: str, type_: ir.Type, value: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=[value]).results[0]
