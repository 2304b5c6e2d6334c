"""Prologues: operands that are expressions are materialised once, then multiplied.

`C[m, n] += f(A[m, k], ..) * g(B[k, n], ..)` would compute f for every column and g for every row.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.gemm import GemmWriter
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    Contraction,
    assign,
    factors_of,
    is_matrix_product,
    loaded,
    match_packed_contraction,
    product_tile,
)
from relax_mlir.lowering.tir_to_vector.data_movement.transposed import (
    TransposeWriter,
    transposed_iters,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Bool
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, Nests, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import bits_of, nest_work, step_cycles, tile_work
from relax_mlir.lowering.tir_to_vector.nest_elements import times_extents
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, vector_iter

_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)
# Rows from which on materialising the operand that all rows share pays.
_FEW = 4
# A value for symbols, to order strides.
_SOME_SIZE = 64


@dataclass
class Computed:
    """A factor that is an expression.

    Attributes:
        value: its value.
        key: one of its loads.
        walk: the iterators that it depends on, outermost first.
    """

    value: ir.Value
    key: ir.Operation
    walk: list[int]


@dataclass
class Prologue:
    """A contraction with at least one computed operand.

    Attributes:
        flat: the nest.
        factors: of each the load and its conversion, or how it is computed.
        product: the contraction of placeholders for computed operands.
    """

    flat: FlatNest
    factors: list[tuple[FlatAccess, str | None] | Computed]
    product: Contraction

    @property
    def reads_once(self) -> bool:
        """Whether the operand that all rows share is computed."""
        return any(isinstance(x, Computed) and self.product.n in x.walk for x in self.factors)


def match_prologue(flat: FlatNest, machine: Machine) -> Prologue | None:
    """Return how a reduction multiplies computed operands, None for other nests."""
    factors = factors_of(flat)
    total = flat.accesses[flat.store]
    if factors is None or total.buffer.type.element_type != flat.store.operands[0].type:
        return None
    operands = [loaded(flat, factor) or _computed(flat, factor) for factor in factors]
    if None in operands or not any(isinstance(side, Computed) for side in operands):
        return None
    product = _product(flat, operands, [total.buffer] * len(operands))
    if isinstance(product, str) or not is_matrix_product(product, machine):
        return None
    prologue = Prologue(flat, operands, product)
    if prologue.reads_once and isinstance(vector_iter(flat), int):
        rows = _ONE if product.m is None else flat.iters[product.m].extent
        if rows.value is not None and rows.value < _FEW:
            return None
    return prologue


def _match(nests: Nests) -> Problem | str:
    plain = nests.once(match_packed_contraction)
    if isinstance(nests.merged, str) or not isinstance(plain, str):
        return plain if isinstance(plain, str) else "its operands are loads"
    result = match_prologue(nests.merged, nests.machine)
    if result is None:
        return "it is no product of matrices with computed elements"
    return Problem([nests.nest], result, "contraction")


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    prologue: Prologue = problem.form
    flat, m, tile = prologue.flat, prologue.product.m, product_tile(prologue.product, machine)
    along = vector_iter(flat)

    def is_skinny(emit: Emitter) -> Bool:
        rows = _ONE if m is None else flat.iters[m].extent
        may_be = prologue.reads_once and isinstance(along, int) and rows.value is None
        return may_be and emit.size(rows) < _FEW

    def in_place(emit: Emitter, _: Machine) -> None:
        NestWriter(flat, along, emit).write([])

    lanes = machine.isa.lanes(bits_of(prologue.product.element))
    return [
        Candidate(
            "computed when read", in_place, lambda size: nest_work(flat, machine, size),
            when=is_skinny,
        ),
        Candidate(
            "computed before", lambda emit, _: _multiply(prologue, emit),
            lambda size: tile_work(flat, machine, size, step_cycles(tile.rows, tile.vectors)),
            (tile.rows, tile.vectors * lanes),
        ),
    ]  # fmt: skip


COMPUTED_OPERANDS = KernelClass("GEMM of computed operands", _match, _candidates)


def _multiply(prologue: Prologue, emit: Emitter) -> None:
    buffers = [
        _write_down(prologue.flat, side, emit) if isinstance(side, Computed) else None
        for side in prologue.factors
    ]
    writer = GemmWriter(_product(prologue.flat, prologue.factors, buffers), emit)
    emit.choose(writer.is_skinny(), writer.skinny, writer.tiles)


def _product(
    flat: FlatNest,
    factors: Iterable[tuple[FlatAccess, str | None] | Computed],
    buffers: Iterable[ir.Value | None],
) -> Contraction | str:  # fmt: skip
    """Return the contraction, with the given buffers for computed factors."""
    total = flat.accesses[flat.store]
    accesses = {op: x for op, x in flat.accesses.items() if op in (flat.store, flat.total)}
    sides = []
    for factor, buffer in zip(factors, buffers, strict=True):
        if isinstance(factor, Computed):
            accesses[factor.key] = FlatAccess(buffer, _ZERO, _strides(flat, factor.walk))
            sides.append((accesses[factor.key], None))
        else:
            accesses.update({op: x for op, x in flat.accesses.items() if x is factor[0]})
            sides.append(factor)
    return assign(replace(flat, accesses=accesses), sides, total)


def _strides(flat: FlatNest, walk: list[int]) -> list[SymExpr]:
    strides, step = [_ZERO] * len(flat.iters), _ONE
    for position in reversed(walk):
        strides[position] = step
        step *= flat.iters[position].extent
    return strides


def _computed(flat: FlatNest, value: ir.Value) -> Computed | None:
    ops = flat.slice_of(value)
    loads = [op for op in ops if op in flat.accesses]
    if not loads or value.type != flat.store.operands[0].type:
        return None
    used = {v for op in ops if op not in flat.accesses for v in op.operands}
    depends = {i for v, i in flat.counters.items() if v in used and i is not None}
    for op in loads:
        strides = flat.accesses[op].strides
        moving = [stride for stride in strides if stride != 0]
        # A window over an image would be materialised for each of its places.
        if len(set(moving)) != len(moving):
            return None
        depends.update(i for i, stride in enumerate(strides) if stride != 0)
    if len(depends) == len(flat.iters):
        return None
    key = max(loads, key=lambda op: sum(bool(s != 0) for s in flat.accesses[op].strides))
    near = [_near(stride) for stride in flat.accesses[key].strides]
    walk = sorted(depends, key=lambda i: (near[i] == 0, -near[i]))
    result = Computed(value, key, walk)
    made = _map(flat, result, flat.accesses[flat.store].buffer)
    fits = isinstance(vector_iter(made), int) or not isinstance(transposed_iters(made), str)
    return result if fits else None


def _near(stride: SymExpr) -> int:
    return abs(stride.evaluate(dict.fromkeys(stride.symbols, _SOME_SIZE)))


def _map(flat: FlatNest, computed: Computed, buffer: ir.Value) -> FlatNest:
    """Return the nest that stores a factor in a buffer, row-major in the order of its walk."""
    walk, ops = computed.walk, flat.slice_of(computed.value)
    accesses = {
        op: replace(flat.accesses[op], strides=[flat.accesses[op].strides[i] for i in walk])
        for op in ops
        if op in flat.accesses
    }
    strides = _strides(flat, walk)
    accesses[flat.store] = FlatAccess(buffer, _ZERO, [strides[i] for i in walk])
    counters = {v: walk.index(i) if i in walk else None for v, i in flat.counters.items()}
    return replace(
        flat, iters=[replace(flat.iters[i], reduction=False) for i in walk], accesses=accesses,
        total=None, value=computed.value, slice=ops, init=None, counters=counters, final=False,
    )  # fmt: skip


def _write_down(flat: FlatNest, computed: Computed, emit: Emitter) -> ir.Value:
    size = times_extents(emit, [flat.iters[i] for i in computed.walk], 1)
    buffer = emit.alloc(size, flat.store.operands[0].type)
    made = _map(flat, computed, buffer)
    along = vector_iter(made)
    if isinstance(along, int):
        NestWriter(made, along, emit).write([])
    else:
        TransposeWriter(made, transposed_iters(made), emit).write([])
    return buffer
