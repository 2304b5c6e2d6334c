"""The pass `fuse-tir`: functions that `FuseOps` made become one prim func each."""

import functools
from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name, nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.ops.inplace import inplace_indices
from relax_mlir.dialects.relax.tuples import (
    call_arguments,
    field_types,
    get_item,
    is_make_tuple,
    is_tuple,
    make_tuple,
)
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder, ScalarDecl
from relax_mlir.lowering.walk import named
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr.places import LEAVES, canonical, defining_op
from relax_mlir.relax.expr_functor.edit import erase
from relax_mlir.tir.view.tree import BLOCK, block_name
from relax_mlir.transform.grouping.annotate_tir_op_pattern import OP_PATTERN
from relax_mlir.transform.grouping.grouped_functions import KERNEL_CALLS, PRIMITIVE
from relax_mlir.transform.kernels.calls import TirCall, solve_symbols
from relax_mlir.transform.kernels.contraction import ContractionKernel, KernelCloner
from relax_mlir.transform.relax.call_types import caller_symbols
from relax_mlir.transform.relax.dead_code_elimination import remove_unreachable
from relax_mlir.transform.relax.infer_type import infer_type
from relax_mlir.transform.relax.rebuild import substitute_type

_BESIDE = ("relax.dataflow", "relax.output", "relax.tuple_get_item", "func.return", *LEAVES)
# What a prim func begins with.
_FIRST = ("tir.symbol", "arith.constant", "memref.alloc")
# A part of a value: the value, and the indices of fields in fields.
_Place = tuple[ir.Value, tuple[int, ...]]


def fuse_tir(module: ir.Operation) -> None:
    """Make one prim func of each function with the attribute `Primitive`, and `call_tir` its calls.

    Such a function calls prim funcs only. Tensors between them become buffers of the prim func;
    what overwrites a parameter makes `call_tir_inplace` of the calls. A function stays where it
    returns a parameter, one tensor twice or a tuple in a tuple, where shapes are not known, and
    where a prim func would check sizes at run time that the types do not determine.
    """
    symbols = ir.SymbolTable(module)
    calls: dict[str, list[ir.Operation]] = {}
    for call in named(module, ("relax.call",)):
        calls.setdefault(ir.FlatSymbolRefAttr(call.attributes["callee"]).value, []).append(call)
    retyped = False
    for name, sites in calls.items():
        func = symbols[name].operation
        if PRIMITIVE not in func.attributes:
            continue
        plan = _Plan(func, symbols)
        types = [plan.types_at(call) for call in sites] if plan.is_possible else []
        if types and None not in types:
            plan.write(name)
            for call, own in zip(sites, types, strict=True):
                retyped |= plan.replace(call, own or [])
    if retyped:
        infer_type(module)
    remove_unreachable(module)


@dataclass
class _Call:
    """A call in the function: its buffers by parts, those that it is given and those it makes."""

    op: ir.Operation
    callee: ir.OpView
    given: list[_Place]
    made: list[_Place]
    symbols: dict[str, SymExpr] = field(default_factory=dict)


class _Plan:
    """How one function becomes a prim func."""

    def __init__(self, func: ir.Operation, symbols: ir.SymbolTable) -> None:
        self._func, self._table = func, symbols
        self._block = func.regions[0].blocks[0]
        self.params = [part for each in self._block.arguments for part in _leaves(each)]
        self._tensors = [part for part in self.params if T.is_tensor(_type(part))]
        # Where a part's elements are: a parameter, or what a call makes.
        self._storage: dict[_Place, _Place] = {part: part for part in self._tensors}
        self._calls: list[_Call] = []
        self._used: set[_Place] = set()
        self.outputs: list[_Place] = []
        self.is_possible = self._collect() and self._returns() and self._has_shapes()
        # A field that is not used need not be passed, if it determines no size.
        self._tensors = [part for part in self._tensors if self._is_passed(part)]
        # What calls pass, before the function is erased: for each parameter the symbols that it
        # gives, None for a tensor; all symbols; for each output the argument it overwrites.
        self._passed: list[list[str] | None] = []
        self._paths = [(value.arg_number, path) for value, path in self.params]
        self._scalars: list[str] = []
        self._overwritten: list[int] = []

    def _collect(self) -> bool:
        for op in [*named(self._func, KERNEL_CALLS)]:
            callee = self._table[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
            given = [self._source(value) for value in call_arguments(op)]
            self._used.update(given)
            made = _leaves(op.results[0])
            overwritten = [-1] * len(made)
            if op.name == "relax.call_tir_inplace":
                overwritten = inplace_indices(op)
            for part, index in zip(made, overwritten, strict=True):
                source = part if index < 0 else self._storage.get(given[index])
                if source is None:
                    return False
                self._storage[part] = source
            new = [part for part, i in zip(made, overwritten, strict=True) if i < 0]
            types = [_type(part) for part in (*given, *new)]
            solution = solve_symbols(callee, types, op)
            if solution is None or any(part not in self._storage for part in given):
                return False
            self._calls.append(_Call(op, callee, given, new, solution))
        inner = {op.name for block in self._blocks() for op in block}
        return bool(self._calls) and inner <= {*_BESIDE, *KERNEL_CALLS}

    def _is_passed(self, part: _Place) -> bool:
        dims = T.tensor_dims(_type(part)) or ()
        return part in self._used or not part[1] or any(dim.symbols for dim in dims)

    def _blocks(self) -> list[list[ir.Operation]]:
        blocks = [self._block, *(o.regions[0].blocks[0] for o in named(self._func, _BESIDE[:1]))]
        return [[view.operation for view in block.operations] for block in blocks]

    def _source(self, value: ir.Value, path: tuple[int, ...] = ()) -> _Place:
        """Return the parameter, or the result of a call, that a value is, or is a field of."""
        while True:
            value = canonical(value)
            op = defining_op(value)
            if op is None:
                return value, path
            if op.name == "relax.tuple_get_item":
                value, path = op.operands[0], (op.attributes["index"].value, *path)
            elif is_make_tuple(op) and path:
                value, path = op.operands[path[0]], path[1:]
            else:
                return value, path

    def _returns(self) -> bool:
        end = self._blocks()[0][-1]
        result = end.operands[0].type
        if is_tuple(result) and any(map(is_tuple, field_types(result))):
            return False
        returned = [self._source(*part) for part in _leaves(end.operands[0])]
        self.outputs = [self._storage[part] for part in returned if part in self._storage]
        own = [part for part in returned if part in self._tensors]
        return len(self.outputs) == len(returned) == len({*self.outputs}) and not own

    def _has_shapes(self) -> bool:
        types = [_type(part) for part in self._storage]
        rest = [part for part in self.params if part not in self._tensors]
        return all(
            T.is_tensor(type_) and T.tensor_dims(type_) is not None and T.tensor_dtype(type_)
            for type_ in types
        ) and all(_integers(part) is not None for part in rest)

    def write(self, name: str) -> None:
        """Put the prim func in the place of the function."""
        names = Names()
        new = [part for part in self.outputs if part not in self._tensors]
        decls = [_decl(part, names) for part in (*self._tensors, *new)]
        self._passed = [None if p in self._tensors else _integers(p) or [] for p in self.params]
        self._scalars = list(dict.fromkeys(s for names in self._passed for s in names or ()))
        self._overwritten = [
            self._tensors.index(part) if part in self._tensors else -1 for part in self.outputs
        ]
        integers = [ScalarDecl(each, "int64") for each in self._scalars]
        with ir.InsertionPoint(self._calls[0].callee), ir.Location.name(name):
            builder = PrimFuncBuilder(name, [*decls, *integers])
            with builder.body():
                buffers = dict(zip((*self._tensors, *new), builder.buffers, strict=True))
                self._fill(builder, {part: each.value for part, each in buffers.items()}, names)
        self._table.erase(self._func.opview)
        self._table.insert(builder.op)
        _name_blocks(builder.op.operation)
        for key, attribute in self._attributes().items():
            builder.op.attributes[key] = attribute

    def _attributes(self) -> dict[str, ir.Attribute]:
        """Return the attributes that all of the prim funcs have."""
        first, *rest = [call.callee.operation.attributes for call in self._calls]
        return {
            key: first[key]
            for key in first
            if key.startswith("tir") and key != OP_PATTERN
            and all(key in each and each[key] == first[key] for each in rest)
        }  # fmt: skip

    def _fill(
        self, builder: PrimFuncBuilder, buffers: dict[_Place, ir.Value], names: Names
    ) -> None:
        allocs: list[ir.Operation] = []
        for call in self._calls:
            made = [part for part in call.made if part not in buffers]
            for part in made:
                decl = _decl(part, names)
                buffers[part] = builder.alloc(decl.name, decl.shape, decl.dtype).value
            kernel = TirCall(call.op, call.callee, [], call.symbols)
            cloner = KernelCloner(builder, ContractionKernel(kernel))
            places = [self._storage[part] for part in (*call.given, *call.made)]
            parameters = list(call.callee.operation.regions[0].blocks[0].arguments)
            cloner.mapping.update(
                zip(parameters, [buffers[place] for place in places], strict=False)
            )
            cloner.body()
            own = [buffers[part].owner.operation for part in made]
            allocs += [op for op in _allocs(builder.entry) if op not in {*allocs, *own}] + own
        if allocs:
            first = next(op for op in map(_op, builder.entry.operations) if op.name not in _FIRST)
            for op in allocs:
                op.move_before(first)

    def types_at(self, call: ir.Operation) -> list[ir.Type] | None:
        """Return the types of the outputs in a caller's symbols, None where they are unknown."""
        given = [value.type for value in call_arguments(call)]
        known = caller_symbols([value.type for value in self._block.arguments], given)
        types = [substitute_type(_type(part), known) for part in self.outputs]
        used = {name for part in self.outputs for name in _symbols(_type(part))}
        return types if used <= known.keys() else None

    def replace(self, call: ir.Operation, types: list[ir.Type]) -> bool:
        """Call the prim func in the place of the function; returns whether the type is another."""
        with ir.InsertionPoint(call), nameless(call.location):
            arguments = call_arguments(call)
            tensors, values = [], {}
            for names, (number, path) in zip(self._passed, self._paths, strict=True):
                if names is None or names:
                    value = functools.reduce(get_item, path, arguments[number])
                    if names is None:
                        tensors.append(value)
                    else:
                        values.update(zip(names, T.shape_dims(value.type) or (), strict=True))
            shapes = [_shape(type_) for type_ in types]
            several = is_tuple(call.results[0].type)
            shape = make_tuple(shapes) if several else shapes[0]
            attributes: dict[str, ir.Attribute] = {"callee": call.attributes["callee"]}
            if values:
                attributes["tir_vars"] = Dims.of([values[each] for each in self._scalars])
            if max(self._overwritten) >= 0:
                attributes["inplace_indices"] = ir.DenseI64ArrayAttr.get(self._overwritten)
            given = make_tuple(tensors)
        with ir.InsertionPoint(call), call.location:
            result = ir.Operation.create(
                "relax.call_tir_inplace" if "inplace_indices" in attributes else "relax.call_tir",
                results=[types[0] if not several else ir.TupleType.get_tuple(types)],
                operands=[shape, given],
                attributes=attributes,
            ).result
        changed = bool(call.results[0].type != result.type)
        call.results[0].replace_all_uses_with(result)
        erase(call)
        return changed


def _op(view: ir.OpView) -> ir.Operation:
    return view.operation


def _allocs(block: ir.Block) -> list[ir.Operation]:
    return [op for op in map(_op, block.operations) if op.name == "memref.alloc"]


def _type(part: _Place) -> ir.Type:
    value, path = part
    type_ = value.type
    for index in path:
        type_ = type_.get_type(index)
    return type_


def _leaves(value: ir.Value) -> list[_Place]:
    """Return the parts of a value that are no tuples."""
    result: list[_Place] = []
    waiting: list[_Place] = [(value, ())]
    while waiting:
        part = waiting.pop()
        type_ = _type(part)
        if is_tuple(type_):
            waiting += [(value, (*part[1], i)) for i in range(type_.num_types)][::-1]
        else:
            result.append(part)
    return result


def _decl(part: _Place, names: Names) -> BufferDecl:
    type_ = _type(part)
    value, path = part
    op = defining_op(value)
    stem = location_name(value.location if op is None else op.location) or "buffer"
    name = names.fresh("_".join([stem, *map(str, path)]))
    return BufferDecl(name, T.known_dims(type_), T.tensor_dtype(type_))


def _symbols(type_: ir.Type) -> list[str]:
    return [name for dim in T.known_dims(type_) for name in dim.symbols]


def _integers(part: _Place) -> list[str] | None:
    """Return the symbols that a parameter of a shape's type gives, None for any other type."""
    type_ = _type(part)
    dims = T.shape_dims(type_) if isinstance(type_, Shape) else None
    if dims is None or any(dim.name is None for dim in dims):
        return None
    return [str(dim.name) for dim in dims]


def _shape(type_: ir.Type) -> ir.Value:
    shape = T.shape_type(T.known_dims(type_))
    return ir.Operation.create("relax.shape_expr", results=[shape]).result


def _name_blocks(func: ir.Operation) -> None:
    """Give blocks of one name numbers."""
    names = Names()
    for block in named(func, (BLOCK,)):
        block.attributes["block_name"] = ir.StringAttr.get(names.fresh(block_name(block)))
