"""Pass `expand-copy`: a `memref.copy` that is not one run of memory becomes a loop nest.

MLIR lowers such a copy to a call of `memrefCopy`, which only MLIR's own runner library has; copies
between row-major buffers become `memcpy` and are left alone.
"""

from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.lowering.walk import named

arith: ModuleType = submodule("dialects.arith")
memref: ModuleType = submodule("dialects.memref")
scf: ModuleType = submodule("dialects.scf")


def expand_copy(op: ir.Operation) -> None:
    """Replace strided `memref.copy` operations by `scf.for` nests that load and store."""
    for copy in named(op, ("memref.copy",)):
        if all(is_row_major(v.type) for v in copy.operands):
            continue
        with ir.InsertionPoint(copy), copy.location:
            source, target = copy.operands
            _nest(source, target, [])
        copy.erase()


def is_row_major(type_: ir.Type) -> bool:
    """Whether a type is a buffer without gaps or reordering, written as no layout at all."""
    if not isinstance(type_, ir.MemRefType):
        return False
    return type_.affine_map == ir.AffineMap.get_identity(type_.rank)


def _nest(source: ir.Value, target: ir.Value, indices: list[ir.Value]) -> None:
    rank = ir.MemRefType(source.type).rank
    if len(indices) == rank:
        memref.store(memref.load(source, indices), target, indices)
        return
    index = ir.IndexType.get()
    axis, zero, one = (arith.constant(index, value) for value in (len(indices), 0, 1))
    loop = scf.ForOp(zero, memref.dim(source, axis), one)
    with ir.InsertionPoint(loop.body):
        _nest(source, target, [*indices, loop.induction_variable])
        scf.yield_([])
