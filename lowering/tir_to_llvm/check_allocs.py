"""Pass `check-allocs`: a failed allocation ends the function with a status instead of a crash.

A function that allocates, or calls one that does, gets an `i32` result: 0, or 1 when there was no
memory. What follows an allocation or such a call runs only when it succeeded.
"""

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.lowering.walk import collect

arith = submodule("dialects.arith")
func = submodule("dialects.func")
memref = submodule("dialects.memref")
scf = submodule("dialects.scf")

# No machine has so much; a size past it is a mistake, or the product of its factors overflowed.
_MOST_BYTES = float(1 << 46)
_NOT_EQUAL, _EQUAL, _AT_LEAST = 1, 0, 5
_ORDERED_LESS = 4


def check_allocs(op: ir.Operation) -> None:
    """Check every allocation that stands, or can stand, directly in a function's body."""
    functions = {
        ir.StringAttr(view.operation.attributes["sym_name"]).value: view
        for view in op.regions[0].blocks[0].operations
        if view.operation.name == "func.func" and view.operation.regions[0].blocks
    }
    fallible = {
        name for name, view in functions.items() if not view.type.results and _allocations(view)
    }
    while True:
        callers = {
            name
            for name, view in functions.items()
            if not view.type.results and any(call in fallible for call in _top_calls(view))
        }
        if callers <= fallible:
            break
        fallible |= callers
    for name in sorted(fallible):
        _rewrite(functions[name], fallible)


def _allocations(view: ir.OpView) -> list[ir.Operation]:
    """Return the function's allocations directly in its body, moving there those that can."""
    body = view.operation.regions[0].blocks[0]
    checked = []
    for op in collect(view.operation, lambda op: op.name == "memref.alloc"):
        outer = op
        while outer.block != body:
            outer = outer.parent.operation
        if outer != op:
            # In a loop the one buffer would be allocated anew each time; one for all is as good.
            if any(not _is_before(operand, outer) for operand in op.operands):
                continue
            op.move_before(outer)
        checked.append(op)
    return checked


def _is_before(value: ir.Value, op: ir.Operation) -> bool:
    if isinstance(value.owner, ir.Block):
        return value.owner == op.block
    owner = value.owner.operation
    return owner.block == op.block and owner.is_before_in_block(op)


def _top_calls(view: ir.OpView) -> list[str]:
    return [
        ir.FlatSymbolRefAttr(op.operation.attributes["callee"]).value
        for op in view.operation.regions[0].blocks[0].operations
        if op.operation.name == "func.call"
    ]


def _rewrite(view: ir.OpView, fallible: set[str]) -> None:
    i32 = ir.IntegerType.get_signless(32)
    body = view.operation.regions[0].blocks[0]
    with view.operation.location:
        status = _guard(body, fallible)
        old = list(body.operations)[-1].operation
        with ir.InsertionPoint(old):
            func.ReturnOp([status])
        old.erase()
        type_ = ir.FunctionType.get(view.type.inputs, [i32])
        view.operation.attributes["function_type"] = ir.TypeAttr.get(type_)


def _guard(block: ir.Block, fallible: set[str]) -> ir.Value:
    """Put what follows the first fallible operation of a block under a condition.

    Returns the status, an operand for the block's terminator, which stays where it is.
    """
    operations = [view.operation for view in block.operations]
    terminator = operations[-1]
    for position, op in enumerate(operations[:-1]):
        if op.name == "memref.alloc":
            with ir.InsertionPoint.after(op):
                succeeded = _allocated(op)
        elif op.name == "func.call" and ir.FlatSymbolRefAttr(op.attributes["callee"]).value in (
            fallible
        ):
            succeeded = _called(op)
        else:
            continue
        with ir.InsertionPoint(terminator):
            branch = scf.IfOp(succeeded, [ir.IntegerType.get_signless(32)], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            end = scf.YieldOp([_status(0)])
        for rest in operations[position + 1 : -1]:
            rest.move_before(end.operation)
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([_status(1)])
        inner = _guard(branch.then_block, fallible)
        end.operation.operands[0] = inner
        return branch.results[0]
    with ir.InsertionPoint(terminator):
        return _status(0)


def _status(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IntegerType.get_signless(32), value).result


def _called(op: ir.Operation) -> ir.Value:
    with ir.InsertionPoint(op), op.location:
        i32 = ir.IntegerType.get_signless(32)
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        status = func.CallOp([i32], callee, list(op.operands)).results[0]
        succeeded = arith.cmpi(_EQUAL, status, _status(0))
    op.erase()
    return succeeded


def _allocated(op: ir.Operation) -> ir.Value:
    """Return whether an allocation gave memory of the size that its dimensions say."""
    type_ = ir.MemRefType(op.results[0].type)
    index = ir.IndexType.get()
    pointer = memref.ExtractAlignedPointerAsIndexOp(op.results[0]).result
    zero = arith.ConstantOp(index, 0).result
    succeeded = arith.cmpi(_NOT_EQUAL, pointer, zero)
    if not len(op.operands):
        return succeeded
    # In floating point, where the product of the dimensions cannot wrap around to a small size.
    f64 = ir.F64Type.get()
    i64 = ir.IntegerType.get_signless(64)
    static = float(_element_bytes(type_.element_type))
    for axis in range(type_.rank):
        if not type_.is_dynamic_dim(axis):
            static *= type_.get_dim_size(axis)
    size = arith.ConstantOp(f64, static).result
    natural = None
    for dim in op.operands:
        size = arith.mulf(size, arith.sitofp(f64, arith.index_cast(i64, dim)))
        positive = arith.cmpi(_AT_LEAST, dim, zero)
        natural = positive if natural is None else arith.andi(natural, positive)
    fits = arith.cmpf(_ORDERED_LESS, size, arith.ConstantOp(f64, _MOST_BYTES).result)
    # An empty buffer may have no memory at all.
    empty = arith.cmpf(_EQUAL + 1, size, arith.ConstantOp(f64, 0.0).result)
    return arith.andi(arith.andi(natural, fits), arith.ori(succeeded, empty))


def _element_bytes(type_: ir.Type) -> int:
    if isinstance(type_, ir.VectorType):
        count = 1
        for size in type_.shape:
            count *= size
        return count * _element_bytes(type_.element_type)
    return 8 if isinstance(type_, ir.IndexType) else max(1, type_.width // 8)
