"""What blocks read and write: buffers, with indices as expressions where they are such."""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.tir.schedule import tree
from relax_mlir.tir.schedule.index import Indices

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
    """

    op: ir.Operation
    buffer: ir.Value
    reads: bool
    writes: bool
    indices: list[SymExpr] | None


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
    found: list[Access] = []
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
            exprs: list[SymExpr] | None = [
                indices.lift(value) for value in list(each.operands)[position + 1 :]
            ]
            base = base_of(buffer)
            exprs = exprs if base == buffer else None
            found.append(Access(each, base, position == 0, position == 1, exprs))
            continue
        for value in each.operands:
            if isinstance(value.type, ir.MemRefType):
                found.append(Access(each, base_of(value), True, True, None))
    return found


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


def declare(indices: Indices, block: ir.Operation) -> None:
    """Write anew what a block declares that it reads and writes."""
    body = tree.body_of(block)
    for view in list(body.operations):
        if view.operation.name in ("tir.reads", "tir.writes"):
            view.operation.erase()
    order = {str(indices.var(arg)): i for i, arg in enumerate(body.arguments)}
    seen: list[tuple[str, ir.Value, ir.Attribute]] = []
    for access in accesses(indices, block, init=False):
        if _made_inside(access.buffer, block):
            continue
        attribute = _map_of(access, order)
        for kind, happens in (("tir.reads", access.reads), ("tir.writes", access.writes)):
            if happens and (kind, access.buffer, attribute) not in seen:
                seen.append((kind, access.buffer, attribute))
    with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
        for kind, buffer, attribute in sorted(seen, key=lambda entry: entry[0]):
            ir.Operation.create(kind, operands=[buffer], attributes={"map": attribute})


def _map_of(access: Access, order: dict[str, int]) -> ir.Attribute:
    if access.indices is None or any(not e.symbols <= order.keys() for e in access.indices):
        return ir.UnitAttr.get()
    dims = {name: ir.AffineDimExpr.get(position) for name, position in order.items()}
    exprs = [_affine(expr, dims) for expr in access.indices]
    if any(expr is None for expr in exprs):
        return ir.UnitAttr.get()
    return ir.AffineMapAttr.get(ir.AffineMap.get(len(order), 0, exprs))


def _affine(expr: SymExpr, dims: dict[str, ir.AffineExpr]) -> ir.AffineExpr | None:
    """Return an expression as MLIR has it, None where it multiplies or divides by variables."""
    total = ir.AffineConstantExpr.get(0)
    for product, coefficient in expr.split():
        term: ir.AffineExpr = ir.AffineConstantExpr.get(coefficient)
        if product.symbols:
            atom = product.atom
            if atom is None:
                return None
            if atom.kind == "symbol":
                inner = dims[next(iter(product.symbols))]
            elif atom.kind in ("floordiv", "ceildiv") and atom.parts[1].value is not None:
                lhs = _affine(atom.parts[0], dims)
                if lhs is None:
                    return None
                divide = (ir.AffineExpr.get_floor_div if atom.kind == "floordiv"
                          else ir.AffineExpr.get_ceil_div)  # fmt: skip
                inner = divide(lhs, ir.AffineConstantExpr.get(atom.parts[1].value))
            else:
                return None
            term = inner * term
        total = total + term
    return total


def _made_inside(buffer: ir.Value, block: ir.Operation) -> bool:
    owner = buffer.owner
    op = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    return op != block and tree.is_inside(op, block)
