"""The pass `call-tir-rewrite`: destination-passing calls get explicit outputs (C0 of the compile flow)."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.tuples import call_arguments, field_types, known_fields, make_tuple
from relax_mlir.errors import PassError
from relax_mlir.lowering.relax_to_vm.walk import collect

_REWRITTEN = ("relax.call_tir", "relax.call_dps_packed")


def call_tir_rewrite(module: ir.Operation) -> None:
    """Replace each such call by `relax.alloc_tensor` for every output and a `vm.call` (R16, V03).

    Raises:
        PassError: the dtype of an output is unknown, so there is nothing to allocate.
    """
    for op in collect(module, lambda op: op.name in _REWRITTEN):
        arguments = op.operands[1]
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(_rewrite(op))
        op.erase()
        if not list(arguments.uses):
            arguments.owner.operation.erase()


def _rewrite(op: ir.Operation) -> ir.Value:
    shape, result = op.operands[0], op.results[0].type
    if isinstance(result, ir.TupleType):
        shapes = known_fields(shape) or [
            ir.Operation.create(
                "relax.tuple_get_item",
                results=[type_],
                operands=[shape],
                attributes={"index": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i)},
            ).result
            for i, type_ in enumerate(field_types(shape.type))
        ]
        outputs = [
            _allocate(op, item, type_)
            for item, type_ in zip(shapes, field_types(result), strict=True)
        ]
        value = make_tuple(outputs)
    else:
        outputs = [value := _allocate(op, shape, result)]
    operands = [make_tuple([*call_arguments(op), *outputs])]
    name, kind = _callee(op), "vm.call"
    if "tir_vars" in op.attributes:
        integers = T.shape_type(Dims(op.attributes["tir_vars"]).dims)
        operands.append(ir.Operation.create("relax.shape_expr", results=[integers]).result)
        kind = "vm.call_tir_dyn"
    ir.Operation.create(kind, operands=operands, attributes={"func": ir.StringAttr.get(name)})
    return value


def _allocate(op: ir.Operation, shape: ir.Value, type_: ir.Type) -> ir.Value:
    dtype = T.tensor_dtype(type_)
    if not dtype:
        op.location.emit_error(
            f"'{op.name}' op cannot allocate {describe(type_)}: give the result's dtype, as in "
            'R.call_tir(..., out_sinfo=R.Tensor(..., dtype="float32"))'
        )
        raise PassError("call-tir-rewrite", f"the output of '{_callee(op)}' has no dtype")
    return ir.Operation.create(
        "relax.alloc_tensor",
        results=[type_],
        operands=[shape],
        attributes={"dtype": ir.StringAttr.get(dtype)},
    ).result


def _callee(op: ir.Operation) -> str:
    return op.attributes["callee" if "callee" in op.attributes else "func"].value
