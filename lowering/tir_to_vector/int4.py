"""Buffers of 4-bit integers: two elements in a byte, the first in the low half."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, IndexValue, constant_or_value
from relax_mlir.lowering.walk import ancestors, collect, is_integer_buffer

_DYNAMIC = ir.ShapedType.get_dynamic_size()
_BITS, _LOW = 4, 15
# Kinds of `memref.atomic_rmw`.
_AND, _OR = 2, 14
_PARALLEL = ("scf.parallel", "omp.parallel", "omp.wsloop")


def is_int4(type_: ir.Type) -> bool:
    """Whether a type is that of a buffer of 4-bit integers."""
    return is_integer_buffer(type_, 4)


@dataclass(frozen=True)
class _Place:
    """Where a buffer's elements are: bytes, the first element's number, and the strides."""

    data: ir.Value
    first: Index
    strides: list[Index]


def lower_int4(func: ir.OpView, types: Iterable[ir.Type], emit: Emitter) -> None:
    """Replace every access of a 4-bit buffer by one of its byte, in place.

    Where steps run in parallel, a store changes its half of the byte atomically. `types` are those
    of what makes buffers in the function, or is given to it.

    Raises:
        PassError: an operation on such a buffer that is no access, view, call or allocation.
    """
    if not any(map(is_int4, types)):
        return
    entry = func.entry_block
    ops = collect(
        func.operation,
        lambda op: (
            op.name != "func.func"
            and any(is_int4(each.type) for each in (*op.operands, *op.results))
        ),
    )
    arguments = [each for each in entry.arguments if is_int4(each.type)]
    if not ops and not arguments:
        return
    writer = _Writer(emit)
    for argument in arguments:
        writer.parameter(argument)
    for op in ops:
        with op.location:
            writer.rewrite(op)
    for op in reversed(ops):
        if op.name != "func.call" and op not in writer.kept:
            op.erase()
    type_ = ir.FunctionType.get([each.type for each in entry.arguments], func.type.results)
    func.operation.attributes["function_type"] = ir.TypeAttr.get(type_)


class _Writer:
    def __init__(self, emit: Emitter) -> None:
        self._emit, self._byte = emit, ir.IntegerType.get_signless(8)
        self._places: dict[ir.Value, _Place] = {}
        self.kept: list[ir.Operation] = []

    def parameter(self, value: ir.Value) -> None:
        """Note where a parameter's elements are; it becomes a buffer of as many bytes."""
        type_ = ir.MemRefType(value.type)
        value.set_type(ir.MemRefType.get(type_.shape, self._byte, type_.layout))
        with self._emit.at_entry(), ir.Location.unknown():
            self._places[value] = self._row_major(self._bytes(value), 0, self._sizes_of(value))

    def rewrite(self, op: ir.Operation) -> None:
        """Rewrite one operation; those that only make a buffer are noted."""
        with ir.InsertionPoint(op):
            method = getattr(self, f"_{op.name.replace('.', '_')}", None)
            if method is None:
                raise _error(f"'{op.name}' on a buffer of 4-bit integers has no native form")
            method(op)

    def _memref_alloc(self, op: ir.Operation) -> None:
        sizes = self._sizes(op, list(op.operands))
        data = self._emit.alloc((math.prod(sizes) + 1) // 2, self._byte, stack=0)
        self._places[op.results[0]] = self._row_major(data, 0, sizes)

    def _memref_view(self, op: ir.Operation) -> None:
        data, first, *sizes = op.operands
        self._places[op.results[0]] = self._row_major(
            self._bytes(data), self._index(first) * 2, self._sizes(op, sizes)
        )

    def _memref_reinterpret_cast(self, op: ir.Operation) -> None:
        known = [list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
                 for name in ("offsets", "sizes", "strides")]  # fmt: skip
        dynamic = iter(list(op.operands)[1:])
        offsets, _, strides = [
            [self._index(next(dynamic)) if each == _DYNAMIC else each for each in group]
            for group in known
        ]
        data = self._places[op.operands[0]].data
        self._places[op.results[0]] = _Place(data, offsets[0], strides)

    def _memref_dim(self, op: ir.Operation) -> None:
        """The size of a parameter is that of its bytes' type; other buffers know theirs."""
        if not isinstance(op.operands[0].owner, ir.Block):
            raise _error("its size is not known")
        self.kept.append(op)

    def _memref_cast(self, op: ir.Operation) -> None:
        self._places[op.results[0]] = self._places[op.operands[0]]

    def _func_call(self, op: ir.Operation) -> None:
        """The operands are parameters, and have their new types already."""
        if any(is_int4(operand.type) for operand in op.operands):
            raise _error("only a parameter of 4-bit integers can be passed on")

    def _memref_load(self, op: ir.Operation) -> None:
        buffer, *indices = op.operands
        data, byte, shift = self._find(buffer, indices)
        shifted = self._emit.op("arith.shrui", [self._emit.load(data, [byte]), shift], self._byte)
        value = self._emit.op("arith.trunci", [shifted], op.results[0].type)
        op.results[0].replace_all_uses_with(value)

    def _memref_store(self, op: ir.Operation) -> None:
        stored, buffer, *indices = op.operands
        data, byte, shift = self._find(buffer, indices)
        wide = self._emit.op("arith.extui", [stored], self._byte)
        value, low = self._on_bytes("shli", wide, shift), self._emit.constant(self._byte, _LOW)
        ones = self._emit.constant(self._byte, -1)
        others = self._on_bytes("xori", self._on_bytes("shli", low, shift), ones)
        if any(outer.name in _PARALLEL for outer in ancestors(op)):
            for kind, operand in ((_AND, others), (_OR, value)):
                attr = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), kind)
                operands = [operand, data, self._emit.index(byte)]
                self._emit.op("memref.atomic_rmw", operands, self._byte, kind=attr)
            return
        kept = self._on_bytes("andi", self._emit.load(data, [byte]), others)
        self._emit.store(self._on_bytes("ori", kept, value), data, [byte])

    def _on_bytes(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._emit.op(f"arith.{name}", [a, b], self._byte)

    def _find(
        self, buffer: ir.Value, indices: Sequence[ir.Value]
    ) -> tuple[ir.Value, Index, ir.Value]:
        """Return the bytes of a buffer, the one with an element, and the element's shift."""
        place = self._places[buffer]
        at = place.first
        for index, stride in zip(indices, place.strides, strict=True):
            at += self._index(index) * stride
        half = self._emit.op("arith.index_cast", [self._emit.index(at - at // 2 * 2)], self._byte)
        bits = self._emit.constant(self._byte, _BITS)
        return place.data, at // 2, self._on_bytes("muli", half, bits)

    def _index(self, value: ir.Value) -> Index:
        known = constant_or_value(value)
        return known if isinstance(known, int) else IndexValue(known, self._emit)

    def _sizes(self, op: ir.Operation, operands: Sequence[ir.Value]) -> list[Index]:
        """Return the sizes of what an operation makes, given the dynamic ones."""
        type_, dynamic = ir.MemRefType(op.results[0].type), iter(operands)
        return [
            self._index(next(dynamic)) if type_.is_dynamic_dim(i) else type_.shape[i]
            for i in range(type_.rank)
        ]

    def _sizes_of(self, value: ir.Value) -> list[Index]:
        return [self._emit.dim(value, i) for i in range(ir.MemRefType(value.type).rank)]

    def _bytes(self, value: ir.Value) -> ir.Value:
        """Return a buffer's memory as bytes in a row."""
        return self._emit.from_place(value, 0, math.prod(self._sizes_of(value)))

    def _row_major(self, data: ir.Value, first: Index, sizes: Sequence[Index]) -> _Place:
        strides: list[Index] = []
        stride: Index = 1
        for size in reversed(sizes):
            strides.insert(0, stride)
            stride *= size
        return _Place(data, first, strides)


def _error(text: str) -> PassError:
    return PassError("lower-tir", "a buffer of 4-bit integers", [text])
