"""Packing of bfloat16 operands in VNNI layout: pairs for a dot-product instruction.

A pair is moved as one 32-bit float. Queries and keys are paired along the head dimension, values
along keys; an odd element is paired with zero.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.pattern import Attention
from relax_mlir.lowering.tir_to_vector.attention.tile import Arithmetic, Matrix, Rows
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, bf16_dot_product
from relax_mlir.lowering.tir_to_vector.contraction.panel_loads import PanelLoad
from relax_mlir.lowering.tir_to_vector.contraction.vnni_packing import VnniLoader
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index

PAIR = 2
_FIRST = 0xFFFF  # the bits of a pair's first number


def find_pair_dot_product(attention: Attention, machine: Machine) -> DotProduct | None:
    """Return the dot-product instruction of an attention's operands, None for none."""
    places = (attention.query, attention.key, attention.value)
    narrow = all(isinstance(place.buffer.type.element_type, ir.BF16Type) for place in places)
    if not (narrow and isinstance(attention.element, ir.F32Type)):
        return None
    if any(place.column != 1 for place in places):
        return None
    return bf16_dot_product(machine)


def count_pairs(emit: Emitter, count: Index) -> Index:
    """Return the number of pairs of `count` elements."""
    return emit.div(emit.add(count, PAIR - 1), PAIR)


class FirstsOfPairs(PanelLoad):
    """Loads vectors of pairs with zeros as the second of each."""

    def vector(
        self, emit: Emitter, base: ir.Value, at: Index, type_: ir.VectorType, step: Index,
        column: Index,
    ) -> ir.Value:  # fmt: skip
        """Return adjacent pairs as a vector of words, as `PanelLoad.vector` does."""
        stored = ir.VectorType.get(type_.shape, base.type.element_type)
        bits = emit.op("vector.bitcast", [emit.vector_load(base, [at], stored)], type_)
        return emit.op("arith.andi", [bits, emit.constant(type_, _FIRST)], type_)


def narrowed_pairs(use: Arithmetic, value: ir.Value) -> ir.Value:
    """Return a vector of floats as half a vector of pairs."""
    emit, lanes = use.emit, use.lanes
    narrow = emit.op("arith.truncf", [value], ir.VectorType.get([lanes], ir.BF16Type.get()))
    return emit.op(
        "vector.bitcast", [narrow], ir.VectorType.get([lanes // PAIR], use.vector.element_type)
    )


def pair_loader(x: Matrix, dot: DotProduct) -> VnniLoader:
    """Return what loads pairs of elements."""
    return VnniLoader(x.use.emit, x.base, dot, None, False, x.use.lanes, x.element)


def copy_row_pairs(
    x: Matrix, dot: DotProduct, rows: Rows, columns: Index, to: ir.Value, stride: Index
) -> None:
    """Copy rows as pairs; `stride` counts pairs, and up to a vector more is written."""
    emit, lanes, load = x.use.emit, x.use.lanes, pair_loader(x, dot)
    with rows.each(emit, stride) as (source, target):
        start = x.place(source, 0)
        with emit.loop(0, count_pairs(emit, columns), lanes) as pair:
            column = emit.mul(pair.counter, PAIR)
            mask = emit.tail(columns, column, PAIR * lanes)
            value = load.along_k(emit.add(start, column), mask)
            emit.vector_store(value, to, [emit.add(target, pair.counter)])
