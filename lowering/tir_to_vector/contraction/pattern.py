"""Matching contractions: `C[.., m, n] += A[.., m, k] * B[.., k, n]` in any layout."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest

_ADD = ("arith.addf", "arith.addi")
_MUL = ("arith.mulf", "arith.muli")
_WIDEN = ("arith.extf", "arith.extsi", "arith.extui")


@dataclass
class Contraction:
    """A nest that multiplies and adds; iterators are positions in the flat nest.

    Attributes:
        flat: the nest.
        a, b, c: the accesses; b walks along n and a does not.
        widen: for a and b the conversion to the type of the sum, or None.
        m: an iterator of a and c, not of b; None without one.
        n: the iterator along which c's elements are adjacent.
        k: the reduction iterator that the kernel loops over.
        outer: the other spatial iterators.
        outer_reductions: the other reduction iterators.
        columns: how many columns of B's panels are used, the last panel in part; None for all.
        group: steps of k that are adjacent in B's panels (VNNI layout); its strides count groups.
        computed: the nest that dequantizes B's elements, or None.
        grouped: the iterators over groups of scales in that nest, and over parts of those; k walks
            the smallest part.
    """

    flat: FlatNest
    a: FlatAccess
    b: FlatAccess
    c: FlatAccess
    widen: tuple[str | None, str | None]
    m: int | None
    n: int
    k: int
    outer: list[int]
    outer_reductions: list[int]
    columns: int | None = None
    group: int = 1
    computed: FlatNest | None = None
    grouped: tuple[int, ...] = ()

    @property
    def element(self) -> ir.Type:
        """The type of the sum."""
        return self.c.buffer.type.element_type


def match_contraction(flat: FlatNest) -> Contraction | str:
    """Return how a reduction is a contraction, or why it is none."""
    product = match_product(flat)
    return product if isinstance(product, str) else assign(flat, *product)


def match_product(
    flat: FlatNest,
) -> tuple[list[tuple[FlatAccess, str | None]], FlatAccess] | str:
    """Return the two factors of a sum of products, each with its conversion, and the sum.

    For other nests return why they are none.
    """
    factors = factors_of(flat)
    if factors is None:
        return "does not add products"
    sides = []
    for factor in factors:
        side = loaded(flat, factor)
        if side is None:
            return "does not multiply two loads"
        sides.append(side)
    loads = [op for op in flat.slice if op.name == "memref.load"]
    if len(flat.slice) != 1 + len(loads) + sum(widen is not None for _, widen in sides):
        return "computes more than a product and a sum"
    return sides, flat.accesses[flat.store]


def factors_of(flat: FlatNest) -> tuple[ir.Value, ...] | None:
    """Return the two factors of a reduction's products, None for other reductions."""
    if flat.total is None or flat.combiner not in _ADD:
        return None
    return _operands(flat.value, _MUL)


def loaded(flat: FlatNest, factor: ir.Value) -> tuple[FlatAccess, str | None] | None:
    """Return the load of a factor and its conversion, None if it is computed."""
    value, widen = widened(factor)
    for op in flat.slice:
        if op.name == "memref.load" and op.results[0] == value:
            return flat.accesses[op], widen
    return None


def _operands(value: ir.Value, names: tuple[str, ...]) -> tuple[ir.Value, ...] | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name not in names:
        return None
    return tuple(owner.operation.operands)


def widened(value: ir.Value) -> tuple[ir.Value, str | None]:
    """Return what a conversion widens, and its name."""
    for name in _WIDEN:
        operands = _operands(value, (name,))
        if operands is not None:
            return operands[0], name
    return value, None


def assign(
    flat: FlatNest, sides: list[tuple[FlatAccess, str | None]], c: FlatAccess
) -> Contraction | str:
    """Return which iterators of a sum of products are m, n and k, or why there are none.

    Args:
        flat: the nest.
        sides: the factors, each with its conversion.
        c: the sum.
    """
    spatial = [i for i, it in enumerate(flat.iters) if not it.reduction]
    reductions = [i for i, it in enumerate(flat.iters) if it.reduction]
    adjacent = [i for i in spatial if c.strides[i] == 1]
    if not adjacent:
        return "it does not write adjacent elements"
    if not reductions:
        return "it reduces over one element"
    n = adjacent[-1]
    along = [bool(access.strides[n] != 0) for access, _ in sides]
    if along[0] == along[1]:
        return "the innermost dimension written is not in exactly one operand"
    (a, a_widen), (b, b_widen) = sides if along[1] else sides[::-1]
    # A is read element by element, so its order matters most.
    k = max(
        reductions, key=lambda i: (bool(a.strides[i] == 1), 1 in (b.strides[n], b.strides[i]), i)
    )
    rows = [i for i in spatial if i != n and b.strides[i] == 0 and a.strides[i] != 0]
    m = rows[-1] if rows else None
    return Contraction(
        flat, a, b, c, (a_widen, b_widen), m, n, k,
        [i for i in spatial if i not in (m, n)], [i for i in reductions if i != k],
    )  # fmt: skip
