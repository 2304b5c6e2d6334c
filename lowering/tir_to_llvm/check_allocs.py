"""Pass `check-allocs`: a failed allocation ends the function with a status instead of a crash.

A function that allocates, asserts or calls a packed function, or calls one that does, gets an `i32`
result: 0, 1 when there was no memory, the number of the assertion that failed, and -1 for an error
that is raised already. What follows runs only on success.
"""

import functools
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.tir.externs import PACKED_PREFIX
from relax_mlir.lowering.tir_to_llvm.error_status import ErrorStatus, call, callee, status
from relax_mlir.lowering.walk import named

arith: ModuleType = submodule("dialects.arith")
func: ModuleType = submodule("dialects.func")
memref: ModuleType = submodule("dialects.memref")
scf: ModuleType = submodule("dialects.scf")

# The module's assertions in the order of their numbers, each the function's name and the message.
ASSERTS = "tir.asserts"
_FIRST_ASSERT = 2
# No machine has so much; a size past it is a mistake, or the product of its factors overflowed.
_MAX_BYTES = float(1 << 46)
_NOT_EQUAL, _EQUAL, _AT_LEAST = 1, 0, 5
_ORDERED_LESS = 4
# What may stand between allocations that are checked at once.
_SILENT = ("arith.", "memref.dim", "tir.symbol")


def check_allocs(op: ir.Operation) -> None:
    """Check every assertion, and allocations that stand, or can stand, directly in a function."""
    functions = {
        ir.StringAttr(view.operation.attributes["sym_name"]).value: view
        for view in op.regions[0].blocks[0].operations
        if view.operation.name == "func.func"
        and view.operation.regions[0].blocks
        and not view.type.results
    }
    inside = {name: _Inside(view.operation) for name, view in functions.items()}
    numbers, asserting = _number(op, inside)
    packed = _packed(op)
    allocating = {
        name for name, view in functions.items() if _allocations(view, inside[name].allocations)
    }
    fallible = allocating | asserting | packed
    calls = {name: contents.calls for name, contents in inside.items()}
    while True:
        callers = {
            name
            for name, contents in calls.items()
            if any(callee(op) in fallible for op in contents)
        }
        if callers <= fallible:
            break
        fallible |= callers
    for name in sorted(fallible - packed):
        body = functions[name].operation.regions[0].blocks[0]
        nested = any(inner.block != body for inner in calls[name] if callee(inner) in fallible)
        with functions[name].operation.location:
            if nested or name in asserting:
                value = ErrorStatus(fallible, numbers, _allocated).guard(body)
            else:
                value = _guard(body, fallible)
            _rewrite(functions[name], value)


def _packed(module: ir.Operation) -> set[str]:
    """Return the functions that stand for packed ones, each with the status that it returns."""
    result = set()
    i32 = ir.IntegerType.get_signless(32, module.context)
    for view in module.regions[0].blocks[0].operations:
        if view.operation.name != "func.func" or view.operation.regions[0].blocks:
            continue
        name = ir.StringAttr(view.operation.attributes["sym_name"]).value
        if name.startswith(PACKED_PREFIX):
            result.add(name)
            with module.context:
                type_ = ir.FunctionType.get(view.type.inputs, [i32])
                view.operation.attributes["function_type"] = ir.TypeAttr.get(type_)
    return result


class _Inside:
    """The operations in a function that this pass is about."""

    def __init__(self, function: ir.Operation) -> None:
        ops = named(function, ("func.call", "memref.alloc", "tir.assert"))
        self.calls = [op for op in ops if op.name == "func.call"]
        self.allocations = [op for op in ops if op.name == "memref.alloc"]
        self.assertions = [op for op in ops if op.name == "tir.assert"]


def _number(
    module: ir.Operation, inside: dict[str, _Inside]
) -> tuple[dict[ir.Operation, int], set[str]]:
    """Return each assertion's number and the functions with some; note the messages."""
    numbers: dict[ir.Operation, int] = {}
    messages: dict[tuple[str, str], int] = {}
    for name, each in inside.items():
        for assertion in each.assertions:
            key = (name, ir.StringAttr(assertion.attributes["message"]).value)
            numbers[assertion] = messages.setdefault(key, len(messages) + _FIRST_ASSERT)
    if messages:
        with module.context:
            module.attributes[ASSERTS] = ir.ArrayAttr.get(
                [ir.ArrayAttr.get([ir.StringAttr.get(text) for text in key]) for key in messages]
            )
    return numbers, {name for name, _ in messages}


def _allocations(view: ir.OpView, allocations: list[ir.Operation]) -> list[ir.Operation]:
    """Return the allocations that are directly in a function's body, moving there what can be."""
    body = view.operation.regions[0].blocks[0]
    checked = []
    for op in allocations:
        outer = op
        while outer.block != body:
            outer = outer.parent.operation
        if outer != op:
            # In a loop the one buffer would be allocated again each time; one for all is as good.
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


def _rewrite(view: ir.OpView, value: ir.Value) -> None:
    i32 = ir.IntegerType.get_signless(32)
    old = list(view.operation.regions[0].blocks[0].operations)[-1].operation
    with ir.InsertionPoint(old):
        func.ReturnOp([value])
    old.erase()
    type_ = ir.FunctionType.get(view.type.inputs, [i32])
    view.operation.attributes["function_type"] = ir.TypeAttr.get(type_)


def _guard(block: ir.Block, fallible: set[str]) -> ir.Value:
    """Put what follows each fallible operation of a block under a condition, from the last one on.

    Returns the status, an operand for the block's terminator, which stays where it is.
    """
    groups = _together(block)
    operations = [view.operation for view in block.operations]
    terminator = operations.pop()
    # What checks an operation is made here, as it is moved with what it follows.
    scratch = ir.Module.create()
    rest: list[ir.Operation] = []
    result: ir.Value | None = None
    for op in reversed(operations):
        calls = op.name == "func.call" and callee(op) in fallible
        if not calls and op not in groups:
            rest.append(op)
            continue
        with ir.InsertionPoint(scratch.body), op.location:
            if calls:
                failure = call(op)
                succeeded = arith.cmpi(_EQUAL, failure, status(0))
            else:
                failure = None
                succeeded = functools.reduce(arith.andi, map(_allocated, groups[op]))
        checks = [view.operation for view in scratch.body.operations]
        for each in checks:
            each.move_before(terminator)
        with ir.InsertionPoint(terminator):
            branch = scf.IfOp(succeeded, [ir.IntegerType.get_signless(32)], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            end = scf.YieldOp([status(0) if result is None else result])
        for each in reversed(rest):
            each.move_before(end.operation)
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([status(1) if failure is None else failure])
        rest, result = [branch.operation, *reversed(checks)], branch.results[0]
        if calls:
            op.erase()
        else:
            rest.append(op)
    if result is not None:
        return result
    with ir.InsertionPoint(terminator):
        return status(0)


def _together(block: ir.Block) -> dict[ir.Operation, list[ir.Operation]]:
    """Return allocations by the last one of those that one check is for.

    What is between them neither has effects nor uses them, so it may run whether they succeed.
    """
    groups: dict[ir.Operation, list[ir.Operation]] = {}
    group: list[ir.Operation] = []
    for view in block.operations:
        op = view.operation
        if op.name == "memref.alloc":
            group.append(op)
        elif group and not op.name.startswith(_SILENT):
            groups[group[-1]], group = group, []
    return groups


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
    fits = arith.cmpf(_ORDERED_LESS, size, arith.ConstantOp(f64, _MAX_BYTES).result)
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
