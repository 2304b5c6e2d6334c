"""GEMMs in scheduled loops: a nest for each block, with the init in its sum.

A schedule that splits and reorders loops, decomposes a reduction, and writes through a cache leaves
several blocks in shared loops. If no step touches what another one does, each block may have loops
of its own, and register tiles are faster than its vectorised or unrolled loops.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import (
    BY_HAND,
    ELEMENTWISE,
    Nest,
    counter_of,
    iter_types,
    kind_of_loop,
    match_nest,
    statements,
    top_level,
)
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value
from relax_mlir.lowering.tir_to_vector.reductions.rewrites import split_quotients_of
from relax_mlir.lowering.tir_to_vector.scheduled.index import Access, Lin, linear
from relax_mlir.lowering.tir_to_vector.scheduled.merged_loops import merged
from relax_mlir.lowering.tir_to_vector.symbols import symbolic
from relax_mlir.lowering.walk import collect, root

_SAYS = ("tir.reads", "tir.writes", "tir.where", "tir.yield", "memref.dim")
_MEMORY = ("memref.load", "memref.store")


@dataclass
class _Leaf:
    """A block and the loops around it, outermost first."""

    loops: list[ir.Operation]
    block: ir.Operation

    def accesses(self) -> list[Access] | None:
        """Return what the block loads and stores, None where it does anything else to memory."""
        known = {
            argument: linear(value)
            for region in self.block.regions
            for body in region.blocks
            for argument, value in zip(body.arguments, self.block.operands, strict=False)
        }
        result = []
        for op in collect(self.block, lambda op: op != self.block):
            if op.name in _MEMORY:
                result.append(Access.of(op, known))
            elif op.name not in _SAYS and (len(op.regions) or not op.name.startswith(ELEMENTWISE)):
                return None
        return result


def regain_products(
    func: ir.OpView,
    is_fast: Callable[[ir.Operation], bool],
    is_product: Callable[[ir.Operation], bool],
) -> None:
    """Give blocks that share loops, or whose loops have kinds, loops of their own.

    That is done if all of them become vector code, and one of them is a GEMM.

    Args:
        func: the prim func.
        is_fast: whether what a loop is the top of becomes vector code.
        is_product: whether it is a GEMM.
    """
    for top in list(top_level(func)):
        leaves = _leaves(top, [])
        if not leaves or not _is_scheduled(leaves) or not _are_disjoint(leaves):
            continue
        made = _own_nests(top, leaves)
        if made and all(map(is_fast, made)) and any(map(is_product, made)):
            top.erase()
        else:
            for nest in made:
                nest.erase()


def _leaves(op: ir.Operation, loops: list[ir.Operation]) -> list[_Leaf]:
    """Return the blocks below an operation; none if there is anything else."""
    if op.name == "tir.block":
        return [_Leaf(loops, op)]
    if op.name != "tir.for":
        return []
    result: list[_Leaf] = []
    for inner in statements(op):
        below = _leaves(inner, [*loops, op])
        if not below:
            return []
        result += below
    return result


def _is_scheduled(leaves: list[_Leaf]) -> bool:
    kinds = {kind_of_loop(loop) for leaf in leaves for loop in leaf.loops}
    sums = any("reduction" in iter_types(leaf.block) for leaf in leaves)
    return sums and (len(leaves) > 1 or not kinds.isdisjoint(BY_HAND))


def _are_disjoint(leaves: list[_Leaf]) -> bool:
    """Whether no step of loops that blocks share touches what another step of them writes."""
    if len(leaves) == 1:
        return True
    touched = [leaf.accesses() for leaf in leaves]
    if any(each is None for each in touched):
        return False
    for (a, own), (b, theirs) in itertools.combinations(zip(leaves, touched, strict=True), 2):
        shared = [x for x, y in zip(a.loops, b.loops, strict=False) if x == y]
        extents = {counter_of(x): _extent(x) for x in (*a.loops, *b.loops)}
        counters = {counter_of(loop) for loop in shared}
        for x, y in itertools.product(own or (), theirs or ()):
            if not (x.stores or y.stores) or root(x.buffer) != root(y.buffer):
                continue
            if x.buffer != y.buffer or not _meet_in_one_step(x, y, counters, extents):
                return False
    return True


def _extent(loop: ir.Operation) -> int | None:
    """Return how many steps a loop from 0 has, None where that is not known."""
    lower, upper = (constant_or_value(value) for value in loop.operands)
    return upper if lower == 0 and isinstance(upper, int) else None


def _meet_in_one_step(
    x: Access, y: Access, shared: set[ir.Value], extents: dict[ir.Value, int | None]
) -> bool:
    """Whether two accesses touch one element only in the same step of shared loops.

    A dimension separates steps whose factors in it are larger than all that is added to them.
    """
    left = {value for value in shared if extents[value] != 1}
    for own, theirs in zip(x.where, y.where, strict=True):
        factors = {value: own.factor(value) for value in shared if own.factor(value)}
        if any(theirs.factor(value) != own.factor(value) for value in shared):
            continue
        ranges = [_range(each, shared, extents) for each in (own, theirs)]
        known = [each for each in ranges if each is not None]
        if len(known) < 2:
            continue
        reach: int | None = max(high for _, high in known) - min(low for low, _ in known) + 1
        for value, factor in sorted(factors.items(), key=lambda item: item[1]):
            if reach is None or factor < reach:
                break
            extent = extents[value]
            reach = None if extent is None else factor * (extent - 1) + reach
        else:
            left -= factors.keys()
    return not left


def _range(
    where: Lin, shared: set[ir.Value], extents: dict[ir.Value, int | None]
) -> tuple[int, int] | None:
    """Return the minimum and maximum of an index besides the counters of shared loops."""
    low = high = where.const
    for value, factor in where.terms.items():
        if value in shared:
            continue
        extent = extents.get(value)
        if extent is None:
            return None
        most = factor * max(extent - 1, 0)
        low, high = low + min(most, 0), high + max(most, 0)
    return low, high


def _own_nests(top: ir.Operation, leaves: list[_Leaf]) -> list[ir.Operation]:
    """Write a nest for each block before those that they share; none where that cannot be."""
    made: list[ir.Operation] = []
    for number in range(len(leaves)):
        with ir.InsertionPoint(top):
            copy = top.clone()
        _prune(copy, number)
        nest = copy if isinstance(match_nest(copy), Nest) else merged(copy)
        made.append(nest or copy)
        if nest is None or not _make_serial(nest):
            for each in made:
                each.erase()
            return []
    made = _join_inits(made)
    for op in made:
        split_quotients_of(op)
    return made


def _make_serial(top: ir.Operation) -> bool:
    """Make the loops of a nest serial; its class splits the work.

    Returns:
        Whether it is one whose kinds said no more: a parallel loop that reduces is an error.
    """
    nest = match_nest(top)
    if isinstance(nest, str):
        return False
    for number, kind in zip(nest.loop_of, nest.types, strict=True):
        if kind == "reduction" and kind_of_loop(nest.loops[number]) == "parallel":
            return False
    for loop in nest.loops:
        loop.attributes["kind"] = ir.StringAttr.get("serial")
    return True


def _prune(top: ir.Operation, kept: int) -> None:
    """Keep one of the blocks below a loop, in serial loops."""
    leaves = _leaves(top, [])
    for loop in leaves[kept].loops:
        if kind_of_loop(loop) in BY_HAND:
            loop.attributes["kind"] = ir.StringAttr.get("serial")
    for leaf in leaves[:kept] + leaves[kept + 1 :]:
        op = leaf.block
        while len(_leaves(op.parent.operation, [])) == 1:
            op = op.parent.operation
        op.erase()


def _join_inits(nests: list[ir.Operation]) -> list[ir.Operation]:
    """Turn constant stores before a sum into the sum's init.

    Returns:
        The nests that are left.
    """
    left = []
    for first, second in zip(nests, [*nests[1:], None], strict=True):
        if second is not None:
            fill, update = match_nest(first), match_nest(second)
            if isinstance(fill, Nest) and isinstance(update, Nest) and _begins(fill, update):
                _take_init(fill, update)
                first.erase()
                continue
        left.append(first)
    return left


def _begins(fill: Nest, update: Nest) -> bool:
    if fill.loads or fill.has_init() or update.has_init():
        return False
    if len(fill.stores) != 1 or len(update.stores) != 1:
        return False
    own, theirs = fill.stores[0], update.stores[0]
    if own.buffer != theirs.buffer or not any(
        load.buffer == own.buffer and load.iters == theirs.iters for load in update.loads
    ):
        return False
    pairs = [
        (i, j)
        for i, j in zip(own.iters, theirs.iters, strict=True)
        if i is not None and j is not None and i >= 0 and j >= 0
    ]
    if len(pairs) < len(own.iters):
        return False
    spatial = [i for i, kind in enumerate(update.types) if kind == "spatial"]
    if sorted(j for _, j in pairs) != spatial or len(pairs) != len(fill.types):
        return False
    sizes = [
        (symbolic(fill.loops[fill.loop_of[i]].operands[1]),
         symbolic(update.loops[update.loop_of[j]].operands[1]))
        for i, j in pairs
    ]  # fmt: skip
    return all(x is not None and x == y for x, y in sizes)


def _take_init(fill: Nest, update: Nest) -> None:
    body = fill.block.regions[0].blocks[0]
    with update.block.location:
        init = update.block.regions[1].blocks.append(*[ir.IndexType.get()] * len(update.types))
    for i, j in zip(fill.stores[0].iters, update.stores[0].iters, strict=True):
        body.arguments[i].replace_all_uses_with(init.arguments[j])
    for view in list(body.operations):
        if view.operation.name not in ("tir.reads", "tir.writes"):
            init.append(view)
