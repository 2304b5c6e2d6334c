"""The pass `outline-native`: runs of call_tir become one native function (decision 10).

Between two operations that need the virtual machine, every intermediate tensor whose shape is known
symbolically can live in one workspace, whose size is a symbolic expression too. The run then is one
`relax.call_tir` of a prim func that carves up the workspace and calls the original prim funcs.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.symbolic import SymExpr, product
from relax_mlir.dialects.relax.tuples import is_make_tuple, make_tuple
from relax_mlir.dialects.tir.builder import Buffer, BufferDecl, PrimFuncBuilder, buffer_type
from relax_mlir.dialects.tir.scalar import cast
from relax_mlir.transform.rebuild import get_item
from relax_mlir.transform.tir_calls import (
    TirCall,
    buffer_decls,
    create_call,
    erase_call,
    integer_parameters,
    match_call,
    unique_name,
)

memref = submodule("dialects.memref")
func = submodule("dialects.func")

ALIGNMENT = 64
# Operations that need no instruction of their own between the calls of a run.
_TRANSPARENT = ("relax.shape_expr", "relax.constant", "relax.prim_value")


def outline_native(module: ir.Operation) -> None:
    """Merge every run of at least two calls of prim funcs with symbolically known shapes."""
    symbols = ir.SymbolTable(module)
    for view in list(module.regions[0].blocks[0].operations):
        op = view.operation
        if "relax.function" in op.attributes and op.regions[0].blocks:
            for run in _runs(op, symbols):
                # Matched again, as rewriting the run before has replaced values that this one uses.
                calls = [_matched(call, symbols) for call in run]
                _Outliner(module, symbols, op.attributes["sym_name"].value, calls).rewrite()
    mark_internal(module)


def _runs(function: ir.Operation, symbols: ir.SymbolTable) -> list[list[ir.Operation]]:
    runs: list[list[ir.Operation]] = []

    def block(block_: ir.Block) -> None:
        current: list[ir.Operation] = []
        for view in block_.operations:
            op = view.operation
            if op.name == "relax.call_tir" and match_call(op, symbols) is not None:
                current.append(op)
                continue
            if op.name in _TRANSPARENT or is_make_tuple(op):
                continue
            runs.append(current)
            current = []
            for region in op.regions:
                for inner in region.blocks:
                    block(inner)
        runs.append(current)

    for block_ in function.regions[0].blocks:
        block(block_)
    return [run for run in runs if len(run) > 1]


def _matched(op: ir.Operation, symbols: ir.SymbolTable) -> TirCall:
    call = match_call(op, symbols)
    assert call is not None  # as it was when the runs were found
    return call


@dataclass
class _Workspace:
    """Offsets in one buffer; a slot is used again by a tensor of provably the same size."""

    end: SymExpr = field(default_factory=lambda: SymExpr.const(0))
    free: list[tuple[SymExpr, SymExpr]] = field(default_factory=list)

    def take(self, size: SymExpr) -> SymExpr:
        for slot in self.free:
            if slot[0] == size:
                self.free.remove(slot)
                return slot[1]
        offset = self.end
        self.end = offset + size
        return offset

    def release(self, size: SymExpr, offset: SymExpr) -> None:
        self.free.append((size, offset))


def _bytes(type_: ir.Type) -> SymExpr:
    """Return the size of a tensor's slot, rounded up so that every slot is aligned."""
    size = product(T.known_dims(type_)) * T.dtype_size(T.tensor_dtype(type_))
    return (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


class _Outliner:
    """Rewrites one run of calls."""

    def __init__(
        self, module: ir.Operation, symbols: ir.SymbolTable, function: str, run: Sequence[TirCall]
    ) -> None:
        self._module, self._symbols, self._function, self._run = module, symbols, function, run
        made = {call.result for call in run}
        calls = {call.op for call in run}
        self._outputs = [call.result for call in run if _escapes(call.result, calls)]
        arguments = dict.fromkeys(value for call in run for value in call.arguments)
        self._inputs = [value for value in arguments if value not in made]
        self._last = {
            value: position for position, call in enumerate(run) for value in call.arguments
        }

    def rewrite(self) -> None:
        """Define the prim func and put one call in place of the run, unless nothing uses it."""
        if not self._outputs:
            return
        places, total = self._plan()
        if places and total == 0:
            # What is between is empty, but views of nothing are still views of something.
            total = SymExpr.const(ALIGNMENT)
        results = [value.type for value in self._outputs]
        if total != 0:
            results.append(T.tensor_type([total], "uint8"))
        name, integers = self._define(places, total)
        last = self._run[-1].op
        with ir.InsertionPoint(last), last.location:
            call = self._call(name, integers, results)
            values = (
                [call]
                if len(results) == 1
                else [get_item(call, index) for index in range(len(self._outputs))]
            )
        _sink(self._run, values[-1].owner.operation)
        for old, new in zip(self._outputs, values, strict=True):
            old.replace_all_uses_with(new)
        for each in reversed(self._run):
            erase_call(each.op)

    def _plan(self) -> tuple[dict[ir.Value, SymExpr], SymExpr]:
        """Return the offset of every intermediate, and the size of the workspace."""
        workspace = _Workspace()
        places: dict[ir.Value, SymExpr] = {}
        for position, call in enumerate(self._run):
            if call.result not in self._outputs:
                places[call.result] = workspace.take(_bytes(call.result.type))
            for value in places:
                if self._last.get(value, -1) == position:
                    workspace.release(_bytes(value.type), places[value])
        return places, workspace.end

    def _define(self, places: Mapping[ir.Value, SymExpr], total: SymExpr) -> tuple[str, list[str]]:
        decls = [*buffer_decls("arg", self._inputs), *buffer_decls("out", self._outputs)]
        if total != 0:
            decls.append(BufferDecl("workspace", [total], "uint8"))
        inner = [dim for call in self._run for dim in T.known_dims(call.result.type)]
        integers = integer_parameters(decls, self._run, inner)
        block = self._module.regions[0].blocks[0]
        name = unique_name(f"{self._function}_native", self._symbols)
        with ir.InsertionPoint(block), ir.Location.name(name):
            builder = PrimFuncBuilder(name, decls, integers)
            with builder.body():
                self._body(builder, places, builder.buffers[-1])
        self._symbols.insert(builder.op)
        _mark(builder.op, len(self._inputs))
        return builder.op.name.value, integers

    def _body(
        self, builder: PrimFuncBuilder, places: Mapping[ir.Value, SymExpr], workspace: Buffer
    ) -> None:
        tensors = [*self._inputs, *self._outputs]
        buffers = {
            value: buffer.value for value, buffer in zip(tensors, builder.buffers, strict=False)
        }
        for call in self._run:
            if call.result in places:
                buffers[call.result] = _view(builder, workspace, places[call.result], call.result)
            operands = [buffers[value] for value in (*call.arguments, call.result)]
            types = call.callee.type.inputs
            operands = [
                value if value.type == type_ else memref.CastOp(type_, value).result
                for value, type_ in zip(operands, types, strict=False)
            ]
            names = call.callee.operation.attributes["arg_attrs"]
            for each in list(names)[len(operands) :]:
                name = ir.StringAttr(ir.DictAttr(each)["tir.name"]).value
                operands.append(cast(builder.symbol(call.symbols[name]), "int64").value)
            with call.op.location:
                func.CallOp([], call.callee.name.value, operands)

    def _call(self, name: str, integers: Sequence[str], results: Sequence[ir.Type]) -> ir.Value:
        shapes = [
            ir.Operation.create(
                "relax.shape_expr", results=[T.shape_type(T.tensor_dims(type_))]
            ).result
            for type_ in results
        ]
        single = len(results) == 1
        type_ = results[0] if single else ir.TupleType.get_tuple(list(results))
        shape = shapes[0] if single else make_tuple(shapes)
        return create_call(name, shape, self._inputs, integers, type_).results[0]


def _escapes(value: ir.Value, calls: Set[ir.Operation]) -> bool:
    """Whether anything but the calls of the run uses a value; a tuple that nobody uses does."""
    for use in value.uses:
        user = use.owner.operation
        if user in calls:
            continue
        if not is_make_tuple(user):
            return True
        users = {inner.owner.operation for inner in user.results[0].uses}
        if not users or users - calls:
            return True
    return False


def _view(
    builder: PrimFuncBuilder, workspace: Buffer, offset: SymExpr, value: ir.Value
) -> ir.Value:
    dims = T.known_dims(value.type)
    sizes = [builder.symbol(dim).value for dim in dims if not dim.is_const]
    type_ = buffer_type(dims, T.tensor_dtype(value.type))
    return memref.ViewOp(type_, workspace.value, builder.symbol(offset).value, sizes).result


def _sink(run: Sequence[TirCall], after: ir.Operation) -> None:
    """Move tuples made between the calls behind them, where the new values are."""
    made = {call.result for call in run}
    calls = {call.op for call in run}
    stale = {
        tuple_
        for tuple_ in (op.operands[1].owner.operation for op in calls)
        if all(use.owner.operation in calls for use in tuple_.results[0].uses)
    }
    point = after
    begun = False
    for view in list(run[0].op.block.operations):
        op = view.operation
        begun = begun or op == run[0].op
        if op == run[-1].op:
            return
        uses = any(operand in made for operand in op.operands)
        if begun and uses and is_make_tuple(op) and op not in stale:
            op.move_after(point)
            point = op
            made.add(op.results[0])


def _mark(function: ir.OpView, inputs: int) -> None:
    """Note that the first parameters are only read; the calls in the body do not show it."""
    attributes = []
    for index, each in enumerate(ir.ArrayAttr(function.operation.attributes["arg_attrs"])):
        items = {item.name: item.attr for item in ir.DictAttr(each)}
        if index < inputs:
            items["tir.readonly"] = ir.UnitAttr.get()
        attributes.append(ir.DictAttr.get(items))
    function.arg_attrs = ir.ArrayAttr.get(attributes)


def mark_internal(module: ir.Operation) -> None:
    """Mark private prim funcs that only other prim funcs call: they need no calling convention."""
    outside: set[str] = set()
    inside: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call":
            inside.add(op.attributes["callee"].value)
        elif op.name.startswith(("relax.", "vm.")):
            for name in ("callee", "func"):
                if name in op.attributes:
                    outside.add(op.attributes[name].value)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    for view in module.regions[0].blocks[0].operations:
        attributes = view.operation.attributes
        if "tir.prim_func" not in attributes or "sym_visibility" not in attributes:
            continue
        if attributes["sym_name"].value in inside - outside:
            attributes["tir.internal"] = ir.UnitAttr.get()
