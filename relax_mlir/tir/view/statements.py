"""Statement views: MLIR operations with the attributes of TVM's statement classes."""

from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.attribute_value import attribute_value
from relax_mlir.ir.range import Range
from relax_mlir.tir.stmt import Buffer
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.accesses import Region, regions_of
from relax_mlir.tir.view.buffers import dims_of, dtype_of, name_of, scope_name
from relax_mlir.tir.view.index import Indices


class Statement(ir.OpView):
    """An operation of a prim func; one of no class of its own has MLIR's attributes only."""

    _keep: Any

    def __init__(self, operation: ir.Operation) -> None:
        if not isinstance(operation, (ir.Operation, ir.OpView)):
            raise ExprTypeError(
                f"tir.{type(self).__name__} is what an operation of a prim "
                "func is seen as; scripts, te and tir.ir_builder make statements"
            )
        ir.OpView.__init__(self, operation)


class BufferLoad(Statement):
    """A `memref.load`."""

    @property
    def buffer(self) -> Buffer:
        """What it reads from."""
        return described(self.operation.operands[0])

    @property
    def indices(self) -> list[SymExpr]:
        """Which element, in terms of iterators and loop variables by their names."""
        return _named(self.operation, list(self.operation.operands)[1:])


class BufferStore(Statement):
    """A `memref.store`."""

    @property
    def buffer(self) -> Buffer:
        """What it writes to."""
        return described(self.operation.operands[1])

    @property
    def indices(self) -> list[SymExpr]:
        """Which element, in terms of iterators and loop variables by their names."""
        return _named(self.operation, list(self.operation.operands)[2:])


class IfThenElse(Statement):
    """An `scf.if`, also one that gives a value."""


class While(Statement):
    """An `scf.while`."""


class AssertStmt(Statement):
    """A `tir.assert`."""

    @property
    def message(self) -> str:
        """What the error says."""
        return tree.string(self.operation, "message")


class AllocBuffer(Statement):
    """A `memref.alloc`."""

    @property
    def buffer(self) -> Buffer:
        """What it makes."""
        return described(self.operation.results[0])


class BufferRegion:
    """A part of a buffer that a block reads or writes.

    Attributes:
        buffer: the buffer.
        region: for each dimension a range, in terms of the block's iterators.
    """

    buffer: Buffer
    region: list[Range]

    def __init__(self, buffer: Buffer, region: list[Range]) -> None:
        self.buffer, self.region = buffer, region

    def __repr__(self) -> str:
        parts = [
            str(each.min) if each.extent.value == 1 else f"{each.min}:{each.min + each.extent}"
            for each in self.region
        ]
        return f"{self.buffer.name}[{', '.join(parts) or '()'}]"


def described(buffer: ir.Value) -> Buffer:
    """Return the name, shape, dtype and scope of a buffer of a function."""
    owner = buffer.owner
    inside = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    dims = dims_of(Indices(tree.function_of(inside)), buffer)
    shape = tuple(dim if dim.value is None else dim.value for dim in dims)
    return Buffer(name_of(buffer), shape, dtype_of(buffer), scope_name(buffer))


def regions(block: ir.Operation) -> list[tuple[Region, BufferRegion]]:
    """Return what the body of a block accesses, each buffer once, with the parts by names."""
    indices = Indices(tree.function_of(block))
    return [(each, _region(indices, each)) for each in regions_of(indices, block)]


def _region(indices: Indices, region: Region) -> BufferRegion:
    buffer = described(region.buffer)
    if region.ranges is None:
        return BufferRegion(buffer, [Range(0, dim) for dim in buffer.shape])
    ranges = [
        Range.from_min_extent(with_names(indices, each.low), with_names(indices, each.extent))
        for each in region.ranges
    ]
    return BufferRegion(buffer, ranges)


def with_names(indices: Indices, expr: SymExpr) -> SymExpr:
    """Return an expression of a function's values as one of the names that scripts give them."""
    names: dict[str, SymExpr] = {}
    for symbol in expr.symbols:
        value = indices.value_of(symbol)
        if value is not None:
            names[symbol] = SymExpr.var(tree.value_name(value, "value"))
    return expr.substitute(names)


def _named(operation: ir.Operation, values: list[ir.Value]) -> list[SymExpr]:
    indices = Indices(tree.function_of(operation))
    return [with_names(indices, indices.lift(value)) for value in values]


def statement(operation: ir.Operation, keep: Any = None) -> Any:
    """Return an operation as one of these, or as a loop or a block.

    Args:
        operation: of a prim func.
        keep: what keeps it alive, such as its module.
    """
    views: dict[str, Any] = {
        tree.LOOP: For, tree.BLOCK: Block, "memref.load": BufferLoad,
        "memref.store": BufferStore, "scf.if": IfThenElse, "scf.while": While,
        "tir.assert": AssertStmt, "memref.alloc": AllocBuffer,
    }  # fmt: skip
    made = views.get(operation.name, Statement)(operation)
    made._keep = keep
    return made


@dataclass(frozen=True, eq=False)
class BlockIter:
    """An iterator of a block.

    Attributes:
        name: of its variable.
        extent: how many values it takes, from 0 on.
        iter_type: `spatial`, `reduction`, `scan` or `opaque`.
    """

    name: str
    extent: SymExpr
    iter_type: str

    @property
    def var(self) -> SymExpr:
        """Its variable, a symbol of that name."""
        return SymExpr.var(self.name)

    @property
    def dom(self) -> Range:
        """What it runs over."""
        return Range(0, self.extent)


class For(Statement):
    """A `tir.for`."""

    @property
    def loop_var(self) -> str:
        """The name of its variable."""
        return tree.loop_name(self.operation)

    @property
    def min(self) -> SymExpr:
        """Where it begins; `.value` is a number, or None where that is symbolic."""
        return _lifted(self.operation, 0)

    @property
    def extent(self) -> SymExpr:
        """How many steps it has; `.value` is a number, or None where that is symbolic."""
        return _lifted(self.operation, 1)

    @property
    def kind(self) -> str:
        """`serial`, `parallel`, `vectorized` or `unrolled`."""
        return tree.string(self.operation, "kind")

    @property
    def annotations(self) -> dict[str, Any]:
        """What `annotate` noted."""
        return _annotations(self.operation)


class Block(Statement):
    """A `tir.block`."""

    @property
    def name_hint(self) -> str:
        """The block's name."""
        return tree.block_name(self.operation)

    @property
    def iter_vars(self) -> list[BlockIter]:
        """Its iterators, in order."""
        types = tree.iter_types(self.operation)
        variables = list(tree.body_of(self.operation).arguments)
        extents = _indices(self.operation).extents(self.operation)
        return [
            BlockIter(tree.value_name(variable, f"v{i}"), extent, kind)
            for i, (variable, extent, kind) in enumerate(
                zip(variables, extents, types, strict=True)
            )
        ]

    @property
    def reads(self) -> list[BufferRegion]:
        """What its body reads, each buffer once."""
        return [part for each, part in regions(self.operation) if each.reads]

    @property
    def writes(self) -> list[BufferRegion]:
        """What its body writes, each buffer once."""
        return [part for each, part in regions(self.operation) if each.writes]

    @property
    def annotations(self) -> dict[str, Any]:
        """What `annotate` noted."""
        return _annotations(self.operation)


def _lifted(loop: ir.Operation, position: int) -> SymExpr:
    indices = _indices(loop)
    return with_names(indices, indices.lift(loop.operands[position]))


def _indices(operation: ir.Operation) -> Indices:
    return Indices(tree.function_of(operation))


def _annotations(operation: ir.Operation) -> dict[str, Any]:
    if "annotations" not in operation.attributes:
        return {}
    notes = ir.DictAttr(operation.attributes["annotations"])
    return {item.name: attribute_value(item.attr) for item in notes}
