"""Values of the lanes of an index map: numbers where all lanes have the same, else vectors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.branches import BRANCH, is_within, result_of
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.reductions.apart import load_stepped

if TYPE_CHECKING:
    from relax_mlir.lowering.tir_to_vector.maps.index_map_writer import IndexMapWriter


# What makes an index of a number that was loaded.
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui")


class Chunk:
    """Writes the values of some steps: of `lanes` along the vector, each with its repeats.

    Args:
        writer: of the nest.
        env: counters of the other iterators.
        at: the first step.
        lanes: how many; 1 for a single element.
        live: how many of them there are, None for all.
    """

    def __init__(
        self, writer: "IndexMapWriter", env: dict[int, Index], at: Index, lanes: int,
        live: Index | None,
    ) -> None:  # fmt: skip
        self._writer, self._emit, self._found = writer, writer.emit, writer.found
        self._env, self._at, self._lanes, self._live = env, at, lanes, live
        self._each = 1 if lanes == 1 else self._found.repeats
        self._width = lanes * self._each
        self._made = dict(writer.row)
        self._body = self._found.flat.nest.block.regions[0].blocks[0]
        self._counters = dict(env)
        self._guard: ir.Value | None = None
        if self._found.vector is not None:
            self._counters[self._found.vector] = at

    def mask(self, per: int = 1) -> ir.Value | None:
        """Return which lanes there are; with `per` of 0, of those that are not repeated."""
        if self._live is None:
            return self._guard
        each = self._each if per else 1
        mask = self._emit.mask(self._emit.mul(self._live, each), self._lanes * each)
        return mask if self._guard is None else self._emit.both(mask, self._guard)

    def mask_or_all(self) -> ir.Value:
        """Return which lanes there are, a mask in any case."""
        type_ = ir.VectorType.get([self._width], self._emit.bool_type)
        return self.mask() or self._emit.constant(type_, 1)

    def vector(self, value: ir.Value) -> ir.Value:
        """Return a value as a vector of all lanes, where there are several."""
        if self._lanes == 1 or isinstance(value.type, ir.VectorType):
            return value
        return self._emit.splat(value, ir.VectorType.get([self._width], value.type))

    def value(self, value: ir.Value) -> ir.Value:
        """Return what the block computes, a number if all lanes have the same."""
        if value not in self._made:
            # What stands before a branch is computed whether that is taken or not.
            outer = isinstance(value.owner, ir.Block) or value.owner.operation.block == self._body
            guard, self._guard = self._guard, None if outer else self._guard
            made = self._make(value)
            self._guard, self._made[value] = guard, made
        return self._made[value]

    @contextmanager
    def only_where(self, condition: ir.Value) -> Iterator[None]:
        """Load and store only in lanes where a condition, a vector of them, holds as well."""
        before = self._guard
        self._guard = condition if before is None else self._emit.both(before, condition)
        yield
        self._guard = before

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end what was computed in a region of its own."""
        before, self._made = self._made, dict(self._made)
        yield
        self._made = before

    def _branch(self, op: ir.Operation) -> ir.Value:
        """Return what a branch gives: of several lanes both sides, each for its own."""
        emit = self._emit
        condition = self.value(op.operands[0])
        if self._lanes == 1:
            made = ir.Operation.create(
                op.name, results=[op.results[0].type], operands=[condition], regions=2
            )
            for number in range(2):
                block = made.regions[number].blocks.append()
                with ir.InsertionPoint(block), self.scope():
                    emit.op("scf.yield", [self.value(result_of(op, number))])
            return made.results[0]
        condition = self.vector(condition)
        sides = []
        for number in range(2):
            taken = condition
            if number:
                ones = emit.constant(condition.type, 1)
                taken = emit.op("arith.xori", [condition, ones], condition.type)
            with self.only_where(taken):
                sides.append(self.vector(self.value(result_of(op, number))))
        return emit.op("arith.select", [condition, *sides], sides[0].type)

    def _make(self, value: ir.Value) -> ir.Value:
        writer = self._writer
        if value in writer.found.space.terms:
            return self._argument(value)
        if isinstance(value.owner, ir.Block):
            return value
        op = value.owner.operation
        if not is_within(op, self._body):
            return writer._anew(value)
        if op.name == BRANCH:
            return self._branch(op)
        if op in self._found.found:
            return self._load(op)
        operands = [self.value(operand) for operand in op.operands]
        wide = any(isinstance(each.type, ir.VectorType) for each in operands)
        if wide:
            operands = [self.vector(operand) for operand in operands]
        copy = op.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        if wide:
            copy.results[0].set_type(ir.VectorType.get([self._width], op.results[0].type))
        return copy.results[0]

    def _argument(self, value: ir.Value) -> ir.Value:
        emit, found = self._emit, self._found
        single: Index = 0
        terms = self._writer.found.space.terms[value]
        for position, factor in terms.items():
            counter = self._counters.get(position, 0)
            single = emit.add(single, emit.mul(counter, emit.size(factor)))
        result = emit.index(single)
        if self._lanes == 1 or not self._writer.varies(value):
            return result
        assert found.vector is not None  # or nothing would vary
        by = [terms.get(i) for i in (found.vector, found.vector + 1)]
        outer, inner = (0 if factor is None else factor.value for factor in by)
        assert outer is not None
        return self._spread(result, outer, (inner or 0) if self._each > 1 else 0)

    def _spread(self, first: Index, outer: Index, inner: Index) -> ir.Value:
        """Return places from a first one on, with steps along the vector and along its repeats."""
        emit, each = self._emit, self._each
        type_ = ir.VectorType.get([self._width], emit.index_type)
        result = emit.splat(emit.index(first), type_)
        for step, number in ((outer, lambda i: i // each), (inner, lambda i: i % each)):
            if isinstance(step, int) and step == 0:
                continue
            known = step if isinstance(step, int) else 1
            lanes = [
                ir.IntegerAttr.get(emit.index_type, number(i) * known) for i in range(self._width)
            ]
            by = emit.constant_of(type_, ir.DenseElementsAttr.get(lanes, type_))
            if not isinstance(step, int):
                by = emit.op("arith.muli", [by, emit.splat(step, type_)], type_)
            result = emit.op("arith.addi", [result, by], type_)
        return result

    def place(self, op: ir.Operation) -> Index:
        """Return where the first lane of an access is, without what differs between lanes."""
        emit, access = self._emit, self._found.flat.accesses[op]
        place = emit.size(access.offset)
        for position, counter in self._counters.items():
            place = emit.add(place, emit.mul(counter, emit.size(access.strides[position])))
        for value, stride in self._found.found.get(op, ()):
            if self._lanes == 1 or not self._writer.varies(value):
                place = emit.add(place, emit.mul(self.value(value), emit.size(stride)))
        return place

    def _load(self, op: ir.Operation) -> ir.Value:
        emit, writer = self._emit, self._writer
        base, place = writer.bases[op], self.place(op)
        if self._lanes == 1 or not writer.varies(op.results[0]):
            return self._one(base, place)
        step = writer.step(op)
        if self._guard is not None and step not in ((1,), (-1,)):
            return self._gather(op, base)
        if step is None or (self._live is not None and writer.is_looked_up(op)):
            return self._gather(op, base)
        element = base.type.element_type
        if step in ((1,), (self._each, 1)):
            return emit.vector_load(
                base, [place], ir.VectorType.get([self._width], element), self.mask()
            )
        type_ = ir.VectorType.get([self._lanes], element)
        if self._each > 1:
            few = emit.vector_load(base, [place], type_, self.mask(0))
            return emit.shuffle(few, few, [i // self._each for i in range(self._width)])
        if step == (-1,):
            back = list(reversed(range(self._lanes)))
            start = emit.sub(place, self._lanes - 1)
            mask = self.mask()
            if mask is not None:
                mask = emit.shuffle(mask, mask, back)
            read = emit.vector_load(base, [start], type_, mask)
            return emit.shuffle(read, read, back)
        return load_stepped(emit, base, place, type_, step[0])

    def _one(self, base: ir.Value, place: Index) -> ir.Value:
        """Load what all lanes have in common, if any of them does."""
        emit = self._emit
        if self._guard is None or self._lanes == 1:
            return emit.load(base, [place])
        kind = ir.Attribute.parse("#vector.kind<or>")
        some = emit.op("vector.reduction", [self._guard], emit.bool_type, kind=kind)
        element = base.type.element_type
        made = ir.Operation.create("scf.if", results=[element], operands=[some], regions=2)
        with ir.InsertionPoint(made.regions[0].blocks.append()):
            emit.op("scf.yield", [emit.load(base, [place])])
        with ir.InsertionPoint(made.regions[1].blocks.append()):
            emit.op("scf.yield", [emit.constant(element, 0)])
        return made.results[0]

    def places(self, op: ir.Operation) -> ir.Value:
        """Return where each lane of an access is."""
        emit, writer, vector = self._emit, self._writer, self._found.vector
        strides = self._found.flat.accesses[op].strides
        assert vector is not None  # or there are no lanes
        inner = emit.size(strides[vector + 1]) if self._each > 1 else 0
        places = self._spread(self.place(op), emit.size(strides[vector]), inner)
        for value, stride in self._found.found[op]:
            if writer.varies(value):
                index = self.vector(self.value(value))
                step = emit.size(stride)
                if step != 1:
                    by = emit.splat(emit.index(step), index.type)
                    index = emit.op("arith.muli", [index, by], index.type)
                places = emit.op("arith.addi", [places, index], index.type)
        return places

    def _gather(self, op: ir.Operation, base: ir.Value) -> ir.Value:
        emit = self._emit
        type_ = ir.VectorType.get([self._width], base.type.element_type)
        if self._guard is None and not self._writer.has_gather:
            return self._one_by_one(op, type_)
        places = self.places(op)
        where = [base, emit.index(0), places, self.mask_or_all(), emit.constant(type_, 0)]
        return emit.op("vector.gather", where, type_)

    def _one_by_one(self, op: ir.Operation, type_: ir.VectorType) -> ir.Value:
        """Load each lane; its place comes from memory where that says it, else from a vector."""
        emit, writer = self._emit, self._writer
        singles: list[ir.Value] = []
        if self._each == 1 and all(_is_read(value) for value, _ in self._found.found[op]):
            for lane in range(self._width):
                at = emit.add(self._at, lane)
                singles.append(Chunk(writer, self._env, at, 1, None).value(op.results[0]))
        else:
            places = self.places(op)
            for lane in range(self._width):
                singles.append(emit.load(writer.bases[op], [emit.extract(places, lane)]))
        result = emit.constant(type_, 0)
        for lane, single in enumerate(singles):
            result = emit.insert(single, result, lane)
        return result


def _is_read(index: ir.Value) -> bool:
    """Whether an index is a number from memory as it is, of another width at most."""
    while not isinstance(index.owner, ir.Block) and index.owner.operation.name in _CASTS:
        index = index.owner.operation.operands[0]
    return isinstance(index.owner, ir.Block) or index.owner.operation.name == "memref.load"
