"""The generic lowering: loops become scf loops, blocks are inlined, calls become func.call."""

from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.tir.externs import PACKED_PREFIX
from relax_mlir.dialects.tir.ops import block_predicate
from relax_mlir.errors import PassError
from relax_mlir.lowering.tir_to_vector.analysis import iter_types, perfect_nest
from relax_mlir.lowering.tir_to_vector.control_flow import AS_IT_LIKES
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value, is_constant, steps_of
from relax_mlir.lowering.tir_to_vector.scheduled.index import is_inside
from relax_mlir.lowering.tir_to_vector.scheduled.threads import MARK, write_parallel
from relax_mlir.lowering.tir_to_vector.symbols import strided_metadata
from relax_mlir.lowering.walk import collect, enclosing, outermost

arith: ModuleType = submodule("dialects.arith")
func: ModuleType = submodule("dialects.func")
memref: ModuleType = submodule("dialects.memref")
llvm: ModuleType = submodule("dialects.llvm")

# The C function of a declaration, which gets its name when no function of the program can have it.
SYMBOL = "tir.extern"
_PREFIX = "relax_extern_"
_NARROW = 32


def lower_call(op: ir.Operation) -> None:
    """Replace a `tir.call_extern` by a call; integers below 32 bits are promoted as in C.

    Raises:
        PassError: the function is called with other types elsewhere.
    """
    name = ir.StringAttr(op.attributes["callee"]).value
    dtypes = [ir.StringAttr(each).value for each in op.attributes["dtypes"]]
    packed = op.operands[0].owner.operation
    with op.location, ir.InsertionPoint(op):
        values = [
            _argument(value, dtype) for value, dtype in zip(packed.operands, dtypes, strict=True)
        ]
        results = [_promoted(result.type) for result in op.results]
        symbol = _declared(op, name, [value.type for value in values], results)
        call = func.CallOp(results, symbol, values)
        for result, made in zip(op.results, call.results, strict=True):
            value = made if made.type == result.type else arith.trunci(result.type, made)
            result.replace_all_uses_with(value)
    op.erase()
    if not list(packed.results[0].uses):
        packed.erase()


def _promoted(type_: ir.Type) -> ir.Type:
    if isinstance(type_, ir.IntegerType) and type_.width < _NARROW:
        return ir.IntegerType.get_signless(_NARROW)
    return type_


def _argument(value: ir.Value, dtype: str) -> ir.Value:
    if isinstance(value.type, ir.MemRefType):
        return address_of(value)
    if isinstance(value.type, ir.IndexType):
        return _widened(value, ir.IntegerType.get_signless(64), dtype)
    return _widened(value, _promoted(value.type), dtype)


def _widened(value: ir.Value, wide: ir.Type, dtype: str) -> ir.Value:
    """Return a number of a dtype in a type that holds it."""
    if value.type == wide:
        return value
    if isinstance(value.type, ir.IndexType):
        return arith.index_cast(wide, value)
    if "float" in dtype:
        return arith.extf(wide, value)
    unsigned = dtype.startswith("uint") or dtype == "bool"
    return (arith.extui if unsigned else arith.extsi)(wide, value)


def address_of(buffer: ir.Value) -> ir.Value:
    """Return the address of a buffer's first element."""
    type_ = ir.MemRefType(buffer.type)
    i64, index = ir.IntegerType.get_signless(64), ir.IndexType.get()
    address = memref.extract_aligned_pointer_as_index(buffer)
    if type_.get_strides_and_offset()[1] != 0:
        size = arith.constant(
            index, ir.IntegerAttr.get(index, max(1, type_.element_type.width // 8))
        )
        address = arith.addi(address, arith.muli(strided_metadata(buffer)[0], size))
    pointer = ir.Type.parse("!llvm.ptr")
    return llvm.inttoptr(pointer, arith.index_cast(i64, address))


def _declared(op: ir.Operation, name: str, inputs: list[ir.Type], results: list[ir.Type]) -> str:
    """Return the symbol of the function's declaration, which is made if there is none."""
    module = outermost(op)
    table, symbol = ir.SymbolTable(module), f"{_PREFIX}{name}"
    type_ = ir.FunctionType.get(inputs, results)
    if symbol not in table:
        with ir.InsertionPoint(module.regions[0].blocks[0]):
            made = func.FuncOp(symbol, type_, visibility="private")
            made.operation.attributes[SYMBOL] = ir.StringAttr.get(name)
        return symbol
    known = table[symbol].operation.attributes["function_type"].value
    if known != type_:
        message = f"'{name}' is called as {type_} here and as {known} elsewhere"
        raise PassError("lower-tir", "two signatures of one C function", [message])
    return symbol


def name_externs(module: ir.Operation) -> None:
    """Give declarations of C functions the functions' own names."""
    for view in module.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == "func.func" and SYMBOL in op.attributes:
            name = ir.StringAttr(op.attributes[SYMBOL]).value
            old = ir.StringAttr(op.attributes["sym_name"]).value
            ir.SymbolTable.replace_all_symbol_uses(old, name, module)
            ir.SymbolTable.set_symbol_name(view, name)
            del op.attributes[SYMBOL]


# The name of wrappers, and their attributes: callee, kinds of arguments, kind of the result.
PACKED = "tir.packed"


def make_packed_calls_serial(function: ir.OpView) -> None:
    """Make parallel loops serial that call packed functions: these may be Python."""
    for loop in collect(function.operation, lambda op: op.name == "tir.for"):
        if ir.StringAttr(loop.attributes["kind"]).value == "parallel" and collect(
            loop, lambda op: op.name == "tir.call_packed"
        ):
            loop.attributes["kind"] = ir.StringAttr.get("serial")


def lower_packed(op: ir.Operation) -> None:
    """Replace a `tir.call_packed` by a call that stores its result, and a load of it."""
    packed = op.operands[0].owner.operation
    dtype = ir.StringAttr(op.attributes["dtype"]).value
    wide = ir.F64Type.get() if "float" in dtype else ir.IntegerType.get_signless(64)
    function = enclosing(op, "func.func")
    assert function is not None  # what is lowered is in one
    with op.location:
        with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
            cell = memref.AllocaOp(ir.MemRefType.get([], wide), [], []).result
        with ir.InsertionPoint(op):
            values, kinds = _arguments(op, list(packed.operands))
            values.append(address_of(cell))
            symbol = _wrapper(op, [value.type for value in values], kinds, "f" if "float" in dtype
                               else "i")  # fmt: skip
            func.CallOp([], symbol, values)
            if list(op.results[0].uses):
                number = memref.LoadOp(cell, []).result
                op.results[0].replace_all_uses_with(_narrowed(number, op.results[0].type))
    op.erase()
    if not list(packed.results[0].uses):
        packed.erase()


def _arguments(op: ir.Operation, operands: list[ir.Value]) -> tuple[list[ir.Value], list[str]]:
    """Return the arguments, as pointers and 64-bit numbers, and the kind of each.

    Kinds are `i`, `b` or `f` for numbers; `t` with dtype, rank and whether strides are passed for a
    buffer; `s` and the text for a string.
    """
    i64, f64 = ir.IntegerType.get_signless(64), ir.F64Type.get()
    values, kinds, left = [], [], iter(operands)
    for kind in op.attributes["dtypes"]:
        if isinstance(kind, ir.ArrayAttr):
            kinds.append(f"s{ir.StringAttr(kind[0]).value}")
            continue
        dtype, value = ir.StringAttr(kind).value, next(left)
        if isinstance(value.type, ir.MemRefType):
            type_ = ir.MemRefType(value.type)
            strided = type_.affine_map != ir.AffineMap.get_identity(type_.rank)
            kinds.append(f"t{dtype},{type_.rank},{int(strided)}")
            values += [address_of(value), *_sizes(value, type_, strided)]
        else:
            kinds.append("f" if "float" in dtype else "b" if dtype == "bool" else "i")
            values.append(_widened(value, f64 if "float" in dtype else i64, dtype))
    return values, kinds


def _sizes(value: ir.Value, type_: ir.MemRefType, strided: bool) -> list[ir.Value]:
    """Return a buffer's shape, and its strides if it is not dense."""
    i64, last = ir.IntegerType.get_signless(64), 1 + (2 if strided else 1) * type_.rank
    return [arith.index_cast(i64, each) for each in strided_metadata(value)[1:last]]


def _narrowed(number: ir.Value, type_: ir.Type) -> ir.Value:
    if number.type == type_:
        return number
    narrow = arith.truncf if isinstance(number.type, ir.F64Type) else arith.trunci
    return narrow(type_, number)


def _wrapper(op: ir.Operation, inputs: list[ir.Type], kinds: list[str], result: str) -> str:
    """Return the symbol of the wrapper's declaration, which is made if there is none."""
    module = outermost(op)
    texts = [ir.StringAttr(op.attributes["callee"]).value, result, *kinds]
    wanted = ir.ArrayAttr.get([ir.StringAttr.get(text) for text in texts])
    known = [
        view.operation for view in module.regions[0].blocks[0].operations
        if view.operation.name == "func.func" and PACKED in view.operation.attributes
    ]  # fmt: skip
    for each in known:
        if each.attributes[PACKED] == wanted:
            return ir.StringAttr(each.attributes["sym_name"]).value
    symbol = f"{PACKED_PREFIX}{len(known)}"
    with ir.InsertionPoint(module.regions[0].blocks[0]):
        type_ = ir.FunctionType.get(inputs, [])
        made = func.FuncOp(symbol, type_, visibility="private")
        made.operation.attributes[PACKED] = wanted
    return symbol


def skip_empty_reductions(function: ir.OpView, emit: Emitter) -> None:
    """Make loops around empty loops of reductions along several dynamic axes run no iterations."""
    for loop in collect(function.operation, lambda op: op.name == "tir.for"):
        loops, block = perfect_nest(loop)
        if block is None or block.name != "tir.block" or not _reduces_twice(block):
            continue
        extents = [each.operands[1] for each in loops[1:]]
        known = [constant_or_value(each) for each in extents if not is_inside(each, loop)]
        with ir.InsertionPoint(loop), loop.location:
            loop.operands[1] = emit.index(steps_of(emit, loop.operands[1], known))


def _reduces_twice(block: ir.Operation) -> bool:
    """Whether a block reduces along several dynamic axes."""
    kinds = iter_types(block)
    extents = list(block.operands)[len(kinds) : 2 * len(kinds)]
    pairs = zip(kinds, extents, strict=True)
    return sum(kind == "reduction" and not is_constant(extent) for kind, extent in pairs) > 1


def lower_block(block: ir.Block, emit: Emitter) -> None:
    """Replace the tir operations in a block, and in all regions under it, in place.

    `tir.symbol` stays, and blocks must have no init regions (see `split_inits`).
    """
    for view in list(block.operations):
        op = view.operation
        for region in op.regions:
            for inner in region.blocks:
                lower_block(inner, emit)
        if op.name == "tir.for":
            _lower_for(op, emit)
        elif op.name == "tir.block":
            inline(op)
        elif op.name == "tir.call_extern":
            lower_call(op)
        elif op.name == "tir.call_packed":
            lower_packed(op)


def inline(op: ir.Operation) -> None:
    """Replace a `tir.block` by its body, under its predicate if it has one."""
    body = op.regions[0].blocks[0]
    for argument, value in zip(body.arguments, op.operands, strict=False):
        argument.replace_all_uses_with(value)
    predicate, place = block_predicate(op), op
    if predicate is not None and constant_or_value(predicate) not in (1, -1):
        guard = ir.Operation.create(
            "scf.if", operands=[predicate], regions=2, loc=op.location, ip=ir.InsertionPoint(op)
        )
        with ir.InsertionPoint(guard.regions[0].blocks.append()), op.location:
            place = ir.Operation.create("scf.yield")
    for view in list(body.operations):
        inner = view.operation
        if inner.name not in ("tir.where", "tir.reads", "tir.writes", "tir.yield"):
            inner.move_before(place)
    op.erase()


def _lower_for(op: ir.Operation, emit: Emitter) -> None:
    body = op.regions[0].blocks[0]
    kind = ir.StringAttr(op.attributes["kind"]).value
    lower, extent = (constant_or_value(value) for value in op.operands)
    with op.location, ir.InsertionPoint(op):
        if kind == "parallel":
            write_parallel(op, emit, _move)
        else:
            upper = emit.add(lower, extent)
            with emit.loop(lower, upper, hints=AS_IT_LIKES) as loop:
                _move(body, loop.counter)
            if MARK in op.attributes:
                loop.op.attributes[MARK] = op.attributes[MARK]
    op.erase()


def _move(body: ir.Block, counter: ir.Value) -> None:
    body.arguments[0].replace_all_uses_with(counter)
    target = ir.InsertionPoint.current.block
    for view in list(body.operations):
        if view.operation.name != "tir.yield":
            target.append(view)
