"""Finding operations and functions in a module."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError

_MAKERS = ("memref.alloc", "memref.view", "memref.get_global", "memref.reinterpret", "func.call",
           "builtin.", "bufferization.")  # fmt: skip
_VIEWS = (
    "memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.reinterpret_cast",
    "memref.subview", "memref.view",
)  # fmt: skip

# Those in a region before its owner.
INNER_FIRST = ir.WalkOrder.POST_ORDER


def outermost(op: ir.Operation) -> ir.Operation:
    """Return the operation that everything around an operation is in: its module, if it has one."""
    while op.parent is not None:
        op = op.parent.operation
    return op


def collect(
    root: ir.Operation, wanted: Callable[[ir.Operation], bool],
    order: ir.WalkOrder = ir.WalkOrder.PRE_ORDER,
) -> list[ir.Operation]:  # fmt: skip
    """Return the operations below `root`, it among them, that are wanted.

    Args:
        root: an operation.
        wanted: says which.
        order: those in a region after its owner by default.
    """
    result: list[ir.Operation] = []
    advance = ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        if wanted(op):
            result.append(op)
        return advance

    root.walk(visit, order)
    return result


def named(
    root: ir.Operation, names: Container[str], order: ir.WalkOrder = ir.WalkOrder.PRE_ORDER
) -> list[ir.Operation]:
    """Return the operations below `root` of some names, as `collect` does."""
    result: list[ir.Operation] = []
    advance = ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            result.append(op)
        return advance

    root.walk(visit, order)
    return result


def first_below(root: ir.Operation, wanted: Callable[[ir.Operation], bool]) -> ir.Operation | None:
    """Return the first operation below `root` that is wanted, None where there is none."""
    result: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not wanted(op):
            return ir.WalkResult.ADVANCE
        result.append(op)
        return ir.WalkResult.INTERRUPT

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return result[0] if result else None


def names_below(root: ir.Operation) -> set[str]:
    """Return the names of the operations below `root`, its own among them."""
    result: set[str] = set()
    advance = ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        result.add(op.name)
        return advance

    root.walk(visit)
    return result


def by_name(root: ir.Operation) -> dict[str, list[ir.Operation]]:
    """Return the operations below `root` by their names, its own among them."""
    result: dict[str, list[ir.Operation]] = {}
    advance = ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        result.setdefault(op.name, []).append(op)
        return advance

    root.walk(visit)
    return result


def rename_callees(calls: Iterable[ir.Operation], names: Mapping[str, str]) -> None:
    """Have calls of functions call others, by the old name the new one."""
    for call in calls:
        name = names.get(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
        if name is not None:
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(name, call.context)


def types_made(ops_by_name: Mapping[str, list[ir.Operation]]) -> Iterator[ir.Type]:
    """Yield the types of what makes buffers among operations by their names, or is given them.

    All other buffers are views of these, or block arguments that stand for them.
    """
    for name, ops in ops_by_name.items():
        if name.startswith(_MAKERS) or name == "func.func":
            for op in ops:
                yield from _made(op)


def _made(op: ir.Operation) -> list[ir.Type]:
    if op.name == "func.func":
        return list(ir.FunctionType(op.attributes["function_type"].value).inputs)
    return [each.type for each in op.results]


def is_integer_buffer(type_: ir.Type, width: int) -> bool:
    """Whether a type is that of a buffer of signless integers of so many bits."""
    if not isinstance(type_, ir.MemRefType):
        return False
    element = type_.element_type
    return isinstance(element, ir.IntegerType) and element.width == width and element.is_signless


def has_buffers(root: ir.Operation, wanted: Callable[[ir.Type], bool]) -> bool:
    """Whether a buffer of a wanted type is made below `root`, or given to a function there."""
    return any(map(wanted, types_made(by_name(root))))


def replace_by_body(op: ir.Operation, block: ir.Block) -> list[ir.Operation]:
    """Put what is in a block of an operation, but for its end, in its place; returns that."""
    *body, end = [view.operation for view in block.operations]
    for inner in body:
        inner.move_before(op)
    for result, value in zip(op.results, end.operands, strict=True):
        result.replace_all_uses_with(value)
    op.erase()
    return body


def defining_op(value: ir.Value, *names: str) -> ir.Operation | None:
    """Return the operation that a value is a result of, None for arguments of blocks.

    With names, None for operations of other names too.
    """
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation
    return op if not names or op.name in names else None


def root(buffer: ir.Value) -> ir.Value:
    """Return the buffer that a value is a view of, through all views."""
    while (op := defining_op(buffer, *_VIEWS)) is not None:
        buffer = op.operands[0]
    return buffer


def operands_of(value: ir.Value, *names: str) -> list[ir.Value] | None:
    """Return the operands of what computes a value, None if it has none of these names."""
    op = defining_op(value, *names)
    return None if op is None else list(op.operands)


def block_of(value: ir.Value) -> ir.Block:
    """Return the block that a value is an argument of, or made in."""
    owner = value.owner
    return owner if isinstance(owner, ir.Block) else owner.operation.block


def ancestors(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations around one, the nearest first."""
    while op.parent is not None:
        op = op.parent.operation
        yield op


def enclosing(op: ir.Operation, name: str) -> ir.Operation | None:
    """Return the nearest operation of a name around another one, None if there is none."""
    return next((outer for outer in ancestors(op) if outer.name == name), None)


def is_below(op: ir.Operation, outer: ir.Operation) -> bool:
    """Whether an operation is another one, or is inside it."""
    return op == outer or any(each == outer for each in ancestors(op))


def relax_functions(module: ir.Operation) -> list[ir.Operation]:
    """Return the module's Relax functions in order."""
    return [
        op.operation
        for op in module.regions[0].blocks[0].operations
        if "relax.function" in op.operation.attributes and op.operation.regions[0].blocks
    ]


def function_name(func: ir.Operation) -> str:
    """Return a function's symbol name."""
    return func.attributes["sym_name"].value


def require_absent(module: ir.Operation, prefix: str, before: str, first: str) -> None:
    """Report the first operation that an earlier pass would have lowered.

    Args:
        module: the module.
        prefix: what the names of such operations begin with.
        before: the name of the pass that is about to run.
        first: the flag of the pass that must run before it.

    Raises:
        PassError: there is such an operation.
    """
    op = first_below(module, lambda op: op.name.startswith(prefix))
    if op is not None:
        op.location.emit_error(f"'{op.name}' op must be lowered before {before}: run {first} first")
        raise PassError(before, f"run {first} first")
