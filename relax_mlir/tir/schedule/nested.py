"""What blocks that hold loops and blocks read and write: regions of buffers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.prover import Facts
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.tir.schedule import tree
from relax_mlir.tir.schedule.accesses import Access, accesses, through
from relax_mlir.tir.schedule.buffers import dims_of
from relax_mlir.tir.schedule.index import Indices
from relax_mlir.tir.schedule.regions import Range, range_of
from relax_mlir.tir.schedule.simplify import simplify


@dataclass
class Region:
    """A part of a buffer.

    Attributes:
        buffer: the buffer.
        ranges: for each dimension; None for any part of the buffer.
        reads: whether it is read.
        writes: whether it is written.
    """

    buffer: ir.Value
    ranges: list[Range] | None
    reads: bool
    writes: bool


def regions_of(indices: Indices, block: ir.Operation, *, views: bool = False) -> list[Region]:
    """Return what the body of a block accesses, in terms of its iterators, each buffer once.

    What it makes itself is left out, and so is what init regions do.

    Args:
        indices: of the function.
        block: the block.
        views: whether views made outside of the block count as buffers of their own.
    """
    facts = indices.facts(tree.body_of(block).operations[0].operation)
    found: dict[ir.Value, Region] = {}
    for access in accesses(indices, block, init=False):
        owner = access.buffer.owner
        maker = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
        if maker != block and tree.is_inside(maker, block):
            continue
        buffer = access.buffer
        if views:
            access = access.outside(block)
            buffer, access = access.view, replace(access, indices=access.places)
        ranges = ranges_in(indices, access, block, facts)
        old = found.get(buffer)
        if old is None:
            found[buffer] = Region(buffer, ranges, access.reads, access.writes)
            continue
        old.reads, old.writes = old.reads or access.reads, old.writes or access.writes
        old.ranges = _union(old.ranges, ranges, facts)
    return list(found.values())


def ranges_in(
    indices: Indices, access: Access, block: ir.Operation, facts: Facts
) -> list[Range] | None:
    """Return which part of a buffer an access inside a block goes to, for each dimension."""
    if access.indices is None:
        return None
    exprs: Sequence[SymExpr] = access.indices
    variables: list[tuple[str, Range]] = []
    for outer in tree.ancestors(access.op):
        if outer == block:
            break
        if outer.name == tree.BLOCK:
            exprs = through(indices, outer, exprs)
        elif outer.name == tree.LOOP:
            lower, extent = map(indices.lift, outer.operands)
            own = Range(lower, lower + extent - 1)
            variables.append((str(indices.var(tree.variable(outer))), own))
    found = [range_of(simplify(expr, facts), variables, facts) for expr in exprs]
    kept = [each for each in found if each is not None]
    return kept if len(kept) == len(found) else None


def _union(a: list[Range] | None, b: list[Range] | None, facts: Facts) -> list[Range] | None:
    if a is None or b is None:
        return None
    found = []
    for one, two in zip(a, b, strict=True):
        low = one.low if facts.can_prove(one.low <= two.low) else two.low
        high = one.high if facts.can_prove(one.high >= two.high) else two.high
        if not facts.can_prove(low <= one.low) or not facts.can_prove(high >= one.high):
            return None
        if not facts.can_prove(low <= two.low) or not facts.can_prove(high >= two.high):
            return None
        found.append(Range(low, high))
    return found


def holds_statements(block: ir.Operation) -> bool:
    """Whether the body of a block holds loops or blocks."""
    names = (v.operation.name for v in tree.body_of(block).operations)
    return any(name in (tree.LOOP, tree.BLOCK) for name in names)


def declarations(
    indices: Indices, block: ir.Operation
) -> list[tuple[str, ir.Value, dict[str, ir.Attribute]]]:
    """Return the declarations of a block that holds loops or blocks: kind, buffer, attributes."""
    arguments = [str(indices.var(argument)) for argument in tree.body_of(block).arguments]
    found = []
    for region in regions_of(indices, block, views=True):
        ranges = None if region.ranges is None else _within(indices, region.buffer, region.ranges)
        attributes = region_attributes(ranges, arguments)
        if isinstance(attributes["map"], ir.UnitAttr):
            # Scripts have no word for "any part": all of it.
            dims = dims_of(indices, region.buffer)
            whole = [Range(SymExpr.const(0), dim - 1) for dim in dims]
            attributes = region_attributes(whole, arguments)
        for kind, happens in (("tir.reads", region.reads), ("tir.writes", region.writes)):
            if happens:
                found.append((kind, region.buffer, attributes))
    return sorted(found, key=lambda entry: entry[0])


def _within(indices: Indices, buffer: ir.Value, ranges: list[Range]) -> list[Range]:
    """Return ranges without what is certain to be outside of a buffer."""
    found = []
    for own, dim in zip(ranges, dims_of(indices, buffer), strict=True):
        low, high = own.low, own.high
        if low.value is not None and low.value < 0:
            low = SymExpr.const(0)
        if high.value is not None and dim.value is not None and high.value >= dim.value:
            high = dim - 1
        found.append(Range(low, high))
    return found


def region_attributes(ranges: list[Range] | None, arguments: list[str]) -> dict[str, ir.Attribute]:
    """Return a region as the attributes of a declaration; it may be any part where None is given.

    Args:
        ranges: for each dimension.
        arguments: the names of the block's iterators.
    """
    unknown: dict[str, ir.Attribute] = {"map": ir.UnitAttr.get()}
    if ranges is None:
        return unknown
    lows = [_affine(each.low, arguments) for each in ranges]
    extents = [each.extent for each in ranges]
    if any(low is None for low in lows) or any(e.symbols & set(arguments) for e in extents):
        return unknown
    if any(not name.isidentifier() for extent in extents for name in extent.symbols):
        return unknown
    access = ir.AffineMap.get(len(arguments), 0, lows)
    attributes: dict[str, ir.Attribute] = {"map": ir.AffineMapAttr.get(access)}
    if any(extent.value != 1 for extent in extents):
        attributes["extents"] = Dims.of(extents)
    return attributes


def _affine(expr: SymExpr, arguments: list[str]) -> ir.AffineExpr | None:
    """Return an expression of iterators as an affine one; None where it is none of these."""
    if not expr.symbols <= set(arguments):
        return None

    def divide(kind: str, lhs: ir.AffineExpr | None, rhs: ir.AffineExpr | None) -> _Affine:
        return _Affine(None)

    # In the order of the iterators, whatever their names, as scripts are read.
    places = {name: SymExpr.var(f"d{place:04}") for place, name in enumerate(arguments)}
    found = expr.substitute(places).fold(
        lambda name: _Affine(ir.AffineDimExpr.get(int(name[1:]))),
        lambda number: _Affine(ir.AffineConstantExpr.get(number)),
        divide,
    )
    return found.expr


class _Affine:
    """An affine expression, or None where it is none, with the operators that `fold` needs."""

    def __init__(self, expr: ir.AffineExpr | None) -> None:
        self.expr = expr

    def __add__(self, other: "_Affine") -> "_Affine":
        if self.expr is None or other.expr is None:
            return _Affine(None)
        return _Affine(self.expr + other.expr)

    def __mul__(self, other: "_Affine") -> "_Affine":
        if self.expr is None or other.expr is None:
            return _Affine(None)
        plain = any(
            isinstance(each.maybe_downcast(), ir.AffineConstantExpr)
            for each in (self.expr, other.expr)
        )
        return _Affine(self.expr * other.expr if plain else None)
