"""Iteration domains: the instances of a block that one iteration of a loop needs or computes."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.tir.schedule.analysis.injective import determined_names
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.accesses import Access, accesses, through
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.regions import Range, range_of
from relax_mlir.tir.view.simplify import simplify

_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)


def needed(
    indices: Indices, block: ir.Operation, loop: ir.Operation, uses: Sequence[Access], *,
    writes: bool,
) -> list[Range]:  # fmt: skip
    """Return for each iterator of a block which of its values one step of a loop needs.

    Args:
        indices: of the function.
        block: the block.
        loop: the loop, not around the block.
        uses: accesses inside the loop, of buffers that the block writes or reads.
        writes: whether the block writes them.
    """
    facts = indices.facts(first_inside(loop))
    extents = indices.extents(block)
    whole = [Range(SymExpr.const(0), extent - 1) for extent in extents]
    own = [
        a for a in accesses(indices, block)
        if (a.writes if writes else a.reads) and any(a.buffer == f.buffer for f in uses)
    ]  # fmt: skip
    names = [str(indices.var(argument)) for argument in tree.body_of(block).arguments]
    solved: list[Range | None] = [None] * len(names)
    everything: set[int] = set()
    for buffer in dict.fromkeys(access.buffer for access in own):
        region = region_of(indices, loop, [a for a in uses if a.buffer == buffer], facts)
        for access in (a for a in own if a.buffer == buffer):
            determined: dict[int, Range] = {}
            for dim, own_part in enumerate(_of_a_point(indices, access, block)):
                part = region[dim] if region is not None else None
                solution = _solved(indices, own_part, names, part, facts, writes)
                if solution is not None:
                    position, values = solution
                    before = determined.get(position)
                    determined[position] = (
                        values if before is None else _union(before, values, facts)
                    )
            # Points that differ in what the access does not read may all be at this element.
            everything |= set(range(len(names))) - set(determined)
            for position, values in determined.items():
                before = solved[position]
                solved[position] = values if before is None else _union(before, values, facts)
    for position in everything:
        solved[position] = None
    found_ranges = []
    for known, all_values in zip(solved, whole, strict=True):
        found_ranges.append(all_values if known is None else cut(known, all_values, facts))
    return found_ranges


def first_inside(loop: ir.Operation) -> ir.Operation:
    """Return the first operation of a loop's body, where all loops around are known."""
    return tree.body_of(loop).operations[0].operation


def _of_a_point(
    indices: Indices, access: Access, block: ir.Operation
) -> list[Range | None]:  # fmt: skip
    """Return which indices an access in a block has at one point, in terms of the iterators.

    There are several where the block holds loops. None stands for what is not known. The names of
    iterators are those of the body, in the init region too.
    """
    exprs = below(indices, access, block)
    inner = inner_variables(indices, access.op, block)
    if exprs is None or inner is None:
        return []
    names: dict[str, SymExpr] = {}
    body = tree.body_of(block)
    for region in block.regions:
        for each in region.blocks:
            for own, argument in zip(body.arguments, each.arguments, strict=True):
                names[str(indices.var(argument))] = indices.var(own)
    facts = indices.facts(body.operations[0].operation)
    ranges = [range_of(expr.substitute(names), inner, facts) for expr in exprs]
    return [
        own if own is None or _known_at(indices, block, own) else None for own in ranges
    ]  # fmt: skip


def _solved(
    indices: Indices, own: Range | None, names: list[str], part: Range | None, facts: Facts,
    writes: bool,
) -> tuple[int, Range] | None:  # fmt: skip
    """Return which iterator an index determines, and for which values of it some are in a part.

    None where it determines none.
    """
    if part is None or own is None:
        return None
    inside = [name for name in names if name in own.low.symbols | own.high.symbols]
    if len(inside) != 1:
        return None
    name = inside[0]
    scale = own.low.substitute({name: _ONE}) - own.low.substitute({name: _ZERO})
    factor = scale.value
    if not factor or (factor < 0 and not writes):
        # Steps run the wrong way for what reads them.
        return None
    low, high = (end - SymExpr.var(name) * factor for end in (own.low, own.high))
    for rest in (low, high):
        if any(each in names or indices.value_of(each) is not None for each in rest.symbols):
            # The iterator itself, in another way, or what is known inside of the block only.
            return None
    first, last = part.low - high, part.high - low
    if factor < 0:
        first, last, factor = low - part.high, high - part.low, -factor
    if factor == 1:
        return names.index(name), Range(first, last)
    least, most = (first + factor - 1) // factor, last // factor
    return names.index(name), Range(simplify(least, facts), simplify(most, facts))


def region_of(
    indices: Indices, outer: ir.Operation, uses: Sequence[Access], facts: Facts
) -> list[Range | None] | None:
    """Return the part of a buffer that one step of a loop accesses, for each dimension.

    Args:
        indices: of the function.
        outer: the loop, or the block or function in which all runs once.
        uses: the accesses, inside.
        facts: what is known where it begins.
    """
    total: list[Range | None] | None = None
    for access in uses:
        exprs = below(indices, access, outer)
        if exprs is None:
            return None
        inner = inner_variables(indices, access.op, outer)
        ranges = [None if inner is None else range_of(expr, inner, facts) for expr in exprs]
        ranges = [own if own is None or _known_at(indices, outer, own) else None for own in ranges]
        if total is None:
            total = ranges
            continue
        total = [
            None if a is None or b is None else _union(a, b, facts)
            for a, b in zip(total, ranges, strict=True)
        ]
    return total


def below(
    indices: Indices, access: Access, outer: ir.Operation
) -> list[SymExpr] | None:  # fmt: skip
    """Return the indices of an access with the iterators of blocks on the way there replaced."""
    exprs = access.indices
    for each in tree.ancestors(access.op):
        if each == outer or exprs is None:
            break
        if each.name == tree.BLOCK:
            exprs = through(indices, each, exprs)
    return exprs


def _known_at(indices: Indices, loop: ir.Operation, own: Range) -> bool:
    """Whether nothing that a loop computes, such as an index that a block loads, is in a range."""
    for name in own.low.symbols | own.high.symbols:
        value = indices.value_of(name)
        if value is None or value in list(tree.body_of(loop).arguments):
            continue
        home = value.owner
        home = home.owner.operation if isinstance(home, ir.Block) else home.operation
        if tree.is_inside(home, loop):
            return False
    return True


def inner_variables(
    indices: Indices, op: ir.Operation, loop: ir.Operation
) -> list[tuple[str, Range]] | None:
    """Return the variables of the loops between an operation and a loop, innermost first."""
    result = []
    for each in tree.ancestors(op):
        if each == loop:
            return result
        if each.name == tree.LOOP:
            result.append(indices.loop_range(each))
    return None


def _union(a: Range, b: Range, facts: Facts) -> Range:
    low = a.low if facts.can_prove(a.low <= b.low) else (
        b.low if facts.can_prove(b.low <= a.low) else a.low.min(b.low))  # fmt: skip
    high = a.high if facts.can_prove(a.high >= b.high) else (
        b.high if facts.can_prove(b.high >= a.high) else a.high.max(b.high))  # fmt: skip
    return Range(low, high)


def cut(known: Range, whole: Range, facts: Facts) -> Range:
    """Return a range without what is certain to be outside of another one."""
    if facts.can_prove(known.low <= whole.low) and facts.can_prove(known.high >= whole.high):
        return whole
    low = whole.low if facts.can_prove(known.low <= whole.low) else known.low
    high = whole.high if facts.can_prove(known.high >= whole.high) else known.high
    return Range(low, high)


def without_gaps(
    part: Range, extent: SymExpr, variables: Sequence[tuple[str, Range]], facts: Facts
) -> bool:
    """Whether the parts that one step each needs make up a whole range together.

    Args:
        part: what one step needs.
        extent: of the whole range, from 0.
        variables: the loops whose steps these are, innermost first.
        facts: what is known.
    """
    covered, low = part.extent, part.low
    terms = [(name, own) for name, own in variables if name in low.symbols]
    steps: list[tuple[SymExpr, Range]] = []
    for name, own in terms:
        scale = low.substitute({name: SymExpr.const(1)}) - low.substitute({name: SymExpr.const(0)})
        if scale.symbols & {each for each, _ in variables}:
            return False
        steps.append((scale, own))
        low = low.substitute({name: own.low})
    if any(name in covered.symbols for name, _ in variables):
        return False
    while steps:
        # The finest step first: it must not be wider than what is covered so far.
        fitting = [
            s for s in steps if facts.can_prove(s[0] <= covered) and facts.can_prove(s[0] > 0)
        ]
        if not fitting:
            return False
        scale, own = fitting[0]
        steps.remove(fitting[0])
        covered = covered + scale * (own.extent - 1)
    return facts.can_prove(low <= 0) and facts.can_prove(low + covered >= extent)


def box_of(
    exprs: Sequence[SymExpr], variables: Sequence[tuple[str, Range]], facts: Facts,
    inside: Facts | None = None,
) -> list[Range] | None:  # fmt: skip
    """Return the ranges of indices that are all met while variables take all their values.

    Args:
        exprs: the indices.
        variables: names and ranges; a range may depend on variables after it in the list.
        facts: what is known of what stays.
        inside: what is known of the variables too; when not given, no variable is in two indices.

    Returns:
        The ranges, empty where a variable has no value; None where some may not be met.
    """
    result: list[Range] = []
    for expr in exprs:
        box = range_of(expr, _used(expr, variables), facts)
        if box is None:
            return None
        result.append(box)
    if _met_disjoint(exprs, variables, result, facts):
        return result
    return result if inside and _met_at_once(exprs, variables, result, facts, inside) else None


def _used(
    expr: SymExpr, variables: Sequence[tuple[str, Range]]
) -> list[tuple[str, Range]]:  # fmt: skip
    return [each for each in variables if each[0] in expr.symbols]


def _met_disjoint(
    exprs: Sequence[SymExpr], variables: Sequence[tuple[str, Range]], boxes: Sequence[Range],
    facts: Facts,
) -> bool:  # fmt: skip
    """Whether indices, each of variables of its own, meet all of their ranges."""
    seen: set[str] = set()
    for expr, box in zip(exprs, boxes, strict=True):
        own = _used(expr, variables)
        names = {name for name, _ in own}
        if names & seen:
            return False
        seen |= names
        if len(own) > 1 and not all(facts.can_prove(each.extent > 0) for _, each in own):
            # A variable without values meets nothing, and the box need not be empty.
            steps = product([each.extent for _, each in own])
            if not facts.can_prove(steps >= box.extent):
                return False
        shifted = expr - box.low
        if own and not without_gaps(Range(shifted, shifted), box.extent, own, facts):
            return False
    return True


def _met_at_once(
    exprs: Sequence[SymExpr], variables: Sequence[tuple[str, Range]], boxes: Sequence[Range],
    facts: Facts, inside: Facts,
) -> bool:  # fmt: skip
    """Whether indices are others each time, and as many as there are in their ranges."""
    symbols = frozenset().union(*(expr.symbols for expr in exprs))
    own = [each for each in variables if each[0] in symbols]
    names = {name for name, each in own if each.extent.value != 1}
    if any((each.low.symbols | each.high.symbols) & names for _, each in own):
        return False
    if not names <= determined_names(exprs, inside, symbols - names):
        return False
    steps = product([each.extent for _, each in own])
    return facts.can_prove(steps >= product([box.extent for box in boxes]))
