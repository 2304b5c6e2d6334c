"""Traversal of loops and blocks: parents, scopes, children."""

from collections.abc import Collection, Iterator

from relax_mlir.dialects.bindings import ir

LOOP, BLOCK, FUNC = "tir.for", "tir.block", "func.func"
# What may occur next to loops and blocks and computes nothing that memory sees.
INDEX_ONLY = (
    "arith.", "tir.symbol", "tir.yield", "tir.where", "tir.reads", "tir.writes", "memref.dim",
    "memref.alloc", "func.return",
)  # fmt: skip


def body_of(op: ir.Operation) -> ir.Block:
    """Return the block of a loop's, a block's or a function's body."""
    return op.regions[0].blocks[0]


def variable(loop: ir.Operation) -> ir.Value:
    """Return the variable of a loop."""
    return body_of(loop).arguments[0]


def parent_of(op: ir.Operation) -> ir.Operation | None:
    """Return the operation around another one."""
    parent = op.parent
    return None if parent is None else parent.operation


def ancestors(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations around another one, innermost first."""
    ancestor = parent_of(op)
    while ancestor is not None:
        yield ancestor
        ancestor = parent_of(ancestor)


def is_inside(op: ir.Operation, outer: ir.Operation) -> bool:
    """Whether an operation is another one or in one of its regions."""
    return op == outer or any(each == outer for each in ancestors(op))


def scope_of(op: ir.Operation) -> ir.Operation:
    """Return the block that a loop or block is in, or the function where it is in none."""
    return next(each for each in ancestors(op) if each.name in (BLOCK, FUNC))


def function_of(op: ir.Operation) -> ir.Operation:
    """Return the function that an operation is in, or that it is."""
    return op if op.name == FUNC else next(e for e in ancestors(op) if e.name == FUNC)


def loops_around(op: ir.Operation) -> list[ir.Operation]:
    """Return the loops around an operation up to its scope, outermost first."""
    result = []
    for each in ancestors(op):
        if each.name in (BLOCK, FUNC):
            break
        if each.name == LOOP:
            result.append(each)
    return result[::-1]


def blocks_around(op: ir.Operation) -> list[ir.Operation]:
    """Return the blocks around an operation, innermost first."""
    return [each for each in ancestors(op) if each.name == BLOCK]


def statements(block: ir.Block) -> list[ir.Operation]:
    """Return what is in a body besides index arithmetic and allocations."""
    result = (view.operation for view in block.operations)
    return [op for op in result if not op.name.startswith(INDEX_ONLY)]


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield an operation and all inside it, outer ones first, in order."""
    stack = [op]
    while stack:
        top = stack.pop()
        yield top
        inner = [v.operation for r in top.regions for b in r.blocks for v in b.operations]
        stack += reversed(inner)


def blocks_under(op: ir.Operation) -> list[ir.Operation]:
    """Return the blocks inside an operation that are inside no other block there, in order."""
    result, stack = [], [op]
    while stack:
        each = stack.pop()
        if each != op and each.name == BLOCK:
            result.append(each)
            continue
        regions = [each.regions[0]] if each.name == BLOCK else each.regions
        inner = [v.operation for r in regions for b in r.blocks for v in b.operations]
        stack += reversed([x for x in inner if len(x.regions)])
    return result


def units_under(op: ir.Operation) -> list[ir.Operation]:
    """Return the blocks inside an operation and what uses memory outside of them, in order.

    What is in no block, such as loops that `te.extern` writes, is one unit as far as it holds none.
    """
    result, stack = [], [op]
    while stack:
        each = stack.pop()
        if each != op and (each.name == BLOCK or not any(o.name == BLOCK for o in walk(each))):
            if each.name == BLOCK or any(map(_uses_memory, walk(each))):
                result.append(each)
            continue
        regions = [each.regions[0]] if each.name == BLOCK else each.regions
        stack += reversed([v.operation for r in regions for b in r.blocks for v in b.operations])
    return result


def _uses_memory(op: ir.Operation) -> bool:
    if op.name.startswith(INDEX_ONLY):
        return False
    return any(isinstance(value.type, ir.MemRefType) for value in op.operands)


def nested_blocks(op: ir.Operation) -> list[ir.Operation]:
    """Return all blocks inside an operation, outer ones first, itself if it is one."""
    return [each for each in walk(op) if each.name == BLOCK]


def string(op: ir.Operation, name: str) -> str:
    """Return the text of an attribute."""
    return ir.StringAttr(op.attributes[name]).value


def block_name(op: ir.Operation) -> str:
    """Return the name of a block; that of the function's body is `root`."""
    return string(op, "block_name") if op.name == BLOCK else "root"


def free_name(stem: str, taken: Collection[str]) -> str:
    """Return a name, with a number where it is taken."""
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


def name_freely(block: ir.Operation, taken: set[str]) -> None:
    """Give a block its name, with a number where it is taken, and add that to what is."""
    name = free_name(block_name(block), taken)
    taken.add(name)
    block.attributes["block_name"] = ir.StringAttr.get(name)


def iter_types(block: ir.Operation) -> list[str]:
    """Return what the iterators of a block are: `spatial`, `reduction`, `scan` or `opaque`."""
    return [ir.StringAttr(each).value for each in block.attributes["iter_types"]]


def has_init(block: ir.Operation) -> bool:
    """Whether a block has an init region."""
    return len(block.regions[1].blocks) > 0


def value_name(value: ir.Value, default: str) -> str:
    """Return the name that a value's location carries."""
    location = value.location
    return location.name_str if isinstance(location, ir.NameLoc) else default


def loop_name(loop: ir.Operation) -> str:
    """Return the name of a loop's variable."""
    return value_name(variable(loop), "i")


def describe(op: ir.Operation) -> str:
    """Return what messages call an operation."""
    if op.name == LOOP:
        return f"loop '{loop_name(op)}'"
    if op.name == BLOCK:
        return f"block '{block_name(op)}'"
    return f"function '{string(op, 'sym_name')}'" if op.name == FUNC else f"'{op.name}'"
