"""The pass `extract-shape-functions`: functions that compute the shapes of a function's results.

Where a caller needs the shape of a result of `f` and no symbol gives it, it calls a new function
`f_shape`: from the shapes of the arguments to the shape of the result. The call of `f` may become
dead.
"""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.elementwise import BinaryOp, CastOp, UnaryOp
from relax_mlir.dialects.relax.side_effects import operations_in
from relax_mlir.dialects.relax.tuples import known_fields, make_tuple
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.walk import INNER_FIRST, named
from relax_mlir.transform.kernels.calls import unique_name
from relax_mlir.transform.relax.rebuild import bound_by_arguments

_BROADCAST = "vm.binary_broadcast_shape_infer"


def extract_shape_functions(module: ir.Operation) -> None:
    """Compute shapes of what functions return without calling them, where that can be done."""
    symbols = ir.SymbolTable(module)
    made: dict[str, str | None] = {}
    for op in _shape_queries(module):
        call = op.operands[0].owner.operation
        callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
        if callee not in made:
            made[callee] = _define(module, symbols, callee)
        name = made[callee]
        arguments = known_fields(call.operands[0])
        if name is not None and arguments is not None:
            _replace(op, name, arguments)


def _shape_queries(module: ir.Operation) -> list[ir.Operation]:
    """Return the `relax.shape_of` of calls whose result has no symbolic shape."""
    return [
        op for op in named(module, ("relax.shape_of",), INNER_FIRST)
        if T.tensor_dims((x := op.operands[0]).type) is None
        and not isinstance(x.owner, ir.Block) and x.owner.operation.name == "relax.call"
    ]  # fmt: skip


def _replace(op: ir.Operation, name: str, arguments: Sequence[ir.Value]) -> None:
    declared = op.results[0].type
    with ir.InsertionPoint(op), op.location:
        shapes = [_shape_argument(value) for value in arguments]
        loose = T.shape_type(None, T.shape_ndim(declared))
        result = ir.Operation.create(
            "relax.call",
            results=[loose],
            operands=[make_tuple(shapes)],
            attributes={"callee": ir.FlatSymbolRefAttr.get(name), "pure": ir.UnitAttr.get()},
        ).result
        if loose != declared:
            result = ir.Operation.create(
                "relax.match_cast", results=[declared], operands=[result]
            ).result
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _shape_argument(value: ir.Value) -> ir.Value:
    if not T.is_tensor(value.type):
        return value
    type_ = T.shape_type(T.tensor_dims(value.type), T.tensor_ndim(value.type))
    return ir.Operation.create("relax.shape_of", results=[type_], operands=[value]).result


def _define(module: ir.Operation, symbols: ir.SymbolTable, callee: str) -> str | None:
    """Add the shape function of a function; None where its shape depends on more than shapes."""
    if callee not in symbols:
        return None
    func = symbols[callee].operation
    if "relax.function" not in func.attributes or not func.regions[0].blocks:
        return None
    entry = func.regions[0].blocks[0]
    if any(isinstance(argument.type, ir.TupleType) for argument in entry.arguments):
        return None
    end = list(entry.operations)[-1].operation
    if end.name != "func.return" or len(end.operands) != 1:
        return None
    name = unique_name(f"{callee}_shape", symbols)
    with ir.InsertionPoint(module.regions[0].blocks[0]), func.location:
        types = [_shape_parameter(argument.type) for argument in entry.arguments]
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            "relax.function": ir.UnitAttr.get(),
            "relax.pure": ir.UnitAttr.get(),
        }
        for key in ("relax.params", "arg_attrs"):
            if key in func.attributes:
                attributes[key] = func.attributes[key]
        made = ir.Operation.create("func.func", attributes=attributes, regions=1)
        locations = [argument.location for argument in entry.arguments]
        block = made.regions[0].blocks.append(*types, arg_locs=locations)
    extraction = _Extraction(entry, block)
    with ir.InsertionPoint(block), end.location:
        shape = extraction.shape(end.operands[0])
        if shape is None:
            made.erase()
            return None
        ir.Operation.create("func.return", operands=[shape])
    signature = ir.FunctionType.get(types, [shape.type])
    made.attributes["function_type"] = ir.TypeAttr.get(signature)
    symbols.insert(made)
    return ir.StringAttr(made.attributes["sym_name"]).value


def _shape_parameter(type_: ir.Type) -> ir.Type:
    if not T.is_tensor(type_):
        return type_
    return T.shape_type(T.tensor_dims(type_), T.tensor_ndim(type_))


class _Extraction:
    """Copies what a shape depends on from one function into another, at the insertion point."""

    def __init__(self, source: ir.Block, target: ir.Block) -> None:
        self._entry = source
        self._made = dict(zip(source.arguments, target.arguments, strict=True))
        self._bound = bound_by_arguments(source)
        self._casts = _casts(source)

    def shape(self, tensor: ir.Value) -> ir.Value | None:
        """Return the shape of a tensor of the source, None where it depends on values."""
        if not T.is_tensor(tensor.type):
            return None
        dims = T.tensor_dims(tensor.type)
        if dims is not None and self._bind(dims):
            return ir.Operation.create("relax.shape_expr", results=[T.shape_type(dims)]).result
        if tensor in self._made:
            return self._made[tensor]
        owner = tensor.owner
        if isinstance(owner, ir.Block):
            return None
        op = owner.operation
        field = T.shape_field(tensor)
        if field.case == "V1" and field.value is not None:
            return self._value(field.value)
        if op.name == "relax.match_cast":
            return self.shape(op.operands[0])
        if op.name == "relax.dataflow":
            return self.shape(list(operations_in(op))[-1].operands[0])
        cls = COMPUTE_OPS.get(op.name.removeprefix("relax."))
        if cls is None:
            return None
        if issubclass(cls, (UnaryOp, CastOp)):
            return self.shape(op.operands[0])
        if issubclass(cls, BinaryOp):
            sides = [self.shape(operand) for operand in op.operands]
            known = [side for side in sides if side is not None]
            if len(known) == len(sides):
                type_ = T.shape_type(None, T.tensor_ndim(tensor.type))
                return _call(_BROADCAST, known, type_)
        return None

    def _value(self, value: ir.Value) -> ir.Value | None:
        """Return a shape or an integer of the source, None where it depends on tensors."""
        if value not in self._made:
            made = self._copy(value)
            if made is None:
                return None
            self._made[value] = made
        return self._made[value]

    def _copy(self, value: ir.Value) -> ir.Value | None:
        if isinstance(value.owner, ir.Block):
            return None
        op = value.owner.operation
        if op.name == "relax.shape_of":
            return self.shape(op.operands[0])
        if op.name in ("relax.shape_expr", "relax.prim_value"):
            dims = op.attributes["value"].dims if "value" in op.attributes else []
            if not self._bind([*dims, *type_dims(value.type)]):
                return None
            return op.clone().operation.results[0]
        if op.name == "relax.match_cast" and isinstance(value.type, Shape):
            inner = self._value(op.operands[0])
            if inner is None:
                return None
            return ir.Operation.create(
                op.name, results=[value.type], operands=[inner], loc=op.location
            ).result
        if op.name == "relax.call_pure_packed":
            fields = known_fields(op.operands[0])
            given = None if fields is None else [self._value(field) for field in fields]
            if given is None or any(each is None for each in given):
                return None
            attributes = dict(op.attributes.items())
            return ir.Operation.create(
                op.name,
                results=[value.type],
                operands=[make_tuple([each for each in given if each is not None])],
                attributes=attributes,
                loc=op.location,
            ).result
        return None

    def _bind(self, dims: Sequence[SymExpr]) -> bool:
        """Bind the symbols of dimensions in the new function, as the source does; can it?"""
        missing = {name for dim in dims for name in dim.symbols} - self._bound
        for name in sorted(missing):
            op = self._casts.get(name)
            if op is None or name in self._bound:
                if name in self._bound:
                    continue
                return False
            operand, type_ = op.operands[0], op.results[0].type
            shape = self.shape(operand) if T.is_tensor(type_) else self._value(operand)
            if shape is None:
                return False
            known = list(type_dims(type_))
            with op.location:
                ir.Operation.create(
                    "relax.match_cast", results=[T.shape_type(known)], operands=[shape]
                )
            self._bound |= {symbol for dim in known for symbol in dim.symbols}
        return True


def _casts(block: ir.Block) -> dict[str, ir.Operation]:
    """Return the `relax.match_cast` that first mentions each symbol of a block."""
    result: dict[str, ir.Operation] = {}
    for view in block.operations:
        op = view.operation
        if op.name == "relax.dataflow":
            for name, cast in _casts(op.regions[0].blocks[0]).items():
                result.setdefault(name, cast)
        elif op.name == "relax.match_cast" and not isinstance(op.results[0].type, ir.TupleType):
            for dim in type_dims(op.results[0].type):
                for name in dim.symbols:
                    result.setdefault(name, op)
    return result


def _call(func: str, operands: Sequence[ir.Value], result: ir.Type) -> ir.Value:
    return ir.Operation.create(
        "relax.call_pure_packed",
        results=[result],
        operands=[make_tuple(list(operands))],
        attributes={"func": ir.StringAttr.get(func)},
    ).result
