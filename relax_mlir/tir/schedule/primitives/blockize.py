"""The primitive `blockize`: a loop nest and its block become an outer and an inner block."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.decompose_reduction import named_by
from relax_mlir.tir.schedule.primitives.enclose import enclose
from relax_mlir.tir.schedule.primitives.transform_block_layout import tidy
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import edit, tree
from relax_mlir.tir.view.accesses import declare
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.folding import fold
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.regions import Range, range_of
from relax_mlir.tir.view.simplify import simplify

_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)


@dataclass
class _Halves:
    """An iterator as `outer * size + inner`.

    Attributes:
        outer: of the loops around.
        inner: of the loops inside.
        size: how many values `inner` has.
        extent: how many values `outer` has.
    """

    outer: SymExpr
    inner: SymExpr
    size: SymExpr
    extent: SymExpr


def blockize(state: ScheduleState, loop: ir.Operation, preserve_unit: bool) -> ir.Operation:
    """Make a block of a loop with all inside it; returns it."""
    indices = state.indices(loop)
    what = tree.describe(loop)
    blocks = tree.blocks_under(loop)
    if len(blocks) != 1:
        raise state.error(f"{what} holds {len(blocks)} blocks", loop, *blocks)
    block = blocks[0]
    around = tree.loops_around(block)
    line = around[around.index(loop) :]
    checks.perfectly_nested(state, [*line, block])
    for kind in tree.iter_types(block):
        if kind not in ("spatial", "reduction"):
            raise state.error(f"{tree.describe(block)} has a {kind} iterator", block)
    inside = {str(indices.loop_var(each)) for each in line}
    halves = _divided(state, indices, block, line, inside)
    outer_where, inner_where = _conditions(state, indices, block, inside)
    types, labels = tree.iter_types(block), edit.iterator_names(block)
    kept = [
        i for i, half in enumerate(halves)
        if preserve_unit or half.extent.value != 1
    ]  # fmt: skip
    name = tree.block_name(block)
    made = edit.new_block(
        indices, ir.InsertionPoint(loop), f"{name}_o",
        [(types[i], f"{labels[i]}_o") for i in kept], tree.has_init(block),
    )  # fmt: skip
    edit.set_block(
        indices, made, [halves[i].outer for i in kept], outer_where,
        [halves[i].extent for i in kept],
    )  # fmt: skip
    loop.move_before(list(tree.body_of(made).operations)[-1].operation)
    inner = block
    if tree.has_init(block):
        _begin(state, indices, block, made, line, halves, kept, inner_where)
        inner = edit.drop_init(block)
    _inner_block(indices, inner, made, halves, kept, inner_where)
    state.touch()
    fresh = state.indices(made)
    fold(fresh, made)
    fresh = state.indices(made)
    edit.normalize(fresh, made)
    for each in [*tree.nested_blocks(made)[::-1], *tree.blocks_around(made)]:
        tidy(fresh, each) if each != made else None
        declare(fresh, each)
    edit.sweep(made)
    return made


def _divided(
    state: ScheduleState, indices: Indices, block: ir.Operation, line: Sequence[ir.Operation],
    inside: set[str],
) -> list[_Halves]:  # fmt: skip
    """Return the iterators of a block cut into what loops inside and those around say."""
    facts = indices.facts(block)
    ranges = []
    for loop in reversed(line):
        lower, extent = map(indices.lift, loop.operands)
        if any(value.symbols & inside for value in (lower, extent)):
            raise state.error(f"the range of {tree.describe(loop)} depends on a loop inside", loop)
        if lower.value != 0:
            raise state.error(f"{tree.describe(loop)} does not start at 0", loop)
        ranges.append(indices.loop_range(loop))
    result = []
    labels = edit.iterator_names(block)
    for label, binding, extent in zip(
        labels, indices.bindings(block), indices.extents(block), strict=True
    ):
        half = _halves(indices, binding, extent, ranges, inside, facts)
        if half is None:
            raise state.error(
                f"iterator '{label}' of {tree.describe(block)} is not known to be one part of the "
                f"loops around {tree.describe(line[0])} and one of the loops inside", block,
            )  # fmt: skip
        result.append(half)
    return result


def _halves(
    indices: Indices, binding: SymExpr, extent: SymExpr, ranges: Sequence[tuple[str, Range]],
    inside: set[str], facts: Facts,
) -> _Halves | None:  # fmt: skip
    inner = sum((p * c for p, c in binding.split() if p.symbols & inside), _ZERO)
    outer = binding - inner
    if not inner.symbols:
        return _Halves(outer, _ZERO, _ONE, extent)
    if _variables(indices, inner.symbols - inside):
        return None
    own = range_of(inner, ranges, facts)
    if own is None or not facts.can_prove(own.low >= 0):
        return None
    size = simplify(own.high + 1, facts)
    if outer == 0:
        # All of it is inside: the new block runs once for all values. What is beyond them the
        # predicate, which goes inside too, leaves out.
        return _Halves(_ZERO, inner, extent, _ONE)
    divided = outer // size
    if _variables(indices, size.symbols) or not bool(divided * size == outer):
        return None
    return _Halves(divided, inner, size, simplify(extent.ceildiv(size), facts))


def _variables(indices: Indices, names: Iterable[str]) -> list[str]:
    """Return the names that are variables of the program, not sizes."""
    return [name for name in names if indices.value_of(name) is not None]


def _conditions(
    state: ScheduleState, indices: Indices, block: ir.Operation, inside: set[str]
) -> tuple[list[Comparison | ir.Value], list[Comparison]]:
    """Return what a predicate says of the loops around and of those inside."""
    around: list[Comparison | ir.Value] = []
    own: list[Comparison] = []
    for each in indices.block_conditions(block):
        if not isinstance(each, Comparison):
            raise state.error(
                f"the predicate of {tree.describe(block)} is not made of comparisons", block
            )
        if not each.symbols & inside:
            around.append(each)
        elif _variables(indices, each.symbols - inside):
            raise state.error(
                f"the predicate of {tree.describe(block)} compares loops inside with loops around",
                block,
            )
        else:
            own.append(each)
    return around, own


def _values(
    indices: Indices, body: ir.Block, halves: Sequence[_Halves], kept: Sequence[int],
    inner: Sequence[SymExpr],
) -> list[SymExpr]:  # fmt: skip
    """Return what the iterators of the old block are, in a body of the new ones."""
    outer = {i: indices.var(argument) for i, argument in zip(kept, body.arguments, strict=True)}
    return [
        outer.get(i, _ZERO) * half.size + own
        for i, (half, own) in enumerate(zip(halves, inner, strict=True))
    ]


def _begin(
    state: ScheduleState, indices: Indices, block: ir.Operation, made: ir.Operation,
    line: Sequence[ir.Operation], halves: Sequence[_Halves], kept: Sequence[int],
    where: Sequence[Comparison],
) -> None:  # fmt: skip
    """Write what a reduction begins with in the new block's init region, with loops of its own."""
    types, labels = tree.iter_types(block), edit.iterator_names(block)
    spatial = [i for i, kind in enumerate(types) if kind == "spatial"]
    used = frozenset().union(*(halves[i].inner.symbols for i in spatial), frozenset())
    reduced = frozenset().union(
        *(halves[i].inner.symbols for i, kind in enumerate(types) if kind != "spatial"), frozenset()
    )
    if used & reduced:
        raise state.error(
            f"a loop is both one of {tree.describe(block)}'s reduction and of its elements", block
        )
    about = [each for each in where if not each.symbols & reduced]
    used |= named_by(about)
    if named_by(each for each in where if each.symbols & reduced) & used:
        raise state.error(
            f"the predicate of {tree.describe(block)} compares loops of the reduction with others",
            block,
        )
    started = made.regions[1].blocks[0]
    at = ir.InsertionPoint(list(started.operations)[-1])
    loops = [loop for loop in line if str(indices.loop_var(loop)) in used]
    copies, variables, at = edit.copy_loops(indices, at, loops)
    for new, loop in zip(copies, loops, strict=True):
        edit.run_like(new, loop)
    own = [i for i in spatial if halves[i].size.value != 1]
    first = edit.new_block(
        indices, at, f"{tree.block_name(block)}_init", [("spatial", f"{labels[i]}_i") for i in own]
    )
    edit.set_block(
        indices, first, [halves[i].inner.substitute(variables) for i in own],
        [each.substitute(variables) for each in about],
        [halves[i].size for i in own],
    )  # fmt: skip
    inner = [_ZERO] * len(halves)
    for i, argument in zip(own, tree.body_of(first).arguments, strict=True):
        inner[i] = indices.var(argument)
    values = _values(indices, started, halves, kept, inner)
    source = block.regions[1].blocks[0]
    with edit.end_of(first), ir.Location.unknown():
        known = {source.arguments[i]: indices.emit(values[i]) for i in spatial}
        edit.copy_ops(source, known)


def _inner_block(
    indices: Indices, block: ir.Operation, made: ir.Operation, halves: Sequence[_Halves],
    kept: Sequence[int], where: Sequence[Comparison],
) -> None:  # fmt: skip
    """Make of the old block one that runs for the loops inside only; it keeps its number."""
    types, labels = tree.iter_types(block), edit.iterator_names(block)
    own = [i for i, half in enumerate(halves) if half.size.value != 1]
    count = len(types)
    inner = edit.new_block(
        indices, ir.InsertionPoint(block), "inner", [(types[i], f"{labels[i]}_i") for i in own]
    )
    edit.keep_attributes(inner, block)
    edit.set_block(
        indices, inner, [halves[i].inner for i in own], list(where),
        [halves[i].size for i in own],
    )  # fmt: skip
    target, source = tree.body_of(inner), tree.body_of(block)
    exprs = [_ZERO] * count
    for i, argument in zip(own, target.arguments, strict=True):
        exprs[i] = indices.var(argument)
    values = _values(indices, tree.body_of(made), halves, kept, exprs)
    with ir.InsertionPoint(list(target.operations)[-1]), ir.Location.unknown():
        emitted = [indices.emit(value) for value in values]
    for argument, value in zip(source.arguments, emitted, strict=True):
        argument.replace_all_uses_with(value)
    edit.move_ops(source, target)
    block.erase()


class BlockizePrimitives(ScheduleBase):
    """Blocks of loops, and of blocks."""

    @primitive("Blockize", inputs=("target",))
    def blockize(
        self, target: LoopRV | Sequence[BlockRV | str], preserve_unit_iters: bool = True
    ) -> BlockRV:
        """Make a block of a loop with all inside it, or of several blocks.

        Of a loop it is named after the block inside with `_o`; its iterators say which tile it is,
        those of the block inside where in the tile. Of blocks it is named after all of them, and
        its iterators are the loops around all of them.

        Args:
            target: a loop with one block inside, whose iterators are made of `outer * n + inner`,
                or blocks that stand side by side, with loops of their own or without.
            preserve_unit_iters: whether iterators of one step are kept.

        Returns:
            The new block.

        Raises:
            ScheduleError: they are not like that, a predicate compares loops inside with those
                around, or a reduction would go on around the block of several.
        """
        if not isinstance(target, LoopRV):
            if not isinstance(target, (list, tuple)):
                raise self._wrong(f"a LoopRV or blocks are needed, got {type(target).__name__}")
            blocks = [self._block(each) for each in target]
            return self._block_rv(enclose(self._state, blocks, preserve_unit_iters))
        return self._block_rv(blockize(self._state, self._loop(target), preserve_unit_iters))
