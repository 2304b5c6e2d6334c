"""Contractions of many rows with a few columns: each row is read once, along its steps.

Tiles have vectors of columns; of a few columns most lanes of one would be empty. So vectors run
along k: rows of A are what columns of B are elsewhere, and a copy of B turned is the few rows.
"""

from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import find_dot_product
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import Epilogue, EpilogueEmitter
from relax_mlir.lowering.tir_to_vector.contraction.gemm import GemmWriter, emit_contraction
from relax_mlir.lowering.tir_to_vector.contraction.gemm_blocking import Span
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import StridedRef
from relax_mlir.lowering.tir_to_vector.contraction.operands import Layout
from relax_mlir.lowering.tir_to_vector.contraction.packing import Loader
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.contraction.skinny_gemm import SkinnyGemm
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# A sum's lanes are added up once: that pays from so many steps on for each column.
_STEPS_EACH = 32
# With fewer rows B is not copied for them.
_MIN_ROWS = 16
# Rows whose sums are finished together.
_TOGETHER = 16


def emit_product(
    gemm: Contraction, emit: Emitter, machine: Machine, epilogue: Epilogue | None = None
) -> None:
    """Write the kernel of a contraction, by tiles or along k, as `emit_contraction` does.

    Where columns and steps of k are known at run time only, there is code for both.
    """
    skinny = is_tall_skinny(gemm, machine) or _at_run_time(gemm, emit, machine)
    alone = skinny is False and _may_be_single(gemm, machine)
    if alone:
        skinny = emit.compare("eq", emit.size(gemm.flat.iters[gemm.n].extent), 1)
    emit.choose(
        skinny,
        lambda: _TallSkinnyGemm(gemm, emit, machine, epilogue, alone).skinny(),
        lambda: emit_contraction(gemm, emit, machine, epilogue),
    )


def is_tall_skinny(gemm: Contraction, machine: Machine) -> bool:
    """Whether so few columns of known length share rows that these are best read along k."""
    m, n, k = _extents(gemm)
    if n is None or k is None or not _could_be_read(gemm, machine):
        return False
    if m is not None and m < _MIN_ROWS:
        return False
    most, size = _limits(gemm, machine)
    return n <= most and k >= _STEPS_EACH * n and n * k <= size


def _at_run_time(gemm: Contraction, emit: Emitter, machine: Machine) -> bool | ir.Value:
    """Return the same where the number of columns, or of steps, is known at run time only."""
    _, n, k = _extents(gemm)
    if (n is not None and k is not None) or not _could_be_read(gemm, machine):
        return False
    most, size = _limits(gemm, machine)
    if (n or 0) > most or (k is not None and k < _STEPS_EACH):
        return False
    columns, steps = (emit.size(gemm.flat.iters[i].extent) for i in (gemm.n, gemm.k))
    skinny = emit.compare("sle", columns, most)
    for value, limit in (
        # A single column has fewer sums to add up than its lanes have, and is not copied.
        (emit.mul(columns, _STEPS_EACH), emit.add(steps, _STEPS_EACH // 2)),
        (emit.mul(columns, steps), size),
    ):
        skinny = emit.both(skinny, emit.compare("sle", value, limit))
    return skinny


def _extents(gemm: Contraction) -> list[int | None]:
    """Return how many rows, columns and steps of k there are, None for what is not known."""
    positions = (gemm.m, gemm.n, gemm.k)
    return [None if i is None else gemm.flat.iters[i].extent.value for i in positions]


def _limits(gemm: Contraction, machine: Machine) -> tuple[int, int]:
    """Return how many columns are few, and how many elements of B are."""
    lanes = machine.lanes(gemm.element)
    assert lanes is not None  # or rows could not be read along k
    return lanes // 2, machine.l2_bytes // 2 // (gemm.element.width // 8)


def _could_be_read(gemm: Contraction, machine: Machine) -> bool:
    """Whether rows can be read along k, however many columns share them."""
    if not _is_plain(gemm, machine) or gemm.a.strides[gemm.k] != 1:
        return False
    return find_dot_product(gemm, machine) is None


def _may_be_single(gemm: Contraction, machine: Machine) -> bool:
    """Whether run time may find one column, by which A is multiplied in the order it lies in.

    For that even instructions that multiply some steps at once, or rows, are no gain.
    """
    if not _is_plain(gemm, machine) or gemm.m is None or gemm.n is None:
        return False
    if gemm.flat.iters[gemm.n].extent.value is not None:
        return False
    return 1 in (gemm.a.strides[gemm.k], gemm.a.strides[gemm.m])


def _is_plain(gemm: Contraction, machine: Machine) -> bool:
    """Whether there are rows, sums of which are one loop over what lies in memory."""
    if machine.lanes(gemm.element) is None or gemm.m is None or gemm.outer_reductions:
        return False
    return gemm.computed is None and gemm.group == 1


def _transpose_of(gemm: Contraction) -> Contraction:
    """Return the same contraction with its rows for columns."""
    assert gemm.m is not None
    return replace(
        gemm, a=gemm.b, b=gemm.a, widen=gemm.widen[::-1], m=gemm.n, n=gemm.m
    )  # fmt: skip


class _TallSkinnyGemm(GemmWriter):
    """Writes the kernel; in its contraction rows and columns are exchanged.

    Args:
        gemm: the contraction, as it was.
        emit: where to write.
        machine: what for.
        epilogue: what happens to every sum before it is stored.
        alone: whether there is one column.
    """

    def __init__(
        self, gemm: Contraction, emit: Emitter, machine: Machine, epilogue: Epilogue | None,
        alone: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(_transpose_of(gemm), emit, machine, None)
        if alone:
            self.blocking.m = 1
        if epilogue is not None:
            self.finish = EpilogueEmitter(epilogue, gemm.c.buffer, gemm.n, emit, machine)
            self.c = Layout(epilogue.partial or gemm.c, emit)

    def skinny(self) -> None:
        """Write the kernel that reads A once, as it lies."""
        emit, gemm, blocking = self.emit, self.gemm, self.blocking
        distance = emit.round_down(emit.add(blocking.k, blocking.lanes - 1), blocking.lanes)
        room = emit.mul(blocking.m, distance)
        with self._loops(1, whole_rows=True) as (env, rows, _):
            a, b, c = (x.at(env) for x in (blocking.a, blocking.b, self._sums))
            left = None
            if gemm.b.strides[gemm.k] == 1 and a.stride(gemm.k) != 1:
                a, left = self._transposed(a, emit.alloc_scratch(room, gemm.element), distance)
            most = blocking.m if isinstance(blocking.m, int) else blocking.lanes // 2
            kernel = SkinnyGemm(emit, self.machine, gemm, blocking.vector, self.init, most, left)
            kernel.write(a, b, c, blocking.m, rows, blocking.k)
            if self.finish is not None:
                self._finish_skinny(self.finish, env, c, blocking.m, rows)

    def _transposed(
        self, a: StridedRef, copies: ir.Value, distance: Index
    ) -> tuple[StridedRef, Loader]:
        """Copy columns of B as rows, and return where they are and what loads them.

        Args:
            a: the first element of B.
            copies: room for the copies.
            distance: from one of them to the next.
        """
        emit, gemm, blocking = self.emit, self.gemm, self.blocking
        load = Loader(emit, a.base, gemm.widen[0], blocking.vector)
        along, across = a.stride(gemm.k), a.stride(gemm.m)
        # A single column may lie as it should.
        lies = None
        if not isinstance(along, int) and gemm.widen[0] is None:
            lies = emit.compare("eq", along, 1)
        upto = blocking.k if lies is None else emit.select(lies, 0, blocking.k)
        with emit.loop(0, upto) as p, emit.loop(0, blocking.m) as row:
            place = emit.add(a.offset, emit.mul(p.counter, along))
            value = load.one(emit.add(place, emit.mul(row.counter, across)))
            emit.store(value, copies, [emit.add(emit.mul(row.counter, distance), p.counter)])
        if lies is None:
            transposed = StridedRef(copies, 0, {gemm.m: distance, gemm.k: 1})
            return transposed, Loader(emit, copies, None, blocking.vector)
        base = emit.select(lies, emit.dynamic(a.base), emit.dynamic(copies))
        first, apart = emit.select(lies, a.offset, 0), emit.select(lies, across, distance)
        # A buffer of its own: a choice of buffers is made where it is used, in every loop.
        base = emit.from_place(base, first, emit.mul(apart, blocking.m))
        transposed = StridedRef(base, 0, {gemm.m: apart, gemm.k: 1})
        return transposed, Loader(emit, base, None, blocking.vector)

    def _finish_skinny(
        self,
        finish: EpilogueEmitter,
        env: dict[int, Index],
        c: StridedRef,
        rows: Index,
        columns: Span,
    ) -> None:
        """Finish the few sums of each row by one vector.

        Some rows are read before the first is stored: a load waits for stores by masks that end
        where it begins.
        """
        emit, blocking, many = self.emit, self.blocking, self.gemm.n
        mask: ir.Value | None = emit.mask(rows, blocking.lanes)
        (first, last), lanes = columns, blocking.lanes
        sums = emit.alloc(_TOGETHER * lanes, blocking.gemm.element)
        with emit.loop(first, last, _TOGETHER) as block:
            end = emit.min(emit.add(block.counter, _TOGETHER), last)
            with emit.loop(block.counter, end) as row:
                place = emit.add(c.offset, emit.mul(row.counter, c.stride(many)))
                value = emit.vector_load(c.base, [place], blocking.vector, mask)
                to = emit.mul(emit.sub(row.counter, block.counter), lanes)
                emit.vector_store(value, sums, [to])
            with emit.loop(block.counter, end) as row:
                put = finish.at({**env, many: row.counter})
                at = emit.mul(emit.sub(row.counter, block.counter), lanes)
                put(emit.vector_load(sums, [at], blocking.vector), 0, mask)
