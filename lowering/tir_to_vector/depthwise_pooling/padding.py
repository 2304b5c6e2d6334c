"""Matching padded copies: a buffer filled with one number, then an image inside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest, is_adjacent, match_nest
from relax_mlir.lowering.tir_to_vector.flat import FlatNest, NotFlat, extent_of, flatten_nest


@dataclass
class Padded:
    """A temporary buffer that holds an image and its padding.

    Attributes:
        buffer: it.
        source: the image.
        before: for each dimension the padding before the image.
        after: for each dimension the padding after it.
        sizes: the image's dimensions.
        fill: the padding's value.
        nests: the nests that write it.
    """

    buffer: ir.Value
    source: ir.Value
    before: list[int]
    after: list[int]
    sizes: list[SymExpr]
    fill: ir.Attribute
    nests: tuple[Nest, Nest]

    @property
    def is_zero(self) -> bool:
        """Whether the padding is zero."""
        return is_zero(self.fill)


def is_zero(number: ir.Attribute) -> bool:
    """Whether a number's attribute is zero."""
    kind = ir.FloatAttr if isinstance(number, ir.FloatAttr) else ir.IntegerAttr
    return kind(number).value == 0


def match_padded(fill: tuple[Nest, FlatNest], copy: tuple[Nest, FlatNest]) -> Padded | None:
    """Return the padded copy that two nests make, None if it is none for one use."""
    (outer, flat), (inner, image) = fill, copy
    buffer = flat.written
    if image.written != buffer or flat.total is not None or image.total is not None:
        return None
    owner, value = buffer.owner, flat.value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "memref.alloc":
        return None
    if isinstance(value, ir.Block) or value.operation.name != "arith.constant":
        return None
    loads = inner.loads
    if len(image.slice) != 1 or len(loads) != 1 or image.value != loads[0].op.results[0]:
        return None
    identity = list(range(len(inner.types)))
    if outer.stores[0].iters != list(range(buffer.type.rank)) or loads[0].iters != identity:
        return None
    before = _offsets(inner.stores[0])
    if before is None:
        return None
    sizes = [extent_of(inner.loops[i].operands[1]) for i in inner.loop_of]
    whole = [extent_of(outer.loops[i].operands[1]) for i in outer.loop_of]
    after = [
        (all_ - size - first).value for all_, size, first in zip(whole, sizes, before, strict=True)
    ]
    if any(count is None or count < 0 for count in after):
        return None
    number = value.operation.attributes["value"]
    return Padded(
        buffer, loads[0].buffer, before, [count or 0 for count in after], sizes, number,
        (outer, inner),
    )  # fmt: skip


def match_padded_use(tops: Sequence[ir.Operation]) -> tuple[Padded, FlatNest] | None:
    """Return a padded copy that two nests make and only the third one reads."""
    nests: list[tuple[Nest, FlatNest]] = []
    for op in tops[:3]:
        nest = match_nest(op)
        if isinstance(nest, str):
            return None
        try:
            flat = flatten_nest(nest)
        except NotFlat:
            return None
        if (flat.total is not None) != (len(nests) == 2):
            return None
        nests.append((nest, flat))
    if len(nests) != 3:
        return None
    padded = match_padded(nests[0], nests[1])
    if padded is None or not used_only_in(padded, nests[2][0]):
        return None
    # The image must not change between its copy and its use.
    if not all(is_adjacent(a.top, b.top) for (a, _), (b, _) in pairwise(nests)):
        return None
    return padded, nests[2][1]


def match_first_reduction(
    tops: Sequence[ir.Operation],
) -> tuple[Padded | None, FlatNest | None]:
    """Return the reduction that some nests begin with, after its padded copy, if any."""
    padded, flat = match_padded_use(tops) or (None, None)
    if flat is None:
        nest = match_nest(tops[0])
        if isinstance(nest, str):
            return None, None
        try:
            flat = flatten_nest(nest)
        except NotFlat:
            return None, None
    return padded, flat if flat.total is not None else None


def used_only_in(padded: Padded, nest: Nest) -> bool:
    """Whether only one nest reads a padded copy."""
    blocks = [each.block for each in (*padded.nests, nest)]
    for use in padded.buffer.uses:
        op = use.owner.operation
        while op.name != "tir.block" and op.parent is not None:
            op = op.parent.operation
        if op not in blocks:
            return False
    return True


def _offsets(store: Access) -> list[int] | None:
    """Return the constant of each dimension's iterator, None for other indices."""
    offsets = []
    for position, expr in enumerate(store.exprs):
        found = plus_constant(expr, position)
        if found is None or found < 0:
            return None
        offsets.append(found)
    return offsets


def plus_constant(expr: ir.AffineExpr | None, position: int) -> int | None:
    """Return the constant that an index adds to an iterator, None for other indices."""
    if expr is None:
        return None
    known = expr.maybe_downcast()
    if isinstance(known, ir.AffineDimExpr):
        return 0 if known.position == position else None
    if not isinstance(known, ir.AffineAddExpr):
        return None
    parts = [known.lhs.maybe_downcast(), known.rhs.maybe_downcast()]
    number = next((x for x in parts if isinstance(x, ir.AffineConstantExpr)), None)
    dim = next((x for x in parts if isinstance(x, ir.AffineDimExpr)), None)
    if number is None or dim is None or dim.position != position:
        return None
    return number.value
