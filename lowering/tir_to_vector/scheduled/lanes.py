"""Copies of a loop's body with its steps in the lanes of vectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.expand_copy import is_row_major
from relax_mlir.lowering.tir_to_vector.analysis import DIVIDES, ELEMENTWISE
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.int4 import is_int4
from relax_mlir.lowering.tir_to_vector.scheduled.index import (
    AT_LEAST,
    AT_MOST,
    GREATER,
    LESS,
    Copier,
    integer_of,
)
from relax_mlir.lowering.walk import defining_op


class NotVectorizable(Exception):
    """A loop that cannot be vectorised; the message says why."""


@dataclass(frozen=True)
class Along:
    """An affine index: a value in lane 0 and a stride."""

    base: Index
    step: Index


@dataclass(frozen=True)
class Wide:
    """A vector."""

    vector: ir.Value


Lane = int | ir.Value | Along | Wide


class LaneCopier(Copier):
    """Copies operations; those that depend on the loop's counter become vectors.

    Args:
        emit: where to write.
        env: the replacement of the counter, and of values from outside.
        lanes: steps in a vector.
        mask: the mask of steps, None for all.
        fma: whether the target has FMA.
        varying: values of the loop's body that depend on the counter.
    """

    lanes: int
    fma: bool
    varying: set[ir.Value]

    def __init__(
        self, emit: Emitter, env: Mapping[ir.Value, Lane], lanes: int, mask: ir.Value | None, *,
        fma: bool, varying: set[ir.Value],
    ) -> None:  # fmt: skip
        super().__init__(emit, env)
        self.lanes, self.mask, self.fma, self.varying = lanes, mask, fma, varying
        # Under a condition that differs by lane, all lanes may be off.
        self._may_be_empty = False

    def lane(self, value: ir.Value) -> Lane:
        """Return the replacement of a value."""
        result: Lane = self.env.get(value, value)
        return integer_of(result) if isinstance(result, ir.Value) else result

    def wide(self, value: ir.Value) -> ir.Value:
        """Return a value as a vector."""
        result = self.lane(value)
        if isinstance(result, Wide):
            return result.vector
        element = value.type
        type_ = ir.VectorType.get([self.lanes], element)
        if isinstance(result, int):
            return self.emit.constant(type_, result)
        if not isinstance(result, Along):
            return self.emit.splat(result, type_)
        return self._ramp(result.base, result.step)

    def _ramp(self, first: Index, step: Index) -> ir.Value:
        """Return the vector of indices `first + lane * step`."""
        emit, type_ = self.emit, ir.VectorType.get([self.lanes], self.emit.index_type)
        numbers = emit.op("vector.step", [], type_)
        if not isinstance(step, int) or step != 1:
            numbers = emit.op("arith.muli", [numbers, emit.splat(emit.index(step), type_)], type_)
        if isinstance(first, int) and first == 0:
            return numbers
        return emit.op("arith.addi", [emit.splat(emit.index(first), type_), numbers], type_)

    def op(self, op: ir.Operation) -> None:
        """Copy one operation."""
        reps = [self.lane(operand) for operand in op.operands]
        varies = any(isinstance(rep, (Along, Wide)) for rep in reps)
        if op.name == "memref.load":
            self._load(op, reps)
        elif op.name == "memref.store":
            self._store(op, reps)
        elif op.name == "scf.if":
            self._if(op, reps[0])
        elif len(op.regions):
            if varies:
                raise NotVectorizable(f"the extent of '{op.name}' inside differs by step")
            if op.name != "tir.for":
                raise NotVectorizable(f"'{op.name}' inside")
            super().with_regions(op)
        elif not op.name.startswith(ELEMENTWISE):
            if varies or op.name not in ("memref.dim", "tir.symbol"):
                raise NotVectorizable(f"'{op.name}' inside")
            super().op(op)
        elif not varies:
            super().op(op)
        elif not self._affine(op, reps) and not self._bound(op, reps):
            self._elementwise(op)

    def _affine(self, op: ir.Operation, reps: list[Lane]) -> bool:
        """Compute an index that stays affine in the lane."""
        if not isinstance(op.results[0].type, ir.IndexType) or any(
            isinstance(rep, Wide) for rep in reps
        ):
            return False
        emit = self.emit
        if op.name in ("arith.addi", "arith.subi"):
            combine = emit.add if op.name == "arith.addi" else emit.sub
            (b0, s0), (b1, s1) = (_parts(rep) for rep in reps)
            self.env[op.results[0]] = Along(combine(b0, b1), combine(s0, s1))
            return True
        if op.name == "arith.muli" and not all(isinstance(rep, Along) for rep in reps):
            along, times = reps if isinstance(reps[0], Along) else reversed(reps)
            assert isinstance(along, Along)
            made = Along(emit.mul(along.base, times), emit.mul(along.step, times))
            self.env[op.results[0]] = made
            return True
        return False

    def _bound(self, op: ir.Operation, reps: list[Lane]) -> bool:
        """Compute whether lanes are below a bound as a mask of the first ones."""
        if op.name != "arith.cmpi" or any(isinstance(rep, Wide) for rep in reps):
            return False
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        along, bound = reps
        if predicate in (GREATER, AT_LEAST):
            along, bound = bound, along
            predicate = {GREATER: LESS, AT_LEAST: AT_MOST}[predicate]
        if predicate not in (LESS, AT_MOST) or isinstance(bound, Along):
            return False
        if not (isinstance(along, Along) and isinstance(along.step, int) and along.step == 1):
            return False
        left = self.emit.sub(bound, along.base)
        left = self.emit.add(left, 1) if predicate == AT_MOST else left
        self.env[op.results[0]] = Wide(self.emit.mask(left, self.lanes))
        return True

    def _elementwise(self, op: ir.Operation) -> None:
        result = op.results[0]
        fused = self._fused(op) if op.name == "arith.addf" and self.fma else None
        if fused is not None:
            self._set(result, self.emit.fused(*fused))
            return
        operands = [self.wide(operand) for operand in op.operands]
        if op.name in DIVIDES and self.mask is not None:
            # Lanes that are off must not divide by zero.
            one = self.emit.constant(operands[1].type, 1)
            operands[1] = self.emit.select(self.mask, operands[1], one)
        self._set(result, self.emit.copied(op, operands))

    def _fused(self, total: ir.Operation) -> list[ir.Value] | None:
        """Return factors and summand if one operand is a product with one use."""
        for product, other in (total.operands, reversed(list(total.operands))):
            op = defining_op(product, "arith.mulf")
            if op is not None and len(list(product.uses)) == 1 and product in self.env:
                return [self.wide(each) for each in (*op.operands, other)]
        return None

    def _load(self, op: ir.Operation, reps: list[Lane]) -> None:
        emit, base, indices, result = self.emit, self.value(op.operands[0]), reps[1:], op.results[0]
        type_ = ir.VectorType.get([self.lanes], result.type)
        if not any(isinstance(index, (Along, Wide)) for index in indices):
            if self._may_be_empty:
                self.env[result] = emit.load_if_any(base, indices, self._mask())
            else:
                self.env[result] = emit.load(base, indices)
            return
        _check_bytes(base)
        contiguous = self._contiguous(base, indices)
        if contiguous is not None:
            self._set(result, emit.vector_load(base, contiguous, type_, self.mask))
            return
        where = self._scattered(base, op.operands[1:], indices)
        self._set(result, emit.op("vector.gather", [*where, emit.constant(type_, 0)], type_))

    def _store(self, op: ir.Operation, reps: list[Lane]) -> None:
        base, indices = self.value(op.operands[1]), reps[2:]
        if not any(isinstance(index, (Along, Wide)) for index in indices):
            raise NotVectorizable("all steps store to one place")
        _check_bytes(base)
        value = self.wide(op.operands[0])
        contiguous = self._contiguous(base, indices)
        if contiguous is not None:
            self.emit.vector_store(value, base, contiguous, self.mask)
            return
        where = self._scattered(base, op.operands[2:], indices)
        self.emit.effect("vector.scatter", [*where, value])

    def _contiguous(self, base: ir.Value, indices: list[Lane]) -> list[Index] | None:
        """Return the first place of adjacent lanes, None for others."""
        *outer, last = indices
        if any(isinstance(index, (Along, Wide)) for index in outer):
            return None
        if not (isinstance(last, Along) and isinstance(last.step, int) and last.step == 1):
            return None
        if not is_row_major(base.type) and base.type.get_strides_and_offset()[0][-1] != 1:
            return None
        return [*outer, last.base]

    def _scattered(
        self, base: ir.Value, values: list[ir.Value], indices: list[Lane]
    ) -> list[ir.Value]:
        """Return a flat view, the place of lane 0, the offset of each lane, and the mask."""
        in_a_row = base.type.rank == 1 and base.type.get_strides_and_offset()[0] == [1]
        if not in_a_row and not is_row_major(base.type):
            raise NotVectorizable("lanes are not adjacent in a buffer that is not compact")
        emit = self.emit
        type_ = ir.VectorType.get([self.lanes], emit.index_type)
        start: Index = 0
        step: Index = 0
        stride: Index = 1
        parts: list[ir.Value] = []
        for position in reversed(range(len(indices))):
            index = indices[position]
            if isinstance(index, Wide):
                scaled = self.wide(values[position])
                if stride != 1:
                    factor = emit.splat(emit.index(stride), type_)
                    scaled = emit.op("arith.muli", [scaled, factor], type_)
                parts.append(scaled)
            else:
                first, each = _parts(index)
                start = emit.add(start, emit.mul(first, stride))
                step = emit.add(step, emit.mul(each, stride))
            if position:
                stride = emit.mul(stride, emit.dim(base, position))
        if step != 0:
            parts.append(self._ramp(0, step))
        # An empty buffer has no lanes.
        offsets = emit.constant(type_, 0)
        if parts:
            offsets = reduce(lambda a, b: emit.op("arith.addi", [a, b], type_), parts)
        return [emit.flatten(base), emit.index(start), offsets, self._mask()]

    def _if(self, op: ir.Operation, condition: Lane) -> None:
        if not isinstance(condition, (Along, Wide)):
            if isinstance(condition, int):
                self.take(op, bool(condition))
            elif any(result in self.varying for result in op.results):
                raise NotVectorizable("a condition chooses between values that differ by step")
            else:
                super().with_regions(op)
            return
        assert isinstance(condition, Wide)
        outer, was_empty = self.mask, self._may_be_empty
        chosen: list[list[ir.Value]] = []
        self._may_be_empty = True
        for region, turn in zip(op.regions, (True, False), strict=True):
            if not len(region.blocks):
                continue
            mask = condition.vector if turn else self.emit.negated(condition.vector)
            self.mask = mask if outer is None else self.emit.both(outer, mask)
            chosen.append([self.wide(value) for value in self.branch(region.blocks[0])])
        self.mask, self._may_be_empty = outer, was_empty
        for result, *sides in zip(op.results, *chosen, strict=False):
            self._set(result, self.emit.select(condition.vector, *sides))

    def _mask(self) -> ir.Value:
        if self.mask is not None:
            return self.mask
        return self.emit.constant(ir.VectorType.get([self.lanes], self.emit.bool_type), 1)

    def _set(self, result: ir.Value, vector: ir.Value) -> None:
        self.env[result] = Wide(vector)


def _check_bytes(buffer: ir.Value) -> None:
    """Check that elements have addresses: a lane cannot store half of a byte."""
    if is_int4(buffer.type):
        raise NotVectorizable("a buffer of 4-bit integers")


def _parts(rep: Lane) -> tuple[Index, Index]:
    """Return an index's value in lane 0, and its stride."""
    if isinstance(rep, Along):
        return rep.base, rep.step
    assert not isinstance(rep, Wide)
    return rep, 0
