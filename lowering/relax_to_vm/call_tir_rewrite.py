"""The pass `call-tir-rewrite`: destination-passing calls get explicit outputs."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.inplace import DESTINATION_PASSING, inplace_indices
from relax_mlir.dialects.relax.tuples import field_types, known_fields, make_tuple
from relax_mlir.errors import PassError
from relax_mlir.lowering.relax_to_vm.inplace import overwritable_arguments
from relax_mlir.lowering.walk import collect, require_absent

_DESTINATION_PASSING = ("relax.call_tir", "relax.call_dps_packed", *DESTINATION_PASSING)
_REWRITTEN = (*_DESTINATION_PASSING, "relax.call_inplace_packed")


def call_tir_rewrite(module: ir.Operation) -> None:
    """Replace each such call by `relax.alloc_tensor` for every output and a `vm.call`.

    A call that may overwrite arguments is given those that are dead, and copies of the
    others.

    Raises:
        PassError: the dtype of an output is unknown, so there is nothing to allocate, or there are
            dataflow blocks left, which hold no calls with effects.
    """
    require_absent(module, "relax.dataflow", "CallTIRRewrite", "to-non-dataflow")
    for op in collect(module, lambda op: op.name in _REWRITTEN):
        tuples = [value for value in op.operands if known_fields(value) is not None]
        with ir.InsertionPoint(op), op.location:
            if op.name not in _DESTINATION_PASSING:
                op.results[0].replace_all_uses_with(_rewrite_packed(op))
            elif isinstance(op.results[0].type, ir.TupleType):
                _replace_tuple(op, _rewrite(op))
            else:
                op.results[0].replace_all_uses_with(_rewrite(op)[0])
        shape = op.operands[0]
        op.erase()
        owner = shape.owner
        if (
            not isinstance(owner, ir.Block)
            and owner.name == "relax.shape_expr"
            and not list(shape.uses)
        ):
            owner.operation.erase()
        for value in tuples:
            if not list(value.uses):
                value.owner.operation.erase()


def _rewrite(op: ir.Operation) -> list[ir.Value]:
    shape, result = op.operands[0], op.results[0].type
    many = isinstance(result, ir.TupleType)
    shapes, types = (_fields(shape), field_types(result)) if many else ([shape], [result])
    indices = inplace_indices(op) if op.name in DESTINATION_PASSING else [-1] * len(types)
    new = [
        _allocate(op, each, type_) if index < 0 else None
        for each, type_, index in zip(shapes, types, indices, strict=True)
    ]
    arguments = overwritable_arguments(op, _fields(op.operands[1]), indices)
    passed = [*arguments, *(value for value in new if value is not None)]
    part = nameless(op.location)
    operands = [make_tuple(passed, part)]
    kind = "vm.call"
    if "tir_vars" in op.attributes:
        integers = T.shape_type(Dims(op.attributes["tir_vars"]).dims)
        shape_op = ir.Operation.create("relax.shape_expr", results=[integers], loc=part)
        operands.append(shape_op.result)
        kind = "vm.call_tir_dyn"
    name = ir.StringAttr.get(_callee(op))
    ir.Operation.create(kind, operands=operands, attributes={"func": name})
    return [
        value if value is not None else _renamed(arguments[index], type_)
        for value, index, type_ in zip(new, indices, types, strict=True)
    ]


def _renamed(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Return an overwritten argument as an output; a type that says more is checked."""
    if value.type == type_:
        return value
    return ir.Operation.create("relax.match_cast", results=[type_], operands=[value]).result


def _rewrite_packed(op: ir.Operation) -> ir.Value:
    arguments = overwritable_arguments(op, _fields(op.operands[0]), inplace_indices(op))
    return ir.Operation.create(
        "relax.call_packed",
        results=[op.results[0].type],
        operands=[make_tuple(arguments, nameless(op.location))],
        attributes={"func": op.attributes["func"]},
    ).result


def _fields(value: ir.Value) -> list[ir.Value]:
    """Return the fields of a tuple, taken out of it where it was not made in the program."""
    fields = known_fields(value)
    if fields is not None:
        return fields
    i64 = ir.IntegerType.get_signless(64)
    return [
        ir.Operation.create(
            "relax.tuple_get_item",
            results=[type_],
            operands=[value],
            attributes={"index": ir.IntegerAttr.get(i64, index)},
        ).result
        for index, type_ in enumerate(field_types(value.type))
    ]


def _replace_tuple(op: ir.Operation, outputs: list[ir.Value]) -> None:
    """Give users of a tuple of outputs the outputs; the tuple is made only where it is used."""
    result = op.results[0]
    for user in [use.owner.operation for use in result.uses]:
        if user.name == "relax.tuple_get_item":
            user.results[0].replace_all_uses_with(outputs[user.attributes["index"].value])
            user.erase()
    if list(result.uses):
        result.replace_all_uses_with(make_tuple(outputs))


def _allocate(op: ir.Operation, shape: ir.Value, type_: ir.Type) -> ir.Value:
    dtype = T.tensor_dtype(type_)
    if not dtype:
        op.location.emit_error(
            f"'{op.name}' op cannot allocate {describe(type_)}: give the result's dtype, as in "
            'R.call_tir(..., out_sinfo=R.Tensor(..., dtype="float32"))'
        )
        raise PassError("CallTIRRewrite", f"the output of '{_callee(op)}' has no dtype")
    return ir.Operation.create(
        "relax.alloc_tensor",
        results=[type_],
        operands=[shape],
        attributes={"dtype": ir.StringAttr.get(dtype)},
    ).result


def _callee(op: ir.Operation) -> str:
    return op.attributes["callee" if "callee" in op.attributes else "func"].value
