"""Contractions of many rows with a few columns: each row is read once, along its steps.

Tiles have vectors of columns; of a few columns most lanes of one would be empty. So vectors run
along k: rows of A are what columns of B are elsewhere, and a copy of B turned is the few rows.
"""

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction import Contraction
from relax_mlir.lowering.tir_to_vector.dot_product import find_dot_product
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.epilogue import Epilogue, Finish
from relax_mlir.lowering.tir_to_vector.few_rows import FewRows
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.matmul import ContractionWriter, emit_contraction
from relax_mlir.lowering.tir_to_vector.matmul_sizes import Span
from relax_mlir.lowering.tir_to_vector.microkernel import Flat
from relax_mlir.lowering.tir_to_vector.operands import Layout
from relax_mlir.lowering.tir_to_vector.packing import Loader

# A sum's lanes are added up once: that pays from so many steps on for each column.
_STEPS_EACH = 32
# With fewer rows B is not copied for them.
_LEAST_ROWS = 16


def emit_product(
    found: Contraction, emit: Emitter, machine: Machine, epilogue: Epilogue | None = None
) -> None:
    """Write the kernel of a contraction, by tiles or along k, as `emit_contraction` does."""
    if has_few_columns(found, machine):
        _FewColumns(found, emit, machine, epilogue).few()
    else:
        emit_contraction(found, emit, machine, epilogue)


def has_few_columns(found: Contraction, machine: Machine) -> bool:
    """Whether so few columns of known length share rows that these are best read along k."""
    lanes, iters = machine.lanes(found.element), found.flat.iters
    if lanes is None or found.m is None or found.outer_reductions or found.computed is not None:
        return False
    if found.a.strides[found.k] != 1 or found.group > 1:
        return False
    m, n, k = (iters[i].extent.value for i in (found.m, found.n, found.k))
    if n is None or k is None or n > lanes // 2 or k < _STEPS_EACH * n:
        return False
    if (m is not None and m < _LEAST_ROWS) or find_dot_product(found, machine) is not None:
        return False
    return n * k * found.element.width // 8 <= machine.l2_bytes // 2


def _exchanged(found: Contraction) -> Contraction:
    """Return the same contraction with its rows for columns."""
    assert found.m is not None
    return replace(
        found, a=found.b, b=found.a, widen=found.widen[::-1], m=found.n, n=found.m
    )  # fmt: skip


class _FewColumns(ContractionWriter):
    """Writes the kernel; in its contraction rows and columns are exchanged."""

    def __init__(
        self, found: Contraction, emit: Emitter, machine: Machine, epilogue: Epilogue | None
    ) -> None:
        super().__init__(_exchanged(found), emit, machine, None)
        if epilogue is not None:
            self.finish = Finish(epilogue, found.c.buffer, found.n, emit, machine)
            self.c = Layout(epilogue.partial or found.c, emit)

    def few(self) -> None:
        """Write the kernel that reads A once, as it lies."""
        emit, found, sizes = self.emit, self.found, self.sizes
        with self._loops(1, whole_rows=True) as (env, rows, _):
            a, b, c = (x.at(env) for x in (sizes.a, sizes.b, self._sums))
            left = None
            if a.stride(found.k) != 1:
                a, left = self._turned(a)
            assert isinstance(sizes.m, int)  # or columns would not be known to be few
            kernel = FewRows(emit, self.machine, found, sizes.vector, self.init, sizes.m, left)
            kernel.write(a, b, c, sizes.m, rows, sizes.k)
            if self.finish is not None:
                self._finish_few(self.finish, env, c, sizes.m, rows)

    def _turned(self, a: Flat) -> tuple[Flat, Loader]:
        """Copy columns of B as rows, and return where they are and what loads them."""
        emit, found, sizes = self.emit, self.found, self.sizes
        assert isinstance(sizes.m, int)  # as above
        assert isinstance(sizes.k, int)
        distance = -(-sizes.k // sizes.lanes) * sizes.lanes
        copies = emit.alloc(sizes.m * distance, found.element)
        load = Loader(emit, a.base, found.widen[0], sizes.vector)
        with emit.loop(0, sizes.k) as p, emit.loop(0, sizes.m) as row:
            along = emit.add(a.offset, emit.mul(p.counter, a.stride(found.k)))
            value = load.one(emit.add(along, emit.mul(row.counter, a.stride(found.m))))
            emit.store(value, copies, [emit.add(emit.mul(row.counter, distance), p.counter)])
        turned = Flat(copies, 0, {found.m: distance, found.k: 1})
        return turned, Loader(emit, copies, None, sizes.vector)

    def _finish_few(
        self, finish: Finish, env: dict[int, Index], c: Flat, rows: Index, columns: Span
    ) -> None:
        """Finish the few sums of each row by one vector."""
        emit, sizes, many = self.emit, self.sizes, self.found.n
        mask: ir.Value | None = emit.mask(rows, sizes.lanes)
        with emit.loop(*columns) as row:
            place: Sequence[Index] = [emit.add(c.offset, emit.mul(row.counter, c.stride(many)))]
            put = finish.at({**env, many: row.counter})
            put(emit.vector_load(c.base, place, sizes.vector, mask), 0, mask)
