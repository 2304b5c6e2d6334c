"""The pass `outline-native`: runs of call_tir become one native function.

Between two operations that need the virtual machine, every intermediate tensor whose shape is known
symbolically lives in one arena, whose size is a symbolic expression too. The run then is one
`relax.call_tir` of a prim func that carves up the arena and calls the original prim funcs.
"""

from collections.abc import Mapping, Sequence, Set
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.tuples import get_item, is_make_tuple, make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import lower_bound
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder, buffer_type
from relax_mlir.dialects.tir.scalar import cast
from relax_mlir.lowering.relax_to_vm.storage_plan import (
    Allocation,
    Plan,
    needed,
    plan_arena,
    unplanned,
)
from relax_mlir.lowering.relax_to_vm.symbolic_sizes import ALIGNMENT
from relax_mlir.transform.kernels.calls import (
    KernelSymbols,
    TirCall,
    buffer_decls,
    create_call,
    erase_call,
    integer_parameters,
    match_call,
    unique_name,
)
from relax_mlir.transform.kernels.elementwise import overwritable
from relax_mlir.transform.outline.call_runs import Run, find_runs, is_argument_tuple, resolve

memref: ModuleType = submodule("dialects.memref")
func: ModuleType = submodule("dialects.func")

# The arena of a run, as an attribute of its prim func: bytes of it, bytes without sharing, and the
# most bytes that are needed at one time.
ARENA = "tir.arena"
# An arena of up to so many bytes is on the native stack.
_STACK = 1 << 14


def outline_native(module: ir.Operation) -> None:
    """Merge every run of at least two calls of prim funcs with symbolically known shapes."""
    symbols = KernelSymbols(module)
    overlapping: list[ir.Operation] = []
    for view in list(module.regions[0].blocks[0].operations):
        op = view.operation
        if "relax.function" in op.attributes and op.regions[0].blocks:
            for run in find_runs(op, symbols):
                # Matched now, as rewriting the run before has replaced values that this one uses.
                outliner = _Outliner(module, symbols, op.attributes["sym_name"].value, run)
                overlapping += outliner.rewrite()
    mark_internal(module)
    _separate(symbols, overlapping)


def _separate(symbols: KernelSymbols, calls: Sequence[ir.Operation]) -> None:
    """Let calls whose arguments overlap call prim funcs that do not assume the contrary."""
    copies: dict[str, str] = {}
    for call in calls:
        name = call.attributes["callee"].value
        callee = symbols[name].operation
        if "tir.internal" in callee.attributes:
            continue
        if name not in copies:
            with ir.InsertionPoint(callee):
                copy = callee.clone().operation
            copies[name] = unique_name(f"{name}_inplace", symbols)
            copy.attributes["sym_name"] = ir.StringAttr.get(copies[name])
            copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
            copy.attributes["tir.internal"] = ir.UnitAttr.get()
            symbols.insert(copy)
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get(copies[name])


def _matched(op: ir.Operation, symbols: KernelSymbols) -> TirCall:
    call = match_call(op, symbols)
    assert call is not None  # as it was when the runs were found
    return call


def _bytes(value: ir.Value) -> SymExpr:
    return product(T.known_dims(value.type)) * T.dtype_size(T.tensor_dtype(value.type))


class _Outliner:
    """Rewrites one run of calls."""

    def __init__(
        self, module: ir.Operation, symbols: KernelSymbols, function: str, run: Run
    ) -> None:
        self._module, self._symbols, self._function = module, symbols, function
        self._run = run
        self._calls = [_matched(call, symbols) for call in run.calls]
        self._casts = _dead_casts(run)
        made = {call.result for call in self._calls}
        gone = {*run.calls, *self._casts}
        self._outputs = [call.result for call in self._calls if _escapes(call.result, gone)]
        arguments = dict.fromkeys(value for call in self._calls for value in self._arguments(call))
        self._inputs = [value for value in arguments if value not in made]
        self._last = {
            value: position
            for position, call in enumerate(self._calls)
            for value in self._arguments(call)
        }
        # Which tensor of the run each one shares its memory with, as it is written over it.
        self._home: dict[ir.Value, ir.Value] = {}
        self._in_output: dict[ir.Value, ir.Value] = {}
        self._overlapping: list[ir.Operation] = []

    def _arguments(self, call: TirCall) -> list[ir.Value]:
        return [resolve(value, self._run.renamed) for value in call.arguments]

    def rewrite(self) -> list[ir.Operation]:
        """Define the prim func and put one call in place of the run, unless nothing uses it.

        Returns:
            The calls inside the prim func that are given overlapping buffers.
        """
        if not self._outputs:
            return []
        self._share()
        self._in_output = {self._first(value): value for value in self._outputs}
        homes, allocations = self._allocations()
        plan = plan_arena(allocations, self._run.facts)
        places = {home: offset for home, offset in zip(homes, plan.offsets, strict=True)}
        total = plan.total
        if homes and total == 0:
            # What is between is empty, but views of nothing are still views of something.
            total = SymExpr.const(ALIGNMENT)
        on_stack = total.value is not None and total.value <= _STACK
        first, last = self._run.calls[0], self._run.calls[-1]
        for op in self._run.leaders:
            op.move_before(first)
        with ir.InsertionPoint(first):
            self._check()
        results = [value.type for value in self._outputs]
        if homes and not on_stack:
            results.append(T.tensor_type([total], "uint8"))
        name, integers = self._define(places, total if homes else None, on_stack, plan, allocations)
        with ir.InsertionPoint(last), last.location:
            call = self._call(name, integers, results)
            values = (
                [call]
                if len(results) == 1
                else [get_item(call, index) for index in range(len(self._outputs))]
            )
        self._replace(values)
        return self._overlapping

    def _replace(self, values: Sequence[ir.Value]) -> None:
        calls = set(self._run.calls)
        followers = [
            op
            for op in self._run.followers
            if op not in self._casts and not is_argument_tuple(op, calls)
        ]
        for old, new in zip(self._outputs, values, strict=True):
            old.replace_all_uses_with(new)
        point = values[-1].owner.operation
        for op in followers:
            op.move_after(point)
            point = op
        gone = calls | set(self._casts)
        for op in reversed([v.operation for v in point.block.operations if v.operation in gone]):
            erase_call(op)

    def _share(self) -> None:
        """Find results that can be written over an argument that is dead."""
        made = {call.result for call in self._calls} - set(self._outputs)
        for position, call in enumerate(self._calls):
            arguments = self._arguments(call)
            for value in dict.fromkeys(arguments):
                if value not in made or self._last[value] != position:
                    continue
                if not self._fits(value, call.result):
                    continue
                places = [i for i, other in enumerate(arguments) if other == value]
                if all(overwritable(call, i) for i in places):
                    self._home[call.result] = value
                    break

    def _fits(self, value: ir.Value, result: ir.Value) -> bool:
        """Whether a tensor and what is written over it are of one size, and of one type at last."""
        if _bytes(value) != _bytes(result):
            return False
        if result not in self._outputs:
            return True
        while _buffer_type(value) == _buffer_type(result):
            if value not in self._home:
                return True
            value = self._home[value]
        return False

    def _first(self, value: ir.Value) -> ir.Value:
        """Return the first of the tensors that are written one over the other."""
        while value in self._home:
            value = self._home[value]
        return value

    def _root(self, value: ir.Value) -> ir.Value:
        """Return the tensor whose memory a value is in: the output if there is one among them."""
        first = self._first(value)
        return self._in_output.get(first, first)

    def _allocations(self) -> tuple[list[ir.Value], list[Allocation]]:
        """Return what is in the arena: the first of the tensors that share a place, and when."""
        spans: dict[ir.Value, Allocation] = {}
        for position, call in enumerate(self._calls):
            home = self._root(call.result)
            if home in self._outputs:
                continue
            end = max(position, self._last.get(call.result, position))
            start = spans[home].start if home in spans else position
            spans[home] = Allocation(_bytes(home), start, end)
        return list(spans), list(spans.values())

    def _check(self) -> None:
        """Check before the run what was checked in it, and that its tensors can be that large."""
        for cast_ in self._run.checks:
            value, result = cast_.operands[0], cast_.results[0]
            with cast_.location:
                shape = _shape_expr(value.type)
                placeholder = ir.Operation.create(
                    "relax.call_pure_packed",
                    results=[value.type],
                    operands=[make_tuple([shape])],
                    attributes={
                        "func": ir.StringAttr.get("vm.builtin.tensor_without_memory"),
                        "static_args": ir.ArrayAttr.get(
                            [ir.StringAttr.get(T.tensor_dtype(value.type))]
                        ),
                    },
                ).result
                ir.Operation.create(
                    "relax.match_cast", results=[result.type], operands=[placeholder]
                )
        seen = []
        for call in self._calls:
            dims = T.known_dims(call.result.type)
            lows = [lower_bound(dim, self._run.facts) for dim in dims]
            unsure = any(low is None or low < 0 for low in lows)
            if unsure and call.result not in self._outputs and dims not in seen:
                seen.append(dims)
                with call.op.location:
                    _shape_expr(call.result.type)

    def _define(
        self, places: Mapping[ir.Value, SymExpr], total: SymExpr | None, on_stack: bool,
        plan: Plan, allocations: Sequence[Allocation],
    ) -> tuple[str, list[str]]:  # fmt: skip
        decls = [*buffer_decls("arg", self._inputs), *buffer_decls("out", self._outputs)]
        if total is not None and not on_stack:
            decls.append(BufferDecl("workspace", [total], "uint8"))
        inner = [dim for call in self._calls for dim in T.known_dims(call.result.type)]
        integers = integer_parameters(decls, self._calls, inner)
        block = self._module.regions[0].blocks[0]
        name = unique_name(f"{self._function}_native", self._symbols)
        with ir.InsertionPoint(block), ir.Location.name(name):
            builder = PrimFuncBuilder(name, decls, integers)
            with builder.body():
                arena: Any = builder.buffers[-1].value if decls else None
                if on_stack and total is not None:
                    type_ = buffer_type([total], "uint8")
                    arena = memref.AllocaOp(type_, [], [], alignment=ALIGNMENT).result
                self._body(builder, places, arena)
        self._symbols.insert(builder.op)
        _mark(builder.op, len(self._inputs))
        numbers = [plan.total, unplanned(self._separately()), needed(allocations)]
        builder.op.operation.attributes[ARENA] = Dims.of(numbers)
        return builder.op.name.value, integers

    def _separately(self) -> list[Allocation]:
        """Return the allocations if nothing shared memory."""
        inner = [call.result for call in self._calls if call.result not in self._outputs]
        return [Allocation(_bytes(value), 0, 0) for value in inner]

    def _body(
        self, builder: PrimFuncBuilder, places: Mapping[ir.Value, SymExpr], arena: ir.Value
    ) -> None:
        tensors = [*self._inputs, *self._outputs]
        buffers = {
            value: buffer.value for value, buffer in zip(tensors, builder.buffers, strict=False)
        }
        for call in self._calls:
            result = call.result
            home = self._root(result)
            if home in places:
                buffers[result] = _view(builder, arena, places[home], result)
            elif home != result:
                buffers[result] = buffers[home]
            operands = [buffers[value] for value in (*self._arguments(call), result)]
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
                inner = func.CallOp([], call.callee.name.value, operands)
            if result in self._home:
                self._overlapping.append(inner.operation)

    def _call(self, name: str, integers: Sequence[str], results: Sequence[ir.Type]) -> ir.Value:
        shapes = [_shape_expr(type_) for type_ in results]
        single = len(results) == 1
        type_ = results[0] if single else ir.TupleType.get_tuple(list(results))
        shape = shapes[0] if single else make_tuple(shapes)
        return create_call(name, shape, self._inputs, integers, type_).results[0]


def _shape_expr(type_: ir.Type) -> ir.Value:
    shape = T.shape_type(T.tensor_dims(type_))
    return ir.Operation.create("relax.shape_expr", results=[shape]).result


def _buffer_type(value: ir.Value) -> ir.Type:
    return buffer_type(T.known_dims(value.type), T.tensor_dtype(value.type))


def _dead_casts(run: Run) -> list[ir.Operation]:
    """Return the casts that only calls of the run use, in order."""
    dead: list[ir.Operation] = []
    for op in reversed(run.checks):
        if not _escapes(op.results[0], {*run.calls, *dead}):
            dead.insert(0, op)
    return dead


def _escapes(value: ir.Value, calls: Set[ir.Operation]) -> bool:
    """Whether anything but the calls of the run uses a value; an unused tuple counts as a use."""
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


def _view(builder: PrimFuncBuilder, arena: ir.Value, offset: SymExpr, value: ir.Value) -> ir.Value:
    dims = T.known_dims(value.type)
    sizes = [builder.symbol(dim).value for dim in dims if not dim.is_const]
    type_ = buffer_type(dims, T.tensor_dtype(value.type))
    return memref.ViewOp(type_, arena, builder.symbol(offset).value, sizes).result


def _mark(function: ir.OpView, inputs: int) -> None:
    """Note that the first parameters are only read; the calls in the body do not show it."""
    attributes = []
    for index, each in enumerate(ir.ArrayAttr(function.operation.attributes["arg_attrs"])):
        items = {item.name: item.attr for item in ir.DictAttr(each)}
        if index < inputs:
            items["tir.readonly"] = ir.UnitAttr.get()
        attributes.append(ir.DictAttr.get(items))
    function.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


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
