"""Dot-product instructions for small dtypes, on vectors and on matrix tiles (Intel AMX).

Each of eight matrix registers has sixteen rows of sixteen groups of 32 bits. Four hold the sums of
a tile of 32 rows and columns, two its rows of A, and two its columns of B; one instruction
multiplies two of them. Rows and columns past an operand's end are multiplied by zeros, or not
stored. See Intel's Architecture Instruction Set Extensions manual, chapter 3.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.amx_permission import PERMISSION
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div

# A group has as many bits as a sum.
_LANE_BITS = 32
_SIGNED, _UNSIGNED = "arith.extsi", "arith.extui"


@dataclass(frozen=True)
class DotProduct:
    """How a dot-product instruction multiplies a contraction's operands.

    A lane holds a group: `group` elements that follow each other along k, in 32 bits. Other code
    treats groups as integers.

    Attributes:
        intrinsic: the LLVM intrinsic.
        part: the type of a group's elements.
        group: elements of a group.
        widen: for A and B the conversion to `part`, or None.
        flips_signs: whether the sign bits of B are flipped, which adds a constant to each number;
            sums start from the correction.
        b_first: whether the instruction takes B's groups before A's.
        adds: whether it accumulates.
        matrices: whether it is an instruction on matrix tiles (AMX).
    """

    intrinsic: str
    part: ir.Type
    group: int
    widen: tuple[str | None, str | None] = (None, None)
    flips_signs: bool = False
    b_first: bool = False
    adds: bool = True
    matrices: bool = False

    def multiply_add(self, emit: Emitter, a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        """Return a sum plus the dot products of groups of A and B."""
        x, y = (self.parts(emit, value) for value in (a, b))
        if self.b_first:
            x, y = y, x
        if self.adds:
            return emit.call_intrinsic(self.intrinsic, [total, x, y], total.type)
        made = emit.call_intrinsic(self.intrinsic, [x, y], total.type)
        return emit.op("arith.addi", [total, made], total.type)

    def parts(self, emit: Emitter, groups: ir.Value) -> ir.Value:
        """Return a vector of groups as a vector of elements; other vectors as they are."""
        if groups.type.element_type == self.part:
            return groups
        type_ = ir.VectorType.get([groups.type.shape[0] * self.group], self.part)
        return emit.op("vector.bitcast", [groups], type_)


def vector_dot_product(
    sides: tuple[FlatAccess, FlatAccess], widens: tuple[str | None, str | None], element: ir.Type,
    machine: Machine,
) -> DotProduct | None:  # fmt: skip
    """Return the instruction on vectors for A and B, None if the machine has none.

    `widens` are their conversions to the type of the sum, `element`.
    """
    types = [str(access.buffer.type.element_type) for access in sides]
    if str(element) == "f32" and types == ["bf16", "bf16"]:
        return bf16_dot_product(machine)
    if str(element) != "i32" or any(kind not in ("i8", "i16") for kind in types):
        return None
    signs = [widen == _SIGNED for widen in widens]
    name = intrinsic_of("u8s8", machine)
    if types == ["i8", "i8"] and name is not None:
        # With equal signs, B's are flipped.
        flips_signs = signs[0] == signs[1]
        return DotProduct(
            name, ir.IntegerType.get_signless(8), 4, flips_signs=flips_signs, b_first=signs[0]
        )
    name = intrinsic_of("s16", machine)
    wide = [kind == "i16" for kind in types]
    if name is None or any(w and not s for w, s in zip(wide, signs, strict=True)):
        return None
    a, b = (None if w else widen for w, widen in zip(wide, widens, strict=True))
    return DotProduct(name, ir.IntegerType.get_signless(16), 2, (a, b), adds=False)


def bf16_dot_product(machine: Machine) -> DotProduct | None:
    """Return the instruction on pairs of bf16, None if the machine has none."""
    name = intrinsic_of("bf16", machine)
    return None if name is None else DotProduct(name, ir.BF16Type.get(), 2)


def intrinsic_of(kind: str, machine: Machine) -> str | None:
    """Return the intrinsic for a kind of dot products, None if the machine has none."""
    return machine.isa.intrinsic(kind) if kind in machine.dot_products else None


def groups_type(lanes: int) -> ir.VectorType:
    """Return the type of a vector of groups."""
    return ir.VectorType.get([lanes], ir.IntegerType.get_signless(_LANE_BITS))


def flipped_zeros(emit: Emitter, dot: DotProduct, type_: ir.Type) -> ir.Value:
    """Return groups of zeros with flipped sign bits."""
    bits = dot.part.width
    word = sum(1 << (bits * i + bits - 1) for i in range(dot.group))
    # A word with its highest bit on is a negative number to MLIR.
    return emit.constant(type_, word - (1 << (bits * dot.group)))


def is_signed(widen: str | None) -> bool:
    """Whether a conversion is that of signed integers."""
    return widen == _SIGNED


def like(type_: ir.Type, element: ir.Type) -> ir.Type:
    """Return a type with other elements."""
    return ir.VectorType.get(type_.shape, element) if isinstance(type_, ir.VectorType) else element


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
    emit.effect("tir.assert", [allowed], message=ir.StringAttr.get(_DENIED))


@contextmanager
def registers(emit: Emitter) -> Iterator[None]:
    """Configure the registers of the running thread for the code inside."""
    i64 = ir.IntegerType.get_signless(64)
    shapes = emit.alloc(len(_SHAPES), i64)
    for number, word in enumerate(_SHAPES):
        emit.store(emit.constant(i64, word), shapes, [number])
    emit.call_intrinsic("llvm.x86.ldtilecfg", [_pointer(emit, shapes, 0, 8)])
    yield
    emit.call_intrinsic("llvm.x86.tilerelease", [])


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
    where = _pointer(emit, base, at, _GROUP_BYTES)
    _tile(emit, name, [number], [where, _word(emit, stride * _GROUP_BYTES)])


def _tile(
    emit: Emitter, name: str, numbers: Sequence[int], operands: Sequence[ir.Value] = ()
) -> None:
    i8 = ir.IntegerType.get_signless(8)
    emit.call_intrinsic(name, [*(emit.constant(i8, n) for n in numbers), *operands])


def _pointer(emit: Emitter, base: ir.Value, at: Index, bytes_: int) -> ir.Value:
    place = _word(emit, emit.address(base) + at * bytes_)
    return emit.op("llvm.inttoptr", [place], ir.Type.parse("!llvm.ptr"))


def _word(emit: Emitter, value: Index) -> ir.Value:
    """Return an index as an i64."""
    return emit.op("arith.index_cast", [emit.index(value)], ir.IntegerType.get_signless(64))
