"""Which contractions are GEMMs, and their register tiles."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import find_dot_product
from relax_mlir.lowering.tir_to_vector.contraction.matrix_tile import TILE_ROWS
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import VECTORS
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess
from relax_mlir.lowering.tir_to_vector.index_emit import ceil_div


@dataclass(frozen=True)
class ProductTile:
    """The largest register tile of a GEMM.

    Attributes:
        rows, vectors: how many.
        panel: the iterator over the panels of a packed B, or None.
    """

    rows: int
    vectors: int
    panel: int | None = None


def product_tile(gemm: Contraction, machine: Machine) -> ProductTile:
    """Return the register tile of a contraction."""
    lanes = machine.lanes(gemm.element)
    assert lanes is not None  # contractions of other elements are left to plain loops
    dot = find_dot_product(gemm, machine)
    matrices = dot is not None and dot.matrices
    # A dot-product instruction needs panels in VNNI layout.
    if (dot is not None) == (gemm.group > 1):
        for rows, vectors in ((TILE_ROWS, VECTORS),) if matrices else machine.product_tiles:
            panel = panel_iter(gemm, vectors * lanes)
            if panel is not None:
                return ProductTile(rows, vectors, panel)
    if matrices:
        return ProductTile(TILE_ROWS, VECTORS)
    columns = gemm.flat.iters[gemm.n].extent.value
    several = None if columns is None else ceil_div(columns, lanes)
    # Two or four vectors need no tile of three; integers need a register for products.
    twos = several is not None and several in (0, 1, 2, 4)
    integers = isinstance(gemm.element, ir.IntegerType)
    first = dot is None and not integers and not twos
    return ProductTile(*machine.product_tiles[0 if first else -1])


def panel_iter(gemm: Contraction, width: int) -> int | None:
    """Return the iterator over the panels of a packed B, None if it is not packed.

    Panels have a multiple of `width` columns, contiguous for each step of k, and all other accesses
    walk the columns as if there were no panels.
    """
    columns = gemm.flat.iters[gemm.n].extent.value
    if columns is None or columns % width:
        return None
    if gemm.b.strides[gemm.n] != 1 or gemm.b.strides[gemm.k] != columns:
        return None
    read = (gemm.a, gemm.b)
    others = [x for x in gemm.flat.accesses.values() if x not in read]
    for position in gemm.outer:
        if gemm.a.strides[position] == 0 and all(
            x.strides[position] == x.strides[gemm.n] * columns for x in others
        ):
            return position
    return None


def is_matrix_product(gemm: Contraction, machine: Machine) -> bool:
    """Whether a contraction is a GEMM: a sum over one iterator, with adjacent columns.

    A convolution is not, nor are weights in blocks that are no panels of register tiles.
    """
    lanes = machine.lanes(gemm.element)
    if lanes is None or gemm.outer_reductions or gemm.c.strides[gemm.n] != 1:
        return False
    panel = product_tile(gemm, machine).panel
    batch = [i for i in gemm.outer if i != panel]
    return all(gemm.a.strides[i] != 0 and gemm.b.strides[i] != 0 for i in batch)


def is_sum_of_products(gemm: Contraction, machine: Machine) -> bool:
    """Whether a contraction is a sum of GEMMs.

    The outer sum walks distinct elements of A and B, unlike a window, and each operand is read in
    order.
    """
    if machine.lanes(gemm.element) is None or gemm.outer or gemm.m is None:
        return False
    if gemm.a.strides[gemm.k] != 1 or gemm.b.strides[gemm.n] != 1:
        return False
    return len(gemm.outer_reductions) == 1 and all(
        _is_read_once(gemm, access) for access in (gemm.a, gemm.b)
    )


def _is_read_once(gemm: Contraction, access: FlatAccess) -> bool:
    """Whether no two steps read the same element of an operand."""
    walks = []
    for it, stride in zip(gemm.flat.iters, access.strides, strict=True):
        if stride.value == 0:
            continue
        if stride.value is None or it.extent.value is None:
            return False
        walks.append((stride.value, it.extent.value))
    reach = 0
    for stride, extent in sorted(walks):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True
