"""The blocks of one scope: which writes what which other reads."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule import tree
from relax_mlir.tir.schedule.accesses import accesses
from relax_mlir.tir.schedule.index import Indices


def buffers(block: ir.Operation) -> tuple[list[ir.Value], list[ir.Value]]:
    """Return the buffers that a block reads and those that it writes, in order of appearance.

    Those that it makes itself do not count. What a reduction reads only to add to it is read.
    """
    reads: dict[ir.Value, None] = {}
    writes: dict[ir.Value, None] = {}
    for access in accesses(Indices(tree.function_of(block)), block):
        owner = access.buffer.owner
        if not isinstance(owner, ir.Block) and tree.is_inside(owner.operation, block):
            continue
        if access.reads:
            reads[access.buffer] = None
        if access.writes:
            writes[access.buffer] = None
    return list(reads), list(writes)


def siblings(block: ir.Operation) -> list[ir.Operation]:
    """Return the blocks of the scope that a block is in, itself too, in order."""
    return tree.blocks_under(tree.scope_of(block))


def producers(block: ir.Operation) -> list[ir.Operation]:
    """Return the blocks before a block, in its scope, that write what it reads."""
    scope = siblings(block)
    reads = buffers(block)[0]
    return [
        each for each in scope[: scope.index(block)] if any(b in reads for b in buffers(each)[1])
    ]


def consumers(block: ir.Operation) -> list[ir.Operation]:
    """Return the blocks after a block, in its scope, that read what it writes."""
    scope = siblings(block)
    writes = buffers(block)[1]
    return [
        each for each in scope[scope.index(block) + 1 :]
        if any(b in writes for b in buffers(each)[0])
    ]  # fmt: skip


def output_blocks(scope: ir.Operation) -> list[ir.Operation]:
    """Return the blocks in a scope that write to parameters of the function."""
    entry = tree.body_of(tree.function_of(scope))
    return [
        block for block in tree.blocks_under(scope)
        if any(value.owner == entry for value in buffers(block)[1])
    ]  # fmt: skip
