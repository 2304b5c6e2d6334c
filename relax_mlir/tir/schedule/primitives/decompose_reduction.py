"""The primitive `decompose_reduction`: the initialization becomes a block of its own."""

from collections.abc import Iterable

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.analysis.injective import determined_names
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import declare
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices


def decompose_reduction(
    state: ScheduleState, block: ir.Operation, loop: ir.Operation
) -> ir.Operation:
    """Give what a reduction begins with a block of its own in front of a loop; returns it."""
    what = tree.describe(block)
    checks.reduction(state, block, moves=False)
    indices = state.indices(block)
    loops = tree.loops_around(block)
    if loop not in loops:
        raise state.error(f"{tree.describe(loop)} is not around {what}", loop, block)
    for buffer in {each for pair in scopes.buffers(block) for each in pair}:
        if buffers.is_local(buffer) and tree.is_inside(buffer.owner.operation, loop):
            raise state.error(
                f"'{buffers.name_of(buffer)}', which {what} uses, is made inside "
                f"{tree.describe(loop)}", loop, block,
            )  # fmt: skip
    of_kind = bound_by_kind(indices, block)
    for outer in loops[: loops.index(loop)]:
        if indices.loop_var(outer).symbols & of_kind["reduction"]:
            raise state.error(
                f"{tree.describe(outer)}, around {tree.describe(loop)}, is one of the reduction",
                outer, loop, block,
            )  # fmt: skip
    determined = determined_names(indices.bindings(block), indices.facts(block, predicate=True))
    for inner in loops[loops.index(loop) :]:
        (name,) = indices.loop_var(inner).symbols
        if name not in determined and indices.lift(inner.operands[1]).value != 1:
            raise state.error(
                f"{tree.describe(inner)} repeats {what}, which begins anew each time", inner, block
            )
    title = tree.block_name(block)
    return begin_before(state, block, loop, f"{title}_init", f"{title}_update")


def bound_by_kind(indices: Indices, block: ir.Operation) -> dict[str, frozenset[str]]:
    """Return which symbols the iterators of each type are made of."""
    result: dict[str, frozenset[str]] = {"spatial": frozenset(), "reduction": frozenset()}
    for kind, value in zip(tree.iter_types(block), indices.bindings(block), strict=True):
        result[kind] = result.get(kind, frozenset()) | value.symbols
    return result


def begin_before(
    state: ScheduleState, block: ir.Operation, loop: ir.Operation, init: str, update: str,
    free: frozenset[str] | None = None,
) -> ir.Operation:  # fmt: skip
    """Move the init region of a block into a block of its own in front of a loop around it.

    Args:
        state: the program.
        block: the block, gone afterwards; another one has its number.
        loop: the loop; none around it is one of the reduction.
        init: the name of the new block, which is returned.
        update: the name of what is left.
        free: variables whose conditions do not count; when not given those of the reduction's
            loops, which conditions must not compare with others.
    """
    indices = state.indices(block)
    loops = tree.loops_around(block)
    of_kind = bound_by_kind(indices, block)
    inside = loops[loops.index(loop) :]
    name = {each: str(indices.loop_var(each)) for each in inside}
    # Loops that only conditions are about stay too: which elements there are hangs on them.
    reduced = of_kind["reduction"] | (free or frozenset())
    wanted = of_kind["spatial"] | (named_by(indices.block_conditions(block)) - reduced)
    kept = [each for each in inside if name[each] in wanted]
    gone = {name[each] for each in inside if each not in kept}
    if free is None:
        conditions = _of_elements(state, indices, block, gone)
    else:
        conditions = [
            each for each in indices.block_conditions(block)
            if isinstance(each, Comparison) and not each.symbols & (free | gone)
        ]  # fmt: skip
    for each in kept:
        if any(indices.lift(value).symbols & gone for value in each.operands):
            raise state.error(
                f"the range of {tree.describe(each)} depends on a loop of the reduction", each
            )
    made, variables, at = edit.copy_loops(indices, ir.InsertionPoint(loop), kept)
    for new, each in zip(made, kept, strict=True):
        edit.run_like(new, each)
    spatial = [i for i, kind in enumerate(tree.iter_types(block)) if kind == "spatial"]
    labels, bindings = edit.iterator_names(block), indices.bindings(block)
    extents = indices.extents(block)
    first = edit.new_block(indices, at, init, [("spatial", labels[i]) for i in spatial])
    if "annotations" in block.attributes:
        first.attributes["annotations"] = block.attributes["annotations"]
    edit.set_block(
        indices,
        first,
        [bindings[i].substitute(variables) for i in spatial],
        edit.substituted(conditions, variables),
        [extents[i] for i in spatial],
    )
    source = block.regions[1].blocks[0]
    values = {
        source.arguments[i]: argument
        for i, argument in zip(spatial, tree.body_of(first).arguments, strict=True)
    }
    with edit.end_of(first):
        edit.copy_ops(source, values)
    declare(indices, first)
    reads = any(view.operation.name == "memref.load" for view in source.operations)
    rest = edit.drop_init(block)
    rest.attributes["block_name"] = ir.StringAttr.get(update)
    state.touch()
    if reads:
        declare(state.indices(rest), rest)
    return first


def named_by(conditions: Iterable[Comparison | ir.Value]) -> frozenset[str]:
    """Return the symbols of comparisons."""
    return frozenset().union(*(each.symbols for each in conditions if isinstance(each, Comparison)))


def _of_elements(
    state: ScheduleState, indices: Indices, block: ir.Operation, gone: set[str]
) -> list[Comparison | ir.Value]:
    """Return the conditions of a block that say which elements there are."""
    result: list[Comparison | ir.Value] = []
    for each in indices.block_conditions(block):
        if not isinstance(each, Comparison):
            raise state.error(
                f"the predicate of {tree.describe(block)} is not made of comparisons", block
            )
        if not each.symbols & gone:
            result.append(each)
        elif any(indices.value_of(other) is not None for other in each.symbols - gone):
            raise state.error(
                f"the predicate of {tree.describe(block)} compares loops of the reduction with "
                "others", block,
            )  # fmt: skip
    return result


class DecomposeReductionPrimitives(ScheduleBase):
    """The initialisation of a reduction as a block of its own."""

    @primitive("DecomposeReduction", inputs=("block", "loop"))
    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Give what a reduction begins with a block of its own in front of a loop.

        The new block is named after the old one with `_init`, the old one gets `_update`.

        Args:
            block: a reduction block.
            loop: around it; no loop of the reduction is around that one.

        Returns:
            The new block.

        Raises:
            ScheduleError: they are not like that.
        """
        ops = self._block(block), self._loop(loop)
        return self._block_rv(decompose_reduction(self._state, *ops))
