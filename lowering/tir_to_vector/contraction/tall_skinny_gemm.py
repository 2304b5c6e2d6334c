"""Tall-skinny GEMM: many rows, few columns.

Vectors of columns would be mostly empty, so lanes run along k: C^T = B^T A^T with a packed copy of
B^T, whose few rows are those of a skinny GEMM.
"""

from dataclasses import replace
from functools import cache

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import EpilogueEmitter, take_epilogue
from relax_mlir.lowering.tir_to_vector.contraction.gemm import SKINNY_MAX_ROWS, GemmWriter
from relax_mlir.lowering.tir_to_vector.contraction.operands import Layout, Loader
from relax_mlir.lowering.tir_to_vector.contraction.packing import copy_rows
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    Contraction,
    find_dot_product,
    is_matrix_product,
    is_sum_of_products,
    match_packed_contraction,
    product_tile,
)
from relax_mlir.lowering.tir_to_vector.contraction.skinny_gemm import SkinnyGemm
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, Span, round_up
from relax_mlir.lowering.tir_to_vector.kernel_class import (
    Candidate,
    Condition,
    KernelClass,
    Nests,
    Problem,
    Writer,
)
from relax_mlir.lowering.tir_to_vector.nest_cost import (
    FMA_LATENCY,
    Size,
    Work,
    bits_of,
    step_cycles,
    tile_work,
)

# Steps of k for each column from which on a horizontal sum pays.
_STEPS_EACH = 32
# Rows from which on copying B pays.
_MIN_ROWS = 16
# Cycles of an FMA unit that the conversion of a vector of B to the type of the sum takes, by
# `benchmarks/kernels.py --only w[48].*_1x4096`, Zen 4.
_CONVERSION = 1.7
# Rows whose epilogues are computed together.
_TOGETHER = 16


def _match_gemm(nests: Nests) -> Problem | str:
    gemm = nests.once(match_packed_contraction)
    if isinstance(gemm, str):
        return gemm
    if is_matrix_product(gemm, nests.machine) or is_sum_of_products(gemm, nests.machine):
        return _match_contraction(nests)
    return "it is no sum of products of matrices"


def _match_contraction(nests: Nests) -> Problem | str:
    gemm = nests.once(match_packed_contraction)
    if isinstance(gemm, str):
        return gemm
    if nests.machine.lanes(gemm.element) is None:
        return "its sums have no vector form"
    whole = take_epilogue(nests.nest, nests.tops[1:], nests.machine) or gemm
    return Problem(whole.nests, whole, "contraction", nests.nest)


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    gemm: Contraction = problem.form
    dot, tile = find_dot_product(gemm, machine), product_tile(gemm, machine)
    lanes, (m, *_) = machine.isa.lanes(bits_of(gemm.element)), _extents(gemm)
    rows = 1 if gemm.m is None else min(tile.rows, tile.rows if m is None else m)
    widths = [bits_of(access.buffer.type.element_type) for access in gemm.flat.accesses.values()]
    is_narrow = dot is None and min(widths) < bits_of(gemm.element)

    @cache
    def writer(emit: Emitter) -> GemmWriter:
        return GemmWriter(gemm, emit)

    def few_columns(emit: Emitter) -> Bool:
        return _is_tall_skinny(gemm, emit, machine)

    def one_column(emit: Emitter) -> Bool:
        if few_columns(emit) is not False or not _may_be_single(gemm, machine):
            return False
        return emit.compare("eq", emit.size(gemm.flat.iters[gemm.n].extent), 1)

    def candidate(
        name: str, write: Writer, rows: int, vectors: int, when: Condition | None = None
    ) -> Candidate:
        def work(size: Size) -> Work:
            products = 1 if dot is None else dot.group
            # One row has sums of several panels, and converts each element for one product.
            single = step_cycles(1, FMA_LATENCY) + _CONVERSION * is_narrow
            each = step_cycles(rows, vectors) if rows > 1 else single
            return tile_work(gemm.flat, machine, size, each, products)

        return Candidate(name, write, work, (rows, vectors * lanes), when)

    def tall(name: str, when: Condition, alone: bool) -> Candidate:
        def write(emit: Emitter, _: Machine) -> None:
            _TallSkinnyGemm(gemm, emit, alone).skinny()

        return candidate(name, write, 1, 1, when)

    return [
        tall("tall-skinny", few_columns, False),
        tall("one column", one_column, True),
        candidate(
            "skinny" if tile.panel is None else "GEMV of packed panels",
            lambda emit, _: writer(emit).skinny(), min(rows, SKINNY_MAX_ROWS), tile.vectors,
            lambda emit: writer(emit).is_skinny(),
        ),
        candidate("tiles", lambda emit, _: writer(emit).tiles(), rows, tile.vectors),
    ]  # fmt: skip


GEMM = KernelClass("GEMM", _match_gemm, _candidates)
CONTRACTION = KernelClass("sums of GEMMs", _match_contraction, _candidates)


def _is_tall_skinny(gemm: Contraction, emit: Emitter, machine: Machine) -> Bool:
    """Return whether columns are so few that rows are best read along k."""
    m, _, k = _extents(gemm)
    if not _is_plain(gemm, machine) or find_dot_product(gemm, machine) is not None:
        return False
    few = (m is not None and m < _MIN_ROWS) or (k is not None and k < _STEPS_EACH)
    if few or gemm.a.strides[gemm.k] != 1:
        return False
    lanes = machine.isa.lanes(gemm.element.width)
    size = machine.l2_bytes // 2 // (gemm.element.width // 8)
    columns, steps = (emit.size(gemm.flat.iters[i].extent) for i in (gemm.n, gemm.k))
    # A single column needs no copy.
    pays = columns * _STEPS_EACH <= steps + _STEPS_EACH // 2
    return (columns <= lanes // 2) & pays & (columns * steps <= size)


def _extents(gemm: Contraction) -> list[int | None]:
    """Return the rows, columns and steps of k, None for dynamic ones."""
    positions = (gemm.m, gemm.n, gemm.k)
    return [None if i is None else gemm.flat.iters[i].extent.value for i in positions]


def _may_be_single(gemm: Contraction, machine: Machine) -> bool:
    """Whether run time may find one column, by which A is multiplied in memory order.

    Then even dot-product instructions or register tiles are no gain.
    """
    if not _is_plain(gemm, machine) or gemm.flat.iters[gemm.n].extent.value is not None:
        return False
    return 1 in (gemm.a.strides[gemm.k], gemm.a.strides[gemm.m])


def _is_plain(gemm: Contraction, machine: Machine) -> bool:
    """Whether there are rows, and a sum is one loop over memory."""
    if machine.lanes(gemm.element) is None or gemm.m is None or gemm.outer_reductions:
        return False
    return gemm.computed is None and gemm.group == 1


class _TallSkinnyGemm(GemmWriter):
    """Writes the kernel; in its contraction rows and columns are exchanged.

    Args:
        gemm: the contraction, as it was.
        emit: where to write.
        alone: whether there is one column.
    """

    def __init__(self, gemm: Contraction, emit: Emitter, alone: bool) -> None:
        assert gemm.m is not None  # or it would be no such GEMM
        a, b, m, n = gemm.b, gemm.a, gemm.n, gemm.m
        widen = gemm.widen[::-1]
        super().__init__(replace(gemm, a=a, b=b, m=m, n=n, widen=widen, epilogue=None), emit)
        if alone:
            self.blocking.m = 1
        if gemm.epilogue is not None:
            self.finish = EpilogueEmitter(gemm.epilogue, gemm.c.buffer, gemm.n, emit)
            self.c = Layout(gemm.epilogue.partial or gemm.c, emit)

    def skinny(self) -> None:
        """Write the kernel that reads A once, in order."""
        emit, gemm, blocking = self.emit, self.gemm, self.blocking
        distance = round_up(blocking.k, blocking.lanes)
        room = blocking.m * distance
        with self._loops(1, whole_rows=True) as (env, rows, _):
            a, b, c = (x.at(env) for x in (blocking.a, blocking.b, self._sums))
            left = None
            if gemm.b.strides[gemm.k] == 1 and a.stride(gemm.k) != 1:
                # Columns of B become rows.
                copies = emit.alloc_scratch(room, gemm.element)
                columns = replace(a, strides={"m": a.stride(gemm.m), "k": a.stride(gemm.k)})
                load = Loader(emit, a.base, gemm.widen[0], blocking.vector)
                copy_rows(load, columns, blocking.m, blocking.k, copies, distance)
                a = StridedRef(copies, 0, {gemm.m: distance, gemm.k: 1})
                left = Loader(emit, copies, None, blocking.vector)
            SkinnyGemm(blocking, self.init, a, b, c, left).write(*rows)
            if self.finish is not None:
                self._finish_skinny(self.finish, env, c, rows)

    def _finish_skinny(
        self, finish: EpilogueEmitter, env: dict[int, Index], c: StridedRef, columns: Span
    ) -> None:
        """Compute the epilogue of the sums of each row by one vector.

        Several rows are read before the first is stored: a load waits for masked stores that end
        where it begins.
        """
        emit, blocking, many = self.emit, self.blocking, self.gemm.n
        mask: ir.Value | None = emit.mask(blocking.m, blocking.lanes)
        (first, last), lanes = columns, blocking.lanes
        sums = emit.alloc(_TOGETHER * lanes, blocking.gemm.element)
        with emit.blocks(first, last, _TOGETHER) as (start, end):
            with emit.loop(start, end) as row:
                place = c.offset + row.counter * c.stride(many)
                value = emit.vector_load(c.base, [place], blocking.vector, mask)
                to = (row.counter - start) * lanes
                emit.vector_store(value, sums, [to])
            with emit.loop(start, end) as row:
                put = finish.at({**env, many: row.counter})
                at = (row.counter - start) * lanes
                put(emit.vector_load(sums, [at], blocking.vector), 0, mask)
