"""Calls of C functions: `tir.call_extern` to calls of declared functions."""

from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.errors import PassError

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
        return arith.index_cast(ir.IntegerType.get_signless(64), value)
    wide = _promoted(value.type)
    if wide == value.type:
        return value
    unsigned = dtype.startswith("uint") or dtype == "bool"
    return (arith.extui if unsigned else arith.extsi)(wide, value)


def address_of(buffer: ir.Value) -> ir.Value:
    """Return the address of a buffer's first element."""
    type_ = ir.MemRefType(buffer.type)
    i64, index = ir.IntegerType.get_signless(64), ir.IndexType.get()
    address = memref.extract_aligned_pointer_as_index(buffer)
    if type_.get_strides_and_offset()[1] != 0:
        base = ir.MemRefType.get([], type_.element_type)
        made = ir.Operation.create(
            "memref.extract_strided_metadata", operands=[buffer],
            results=[base, *[index] * (1 + 2 * type_.rank)],
        )  # fmt: skip
        size = arith.constant(index, ir.IntegerAttr.get(index, _bytes(type_.element_type)))
        address = arith.addi(address, arith.muli(made.results[1], size))
    pointer = ir.Type.parse("!llvm.ptr")
    return llvm.inttoptr(pointer, arith.index_cast(i64, address))


def _bytes(type_: ir.Type) -> int:
    return max(1, type_.width // 8)


def _declared(op: ir.Operation, name: str, inputs: list[ir.Type], results: list[ir.Type]) -> str:
    """Return the symbol of the function's declaration, which is made if there is none."""
    module = op
    while module.parent is not None:
        module = module.parent.operation
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
