"""Arena sizes of native functions: memory for their intermediate buffers."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.transform.outline.outline_native import ARENA


@dataclass(frozen=True)
class Arena:
    """The memory of one native function, in bytes; symbolic where shapes are.

    Attributes:
        planned: what it takes.
        unplanned: what it would take if no two tensors shared memory.
        needed: what is needed at one time at most, so that no plan can take less.
    """

    planned: SymExpr
    unplanned: SymExpr
    needed: SymExpr

    def texts(self) -> list[str]:
        """Return the three as text."""
        return [str(self.planned), str(self.unplanned), str(self.needed)]


def arenas(module: ir.Operation) -> dict[str, Arena]:
    """Return the arena of each native function that has one, by the function's name."""
    result = {}
    for view in module.regions[0].blocks[0].operations:
        attributes = view.operation.attributes
        if ARENA in attributes:
            result[attributes["sym_name"].value] = Arena(*Dims(attributes[ARENA]).dims)
    return result
