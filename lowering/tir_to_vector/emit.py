"""A small builder of upstream operations: memory, vectors, loops and branches."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.lowering.target.isa.isa import Isa
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelEmitter

llvm: ModuleType = submodule("dialects.llvm")
memref: ModuleType = submodule("dialects.memref")

# Elements up to which a buffer may live on the stack.
_STACK = 256
# Bytes of the stack for buffers whose size only run time knows.
_NEAR_BYTES = 1 << 15
_FLOAT_PREDICATES = {"oeq": 1, "ogt": 2, "olt": 4, "uno": 14}
_DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass
class StridedRef:
    """An element of a one-dimensional memref, and strides by name.

    Along "m", `last` is the last row that exists. `each` are buffers that begin with a tile's rows,
    if their distance is dynamic. `ahead` is what steps of k prefetch into L2 beside their products,
    with a stride "k".
    """

    base: ir.Value
    offset: Index
    strides: dict[str, Index]
    last: Index | None = None
    each: list[ir.Value] | None = None
    ahead: "StridedRef | None" = None

    def row(self, emit: "Emitter", number: Index) -> Index:
        """Return the offset of a row; rows past the last one repeat it."""
        known = self.last is None or number == 0
        return (number if known else emit.min(number, self.last)) * self.stride("m")

    def stride(self, name: object) -> Index:
        """Return a stride, 0 for an axis that the buffer does not have."""
        return self.strides.get(name, 0)


class Emitter(ParallelEmitter):
    """Writes operations at the current insertion point."""

    def __init__(self, entry: ir.Block, machine: Machine | None = None) -> None:
        super().__init__(entry, 1 if machine is None else machine.threads)
        self._machine = machine
        self._flat: dict[ir.Value, ir.Value] = {}
        # The first lane that each mask has on, and the one after the last.
        self._lanes: dict[ir.Value, tuple[int, Index]] = {}

    def close(self) -> None:
        """Remove the marks at the entry; nothing can be written afterwards."""
        super().close()
        self._flat.clear()
        self._lanes.clear()

    @property
    def machine(self) -> Machine:
        """The machine that the code is for."""
        assert self._machine is not None  # vector code is written for a machine
        return self._machine

    @property
    def isa(self) -> Isa:
        """Its instruction set."""
        return self.machine.isa

    def alloc(self, size: Index, element: ir.Type, stack: int = _STACK) -> ir.Value:
        """Allocate a one-dimensional buffer, aligned for vectors.

        It is on the stack if it has at most `stack` elements. In a parallel region each thread gets
        one, and the size must be known outside of it.
        """
        if isinstance(size, int) and size <= stack:
            # Where loops do not come back to: the stack is only given back on return.
            with self.region_entry():
                return self._memory(memref.AllocaOp, size, element)
        own = self.own_memory(size, element)
        return self._memory(memref.AllocOp, size, element) if own is None else own

    def _memory(self, make: Callable[..., ir.OpView], size: Index, element: ir.Type) -> ir.Value:
        dynamic = [] if isinstance(size, int) else [size]
        type_ = ir.MemRefType.get([_DYNAMIC if dynamic else size], element)
        return make(type_, dynamic, [], alignment=64).result

    def alloc_scratch(self, size: Index, element: ir.Type) -> ir.Value:
        """Allocate as `alloc` does; a dynamic size is on the stack if it fits at run time.

        An allocation on the heap takes longer than a small kernel.
        """
        most = _NEAR_BYTES * 8 // max(8, element.width)
        if isinstance(size, int):
            return self.alloc(size, element, most)
        with self.outside():
            # Sizes that overflowed are large.
            fits = self.compare("ule", size, most)
            rest = self.select(fits, 0, size)
        far = self.alloc(rest, element)
        return self.select(fits, self.dynamic(self.alloc(most, element, most)), far)

    def flatten(self, buffer: ir.Value) -> ir.Value:
        """Return a row-major buffer as one dimension."""
        type_ = buffer.type
        if type_.rank == 1:
            return buffer
        if type_.rank == 0:
            return self.op(
                "memref.expand_shape", [buffer], ir.MemRefType.get([1], type_.element_type),
                reassociation=ir.ArrayAttr.get([]),
                static_output_shape=ir.DenseI64ArrayAttr.get([1]),
            )  # fmt: skip
        size = math.prod(type_.shape) if type_.has_static_shape else _DYNAMIC
        group = ir.ArrayAttr.get([ir.IntegerAttr.get(self._i64, i) for i in range(type_.rank)])
        flat, groups = ir.MemRefType.get([size], type_.element_type), ir.ArrayAttr.get([group])
        return self.op("memref.collapse_shape", [buffer], flat, reassociation=groups)

    def address(self, buffer: ir.Value) -> Index:
        """Return the address of a buffer's first element."""
        name = "memref.extract_aligned_pointer_as_index"
        return self.op(name, [buffer], self.index_type)

    def dynamic(self, buffer: ir.Value) -> ir.Value:
        """Return a one-dimensional buffer with its size forgotten."""
        type_ = ir.MemRefType.get([_DYNAMIC], buffer.type.element_type)
        return buffer if buffer.type == type_ else self.op("memref.cast", [buffer], type_)

    def flatten_once(self, buffer: ir.Value) -> ir.Value:
        """Return a row-major buffer as one dimension, through one view for all its uses."""
        if buffer not in self._flat:
            point = self.at_entry()
            if not isinstance(buffer.owner, ir.Block):
                point = ir.InsertionPoint.after(buffer.owner)
            with point:
                self._flat[buffer] = self.flatten(buffer)
        return self._flat[buffer]

    def from_place(self, buffer: ir.Value, first: Index, size: Index) -> ir.Value:
        """Return some adjacent elements of a buffer as one of one dimension."""
        start = first if isinstance(first, int) else _DYNAMIC
        layout = ir.StridedLayoutAttr.get(start, [1])
        type_ = ir.MemRefType.get([_DYNAMIC], buffer.type.element_type, layout)
        offsets = [] if isinstance(first, int) else [first]
        return memref.ReinterpretCastOp(
            type_, buffer, offsets, [self.index(size)], [], [start], [_DYNAMIC], [1]
        ).result

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

    def load_if_any(self, buffer: ir.Value, indices: Sequence[Index], mask: ir.Value) -> ir.Value:
        """Load an element that all lanes of a mask share; zero if none is on."""
        element = buffer.type.element_type
        return self.either(
            self.reduced(mask, "or"), [element],
            lambda: [self.load(buffer, indices)], lambda: [self.constant(element, 0)],
        )[0]  # fmt: skip

    def store(self, value: ir.Value, buffer: ir.Value, indices: Sequence[Index]) -> None:
        """Store one element."""
        self.effect("memref.store", [value, buffer, *map(self.index, indices)])

    def vector_load(
        self, buffer: ir.Value, indices: Sequence[Index], type_: ir.VectorType,
        mask: ir.Value | None = None, other: ir.Value | None = None,
    ) -> ir.Value:  # fmt: skip
        """Load adjacent elements; masked-off lanes are not touched and read `other`, or zero."""
        where = [buffer, *map(self.index, indices)]
        if mask is None:
            return self.op("vector.load", where, type_)
        other = self.constant(type_, 0) if other is None else other
        return self.op("vector.maskedload", [*where, mask, other], type_)

    def vector_store(
        self, value: ir.Value, buffer: ir.Value, indices: Sequence[Index],
        mask: ir.Value | None = None, *, non_temporal: int = 0,
    ) -> None:  # fmt: skip
        """Store adjacent elements; masked-off lanes are not touched.

        `non_temporal` makes the store non-temporal: it is the alignment, in elements, relative to a
        cache line; 0 for a plain store.
        """
        where = [buffer, *map(self.index, indices)]
        if non_temporal:
            size = min(64, non_temporal * value.type.element_type.width // 8)
            aligned = ir.IntegerAttr.get(self._i64, size)
            yes = ir.BoolAttr.get(True)
            self.effect("vector.store", [value, *where], nontemporal=yes, alignment=aligned)
        elif mask is None:
            self.effect("vector.store", [value, *where])
        elif mask in self._lanes and not self.isa.free_masks:
            self._store_lanes([value], buffer, [indices], *self._lanes[mask])
        else:
            self.effect("vector.maskedstore", [*where, mask, value])

    def store_rows(
        self, values: Sequence[ir.Value], buffer: ir.Value, places: Sequence[Index],
        mask: ir.Value | None,
    ) -> None:  # fmt: skip
        """Store vectors as `vector_store` does, in a buffer of one dimension, with one mask."""
        if mask in self._lanes and not self.isa.free_masks:
            self._store_lanes(values, buffer, [[at] for at in places], *self._lanes[mask])
            return
        for value, at in zip(values, places, strict=True):
            self.vector_store(value, buffer, [at], mask)

    def _store_lanes(
        self, values: Sequence[ir.Value], buffer: ir.Value, places: Sequence[Sequence[Index]],
        first: int, live: Index,
    ) -> None:  # fmt: skip
        """Store the lanes from `first` to before `live` by powers of two; `first` is 0 if dynamic.

        A masked store takes 12 cycles on Zen 3, and LLVM has none for some elements. On Zen 4 with
        AVX2, depthwise convolutions of any size take 0.6 to 0.8 of the time that masked stores of
        the last columns take (`depthwise_*` of benchmarks/kernels.py).
        """
        lanes = values[0].type.shape[0]

        def store(begin: Index, first: int, count: int) -> None:
            for value, (*outer, at) in zip(values, places, strict=True):
                self.vector_store(self.part(value, first, count), buffer, [*outer, at + begin])

        if isinstance(live, int):
            while first < live:
                count = first & -first or lanes
                while first + count > live:
                    count //= 2
                store(first, first, count)
                first += count
            return
        if (unit := lanes & -lanes) < lanes:
            for begin in range(0, lanes, unit):
                parts = [self.part(value, begin, unit) for value in values]
                there = [[*outer, at + begin] for *outer, at in places]
                self._store_lanes(parts, buffer, there, 0, live - begin)
            return
        live = self.max(live, 0)
        with self.when(self.compare("sge", live, lanes)) as whole:
            store(0, 0, lanes)
        with self.otherwise(whole):
            begin: Index = 0
            while lanes > 1:
                lanes //= 2
                low, high = ([self.part(v, at, lanes) for v in values] for at in (0, lanes))

                def some(
                    begin: Index = begin, count: int = lanes, rest: list[ir.Value] = high
                ) -> list[ir.Value]:
                    store(begin, 0, count)
                    return rest

                types = [value.type for value in low]
                values = self.either(
                    self.compare("ne", live & lanes, 0), types, some, lambda low=low: low
                )
                begin += live & lanes

    def prefetch(
        self, buffer: ir.Value, index: Index, write: bool = False, far: bool = False
    ) -> None:
        """Prefetch a cache line into L1, or into L2 with `far`; it may lie beyond the buffer."""
        memref.PrefetchOp(buffer, [self.index(index)], write, 2 if far else 3, True)

    def compiler_barrier(self) -> None:
        """Write a barrier that no load or store is moved across; no instruction."""
        acq_rel = ir.IntegerAttr.get(self._i64, 6)
        self.effect("llvm.fence", [], ordering=acq_rel, syncscope=ir.StringAttr.get("singlethread"))

    def register_barrier(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Write a point at which vectors or masks are in registers; no instruction.

        They are computed before later loads, and never again. Without assembly constraints for the
        target, values are returned as they are.
        """
        assembly = self.isa.assembly
        if assembly is None:
            return list(values)
        types = [value.type for value in values]
        registers = [
            assembly.mask if type_.element_type == self.bool_type else assembly.vector
            for type_ in types
        ]
        constraints = [*registers, *map(str, range(len(values)))]
        return self.assembly("", constraints, values, types, has_side_effects=ir.UnitAttr.get())

    def call_intrinsic(
        self, name: str, operands: Sequence[ir.Value], result: ir.Type | None = None
    ) -> Any:
        """Write a call of an LLVM intrinsic; return its result, None if it has none."""
        results = llvm.CallIntrinsicOp(result, name, operands, [], []).operation.results
        return None if result is None else results[0]

    def assembly(
        self, text: str, constraints: Sequence[str], operands: Sequence[ir.Value],
        types: Sequence[ir.Type], scratch: int = 0, **attributes: ir.Attribute,
    ) -> list[ir.Value]:  # fmt: skip
        """Write inline assembly with results of these types, the last of which may be scratch."""
        several = len(types) > 1
        made = self.op(
            "llvm.inline_asm", operands,
            ir.Type.parse(f"!llvm.struct<({', '.join(map(str, types))})>") if several else types[0],
            asm_string=ir.StringAttr.get(text),
            constraints=ir.StringAttr.get(",".join(constraints)), **attributes,
        )  # fmt: skip
        if not several:
            return [made]
        return [
            self.op("llvm.extractvalue", [made], type_, position=ir.DenseI64ArrayAttr.get([i]))
            for i, type_ in enumerate(types[: len(types) - scratch])
        ]

    def opaque(self, vector: ir.Value) -> ir.Value:
        """Return a copy of a vector that LLVM cannot see through; no instruction.

        Without assembly constraints for the target, it is returned as it is.
        """
        assembly = self.isa.assembly
        if assembly is None:
            return vector
        type_ = vector.type
        words = ir.VectorType.get([type_.shape[0] * type_.element_type.width // 32], self._i32)
        is_small = type_.element_type.width < 32
        if is_small:
            vector = self.op("vector.bitcast", [vector], words)
        (hidden,) = self.assembly("", [assembly.vector, "0"], [vector], [vector.type])
        return self.op("vector.bitcast", [hidden], type_) if is_small else hidden

    def opaque_index(self, value: ir.Value) -> ir.Value:
        """Return an index that LLVM cannot see through, as it would a select; no instruction."""
        word = self.op("arith.index_cast", [value], self._i64)
        (hidden,) = self.assembly("", ["=r", "0"], [word], [self._i64])
        return self.op("arith.index_cast", [hidden], self.index_type)

    def mask(self, live: Index, lanes: int, first: int = 0) -> ir.Value:
        """Return a mask whose lanes before `live` are on, from `first` on if all is known."""
        type_ = ir.VectorType.get([lanes], self.bool_type)
        if not isinstance(live, int):
            mask = self.op("vector.create_mask", [live], type_)
            self._lanes[mask] = 0, live
            return mask
        mask = self.numbers(type_, [first <= lane < live for lane in range(lanes)])
        self._lanes[mask] = first, min(live, lanes)
        return mask

    def tail(self, extent: Index, at: Index, lanes: int) -> ir.Value | None:
        """Return the mask of a row's vector, None if rows are whole vectors."""
        if isinstance(extent, int) and extent % lanes == 0:
            return None
        return self.mask(self.sub(extent, at), lanes)

    def each_vector(
        self, first: Index, last: Index, lanes: int,
        write: Callable[[Index, ir.Value | None], object],
    ) -> None:  # fmt: skip
        """Call `write` with the place and the mask of the vectors of a range: a loop and a tail."""
        whole = first + self.round_down(last - first, lanes)
        with self.loop(first, whole, lanes) as loop:
            write(loop.counter, None)
        left = last - whole
        self.if_any(left, lambda: write(whole, self.mask(left, lanes)))

    def copied(self, op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
        """Copy an operation with other operands: scalars, or all of them vectors."""
        copy = op.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        result = copy.results[0]
        if operands and isinstance(operands[0].type, ir.VectorType):
            result.set_type(ir.VectorType.get(operands[0].type.shape, result.type))
        return result

    def numbers(self, type_: ir.VectorType, values: Iterable[int]) -> ir.Value:
        """Return a constant vector of integers, indices or bools."""
        attrs = [ir.IntegerAttr.get(type_.element_type, value) for value in values]
        return self.constant_of(type_, ir.DenseElementsAttr.get(attrs, type_))

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

    def reduced(self, vector: ir.Value, kind: str) -> ir.Value:
        """Return the lanes of a vector combined by "add" or "or"."""
        attr = self.parsed(f"#vector.kind<{kind}>")
        return self.op("vector.reduction", [vector], vector.type.element_type, kind=attr)

    def part(self, vector: ir.Value, lane: int, count: int) -> ir.Value:
        """Return adjacent lanes of a vector."""
        type_ = ir.VectorType.get([count], vector.type.element_type)
        numbers = {"offsets": lane, "sizes": count, "strides": 1}.items()
        where = {k: ir.ArrayAttr.get([ir.IntegerAttr.get(self._i64, n)]) for k, n in numbers}
        return self.op("vector.extract_strided_slice", [vector], type_, **where)

    def folded(
        self, vector: ir.Value, join: Callable[[ir.Value, ir.Value], ir.Value], lanes: int = 1
    ) -> ir.Value:
        """Return a vector combined by halves, in a fixed order, until `lanes` are left."""
        while (half := vector.type.shape[0] // 2) >= lanes:
            vector = join(self.part(vector, 0, half), self.part(vector, half, half))
        return vector

    def shuffle(self, a: ir.Value, b: ir.Value, lanes: Sequence[int]) -> ir.Value:
        """Return lanes picked from two vectors, those of the second numbered after the first's."""
        mask = ir.DenseI64ArrayAttr.get(list(lanes))
        type_ = ir.VectorType.get([len(lanes)], a.type.element_type)
        return self.op("vector.shuffle", [a, b], type_, mask=mask)

    def fused(self, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
        """Return x * y + total of floats or vectors of them, rounded once, then to their type."""
        type_ = total.type
        vector = isinstance(type_, ir.VectorType)
        name = "vector.fma" if vector else "math.fma"
        if not isinstance(type_.element_type if vector else type_, ir.BF16Type):
            return self.op(name, [x, y, total], type_)
        # The passes that have bf16 computed in f32 leave these operations as they are.
        single = ir.F32Type.get()
        wide = ir.VectorType.get(type_.shape, single) if vector else single
        operands = [self.op("arith.extf", [value], wide) for value in (x, y, total)]
        return self.op("arith.truncf", [self.op(name, operands, wide)], type_)

    def compare_floats(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return whether `a predicate b` of two floats, for vectors a mask; "uno": one is NaN."""
        attr = ir.IntegerAttr.get(self._i64, _FLOAT_PREDICATES[predicate])
        return self.op("arith.cmpf", [a, b], self.condition_type(a.type), predicate=attr)


def multiply_add(emit: Emitter, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
    """Return x * y + total of vectors, fused for floats if the target has FMA."""
    floating = not isinstance(total.type.element_type, ir.IntegerType)
    if floating and emit.machine.fma:
        return emit.fused(x, y, total)
    product = emit.op("arith.mulf" if floating else "arith.muli", [x, y], total.type)
    return add(emit, total, product)


def add(emit: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """Return x + y of numbers or vectors."""
    element = x.type.element_type if isinstance(x.type, ir.VectorType) else x.type
    integer = isinstance(element, ir.IntegerType)
    return emit.op("arith.addi" if integer else "arith.addf", [x, y], x.type)
