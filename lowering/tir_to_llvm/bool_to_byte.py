"""Pass `bool-to-byte`: buffers of `i1` become buffers of `i8` holding 0 or 1, as DLPack keeps them.

Values in registers stay `i1`; loads compare with zero and stores extend, so any non-zero byte is
true. Without it LLVM would pack vectors of `i1` eight to a byte, and not vectorise loops over them.
"""

from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.errors import PassError
from relax_mlir.lowering.walk import has_buffers, is_integer_buffer

arith: ModuleType = submodule("dialects.arith")

# Operand numbers that carry elements (stored values, paddings, pass-through values).
_ELEMENTS = {
    "memref.store": (0,),
    "vector.store": (0,),
    "vector.transfer_read": (-1,),
    "vector.transfer_write": (0,),
    "vector.maskedload": (-1,),
    "vector.maskedstore": (-1,),
    "vector.gather": (-1,),
    "vector.scatter": (-1,),
}
_READS = (
    "memref.load",
    "vector.load",
    "vector.transfer_read",
    "vector.maskedload",
    "vector.gather",
)
_RETYPED = ("memref.alloc", "memref.alloca", "memref.cast", "memref.subview")
_AGNOSTIC = ("memref.dealloc", "memref.copy", "memref.dim", "scf.yield")


def bool_to_byte(op: ir.Operation) -> None:
    """Rewrite every `memref<..xi1>` of a module to `memref<..xi8>`.

    Raises:
        PassError: an operation on such a buffer that the pass does not know.
    """
    if not has_buffers(op, _is_bool_buffer):
        return
    users = []
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "func.func":
            _retype_signature(function)
            _collect(function.operation, users)
    for user in users:
        _rewrite(user)


def _is_bool_buffer(type_: ir.Type) -> bool:
    return is_integer_buffer(type_, 1)


def _byte_buffer(type_: ir.MemRefType) -> ir.Type:
    return ir.MemRefType.get(
        type_.shape, ir.IntegerType.get_signless(8), type_.layout, type_.memory_space
    )


def _retype_signature(function: ir.OpView) -> None:
    inputs = function.type.inputs
    if not any(_is_bool_buffer(type_) for type_ in inputs):
        return
    inputs = [_byte_buffer(type_) if _is_bool_buffer(type_) else type_ for type_ in inputs]
    type_ = ir.FunctionType.get(inputs, function.type.results)
    function.operation.attributes["function_type"] = ir.TypeAttr.get(type_)


def _collect(root: ir.Operation, users: list[ir.Operation]) -> None:
    # Types are read before any is changed, so a user is found by the types it still has.
    values = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        touched = [v for v in (*op.operands, *op.results) if _is_bool_buffer(v.type)]
        if touched and op.name != "func.func":
            users.append(op)
        values.extend(v for v in op.results if _is_bool_buffer(v.type))
        for region in op.regions:
            for block in region.blocks:
                values.extend(arg for arg in block.arguments if _is_bool_buffer(arg.type))
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    for value in values:
        value.set_type(_byte_buffer(value.type))


def _rewrite(op: ir.Operation) -> None:
    known = op.name in _READS or op.name in _ELEMENTS
    if not known and op.name not in _RETYPED + _AGNOSTIC:
        op.location.emit_error(f"'{op.name}' on a buffer of i1 is not supported")
        raise PassError("bool-to-byte", f"'{op.name}' on a buffer of i1 is not supported")
    with op.location:
        for number in _ELEMENTS.get(op.name, ()):
            number = _element_operand(op, number)
            value = op.operands[number]
            with ir.InsertionPoint(op):
                op.operands[number] = arith.extui(_with_element(value.type, 8), value)
        if op.name in _READS:
            result = op.results[0]
            result.set_type(_with_element(result.type, 8))
            with ir.InsertionPoint.after(op):
                zero = arith.constant(result.type, _zero(result.type))
                truth = arith.cmpi(arith.CmpIPredicate.ne, result, zero)
            result.replace_all_uses_except(truth, truth.owner.operation)


def _element_operand(op: ir.Operation, number: int) -> int:
    if number == 0:
        return 0
    if op.name == "vector.transfer_read":
        # operands: base, indices, padding, then the mask when there is one
        return len(op.operands) - (2 if _has_mask(op) else 1)
    return len(op.operands) - 1


def _has_mask(op: ir.Operation) -> bool:
    return ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[3] == 1


def _with_element(type_: ir.Type, width: int) -> ir.Type:
    element = ir.IntegerType.get_signless(width)
    if isinstance(type_, ir.VectorType):
        return ir.VectorType.get(type_.shape, element)
    return element


def _zero(type_: ir.Type) -> ir.Attribute:
    if isinstance(type_, ir.VectorType):
        return ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(type_.element_type, 0))
    return ir.IntegerAttr.get(type_, 0)
