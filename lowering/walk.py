"""Finding operations and functions in a module."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from relax_mlir.dialects.bindings import ir

_MAKERS = ("memref.alloc", "memref.view", "memref.get_global", "memref.reinterpret", "func.call",
           "builtin.", "bufferization.")  # fmt: skip


def collect(root: ir.Operation, wanted: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
    """Return the operations below `root` that are wanted, those in a region after its owner."""
    result: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if wanted(op):
            result.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return result


def named(root: ir.Operation, names: Container[str]) -> list[ir.Operation]:
    """Return the operations below `root` of some names, in the order of `collect`."""
    result: list[ir.Operation] = []
    advance = ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            result.append(op)
        return advance

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return result


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


def has_buffers(root: ir.Operation, wanted: Callable[[ir.Type], bool]) -> bool:
    """Whether a buffer of a wanted type is made below `root`, or given to a function there."""
    found = False
    advance = ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        name = op.name
        if name.startswith(_MAKERS) or name == "func.func":
            found = found or any(map(wanted, _made(op)))
        return ir.WalkResult.INTERRUPT if found else advance

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def enclosing(op: ir.Operation, name: str) -> ir.Operation | None:
    """Return the nearest operation of a name around another one, None if there is none."""
    parent = op.parent
    while parent is not None and parent.operation.name != name:
        parent = parent.operation.parent
    return None if parent is None else parent.operation


def is_below(op: ir.Operation, outer: ir.Operation) -> bool:
    """Whether an operation is another one, or is inside it."""
    while op != outer:
        if op.parent is None:
            return False
        op = op.parent.operation
    return True


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
