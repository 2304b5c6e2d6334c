"""Dot-product instructions for small dtypes, and when they are used."""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess

# A group has as many bits as a sum.
_LANE_BITS = 32
# Columns and steps of k from which on matrix tiles are worth their setup.
_MIN_EXTENT = 8
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
            return call_intrinsic(emit, self.intrinsic, [total, x, y], total.type)
        made = call_intrinsic(emit, self.intrinsic, [x, y], total.type)
        return emit.op("arith.addi", [total, made], total.type)

    def parts(self, emit: Emitter, groups: ir.Value) -> ir.Value:
        """Return a vector of groups as a vector of elements; other vectors as they are."""
        if groups.type.element_type == self.part:
            return groups
        type_ = ir.VectorType.get([groups.type.shape[0] * self.group], self.part)
        return emit.op("vector.bitcast", [groups], type_)


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
            name = name.format("".join("s" if widen == _SIGNED else "u" for widen in gemm.widen))
            return DotProduct(name, ir.IntegerType.get_signless(8), 4, matrices=True)
    return vector_dot_product((gemm.a, gemm.b), gemm.widen, gemm.element, machine)


def vector_dot_product(
    sides: tuple[FlatAccess, FlatAccess], widens: tuple[str | None, str | None], element: ir.Type,
    machine: Machine,
) -> DotProduct | None:  # fmt: skip
    """Return the instruction on vectors for two operands, None if the machine has none.

    Args:
        sides: the operands, A and B.
        widens: their conversions to the type of the sum.
        element: the type of the sum.
        machine: what for.
    """
    types = [str(access.buffer.type.element_type) for access in sides]
    if str(element) == "f32" and types == ["bf16", "bf16"]:
        return bf16_dot_product(machine)
    if str(element) != "i32" or any(kind not in ("i8", "i16") for kind in types):
        return None
    signs = [widen == _SIGNED for widen in widens]
    name = _intrinsic("u8s8", machine)
    if types == ["i8", "i8"] and name is not None:
        # With equal signs, B's are flipped.
        flips_signs = signs[0] == signs[1]
        return DotProduct(
            name, ir.IntegerType.get_signless(8), 4, flips_signs=flips_signs, b_first=signs[0]
        )
    name = _intrinsic("s16", machine)
    wide = [kind == "i16" for kind in types]
    if name is None or any(w and not s for w, s in zip(wide, signs, strict=True)):
        return None
    a, b = (None if w else widen for w, widen in zip(wide, widens, strict=True))
    return DotProduct(name, ir.IntegerType.get_signless(16), 2, (a, b), adds=False)


def bf16_dot_product(machine: Machine) -> DotProduct | None:
    """Return the instruction on pairs of bf16, None if the machine has none."""
    name = _intrinsic("bf16", machine)
    return None if name is None else DotProduct(name, ir.BF16Type.get(), 2)


def _intrinsic(kind: str, machine: Machine) -> str | None:
    if kind not in machine.dot_products:
        return None
    return machine.isa.intrinsic(kind)


def _matrix_intrinsic(kind: str, gemm: Contraction, machine: Machine) -> str | None:
    """Return the instruction on matrix tiles, None if tiles would be mostly empty."""
    extents = (gemm.flat.iters[i].extent.value for i in (gemm.n, gemm.k))
    if any(extent is not None and extent < _MIN_EXTENT for extent in extents):
        return None
    return _intrinsic(kind, machine)


def call_intrinsic(
    emit: Emitter, name: str, operands: Sequence[ir.Value], result: ir.Type | None = None
) -> ir.Value | ir.Operation:
    """Write a call of an LLVM intrinsic; return its result, if it has one."""
    return emit.op(
        "llvm.call_intrinsic",
        list(operands),
        result,
        intrin=ir.StringAttr.get(name),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(operands), 0]),
        op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
    )


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


def as_groups(emit: Emitter, dot: DotProduct, value: ir.Value) -> ir.Value:
    """Return elements of B in VNNI layout as groups, with flipped sign bits if needed."""
    if dot.widen[1] is not None:
        value = emit.op(dot.widen[1], [value], like(value.type, dot.part))
    groups = emit.op("vector.bitcast", [value], groups_type(value.type.shape[0] // dot.group))
    if not dot.flips_signs:
        return groups
    return emit.op("arith.xori", [groups, flipped_zeros(emit, dot, groups.type)], groups.type)
