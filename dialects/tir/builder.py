"""Building prim funcs: buffers, loops and blocks as Python context managers (R21, R22)."""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.symbolic import IntLike, SymExpr, product
from relax_mlir.dialects.tir.scalar import INDEX, DtypeError, Scalar, ScalarLike, cast, const

memref = submodule("dialects.memref")
func = submodule("dialects.func")

_DYNAMIC = ir.ShapedType.get_dynamic_size()


def storage_type(dtype: str) -> ir.Type:
    """Return the memory element type of a dtype: signless, bool in a byte."""
    if "float" in dtype:
        return T.element_type(dtype)
    return ir.IntegerType.get_signless(8 * T.dtype_size(dtype))


def buffer_type(dims: Sequence[SymExpr], dtype: str) -> ir.Type:
    """Return the memref type of a row-major buffer."""
    sizes = [dim.value if dim.is_const else _DYNAMIC for dim in dims]
    return ir.MemRefType.get(sizes, storage_type(dtype))


@dataclass(frozen=True)
class BufferDecl:
    """A buffer parameter: name, symbolic shape, dtype."""

    name: str
    shape: Sequence[IntLike]
    dtype: str


@dataclass
class _Accesses:
    """What the block being built has read and written so far."""

    iters: int
    seen: list[tuple[str, ir.Value, ir.Attribute]] = field(default_factory=list)


class Buffer:
    """A buffer of the prim func under construction: index it to load, `store` to write."""

    def __init__(
        self, builder: "PrimFuncBuilder", name: str, dims: Sequence[SymExpr], dtype: str,
        value: ir.Value,
    ) -> None:  # fmt: skip
        # The builder has the buffer: a cycle would keep the program alive for the collector.
        self._ref = weakref.ref(builder)
        self.name, self.dims, self.dtype, self.value = name, list(dims), dtype, value

    @property
    def _builder(self) -> "PrimFuncBuilder":
        builder = self._ref()
        assert builder is not None, "a buffer is used while its builder is"
        return builder

    def __getitem__(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> Scalar:
        """Load one element.

        Raises:
            DtypeError: as many indices as dimensions, all integers, are needed.
        """
        scalars = self._indices(indices)
        self._builder.record("tir.reads", self, scalars)
        value = memref.load(self.value, [s.value for s in scalars])
        if self.dtype == "bool":
            return Scalar(value, "uint8") != 0
        return Scalar(value, self.dtype)

    def store(self, value: ScalarLike, indices: "ScalarLike | tuple[ScalarLike, ...]") -> None:
        """Store one element.

        Raises:
            DtypeError: wrong number of indices, or a value of another dtype.
        """
        scalars = self._indices(indices)
        if isinstance(value, Scalar) and value.dtype not in (self.dtype, INDEX):
            raise DtypeError(
                f"buffer '{self.name}' holds {self.dtype}, got a value of {value.dtype}; cast it"
            )
        stored = cast(cast(value, self.dtype), "uint8" if self.dtype == "bool" else self.dtype)
        self._builder.record("tir.writes", self, scalars)
        memref.store(stored.value, self.value, [s.value for s in scalars])

    def _indices(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> list[Scalar]:
        items = indices if isinstance(indices, tuple) else (indices,)
        if len(items) != len(self.dims):
            raise DtypeError(
                f"buffer '{self.name}' has {len(self.dims)} dimensions, indexed with {len(items)}"
            )
        for item in items:
            if isinstance(item, float) or (isinstance(item, Scalar) and "float" in item.dtype):
                raise DtypeError(f"an index of buffer '{self.name}' must be an integer")
        return [cast(item, INDEX) for item in items]


class Region(Buffer):
    """Part of a buffer under a name of its own: its indices count from where the part begins."""

    def __init__(
        self, base: Buffer, name: str, dims: Sequence[SymExpr], starts: Sequence[ScalarLike],
        kept: Sequence[int],
    ) -> None:  # fmt: skip
        """Describe the part.

        Args:
            base: buffer that it is a part of.
            name: its own name.
            dims: its own shape.
            starts: where it begins, in each dimension of the base.
            kept: the dimensions of the base that are its own.
        """
        super().__init__(base._builder, name, dims, base.dtype, base.value)
        self._base, self._starts, self._kept = base, list(starts), list(kept)

    def __getitem__(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> Scalar:
        """Load one element."""
        return self._base[self._outer(indices)]

    def store(self, value: ScalarLike, indices: "ScalarLike | tuple[ScalarLike, ...]") -> None:
        """Store one element."""
        self._base.store(value, self._outer(indices))

    def _outer(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> tuple[ScalarLike, ...]:
        own = self._indices(indices)
        outer: list[ScalarLike] = list(self._starts)
        for position, index in zip(self._kept, own, strict=True):
            start = outer[position]
            outer[position] = index if type(start) is int and start == 0 else index + start
        return tuple(outer)


class PrimFuncBuilder:
    """Creates one prim func in a module and fills its body.

    ```
    buffers = [BufferDecl("A", [n], "float32"), BufferDecl("B", [n], "float32")]
    builder = PrimFuncBuilder("scale", buffers)
    with builder.body():
        a, b = builder.buffers
        with builder.nest("B", [("spatial", n)]) as (i,):
            b.store(a[i] * 2, i)
    builder.op
    ```
    """

    def __init__(
        self,
        name: str,
        buffers: Sequence[BufferDecl],
        integers: Sequence[str] = (),
        *,
        private: bool = True,
        loc: ir.Location | None = None,
    ) -> None:
        """Create the function at the current insertion point.

        Args:
            name: symbol name.
            buffers: parameters, outputs last.
            integers: names of `int64` parameters after the buffers (R22).
            private: not callable from outside the module.
            loc: location of the definition.
        """
        i64 = ir.IntegerType.get_signless(64)
        decls = [([SymExpr.of(dim) for dim in decl.shape], decl) for decl in buffers]
        types = [buffer_type(dims, decl.dtype) for dims, decl in decls] + [i64] * len(integers)
        loc = loc or ir.Location.current
        self.op = func.FuncOp(name, (types, []), loc=loc)
        self.op.attributes["tir.prim_func"] = ir.UnitAttr.get()
        if private:
            self.op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        attrs = [
            {
                "tir.name": ir.StringAttr.get(decl.name),
                "tir.shape": Dims.of(dims),
                "tir.dtype": ir.StringAttr.get(decl.dtype),
            }
            for dims, decl in decls
        ] + [{"tir.name": ir.StringAttr.get(item)} for item in integers]
        if attrs:
            self.op.arg_attrs = ir.ArrayAttr.get([ir.DictAttr.get(item) for item in attrs])
        names = [decl.name for decl in buffers] + list(integers)
        self._entry = self.op.operation.regions[0].blocks.append(
            *types, arg_locs=[ir.Location.name(item) for item in names]
        )
        self.buffers = [
            Buffer(self, decl.name, dims, decl.dtype, self._entry.arguments[i])
            for i, (dims, decl) in enumerate(decls)
        ]
        self.integers = {
            item: Scalar(self._entry.arguments[len(buffers) + i], "int64")
            for i, item in enumerate(integers)
        }
        self._symbols: dict[SymExpr, Scalar] = {}
        self._accesses: list[_Accesses] = []
        self._first: ir.Operation | None = None

    @contextmanager
    def body(self) -> Iterator[None]:
        """Set the insertion point to the body; the return is added at the end."""
        with ir.InsertionPoint(self._entry):
            # Symbols are materialised before this point, so that they dominate every use.
            self._first = func.ReturnOp([]).operation
            with ir.InsertionPoint(self._first):
                yield

    def symbol(self, expr: IntLike) -> Scalar:
        """Return the run-time value of a symbolic expression as an index."""
        expr = SymExpr.of(expr)
        if expr not in self._symbols:
            with ir.InsertionPoint.at_block_begin(self._entry):
                if expr.value is not None:
                    scalar = const(expr.value, INDEX)
                else:
                    value = ir.Operation.create(
                        "tir.symbol",
                        results=[ir.IndexType.get()],
                        attributes={"value": Dims.of([expr])},
                    ).result
                    scalar = Scalar(value, INDEX)
            self._symbols[expr] = scalar
        return self._symbols[expr]

    def size(self, value: "IntLike | Scalar") -> Scalar:
        """Return an extent as an index scalar."""
        return cast(value, INDEX) if isinstance(value, Scalar) else self.symbol(value)

    def alloc(self, name: str, shape: Sequence[IntLike], dtype: str) -> Buffer:
        """Allocate an intermediate buffer at the current point."""
        dims = [SymExpr.of(dim) for dim in shape]
        sizes = [self.symbol(dim).value for dim in dims if not dim.is_const]
        value = memref.AllocOp(
            buffer_type(dims, dtype), sizes, [], loc=ir.Location.name(name)
        ).result
        _describe(value, name, dims, dtype)
        return Buffer(self, name, dims, dtype, value)

    def linear(self, buffer: Buffer) -> Buffer:
        """Return a one-dimensional view of a buffer, in row-major order."""
        total = product(buffer.dims)
        sizes = [] if total.is_const else [self.symbol(total).value]
        static = total.value if total.is_const else _DYNAMIC
        layout = ir.StridedLayoutAttr.get(0, [1])
        type_ = ir.MemRefType.get([static], storage_type(buffer.dtype), layout)
        value = memref.ReinterpretCastOp(
            type_, buffer.value, [], sizes, [], static_offsets=[0], static_sizes=[static],
            static_strides=[1],
        ).result  # fmt: skip
        return Buffer(self, buffer.name, [total], buffer.dtype, value)

    def reshaped(self, buffer: Buffer, name: str, shape: Sequence[IntLike]) -> Buffer:
        """Return the elements of a buffer, in row-major order, in another shape."""
        dims = [SymExpr.of(dim) for dim in shape]
        strides = [product(dims[i + 1 :]) for i in range(len(dims))]
        static = [[_DYNAMIC if each.value is None else each.value for each in group]
                  for group in (dims, strides)]  # fmt: skip
        dynamic = [[self.symbol(each).value for each in group if each.value is None]
                   for group in (dims, strides)]  # fmt: skip
        layout = ir.StridedLayoutAttr.get(0, static[1])
        type_ = ir.MemRefType.get(static[0], storage_type(buffer.dtype), layout)
        value = memref.ReinterpretCastOp(
            type_, buffer.value, [], *dynamic, static_offsets=[0], static_sizes=static[0],
            static_strides=static[1],
        ).result  # fmt: skip
        _describe(value, name, dims, buffer.dtype)
        return Buffer(self, name, dims, buffer.dtype, value)

    @contextmanager
    def loop(
        self, extent: "IntLike | Scalar", *, start: "ScalarLike" = 0, kind: str = "serial",
        name: str = "i",
    ) -> Iterator[Scalar]:  # fmt: skip
        """Open a loop; yields its variable."""
        op = ir.Operation.create(
            "tir.for",
            operands=[cast(start, INDEX).value, self.size(extent).value],
            attributes={"kind": ir.StringAttr.get(kind)},
            regions=1,
        )
        block = op.regions[0].blocks.append(ir.IndexType.get(), arg_locs=[ir.Location.name(name)])
        with ir.InsertionPoint(block):
            yield Scalar(block.arguments[0], INDEX)
            ir.Operation.create("tir.yield")

    @contextmanager
    def block(
        self, name: str, iters: "Sequence[tuple[str, ScalarLike, IntLike | Scalar]]",
        names: Sequence[str] = (),
    ) -> "Iterator[_Block]":  # fmt: skip
        """Open a block.

        Args:
            name: the block's name.
            iters: for each iterator its type, value and extent.
            names: names of the iterators.

        Yields:
            An object with `.iters`, and `.init()` to open the init region.
        """
        values = [cast(value, INDEX).value for _, value, _ in iters]
        extents = [self.size(extent).value for _, _, extent in iters]
        op = ir.Operation.create(
            "tir.block",
            operands=values + extents,
            attributes={
                "block_name": ir.StringAttr.get(name),
                "iter_types": ir.ArrayAttr.get([ir.StringAttr.get(kind) for kind, _, _ in iters]),
            },
            regions=2,
            loc=ir.Location.name(name, childLoc=ir.Location.current),
        )
        names = list(names) or [f"v{i}" for i in range(len(iters))]
        block = _Block(self, op, names)
        self._accesses.append(_Accesses(len(iters)))
        with ir.InsertionPoint(block.body):
            yield block
            ir.Operation.create("tir.yield")
        self._declare(self._accesses.pop(), block.body)

    @contextmanager
    def nest(
        self, name: str, axes: "Sequence[tuple[str, IntLike]]", kind: str = "serial"
    ) -> "Iterator[_Block]":
        """Open a loop per axis (its type and extent) and one block inside them all."""
        if not axes:
            with self.block(name, []) as block:
                yield block
            return
        with self._loops(list(axes), [], kind) as variables:
            iters = [(t, v, e) for (t, e), v in zip(axes, variables, strict=True)]
            with self.block(name, iters) as block:
                yield block

    @contextmanager
    def _loops(
        self, axes: "list[tuple[str, IntLike]]", outer: list[Scalar], kind: str
    ) -> Iterator[list[Scalar]]:
        if len(outer) == len(axes):
            yield outer
            return
        with (
            self.loop(axes[len(outer)][1], kind=kind, name=f"i{len(outer)}") as variable,
            self._loops(axes, [*outer, variable], kind) as variables,
        ):
            yield variables

    def record(self, kind: str, buffer: Buffer, indices: list[Scalar]) -> None:
        """Note an access of the innermost open block."""
        if not self._accesses:
            return
        accesses = self._accesses[-1]
        exprs = [index.affine for index in indices]
        # An attribute rather than the map itself, which does not compare with None.
        access = ir.UnitAttr.get()
        if all(expr is not None for expr in exprs):
            access = ir.AffineMapAttr.get(ir.AffineMap.get(accesses.iters, 0, exprs))
        entry = (kind, buffer.value, access)
        if entry not in accesses.seen:
            accesses.seen.append(entry)

    def _declare(self, accesses: _Accesses, body: ir.Block) -> None:
        with ir.InsertionPoint.at_block_begin(body):
            # Reads come first; the sort is stable.
            for kind, value, access in sorted(accesses.seen, key=lambda entry: entry[0]):
                if not _defined_in(value, body):
                    ir.Operation.create(kind, operands=[value], attributes={"map": access})


def _describe(value: ir.Value, name: str, dims: Sequence[SymExpr], dtype: str) -> None:
    """Note what a buffer is on the operation that makes it: memrefs do not tell."""
    attributes = value.owner.attributes
    attributes["tir.name"] = ir.StringAttr.get(name)
    attributes["tir.dtype"] = ir.StringAttr.get(dtype)
    attributes["tir.shape"] = Dims.of(dims)


def _defined_in(value: ir.Value, body: ir.Block) -> bool:
    """Whether a value is made inside a block's body or deeper, so nothing outside can see it."""
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    while block != body:
        parent = block.owner.operation
        if parent.name == "func.func":
            return False
        block = parent.block
    return True


class _Block:
    """An open block: its iterators and its two regions."""

    def __init__(self, builder: PrimFuncBuilder, op: ir.Operation, names: Sequence[str]) -> None:
        self._op, self._names = op, names
        self.body = self._add(op.regions[0])
        self.iters = [
            Scalar(argument, INDEX, ir.AffineDimExpr.get(position))
            for position, argument in enumerate(self.body.arguments)
        ]

    def __iter__(self) -> Iterator[Scalar]:
        return iter(self.iters)

    def _add(self, region: ir.Region) -> ir.Block:
        index = ir.IndexType.get()
        return region.blocks.append(
            *[index] * len(self._names), arg_locs=[ir.Location.name(n) for n in self._names]
        )

    @contextmanager
    def init(self) -> Iterator[list[Scalar]]:
        """Open the init region; yields its own iterators."""
        block = self._add(self._op.regions[1])
        with ir.InsertionPoint(block):
            yield [
                Scalar(argument, INDEX, ir.AffineDimExpr.get(position))
                for position, argument in enumerate(block.arguments)
            ]
            ir.Operation.create("tir.yield")
