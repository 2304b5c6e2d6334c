"""Dependences between the blocks of one scope."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.tir.schedule.analysis.injective import determined_names
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.accesses import accesses
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices


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


def depend(block: ir.Operation, other: ir.Operation) -> bool:
    """Whether one of two blocks writes what the other one uses, so that their order counts."""
    reads, writes = buffers(block)
    own_reads, own_writes = buffers(other)
    return any(b in own_reads or b in own_writes for b in writes) or any(
        b in own_writes for b in reads
    )


def siblings(block: ir.Operation) -> list[ir.Operation]:
    """Return the blocks of the scope that a block is in, itself too, in order.

    What uses memory there outside of blocks is among them: its order counts as theirs does.
    """
    return tree.units_under(tree.scope_of(block))


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


def complete_problem(block: ir.Operation, moves: bool = True) -> str | None:
    """Return why a block is not complete, None where it is.

    Args:
        block: the block.
        moves: as for `outside_problem`.

    A complete block writes each element at once: its iterators are spatial, no other block of its
    scope writes its buffers, and it reads none of them.
    """
    if block.name != tree.BLOCK:
        return "it is no block"
    if any(kind != "spatial" for kind in tree.iter_types(block)):
        return "not all its iterators are spatial"
    if tree.has_init(block):
        return "it has an init region"
    reads, writes = buffers(block)
    if any(value in reads for value in writes):
        return "it reads a buffer that it writes"
    return _other_writer(block, writes) or outside_problem(block, moves)


def reduction_problem(block: ir.Operation, moves: bool = True) -> str | None:
    """Return why a block is no reduction block, None where it is one.

    Args:
        block: the block.
        moves: as for `outside_problem`.

    A reduction block begins each element in its init region and adds to it after that: no other
    block of its scope writes its buffers, and none of their elements depends on a reduction.
    """
    if block.name != tree.BLOCK:
        return "it is no block"
    kinds = tree.iter_types(block)
    if not tree.has_init(block):
        return "it has no init region"
    if any(kind not in ("spatial", "reduction") for kind in kinds):
        return "one of its iterators is neither spatial nor a reduction"
    indices = Indices(tree.function_of(block))
    arguments = tree.body_of(block).arguments
    reduced = {
        str(indices.var(argument))
        for argument, kind in zip(arguments, kinds, strict=True)
        if kind == "reduction"
    }
    result = [access for access in accesses(indices, block) if access.writes]
    for access in result:
        if access.indices is None:
            return "what it writes is not known"
        if any(expr.symbols & reduced for expr in access.indices):
            return "an iterator of its reduction says where it writes"
    return _other_writer(block, [access.buffer for access in result]) or outside_problem(
        block, moves
    )


def outside_problem(block: ir.Operation, moves: bool = True) -> str | None:
    """Return why a block cannot leave its loops, None where it can.

    Its body may use what is around its scope, but of the loops in it only its iterators.

    Args:
        block: the block.
        moves: whether it may have to leave a loop in which a buffer that it uses is made.
    """
    scope = tree.scope_of(block)
    entry = tree.body_of(tree.function_of(block))
    for view in (view for region in block.regions for b in region.blocks for view in b.operations):
        for op in tree.walk(view.operation):
            # A predicate is written in front of its block.
            for operand in () if op.name == "tir.where" else op.operands:
                home = operand.owner
                home = home if isinstance(home, ir.Block) else home.operation.block
                if home == entry:
                    continue
                owner = home.owner.operation
                if owner in (scope, block) or tree.is_inside(owner, block):
                    continue
                made = not isinstance(operand.owner, ir.Block) and operand.owner.operation
                if made and made.name == "memref.alloc" and not moves:
                    continue
                if tree.is_inside(owner, scope):
                    what = tree.describe(owner) if owner.name == tree.LOOP else "its loops"
                    return f"its body uses {what} itself, not by an iterator"
    return None


def _other_writer(block: ir.Operation, writes: list[ir.Value]) -> str | None:
    for other in siblings(block):
        if other != block and any(value in writes for value in buffers(other)[1]):
            return f"{tree.describe(other)} writes the same buffer"
    return None


def check_regular(state: ScheduleState, block: ir.Operation, moves: bool = True) -> None:
    """Check that a block is complete or a reduction block.

    Args:
        state: the program.
        block: the block.
        moves: as for `outside_problem`.

    Raises:
        ScheduleError: it is neither.
    """
    why = complete_problem(block, moves)
    reduces = reduction_problem(block, moves)
    if why is not None and reduces is not None:
        raise state.error(
            f"{tree.describe(block)} is neither a complete block ({why}) nor a reduction block "
            f"({reduces})",
            block,
        )


def runs_for_all(indices: Indices, block: ir.Operation) -> bool:
    """Whether the predicate of a block leaves out only what is outside of its iterators' extents.

    What splits add is so, unless what they made is split again.
    """
    facts = indices.facts(block)
    bindings, extents = indices.bindings(block), indices.extents(block)
    return all(
        isinstance(each, Comparison)
        and any(
            each.sign == 2 and facts.can_prove(each.rhs - each.lhs >= extent - binding)
            for binding, extent in zip(bindings, extents, strict=True)
        )
        for each in indices.block_conditions(block)
    )


def has_each_point(indices: Indices, block: ir.Operation) -> bool:
    """Whether loops give a reduction all combinations of its iterators that share loops.

    Where one of its iterators and another were made of one loop, some combinations might not come.
    """
    facts = indices.facts(block, predicate=True)
    loops = {
        str(indices.loop_var(each)): indices.lift(each.operands[1])
        for each in tree.loops_around(block)
    }
    pairs = list(zip(indices.bindings(block), indices.extents(block), strict=True))
    determined = determined_names([binding for binding, _ in pairs], facts)
    groups: list[tuple[set[str], SymExpr]] = []
    for binding, extent in pairs:
        names, size = set(binding.symbols & set(loops)), extent
        for other in [each for each in groups if each[0] & names]:
            groups.remove(other)
            names, size = names | other[0], size * other[1]
        groups.append((names, size))
    kinds = tree.iter_types(block)
    for names, size in groups:
        parts = [kind for kind, (b, _) in zip(kinds, pairs, strict=True) if b.symbols & names]
        if len(parts) < 2 or "reduction" not in parts:
            continue
        count = product([loops[name] for name in names])
        if not names <= determined or not facts.can_prove(count == size):
            return False
    return True


def writes_once(indices: Indices, block: ir.Operation, buffer: ir.Value) -> bool:
    """Whether each point of a block's spatial iterators is known to write elements of its own."""
    arguments = tree.body_of(block).arguments
    spatial = {
        str(indices.var(argument))
        for argument, kind, extent in zip(
            arguments, tree.iter_types(block), indices.extents(block), strict=True
        )
        if kind == "spatial" and extent.value != 1
    }
    for access in accesses(indices, block, init=False):
        if not access.writes or access.buffer != buffer:
            continue
        if access.indices is None:
            return False
        if not spatial <= determined_names(access.indices, indices.facts(access.op)):
            return False
    return True


def repeats_nothing(indices: Indices, block: ir.Operation, loop: ir.Operation) -> bool:
    """Whether each step of a loop has a block run for other points, or write the same again.

    What a block writes is the same where all that it reads is: what no block in the loop writes, or
    only such as write the same again.
    """
    if indices.lift(loop.operands[1]).value == 1:
        return True
    name = indices.loop_var(loop).symbols
    bindings = list(zip(tree.iter_types(block), indices.bindings(block), strict=True))
    if any(kind != "spatial" and name & value.symbols for kind, value in bindings):
        return False
    spatial = [value for kind, value in bindings if kind == "spatial"]
    if name <= determined_names(spatial, indices.facts(block, predicate=True)):
        return True
    inside = tree.units_under(loop)
    used = {each: buffers(each) for each in inside}
    steady: set[ir.Operation] = set()
    changed = True
    while changed:
        changed = False
        for each in inside:
            reads, writes = used[each]
            if each.name != tree.BLOCK:
                continue
            own = writes if tree.has_init(each) else []
            changing = [
                other for other in inside
                if other not in steady and any(b in used[other][1] and b not in own for b in reads)
            ]  # fmt: skip
            if each in steady or changing or outside_problem(each, moves=False) is not None:
                continue
            steady.add(each)
            changed = True
    return block in steady
