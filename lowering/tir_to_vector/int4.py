"""Buffers of 4-bit integers: two elements in a byte, the first in the low half."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.errors import PassError
from relax_mlir.lowering.walk import collect, is_integer_buffer

arith: ModuleType = submodule("dialects.arith")
memref: ModuleType = submodule("dialects.memref")

_DYNAMIC = ir.ShapedType.get_dynamic_size()
_BITS, _LOW = 4, 15
# Operations of `memref.atomic_rmw`, by their numbers in arith's enumeration of such kinds.
_AND, _OR = "andi", "ori"
_PARALLEL = ("scf.parallel", "omp.parallel", "omp.wsloop")


def is_int4(type_: ir.Type) -> bool:
    """Whether a type is that of a buffer of 4-bit integers."""
    return is_integer_buffer(type_, 4)


@dataclass(frozen=True)
class _Place:
    """Where a buffer's elements are: bytes, the first element's number, and the strides."""

    data: ir.Value
    first: ir.Value
    strides: tuple[ir.Value, ...]


def lower_int4(func: ir.OpView, types: Iterable[ir.Type]) -> None:
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
    writer = _Writer(entry)
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
    def __init__(self, entry: ir.Block) -> None:
        self._entry = entry
        self._byte, self._index = ir.IntegerType.get_signless(8), ir.IndexType.get()
        self._places: dict[ir.Value, _Place] = {}
        self.kept: list[ir.Operation] = []

    def parameter(self, value: ir.Value) -> None:
        """Note where a parameter's elements are; it becomes a buffer of as many bytes."""
        type_ = ir.MemRefType(value.type)
        value.set_type(ir.MemRefType.get(type_.shape, self._byte, type_.layout))
        with ir.InsertionPoint.at_block_begin(self._entry), ir.Location.unknown():
            sizes = [memref.dim(value, self._number(i)) for i in range(type_.rank)]
            data = self._flat(value)
            self._places[value] = _Place(data, self._number(0), self._row_major(sizes))

    def rewrite(self, op: ir.Operation) -> None:
        """Rewrite one operation; those that only make a buffer are noted."""
        with ir.InsertionPoint(op):
            method = getattr(self, f"_{op.name.replace('.', '_')}", None)
            if method is None:
                raise PassError(
                    "lower-tir", "a buffer of 4-bit integers",
                    [f"'{op.name}' on a buffer of 4-bit integers has no native form"],
                )  # fmt: skip
            method(op)

    def _memref_alloc(self, op: ir.Operation) -> None:
        type_, dynamic = ir.MemRefType(op.results[0].type), iter(op.operands)
        sizes = [
            next(dynamic) if type_.is_dynamic_dim(i) else self._number(type_.shape[i])
            for i in range(type_.rank)
        ]
        total = functools.reduce(arith.muli, sizes, self._number(1))
        count = arith.divui(arith.addi(total, self._number(1)), self._number(2))
        data = memref.AllocOp(ir.MemRefType.get([_DYNAMIC], self._byte), [count], []).result
        self._places[op.results[0]] = _Place(data, self._number(0), self._row_major(sizes))

    def _memref_view(self, op: ir.Operation) -> None:
        type_, dynamic = ir.MemRefType(op.results[0].type), iter(list(op.operands)[2:])
        sizes = [
            next(dynamic) if type_.is_dynamic_dim(i) else self._number(type_.shape[i])
            for i in range(type_.rank)
        ]
        first = arith.muli(op.operands[1], self._number(2))
        data = self._flat(op.operands[0])
        self._places[op.results[0]] = _Place(data, first, self._row_major(sizes))

    def _memref_reinterpret_cast(self, op: ir.Operation) -> None:
        known = [list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
                 for name in ("offsets", "sizes", "strides")]  # fmt: skip
        dynamic = iter(list(op.operands)[1:])
        values = [[next(dynamic) if each == _DYNAMIC else self._number(each) for each in group]
                  for group in known]  # fmt: skip
        data = self._places[op.operands[0]].data
        self._places[op.results[0]] = _Place(data, values[0][0], tuple(values[2]))

    def _memref_dim(self, op: ir.Operation) -> None:
        """The size of a parameter is that of its bytes' type; other buffers know theirs."""
        if isinstance(op.operands[0].owner, ir.Block):
            self.kept.append(op)
            return
        raise PassError("lower-tir", "a buffer of 4-bit integers", ["its size is not known"])

    def _memref_cast(self, op: ir.Operation) -> None:
        self._places[op.results[0]] = self._places[op.operands[0]]

    def _func_call(self, op: ir.Operation) -> None:
        """The operands are parameters, and have their new types already."""
        for operand in op.operands:
            if is_int4(operand.type):
                raise PassError(
                    "lower-tir", "a buffer of 4-bit integers",
                    ["only a parameter of 4-bit integers can be passed on"],
                )  # fmt: skip

    def _memref_load(self, op: ir.Operation) -> None:
        place = self._places[op.operands[0]]
        byte, shift = self._find(place, list(op.operands)[1:])
        shifted = arith.shrui(memref.load(place.data, [byte]), shift)
        value = arith.trunci(op.results[0].type, shifted)
        op.results[0].replace_all_uses_with(value)

    def _memref_store(self, op: ir.Operation) -> None:
        place = self._places[op.operands[1]]
        byte, shift = self._find(place, list(op.operands)[2:])
        value = arith.shli(arith.extui(self._byte, op.operands[0]), shift)
        low = arith.constant(self._byte, ir.IntegerAttr.get(self._byte, _LOW))
        ones = arith.constant(self._byte, ir.IntegerAttr.get(self._byte, -1))
        others = arith.xori(arith.shli(low, shift), ones)
        if _is_parallel(op):
            for kind, operand in ((_AND, others), (_OR, value)):
                ir.Operation.create(
                    "memref.atomic_rmw", results=[self._byte],
                    operands=[operand, place.data, byte],
                    attributes={"kind": _kind(kind)},
                )  # fmt: skip
            return
        kept = arith.andi(memref.load(place.data, [byte]), others)
        memref.store(arith.ori(kept, value), place.data, [byte])

    def _find(self, place: _Place, indices: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """Return the byte of an element, and its shift."""
        at = place.first
        for index, stride in zip(indices, place.strides, strict=True):
            at = arith.addi(at, arith.muli(index, stride))
        byte = arith.shrui(at, self._number(1))
        half = arith.index_cast(self._byte, arith.andi(at, self._number(1)))
        bits = arith.constant(self._byte, ir.IntegerAttr.get(self._byte, _BITS))
        return byte, arith.muli(half, bits)

    def _flat(self, value: ir.Value) -> ir.Value:
        """Return a buffer's memory as bytes in a row."""
        type_ = ir.MemRefType(value.type)
        sizes = [memref.dim(value, self._number(i)) for i in range(type_.rank)]
        total = functools.reduce(arith.muli, sizes, self._number(1))
        flat = ir.MemRefType.get([_DYNAMIC], self._byte, ir.StridedLayoutAttr.get(0, [1]))
        return memref.ReinterpretCastOp(
            flat, value, [], [total], [], static_offsets=[0], static_sizes=[_DYNAMIC],
            static_strides=[1],
        ).result  # fmt: skip

    def _row_major(self, sizes: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
        strides = [self._number(1)]
        for size in reversed(sizes[1:]):
            strides.append(arith.muli(strides[-1], size))
        return tuple(reversed(strides)) if sizes else ()

    def _number(self, value: int) -> ir.Value:
        return arith.constant(self._index, ir.IntegerAttr.get(self._index, value))


def _kind(name: str) -> ir.Attribute:
    """Return the number of an atomic operation as the attribute that holds it."""
    text = f"""func.func @f(%m: memref<1xi8>, %i: index, %v: i8) {{
      %0 = memref.atomic_rmw {name} %v, %m[%i] : (i8, memref<1xi8>) -> i8 return }}"""
    module = ir.Module.parse(text)
    block = module.body.operations[0].regions[0].blocks[0]
    return block.operations[0].operation.attributes["kind"]


def _is_parallel(op: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        if parent.operation.name in _PARALLEL:
            return True
        parent = parent.operation.parent
    return False
