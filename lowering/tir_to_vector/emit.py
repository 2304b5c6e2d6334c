"""A small builder of upstream operations; index arithmetic on known numbers folds as it is written."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Union

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.symbolic import SymExpr

Index = Union[int, ir.Value]
# Elements up to which a buffer may live on the stack.
_STACK = 256
_DYNAMIC = ir.ShapedType.get_dynamic_size()
CMP = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6}


class Loop:
    """A loop being written: its counter, its carried values, and its results once it is closed."""

    def __init__(self, counter: ir.Value, carried: list[ir.Value]) -> None:
        self.counter, self.carried = counter, carried
        self.results: list[ir.Value] = []
        self._next: list[ir.Value] = list(carried)

    def carry(self, values: Sequence[ir.Value]) -> None:
        """Set the carried values of the next step."""
        self._next = list(values)


class Emitter:
    """Writes operations at the current insertion point; constants go to the function's entry.

    An `Index` is an `index` value or a Python integer; the latter becomes a constant on use.
    """

    def __init__(self, entry: ir.Block) -> None:
        # Constants go before the first mark, other code of the entry between the two.
        i1 = ir.IntegerType.get_signless(1)
        with ir.InsertionPoint.at_block_begin(entry):
            self._marks = [ir.Operation.create("ub.poison", results=[i1]) for _ in "ab"]
        self._constants: dict[tuple[ir.Type, ir.Attribute], ir.Value] = {}
        self._sizes: dict[SymExpr, ir.Value] = {}
        self._flat: dict[ir.Value, ir.Value] = {}
        self._masks: dict[tuple[int, int], ir.Value] = {}
        self.index_type = ir.IndexType.get()
        self.bool_type = i1
        self._i64 = ir.IntegerType.get_signless(64)

    def op(
        self,
        name: str,
        operands: Sequence[ir.Value],
        result: ir.Type | None = None,
        **attributes: ir.Attribute,
    ) -> ir.Value | ir.Operation:
        """Write an operation; returns its result, or the operation when it has none."""
        made = ir.Operation.create(
            name,
            results=[] if result is None else [result],
            operands=list(operands),
            attributes=attributes,
        )
        return made if result is None else made.results[0]

    def constant(self, type_: ir.Type, value: float) -> ir.Value:
        """Return a scalar or splat constant; NaN and infinities are fine."""
        vector = isinstance(type_, ir.VectorType)
        element = type_.element_type if vector else type_
        floating = not isinstance(element, (ir.IntegerType, ir.IndexType))
        attr = (
            ir.FloatAttr.get(element, float(value))
            if floating
            else ir.IntegerAttr.get(element, int(value))
        )
        if vector:
            attr = ir.DenseElementsAttr.get_splat(type_, attr)
        return self.constant_of(type_, attr)

    def constant_of(self, type_: ir.Type, attr: ir.Attribute) -> ir.Value:
        """Return the constant of that attribute."""
        key = (type_, attr)
        if key not in self._constants:
            with ir.InsertionPoint(self._marks[0]):
                self._constants[key] = self.op("arith.constant", [], type_, value=attr)
        return self._constants[key]

    def at_entry(self) -> ir.InsertionPoint:
        """Return where code goes that the whole function may use."""
        return ir.InsertionPoint(self._marks[1])

    def close(self) -> None:
        """Remove what marked the places at the entry; nothing can be written afterwards."""
        for mark in self._marks:
            mark.erase()

    def index(self, value: Index) -> ir.Value:
        """Return an index value."""
        return self.constant(self.index_type, value) if isinstance(value, int) else value

    def add(self, a: Index, b: Index) -> Index:
        """Return a + b."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, int):
            a, b = b, a
        return a if _is(b, 0) else self._index_op("arith.addi", a, b)

    def sub(self, a: Index, b: Index) -> Index:
        """Return a - b."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if _is(b, 0) else self._index_op("arith.subi", a, b)

    def mul(self, a: Index, b: Index) -> Index:
        """Return a * b."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(a, int):
            a, b = b, a
        if _is(b, 0):
            return 0
        return a if _is(b, 1) else self._index_op("arith.muli", a, b)

    def div(self, a: Index, b: Index) -> Index:
        """Return a // b of non-negative numbers."""
        if isinstance(a, int) and isinstance(b, int) and b:
            return a // b
        return a if _is(b, 1) else self._index_op("arith.divui", a, b)

    def rem(self, a: Index, b: Index) -> Index:
        """Return a % b of non-negative numbers."""
        if isinstance(a, int) and isinstance(b, int) and b:
            return a % b
        return 0 if _is(b, 1) else self._index_op("arith.remui", a, b)

    def min(self, a: Index, b: Index) -> Index:
        """Return the smaller."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self._index_op("arith.minsi", a, b)

    def max(self, a: Index, b: Index) -> Index:
        """Return the larger."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return self._index_op("arith.maxsi", a, b)

    def round_down(self, a: Index, step: int) -> Index:
        """Return the largest multiple of a number that is not above a."""
        return self.mul(self.div(a, step), step)

    def compare(self, predicate: str, a: Index, b: Index) -> ir.Value:
        """Return whether `a predicate b`, as an i1."""
        attr = ir.IntegerAttr.get(self._i64, CMP[predicate])
        operands = [self.index(a), self.index(b)]
        return self.op("arith.cmpi", operands, self.bool_type, predicate=attr)

    def both(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return the conjunction of conditions or of masks."""
        return self.op("arith.andi", [a, b], a.type)

    def select(self, condition: ir.Value, a: Index, b: Index) -> ir.Value:
        """Return a where the condition holds, else b; indices or values of one type."""
        a, b = self.index(a), self.index(b)
        return self.op("arith.select", [condition, a, b], a.type)

    def is_zero(self, attr: ir.Attribute) -> bool:
        """Whether a number's attribute is zero."""
        kind = ir.FloatAttr if isinstance(attr, ir.FloatAttr) else ir.IntegerAttr
        return kind(attr).value == 0

    def alloc(self, size: Index, element: ir.Type) -> ir.Value:
        """Allocate a one-dimensional buffer, aligned for vectors; a small one on the stack.

        Not to be called inside a loop: the stack is only given back on return.
        """
        known = isinstance(size, int)
        return self.op(
            "memref.alloca" if known and size <= _STACK else "memref.alloc",
            [] if known else [size],
            ir.MemRefType.get([size if known else _DYNAMIC], element),
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([0 if known else 1, 0]),
            alignment=ir.IntegerAttr.get(self._i64, 64),
        )

    def flatten(self, buffer: ir.Value) -> ir.Value:
        """Return a row-major buffer as one dimension."""
        type_ = buffer.type
        if type_.rank == 1:
            return buffer
        known = type_.has_static_shape
        size = math.prod(type_.shape) if known else _DYNAMIC
        groups = [list(range(type_.rank))] if type_.rank else []
        if not groups:
            return self.op(
                "memref.expand_shape",
                [buffer],
                ir.MemRefType.get([1], type_.element_type),
                reassociation=ir.ArrayAttr.get([]),
                static_output_shape=ir.DenseI64ArrayAttr.get([1]),
            )
        attr = ir.ArrayAttr.get(
            [ir.ArrayAttr.get([ir.IntegerAttr.get(self._i64, i) for i in g]) for g in groups]
        )
        flat = ir.MemRefType.get([size], type_.element_type)
        return self.op("memref.collapse_shape", [buffer], flat, reassociation=attr)

    def dynamic(self, buffer: ir.Value) -> ir.Value:
        """Return a one-dimensional buffer with its size forgotten."""
        type_ = ir.MemRefType.get([_DYNAMIC], buffer.type.element_type)
        return buffer if buffer.type == type_ else self.op("memref.cast", [buffer], type_)

    def _index_op(self, name: str, a: Index, b: Index) -> ir.Value:
        return self.op(name, [self.index(a), self.index(b)], self.index_type)

    def size(self, expr: SymExpr) -> Index:
        """Return the value of a symbolic size."""
        if expr.is_const:
            return expr.value
        if expr not in self._sizes:
            with ir.InsertionPoint(self._marks[0]):
                self._sizes[expr] = self.op("tir.symbol", [], self.index_type, value=Dims.of([expr]))
        return self._sizes[expr]

    def flatten_once(self, buffer: ir.Value) -> ir.Value:
        """Return a row-major buffer as one dimension; a view at the entry where it is a parameter."""
        if buffer not in self._flat:
            point = self.at_entry()
            if not isinstance(buffer.owner, ir.Block):
                point = ir.InsertionPoint.after(buffer.owner)
            with point:
                self._flat[buffer] = self.flatten(buffer)
        return self._flat[buffer]

    def dim(self, buffer: ir.Value, position: int) -> Index:
        """Return a dimension of a memref."""
        type_ = buffer.type
        if not type_.is_dynamic_dim(position):
            return type_.get_dim_size(position)
        return self.op("memref.dim", [buffer, self.index(position)], self.index_type)

    def load(self, buffer: ir.Value, indices: Sequence[Index]) -> ir.Value:
        """Load one element."""
        operands = [buffer, *map(self.index, indices)]
        return self.op("memref.load", operands, buffer.type.element_type)

    def store(self, value: ir.Value, buffer: ir.Value, indices: Sequence[Index]) -> None:
        """Store one element."""
        self.op("memref.store", [value, buffer, *map(self.index, indices)])

    def vector_load(
        self,
        buffer: ir.Value,
        indices: Sequence[Index],
        type_: ir.VectorType,
        mask: ir.Value | None = None,
        other: ir.Value | None = None,
    ) -> ir.Value:
        """Load adjacent elements; masked-off lanes are not touched and read `other`, or zero."""
        where = [buffer, *map(self.index, indices)]
        if mask is None:
            return self.op("vector.load", where, type_)
        other = self.constant(type_, 0) if other is None else other
        return self.op("vector.maskedload", [*where, mask, other], type_)

    def vector_store(
        self,
        value: ir.Value,
        buffer: ir.Value,
        indices: Sequence[Index],
        mask: ir.Value | None = None,
    ) -> None:
        """Store adjacent elements; masked-off lanes are not touched."""
        where = [buffer, *map(self.index, indices)]
        if mask is None:
            self.op("vector.store", [value, *where])
        else:
            self.op("vector.maskedstore", [*where, mask, value])

    def mask(self, live: Index, lanes: int) -> ir.Value:
        """Return a mask whose first `live` lanes are on; none when that is negative."""
        type_ = ir.VectorType.get([lanes], self.bool_type)
        if not isinstance(live, int):
            return self.op("vector.create_mask", [live], type_)
        if (live, lanes) not in self._masks:
            operand = self.index(live)
            with ir.InsertionPoint(self._marks[0]):
                self._masks[live, lanes] = self.op("vector.create_mask", [operand], type_)
        return self._masks[live, lanes]

    def splat(self, value: ir.Value, type_: ir.VectorType) -> ir.Value:
        """Return a vector with a scalar in every lane."""
        return self.op("vector.broadcast", [value], type_)

    def extract(self, vector: ir.Value, lane: int) -> ir.Value:
        """Return one lane."""
        where = ir.DenseI64ArrayAttr.get([lane])
        return self.op("vector.extract", [vector], vector.type.element_type, static_position=where)

    def insert(self, value: ir.Value, vector: ir.Value, lane: int) -> ir.Value:
        """Return a vector with one lane replaced."""
        where = ir.DenseI64ArrayAttr.get([lane])
        return self.op("vector.insert", [value, vector], vector.type, static_position=where)

    def part(self, vector: ir.Value, lane: int, count: int) -> ir.Value:
        """Return adjacent lanes of a vector."""
        numbers = [ir.ArrayAttr.get([ir.IntegerAttr.get(self._i64, n)]) for n in (lane, count, 1)]
        names = ("offsets", "sizes", "strides")
        type_ = ir.VectorType.get([count], vector.type.element_type)
        attributes = dict(zip(names, numbers, strict=True))
        return self.op("vector.extract_strided_slice", [vector], type_, **attributes)

    def shuffle(self, a: ir.Value, b: ir.Value, lanes: Sequence[int]) -> ir.Value:
        """Return lanes picked from two vectors, those of the second numbered after the first's."""
        mask = ir.DenseI64ArrayAttr.get(list(lanes))
        type_ = ir.VectorType.get([len(lanes)], a.type.element_type)
        return self.op("vector.shuffle", [a, b], type_, mask=mask)

    @contextmanager
    def loop(
        self, lower: Index, upper: Index, step: Index = 1, carried: Sequence[ir.Value] = ()
    ) -> Iterator[Loop]:
        """Write an `scf.for`; `Loop.carry` sets what the next step gets."""
        made = ir.Operation.create(
            "scf.for",
            results=[value.type for value in carried],
            operands=[self.index(lower), self.index(upper), self.index(step), *carried],
            regions=1,
        )
        block = made.regions[0].blocks.append(self.index_type, *(v.type for v in carried))
        counter, *arguments = block.arguments
        loop = Loop(counter, arguments)
        with ir.InsertionPoint(block):
            yield loop
            self.op("scf.yield", loop._next)
        loop.results = list(made.results)

    @contextmanager
    def parallel(self, lower: Index, upper: Index, step: Index = 1) -> Iterator[ir.Value]:
        """Write an `scf.parallel` of one dimension, whose steps may run in any order."""
        made = ir.Operation.create(
            "scf.parallel",
            operands=[self.index(lower), self.index(upper), self.index(step)],
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])},
            regions=1,
        )
        block = made.regions[0].blocks.append(self.index_type)
        with ir.InsertionPoint(block):
            yield block.arguments[0]
            ir.Operation.create("scf.reduce")

    @contextmanager
    def when(self, condition: ir.Value) -> Iterator[ir.Operation]:
        """Write an `scf.if` without results; yields it, for `otherwise`."""
        made = ir.Operation.create("scf.if", operands=[condition], regions=2)
        with ir.InsertionPoint(made.regions[0].blocks.append()):
            yield made
            self.op("scf.yield", [])

    @contextmanager
    def otherwise(self, made: ir.Operation) -> Iterator[None]:
        """Write the other branch of an `scf.if`."""
        with ir.InsertionPoint(made.regions[1].blocks.append()):
            yield
            self.op("scf.yield", [])


def _is(value: Index, number: int) -> bool:
    return isinstance(value, int) and value == number
