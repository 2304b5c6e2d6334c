"""Reads and writes of blocks: indices of elements, and regions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.dialects.tir.guarded import find_guarded
from relax_mlir.dialects.tir.ops import where_of
from relax_mlir.dialects.tir.scalar import affine_sum
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.buffers import dims_of
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.regions import Range, range_of
from relax_mlir.tir.view.simplify import simplify

_VIEWS = (
    "memref.subview", "memref.cast", "memref.collapse_shape", "memref.expand_shape",
    "memref.reinterpret_cast", "memref.assume_alignment", "memref.transpose", "memref.view",
)  # fmt: skip
_SILENT = ("tir.where", "tir.reads", "tir.writes", "memref.dim", "memref.dealloc", *_VIEWS)
# Where the buffer is among the operands; what follows it are the indices.
_PLAIN = {"memref.load": 0, "memref.store": 1}


@dataclass(frozen=True)
class Access:
    """One access of a buffer.

    Attributes:
        op: the operation.
        buffer: the buffer, not a view of it.
        writes: whether it may write.
        reads: whether it may read.
        indices: for each dimension the index; None where it may be any part of the buffer.
        view: what is accessed: the buffer, or the view of it that the operation uses.
        places: as `indices`, in the view.
    """

    op: ir.Operation
    buffer: ir.Value
    reads: bool
    writes: bool
    indices: list[SymExpr] | None
    view: ir.Value
    places: list[SymExpr] | None

    def outside(self, block: ir.Operation) -> "Access":
        """Return this access as one of what a block can name: a view made inside it is none."""
        view = self.view
        while view != self.buffer and _made_inside(view, block):
            view = view.owner.operation.operands[0]
        places = self.places if view == self.view else None
        return replace(self, view=view, places=places)


def base_of(buffer: ir.Value) -> ir.Value:
    """Return the buffer that a view is part of, or the buffer itself."""
    while not isinstance(buffer.owner, ir.Block) and buffer.owner.operation.name in _VIEWS:
        buffer = buffer.owner.operation.operands[0]
    return buffer


def accesses(indices: Indices, op: ir.Operation, *, init: bool = True) -> list[Access]:
    """Return the accesses in an operation, in order.

    Indices are in terms of the innermost variables: iterators of blocks and loops inside them.

    Args:
        indices: of the function.
        op: a block, a loop or a function.
        init: whether what init regions do counts.
    """
    result: list[Access] = []
    skipped: set[ir.Operation] = set()
    for each in tree.walk(op):
        if not init and each.name == tree.BLOCK and tree.has_init(each):
            skipped |= {
                inner for view in each.regions[1].blocks[0].operations
                for inner in tree.walk(view.operation)
            }  # fmt: skip
        if each in skipped or each.name in _SILENT:
            continue
        position = _PLAIN.get(each.name)
        if position is not None:
            buffer = each.operands[position]
            exprs = [indices.lift(value) for value in list(each.operands)[position + 1 :]]
            base = base_of(buffer)
            known = exprs if base == buffer else None
            result.append(Access(each, base, position == 0, position == 1, known, buffer, exprs))
            continue
        for value in each.operands:
            if isinstance(value.type, ir.MemRefType):
                result.append(Access(each, base_of(value), True, True, None, value, None))
    return result


def inlined(indices: Indices, access: Access, top: ir.Operation) -> list[SymExpr] | None:
    """Return the indices of an access with iterators of blocks replaced by their values.

    Args:
        indices: of the function.
        access: an access inside `top`.
        top: blocks inside it are replaced, itself too.
    """
    if access.indices is None:
        return None
    exprs = access.indices
    for outer in tree.ancestors(access.op):
        if outer.name == tree.BLOCK:
            exprs = through(indices, outer, exprs)
        if outer == top:
            break
    return exprs


def through(indices: Indices, block: ir.Operation, exprs: Sequence[SymExpr]) -> list[SymExpr]:
    """Return expressions of a block's iterators as expressions of what these are bound to."""
    values: dict[str, SymExpr] = {}
    bindings = indices.bindings(block)
    for region in block.regions:
        for body in region.blocks:
            for argument, value in zip(body.arguments, bindings, strict=True):
                values[str(indices.var(argument))] = value
    return [expr.substitute(values) for expr in exprs]


def declare(indices: Indices, *blocks: ir.Operation) -> None:
    """Write again what blocks, inner ones first, declare that they read and write."""
    for block in blocks:
        _declare(indices, block)


def _declare(indices: Indices, block: ir.Operation) -> None:
    body = tree.body_of(block)
    for view in list(body.operations):
        if view.operation.name in ("tir.reads", "tir.writes"):
            view.operation.erase()

    where = where_of(block)
    first = body.operations[0] if where is None else body.operations[1]
    if holds_statements(block):
        with ir.InsertionPoint(first), ir.Location.unknown():
            for kind, buffer, attributes in declarations(indices, block):
                ir.Operation.create(kind, operands=[buffer], attributes=attributes)
        return
    seen: list[tuple[str, ir.Value, ir.Attribute]] = []
    for access in [*_init_reads(indices, block), *accesses(indices, block, init=False)]:
        if _made_inside(access.buffer, block):
            continue
        access = access.outside(block)
        attribute = _map_of(access, _arguments(access.op, block))
        for kind, happens in (("tir.reads", access.reads), ("tir.writes", access.writes)):
            if happens and (kind, access.view, attribute) not in seen:
                seen.append((kind, access.view, attribute))
    with ir.InsertionPoint(first), ir.Location.unknown():
        for kind, buffer, attribute in sorted(seen, key=lambda entry: entry[0]):
            ir.Operation.create(kind, operands=[buffer], attributes={"map": attribute})


def _init_reads(indices: Indices, block: ir.Operation) -> list[Access]:
    """Return what the init region of a block reads."""
    started = [view for region in list(block.regions)[1:] for b in region.blocks
               for view in b.operations]  # fmt: skip
    return [a for view in started for a in accesses(indices, view.operation) if not a.writes]


def _arguments(op: ir.Operation, block: ir.Operation) -> list[ir.Value]:
    """Return the iterators of a block in that region of it that an operation is in."""
    body = op.block
    while body.owner.operation != block:
        body = body.owner.operation.block
    return list(body.arguments)


def _map_of(access: Access, arguments: list[ir.Value]) -> ir.Attribute:
    if access.places is None:
        return ir.UnitAttr.get()
    items = list(access.op.operands)[_PLAIN[access.op.name] + 1 :]
    exprs = [_affine(item, arguments) for item in items]
    known = [expr for expr in exprs if expr is not None]
    if len(known) < len(exprs):
        return ir.UnitAttr.get()
    return ir.AffineMapAttr.get(ir.AffineMap.get(len(arguments), 0, known))


def _affine(value: ir.Value, arguments: list[ir.Value]) -> ir.AffineExpr | None:
    """Return an index as an affine expression of iterators, as builders of blocks make it."""
    if value in arguments:
        return ir.AffineDimExpr.get(arguments.index(value))
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if op.name == "arith.constant" and isinstance(value.type, ir.IndexType):
        return ir.AffineConstantExpr.get(ir.IntegerAttr(op.attributes["value"]).value)
    guarded = find_guarded(op).get(op) if op.name == "arith.subi" else None
    if guarded is not None and guarded.word == "%":
        return _quotient(ir.AffineExpr.get_mod, guarded.lhs, guarded.rhs, arguments)
    if op.name == "arith.floordivsi":
        return _quotient(ir.AffineExpr.get_floor_div, op.operands[0], op.operands[1], arguments)
    if op.name == "arith.index_cast":
        return _affine(op.operands[0], arguments)
    if op.name not in ("arith.addi", "arith.subi", "arith.muli"):
        return None
    lhs, rhs = (_affine(operand, arguments) for operand in op.operands)
    if lhs is None or rhs is None:
        return None
    if op.name == "arith.muli":
        return lhs * rhs if _number(lhs) is not None or _number(rhs) is not None else None
    return affine_sum(lhs, rhs if op.name == "arith.addi" else rhs * -1)


def _quotient(
    divide: Callable[..., ir.AffineExpr], lhs: ir.Value, rhs: ir.Value, arguments: list[ir.Value]
) -> ir.AffineExpr | None:
    a, b = _affine(lhs, arguments), _affine(rhs, arguments)
    divisor = None if b is None else _number(b)
    return None if a is None or divisor is None or divisor <= 0 else divide(a, b)


def _number(expr: ir.AffineExpr) -> int | None:
    known = expr.maybe_downcast()
    return known.value if isinstance(known, ir.AffineConstantExpr) else None


def _made_inside(buffer: ir.Value, block: ir.Operation) -> bool:
    owner = buffer.owner
    op = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    return op != block and tree.is_inside(op, block)


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
    result: dict[ir.Value, Region] = {}
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
        old = result.get(buffer)
        if old is None:
            result[buffer] = Region(buffer, ranges, access.reads, access.writes)
            continue
        old.reads, old.writes = old.reads or access.reads, old.writes or access.writes
        old.ranges = _union(old.ranges, ranges, facts)
    return list(result.values())


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
            variables.append(indices.loop_range(outer))
    result = [range_of(simplify(expr, facts), variables, facts) for expr in exprs]
    kept = [each for each in result if each is not None]
    return kept if len(kept) == len(result) else None


def _union(a: list[Range] | None, b: list[Range] | None, facts: Facts) -> list[Range] | None:
    if a is None or b is None:
        return None
    result = []
    for one, two in zip(a, b, strict=True):
        low = one.low if facts.can_prove(one.low <= two.low) else two.low
        high = one.high if facts.can_prove(one.high >= two.high) else two.high
        if not facts.can_prove(low <= one.low) or not facts.can_prove(high >= one.high):
            return None
        if not facts.can_prove(low <= two.low) or not facts.can_prove(high >= two.high):
            return None
        result.append(Range(low, high))
    return result


def holds_statements(block: ir.Operation) -> bool:
    """Whether the body of a block holds loops or blocks."""
    names = (v.operation.name for v in tree.body_of(block).operations)
    return any(name in (tree.LOOP, tree.BLOCK) for name in names)


def declarations(
    indices: Indices, block: ir.Operation
) -> list[tuple[str, ir.Value, dict[str, ir.Attribute]]]:
    """Return the declarations of a block that holds loops or blocks: kind, buffer, attributes."""
    arguments = [str(indices.var(argument)) for argument in tree.body_of(block).arguments]
    result = []
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
                result.append((kind, region.buffer, attributes))
    return sorted(result, key=lambda entry: entry[0])


def _within(indices: Indices, buffer: ir.Value, ranges: list[Range]) -> list[Range]:
    """Return ranges without what is certain to be outside of a buffer."""
    result = []
    for own, dim in zip(ranges, dims_of(indices, buffer), strict=True):
        low, high = own.low, own.high
        if low.value is not None and low.value < 0:
            low = SymExpr.const(0)
        if high.value is not None and dim.value is not None and high.value >= dim.value:
            high = dim - 1
        result.append(Range(low, high))
    return result


def region_attributes(ranges: list[Range] | None, arguments: list[str]) -> dict[str, ir.Attribute]:
    """Return a region as the attributes of a declaration; it may be any part where None is given.

    Args:
        ranges: for each dimension.
        arguments: the names of the block's iterators.
    """
    unknown: dict[str, ir.Attribute] = {"map": ir.UnitAttr.get()}
    if ranges is None:
        return unknown
    lows = [_affine_expr(each.low, arguments) for each in ranges]
    known = [low for low in lows if low is not None]
    extents = [each.extent for each in ranges]
    if len(known) < len(lows) or any(e.symbols & set(arguments) for e in extents):
        return unknown
    if any(not name.isidentifier() for extent in extents for name in extent.symbols):
        return unknown
    access = ir.AffineMap.get(len(arguments), 0, known)
    attributes: dict[str, ir.Attribute] = {"map": ir.AffineMapAttr.get(access)}
    if any(extent.value != 1 for extent in extents):
        attributes["extents"] = Dims.of(extents)
    return attributes


def _affine_expr(expr: SymExpr, arguments: list[str]) -> ir.AffineExpr | None:
    """Return an expression of iterators as an affine one; None where it is none of these."""
    if not expr.symbols <= set(arguments):
        return None

    def divide(kind: str, lhs: ir.AffineExpr | None, rhs: ir.AffineExpr | None) -> _Affine:
        return _Affine(None)

    # In the order of the iterators, whatever their names, as scripts are read.
    places = {name: SymExpr.var(f"d{place:04}") for place, name in enumerate(arguments)}
    result = expr.substitute(places).fold(
        lambda name: _Affine(ir.AffineDimExpr.get(int(name[1:]))),
        lambda number: _Affine(ir.AffineConstantExpr.get(number)),
        divide,
    )
    return result.expr


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
