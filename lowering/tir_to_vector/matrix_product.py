"""Which contractions are products of matrices, and which have their right-hand side in panels."""

from relax_mlir.lowering.tir_to_vector.contraction import Contraction
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.microkernel import VECTORS


def panel_iter(found: Contraction, width: int) -> int | None:
    """Return the iterator over panels that B consists of, None where it does not.

    Panels have a number of columns that register tiles divide, beside each other for each step of
    k; and whatever else sees them walks their columns as if there were no panels.
    """
    columns = found.flat.iters[found.n].extent.value
    if columns is None or columns % width or found.widen[1] is not None:
        return None
    if found.b.strides[found.n] != 1 or found.b.strides[found.k] != columns:
        return None
    read = (found.a, found.b)
    others = [x for x in found.flat.accesses.values() if x not in read]
    for position in found.outer:
        if found.a.strides[position] == 0 and all(
            x.strides[position] == x.strides[found.n] * columns for x in others
        ):
            return position
    return None


def is_matrix_product(found: Contraction, machine: Machine) -> bool:
    """Whether a contraction is one of matrices: a sum over one iterator, columns adjacent.

    A window over an image is not, though it may be a contraction; nor are kernels in other blocks
    than the panels that register tiles take.
    """
    lanes = machine.lanes(found.element)
    if lanes is None or found.outer_reductions or found.c.strides[found.n] != 1:
        return False
    panel = panel_iter(found, VECTORS * lanes)
    batch = [i for i in found.outer if i != panel]
    return all(found.a.strides[i] != 0 and found.b.strides[i] != 0 for i in batch)
