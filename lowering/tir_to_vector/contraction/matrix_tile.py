"""Register tiles in matrix tiles (Intel AMX).

Each of eight registers has sixteen rows of sixteen groups of 32 bits. Four hold the sums of a tile
of 32 rows and columns, two its rows of A, and two its columns of B; one instruction multiplies two
of them. Rows and columns past an operand's end are multiplied by zeros, or not stored. See Intel's
Architecture Instruction Set Extensions manual, chapter 3.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.amx_permission import PERMISSION
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, call_intrinsic
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import StridedRef
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div

# Rows of a register, and groups of each.
SIDE = 16
# Rows of a tile: two registers high.
TILE_ROWS = 2 * SIDE
_GROUP_BYTES = 4
# The numbers of the registers: sums by row and column, then A's and B's.
_SUMS, _LEFT, _RIGHT = ((0, 1), (2, 3)), (4, 5), (6, 7)
# The operand of `ldtilecfg`, in words of eight bytes: the palette, the bytes of a row and the
# number of rows of each register.
_SHAPES = (1, 0, 0x0040004000400040, 0x0040004000400040, 0, 0, 0x1010101010101010, 0)
_DENIED = "the system does not give this process the matrix registers (AMX) it was compiled for"


def ask_permission(emit: Emitter) -> None:
    """Request the permission to use the registers; the kernel fails without it.

    The first request holds for all threads of the process; another one takes 0.1 us.
    """
    i64 = ir.IntegerType.get_signless(64)
    numbers = [emit.constant(i64, n) for n in PERMISSION]
    answer = emit.call_library("syscall", numbers, i64)
    allowed = emit.compare("eq", answer, emit.constant(i64, 0))
    emit.op("tir.assert", [allowed], message=ir.StringAttr.get(_DENIED))


@contextmanager
def registers(emit: Emitter) -> Iterator[None]:
    """Configure the registers of the running thread for the code inside."""
    i64 = ir.IntegerType.get_signless(64)
    shapes = emit.alloc(len(_SHAPES), i64)
    for number, word in enumerate(_SHAPES):
        emit.store(emit.constant(i64, word), shapes, [number])
    call_intrinsic(emit, "llvm.x86.ldtilecfg", [_pointer(emit, shapes, 0, 8)])
    yield
    call_intrinsic(emit, "llvm.x86.tilerelease", [])


def emit_matrix_sums(
    emit: Emitter, dot: DotProduct, rows: int, vectors: int, a: StridedRef, b: StridedRef,
    steps: Index, to: ir.Value,
) -> None:  # fmt: skip
    """Write the sums of a tile, from zero, and store them.

    Args:
        emit: where to write.
        dot: the instruction.
        rows: rows of the tile, at most `TILE_ROWS`; whole registers of them are read.
        vectors: columns in registers, one or two.
        a: its first group of A; stride "m", groups adjacent, zeros up to whole registers.
        b: its first group of B; stride "k", columns adjacent, finite up to whole registers.
        steps: how many groups of k.
        to: where sums go: `SIDE` columns for each of two registers, side by side.
    """
    high = ceil_div(rows, SIDE)
    sums = [(_SUMS[i][j], i, j) for i, j in product(range(high), range(vectors))]
    for number, _, _ in sums:
        _tile(emit, "llvm.x86.tilezero", [number])
    a_stride, b_stride = a.stride("m"), b.stride("k")
    with emit.loop(0, steps, SIDE) as loop:
        at = a.offset + loop.counter
        for i in range(high):
            place = at + i * SIDE * a_stride
            _move(emit, "llvm.x86.tileloadd64", _LEFT[i], a.base, place, a_stride)
        at = b.offset + loop.counter * b_stride
        for j in range(vectors):
            place = at + j * SIDE
            _move(emit, "llvm.x86.tileloadd64", _RIGHT[j], b.base, place, b_stride)
        for number, i, j in sums:
            _tile(emit, dot.intrinsic, [number, _LEFT[i], _RIGHT[j]])
    width = 2 * SIDE
    for number, i, j in sums:
        _move(emit, "llvm.x86.tilestored64", number, to, i * SIDE * width + j * SIDE, width)


def _move(emit: Emitter, name: str, number: int, base: ir.Value, at: Index, stride: Index) -> None:
    i64 = ir.IntegerType.get_signless(64)
    where = _pointer(emit, base, at, _GROUP_BYTES)
    distance = emit.op("arith.index_cast", [emit.index(stride * _GROUP_BYTES)], i64)
    _tile(emit, name, [number], [where, distance])


def _tile(
    emit: Emitter, name: str, numbers: Sequence[int], operands: Sequence[ir.Value] = ()
) -> None:
    i8 = ir.IntegerType.get_signless(8)
    call_intrinsic(emit, name, [*(emit.constant(i8, n) for n in numbers), *operands])


def _pointer(emit: Emitter, base: ir.Value, at: Index, bytes_: int) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    start = emit.op("memref.extract_aligned_pointer_as_index", [base], emit.index_type)
    place = emit.op("arith.index_cast", [emit.index(start + at * bytes_)], i64)
    return emit.op("llvm.inttoptr", [place], ir.Type.parse("!llvm.ptr"))
