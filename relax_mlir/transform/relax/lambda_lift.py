"""The pass `lambda-lift`: lambdas become functions of the module."""

from collections.abc import Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.locations import at_source, value_name
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.side_effects import captured_values, operations_in
from relax_mlir.dialects.relax.tuples import (
    call_arguments,
    field_types,
    make_tuple,
)
from relax_mlir.dialects.relax.well_formed import type_dims, type_symbols
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import PassError
from relax_mlir.lowering.walk import INNER_FIRST, named
from relax_mlir.transform.relax.rebuild import erase_with_arguments, result_types

func: ModuleType = submodule("dialects.func")

# Their values are in their types and attributes alone, so that a copy serves as well.
_LITERALS = ("relax.shape_expr", "relax.prim_value", "relax.constant")


def lambda_lift(module: ir.Operation) -> None:
    """Make a private function of every `relax.lambda`, and calls of what calls a known function.

    A recursive one, whose first parameter is the function itself, makes that value of its own
    captured parameters, and so calls itself directly.

    What the body uses from around it becomes further parameters, the sizes that its types mention
    included; `relax.make_closure` holds their values. A function value that is called where it is
    known is called directly; any other goes through the runtime, and what it returns is checked.
    """
    symbols = ir.SymbolTable(module)
    # Inner ones come first, so that what they capture is captured by the outer ones in turn.
    for op in named(module, ("relax.lambda",), INNER_FIRST):
        _Lifter(module, symbols, op).run()
    for op in named(module, ("relax.invoke_closure",), INNER_FIRST):
        _lower_call(op, symbols)
    for op in named(module, ("relax.make_closure",), INNER_FIRST):
        if next(iter(op.results[0].uses), None) is None:
            erase_with_arguments(op)


class _Lifter:
    """Lifts one lambda."""

    def __init__(self, module: ir.Operation, symbols: ir.SymbolTable, op: ir.Operation) -> None:
        self._module, self._symbols, self._op = module, symbols, op

    def run(self) -> None:
        op = self._op
        block = op.regions[0].blocks[0]
        self._copy_literals(block)
        captured = captured_values(op)
        sizes = self._unbound(block, captured)
        with ir.InsertionPoint(op), op.location:
            if sizes:
                dims = [SymExpr.var(name) for name in sizes]
                shape = T.shape_type(dims)
                captured.append(ir.Operation.create("relax.shape_expr", results=[shape]).result)
            arguments = make_tuple(captured)
        name = self._define(block, captured)
        with ir.InsertionPoint(op), op.location:
            closure = ir.Operation.create(
                "relax.make_closure",
                results=[op.results[0].type],
                operands=[arguments],
                attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
            )
        op.results[0].replace_all_uses_with(closure.result)
        op.erase()

    def _copy_literals(self, block: ir.Block) -> None:
        for value in captured_values(self._op):
            if isinstance(value.owner, ir.Block) or value.owner.operation.name not in _LITERALS:
                continue
            with ir.InsertionPoint.at_block_begin(block):
                copy = value.owner.operation.clone()
            self._rename(value, copy.operation.results[0])

    def _rename(self, old: ir.Value, new: ir.Value) -> None:
        """Replace a value inside the lambda only."""
        for use in list(old.uses):
            if self._is_inside(use.owner.operation):
                use.owner.operation.operands[use.operand_number] = new

    def _is_inside(self, op: ir.Operation | None) -> bool:
        while op is not None and op != self._op:
            op = op.parent.operation if op.parent is not None else None
        return op is not None

    def _unbound(self, block: ir.Block, captured: Sequence[ir.Value]) -> list[str]:
        """Return the symbols that neither the parameters nor the captured values bind."""
        values = [*block.arguments, *captured]
        bound = bound_symbols(dim for value in values for dim in type_dims(value.type))
        used = set().union(*(type_symbols(value.type) for value in values))

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == "relax.match_prim":
                bound.update(bound_symbols(op.attributes["value"].dims, bound | self._around))
            for result in op.results:
                names = type_symbols(result.type)
                used.update(names)
                if op.name == "relax.match_cast":
                    bound.update(bound_symbols(type_dims(result.type), bound | self._around))
            for attribute in op.attributes.values():
                if isinstance(attribute, Dims):
                    used.update(name for dim in attribute.dims for name in dim.symbols)
            return ir.WalkResult.ADVANCE

        self._around = self._symbols_around()
        for inner in operations_in(self._op):
            inner.walk(visit, ir.WalkOrder.PRE_ORDER)
        return sorted(used - bound)

    def _symbols_around(self) -> set[str]:
        """Return the symbols that are bound where the lambda stands: a match_cast checks those."""
        op, names = self._op, set()
        while op.name != "func.func":
            block = op.block
            values = list(block.arguments)
            for view in block.operations:
                if view.operation == op:
                    break
                values += view.operation.results
                if view.operation.name == "relax.match_prim":
                    names |= set(view.operation.attributes["value"].symbol_names)
            for value in values:
                names |= type_symbols(value.type)
            op = op.parent.operation
        for argument in op.regions[0].blocks[0].arguments:
            names |= type_symbols(argument.type)
        return names

    def _define(self, block: ir.Block, captured: Sequence[ir.Value]) -> str:
        recursive = "recursive" in self._op.attributes
        parameters = list(block.arguments)[1 if recursive else 0 :]
        types = [*(a.type for a in parameters), *(v.type for v in captured)]
        end = list(block.operations)[-1].operation
        name = self._unique()
        with ir.InsertionPoint(self._module.regions[0].blocks[0]), self._op.location:
            function = func.FuncOp(name, (types, [end.operands[0].type]), visibility="private")
        function.operation.attributes["relax.function"] = ir.UnitAttr.get()
        self._symbols.insert(function)
        for value in captured:
            owner = value.owner
            location = (
                owner.operation.location if not isinstance(owner, ir.Block) else value.location
            )
            self._rename(value, block.add_argument(value.type, location))
        if recursive:
            self._close(block, function.name.value, len(captured))
        returned = end.operands[0]
        end.erase()
        with ir.InsertionPoint(block), self._op.location:
            func.ReturnOp([returned])
        block.append_to(function.operation.regions[0])
        return function.name.value

    def _close(self, block: ir.Block, name: str, captured: int) -> None:
        """Put a closure in the place of the parameter that is the function itself."""
        itself = block.arguments[0]
        with ir.InsertionPoint.at_block_begin(block), self._op.location:
            own = list(block.arguments)[len(block.arguments) - captured :]
            closure = ir.Operation.create(
                "relax.make_closure",
                results=[itself.type],
                operands=[make_tuple(own)],
                attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
            )
        itself.replace_all_uses_with(closure.result)
        block.erase_argument(0)

    def _unique(self) -> str:
        op = self._op
        while op.name != "func.func":
            op = op.parent.operation
        base = f"{op.attributes['sym_name'].value}_{value_name(self._op.location) or 'lambda'}"
        name, count = base, 0
        while name in self._symbols:
            count += 1
            name = f"{base}{count}"
        return name


def _lower_call(op: ir.Operation, symbols: ir.SymbolTable) -> None:
    """Call a known function directly, any other through the runtime."""
    owner = op.operands[0].owner
    arguments = call_arguments(op)
    pure = "pure" in op.attributes
    known = None if isinstance(owner, ir.Block) else owner.operation
    with ir.InsertionPoint(op), op.location:
        if known is not None and known.name == "relax.make_closure":
            name = known.attributes["callee"].value
            callee = symbols[name]
            if "tir.prim_func" in callee.operation.attributes:
                raise PassError(
                    "LambdaLift",
                    f"'{name}'{at_source(op.location)} is a prim func, which writes its results: "
                    "call it by R.call_tir",
                )
            values = [*arguments, *call_arguments(known)]
            attributes = {"callee": known.attributes["callee"]}
            if pure:
                attributes["pure"] = ir.UnitAttr.get()
            returned = result_types(callee.operation)[0]
            wanted = op.results[0].type
            # A type of the callee that mentions no symbol is the caller's too.
            plain = not any(dim.symbols for dim in type_dims(returned))
            result = ir.Operation.create(
                "relax.call",
                results=[returned if plain else wanted],
                operands=[make_tuple(values)],
                attributes=attributes,
            ).result
        else:
            result = ir.Operation.create(
                "relax.call_pure_packed" if pure else "relax.call_packed",
                results=[T.object_type()],
                operands=[make_tuple([op.operands[0], *arguments])],
                attributes={"func": ir.StringAttr.get("vm.builtin.invoke_closure")},
            ).result
        if result.type != op.results[0].type:
            result = _checked(result, op.results[0].type)
    op.results[0].replace_all_uses_with(result)
    erase_with_arguments(op)


def _checked(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Return the value with a type that is asserted, field by field for a tuple."""
    if not isinstance(type_, ir.TupleType) or not isinstance(value.type, ir.TupleType):
        return ir.Operation.create("relax.match_cast", results=[type_], operands=[value]).result
    fields = []
    for index, (actual, wanted) in enumerate(
        zip(field_types(value.type), field_types(type_), strict=True)
    ):
        position = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
        field = ir.Operation.create(
            "relax.tuple_get_item",
            results=[actual],
            operands=[value],
            attributes={"index": position},
        ).result
        fields.append(field if actual == wanted else _checked(field, wanted))
    return make_tuple(fields)
