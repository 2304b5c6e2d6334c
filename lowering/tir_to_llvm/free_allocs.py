"""Pass `free-allocs`: a buffer allocated in a block and never freed is freed at the block's end."""

from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.lowering.walk import named

memref: ModuleType = submodule("dialects.memref")

_VIEWS = ("memref.subview", "memref.cast", "memref.collapse_shape", "memref.expand_shape",
          "memref.reinterpret_cast", "memref.reshape", "memref.view")  # fmt: skip
_ESCAPES = ("func.return", "scf.yield", "memref.dealloc", "cf.br", "cf.cond_br")


def free_allocs(op: ir.Operation) -> None:
    """Insert `memref.dealloc` for allocations that do not escape and are not freed already."""
    for alloc in named(op, ("memref.alloc",)):
        block = alloc.block
        terminator = block.operations[len(block.operations) - 1]
        if not _escapes(alloc.results[0]):
            with ir.InsertionPoint(terminator), alloc.location:
                memref.dealloc(alloc.results[0])


def _escapes(value: ir.Value) -> bool:
    for use in value.uses:
        user = use.owner
        if user.operation.name in _ESCAPES:
            return True
        if user.operation.name in _VIEWS and _escapes(user.operation.results[0]):
            return True
    return False
