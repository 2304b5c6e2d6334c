"""What `sch.get` gives for loops and blocks: their operations, with what TVM's have."""

from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.ir.attribute_value import attribute_value
from relax_mlir.ir.range import Range
from relax_mlir.tir.schedule import tree
from relax_mlir.tir.schedule.index import Indices
from relax_mlir.tir.schedule.statements import BufferRegion, Statement, regions, with_names


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


class FoundLoop(Statement):
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


class FoundBlock(Statement):
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


def found(operation: ir.Operation) -> Any:
    """Return a loop's or block's operation as one of these; others as they are."""
    views = {tree.LOOP: FoundLoop, tree.BLOCK: FoundBlock}
    view = views.get(operation.name)
    return operation if view is None else view(operation)


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
