"""Matching contractions: `C[.., m, n] += A[.., m, k] * B[.., k, n]` in any layout.

B may also be packed: `B[j, p, i, q]` has groups of g steps for each column (VNNI layout), k is
`p * g + q`; and panels `f(B[j, k, i], s[j, i], ..)` are dequantized when they are read.
"""

from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import (
    TILE_ROWS,
    DotProduct,
    intrinsic_of,
    is_signed,
    vector_dot_product,
)
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatIter, FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import ceil_div
from relax_mlir.lowering.walk import defining_op, operands_of

_ADD = ("arith.addf", "arith.addi")
_MUL = ("arith.mulf", "arith.muli")
_WIDEN = ("arith.extf", "arith.extsi", "arith.extui")


@dataclass
class Epilogue:
    """Nests over the results of a contraction, in order.

    Attributes:
        nests: over the contraction's iterators; each stores an element for each sum.
        partial: where incomplete sums may be; None for the contraction's buffer.
    """

    nests: list[FlatNest]
    partial: FlatAccess | None = None


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
        epilogue: what happens to every sum before it is stored, or None.
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
    epilogue: Epilogue | None = None

    @property
    def element(self) -> ir.Type:
        """The type of the sum."""
        return self.c.buffer.type.element_type

    @property
    def nests(self) -> list[Nest]:
        """The nest and those of its epilogue."""
        maps = () if self.epilogue is None else self.epilogue.nests
        return [self.flat.nest, *(each.nest for each in maps)]


def match_contraction(flat: FlatNest) -> Contraction | str:
    """Return how a reduction is a contraction, or why it is none."""
    product = match_product(flat)
    return product if isinstance(product, str) else assign(flat, *product)


def match_product(flat: FlatNest) -> tuple[list[tuple[FlatAccess, str | None]], FlatAccess] | str:
    """Return the two factors of a sum of products, each with its conversion, and the sum.

    For other nests return why they are none.
    """
    factors = factors_of(flat)
    if factors is None:
        return "does not add products"
    sides = [side for factor in factors if (side := loaded(flat, factor)) is not None]
    if len(sides) < len(factors):
        return "does not multiply two loads"
    loads = [op for op in flat.slice if op.name == "memref.load"]
    if len(flat.slice) != 1 + len(loads) + sum(widen is not None for _, widen in sides):
        return "computes more than a product and a sum"
    return sides, flat.accesses[flat.store]


def factors_of(flat: FlatNest) -> list[ir.Value] | None:
    """Return the two factors of a reduction's products, None for other reductions."""
    if flat.total is None or flat.combiner not in _ADD:
        return None
    return operands_of(flat.value, *_MUL)


def loaded(flat: FlatNest, factor: ir.Value) -> tuple[FlatAccess, str | None] | None:
    """Return the load of a factor and its conversion, None if it is computed."""
    value, widen = widened(factor)
    for op in flat.slice:
        if op.name == "memref.load" and op.results[0] == value:
            return flat.accesses[op], widen
    return None


def widened(value: ir.Value) -> tuple[ir.Value, str | None]:
    """Return what a conversion widens, and its name."""
    op = defining_op(value, *_WIDEN)
    return (value, None) if op is None else (op.operands[0], op.name)


def assign(
    flat: FlatNest, sides: list[tuple[FlatAccess, str | None]], c: FlatAccess
) -> Contraction | str:
    """Return which iterators of a sum of products are m, n and k, or why there are none."""
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


_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)


def match_packed_contraction(flat: FlatNest, machine: Machine) -> Contraction | str:
    """Return how a reduction is a contraction, also by an operand in VNNI layout or dequantized.

    The two iterators of a VNNI layout become one.

    Args:
        flat: the nest.
        machine: what for; groups that no instruction of it takes are left as they are.
    """
    gemm = match_contraction(flat)
    if isinstance(gemm, str):
        return _computed(flat, machine) or gemm
    if len(gemm.outer_reductions) != 1 or flat.counters:
        return gemm
    joined = _joined(gemm)
    if joined is None:
        return gemm
    dot = find_dot_product(joined, machine)
    return gemm if dot is None or dot.group != joined.group else joined


def _joined(gemm: Contraction) -> Contraction | None:
    """Return a contraction in VNNI layout with one iterator for k, None if it has none."""
    flat, a, b, inner = gemm.flat, gemm.a, gemm.b, gemm.k
    (outer,) = gemm.outer_reductions
    group, columns = (flat.iters[i].extent.value for i in (inner, gemm.n))
    if group is None or columns is None or group < 2 or b.offset != 0:
        return None
    expected = {inner: 1, gemm.n: group, outer: group * columns}
    if any(b.strides[i] != stride for i, stride in expected.items()):
        return None
    if a.strides[outer] != a.strides[inner] * group:
        return None
    numbers = [stride.value for stride in b.strides]
    if any(number is None or number % group for i, number in enumerate(numbers) if i != inner):
        return None
    if any(
        access.strides[i] != 0
        for access in flat.accesses.values()
        if access is not a and access is not b
        for i in (inner, outer)
    ):
        return None
    strides = [SymExpr.const((number or 0) // group) for number in numbers]
    strides[inner], strides[gemm.n] = SymExpr.const(columns), _ONE
    iters = list(flat.iters)
    iters[inner] = FlatIter(iters[outer].extent * group, True)
    del iters[outer]

    def walk(access: FlatAccess) -> list[SymExpr]:
        steps = strides if access is b else access.strides
        return [step for i, step in enumerate(steps) if i != outer]

    joined = match_contraction(flat.walked(walk, iters))
    return None if isinstance(joined, str) else replace(joined, group=group)


def _computed(flat: FlatNest, machine: Machine) -> Contraction | None:
    """Return a contraction by dequantized panels, None if the nest is none."""
    factors = factors_of(flat)
    if factors is None:
        return None
    for a, b in (factors, factors[::-1]):
        side = loaded(flat, a)
        if side is None or loaded(flat, b) is not None:
            continue
        ops = flat.slice_of(b)
        keys = [op for op in ops if op in flat.accesses]
        if not keys or b.type != flat.store.operands[0].type:
            return None
        key = max(keys, key=lambda op: sum(bool(s != 0) for s in flat.accesses[op].strides))
        access = flat.accesses[key]
        gemm = assign(flat, [side, (access, None)], flat.accesses[flat.store])
        if isinstance(gemm, str) or gemm.b is not access:
            return None
        steps = [flat.accesses[op].strides[gemm.n] for op in keys]
        if machine.lanes(gemm.element) is None or any(step not in (0, 1) for step in steps):
            return None
        accesses = {op: flat.accesses[op] for op in keys}
        computed = replace(
            flat, accesses=accesses, total=None, value=b, slice=ops, init=None, final=False
        )
        whole = _by_steps(gemm)
        if whole is None:
            return None
        gemm = replace(whole, computed=computed)
        return None if product_tile(gemm, machine).panel is None else gemm
    return None


def _by_steps(gemm: Contraction) -> Contraction | None:
    """Return a contraction over groups of scales with one iterator over all steps of k.

    The iterators of groups stay, with one step each, so that positions do not change.
    """
    flat, inner = gemm.flat, gemm.k
    walked = flat.iters[inner].extent
    outer = sorted(gemm.outer_reductions, reverse=True)
    if any(position not in outer for position in flat.counters.values()):
        return None
    for position in outer:
        if walked.value is None or gemm.a.strides[position] != gemm.a.strides[inner] * walked:
            return None
        walked *= flat.iters[position].extent
    if not outer:
        return gemm
    a, b = (next(op for op, x in flat.accesses.items() if x is side) for side in (gemm.a, gemm.b))
    iters = [FlatIter(_ONE, True) if i in outer else it for i, it in enumerate(flat.iters)]
    iters[inner] = FlatIter(walked, True)
    joined = flat.walked(
        lambda x: [_ZERO if i in outer else s for i, s in enumerate(x.strides)], iters, counters={}
    )
    accesses = joined.accesses
    return replace(
        gemm, flat=joined, a=accesses[a], b=accesses[b], c=accesses[flat.store],
        outer_reductions=[], grouped=tuple(reversed(outer)),
    )  # fmt: skip


# Columns and steps of k from which on matrix tiles are worth their setup.
_MIN_EXTENT = 8


def find_dot_product(gemm: Contraction, machine: Machine) -> DotProduct | None:
    """Return the dot-product instruction of a contraction, None if the machine has none.

    Integer sums are exact modulo 2**32. The instruction for bytes takes unsigned and signed
    operands and does not saturate.
    """
    if gemm.computed is not None:
        return None
    element = str(gemm.element)
    types = [str(access.buffer.type.element_type) for access in (gemm.a, gemm.b)]
    if element == "f32" and types == ["bf16", "bf16"]:
        name = _matrix_intrinsic("amx_bf16", gemm, machine)
        if name is not None:
            return DotProduct(name, ir.BF16Type.get(), 2, matrices=True)
    if element == "i32" and types == ["i8", "i8"]:
        name = _matrix_intrinsic("amx_int8", gemm, machine)
        if name is not None:
            name = name.format("".join("s" if is_signed(widen) else "u" for widen in gemm.widen))
            return DotProduct(name, ir.IntegerType.get_signless(8), 4, matrices=True)
    return vector_dot_product((gemm.a, gemm.b), gemm.widen, gemm.element, machine)


def _matrix_intrinsic(kind: str, gemm: Contraction, machine: Machine) -> str | None:
    """Return the instruction on matrix tiles, None if tiles would be mostly empty."""
    extents = (gemm.flat.iters[i].extent.value for i in (gemm.n, gemm.k))
    if any(extent is not None and extent < _MIN_EXTENT for extent in extents):
        return None
    return intrinsic_of(kind, machine)


# Vectors of a row of a register tile.
VECTORS = 2


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
    lanes = machine.isa.lanes(gemm.element.width)
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
    if machine.lanes(gemm.element) is None or gemm.outer_reductions or gemm.c.strides[gemm.n] != 1:
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
