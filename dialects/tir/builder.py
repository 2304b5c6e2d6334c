"""Building prim funcs: buffers, loops and blocks as Python context managers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import IntLike, SymExpr, product
from relax_mlir.dialects.tir.buffer import Access, Buffer, Region
from relax_mlir.dialects.tir.layout import (
    Layout,
    buffer_type,
    row_major,
    static,
)
from relax_mlir.dialects.tir.ops import set_block_predicate
from relax_mlir.dialects.tir.scalar import (
    INDEX,
    Scalar,
    ScalarLike,
    cast,
    const,
    scalar_type,
)

memref: ModuleType = submodule("dialects.memref")
func: ModuleType = submodule("dialects.func")

__all__ = [
    "Access", "Buffer", "BufferDecl", "PrimFuncBuilder", "Region", "ScalarDecl", "buffer_type",
]  # fmt: skip

_PLAIN = Layout()


@dataclass(frozen=True)
class BufferDecl:
    """A buffer parameter: name, symbolic shape, dtype, and how it lies in memory."""

    name: str
    shape: Sequence[IntLike]
    dtype: str
    layout: Layout = _PLAIN


@dataclass(frozen=True)
class ScalarDecl:
    """A number among the parameters; an `int64` also gives the symbol of its name a value."""

    name: str
    dtype: str


@dataclass
class _Accesses:
    """What the block being built has read and written so far, or was declared to."""

    block: ir.Operation
    iters: int
    seen: list[tuple[str, ir.Value, ir.Attribute]] = field(default_factory=list)
    declared: dict[str, list[Access]] = field(default_factory=dict)


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
        params: Sequence[BufferDecl | ScalarDecl],
        integers: Sequence[str] = (),
        *,
        private: bool = True,
        loc: ir.Location | None = None,
    ) -> None:
        """Create the function at the current insertion point.

        Args:
            name: symbol name.
            params: parameters, outputs last.
            integers: names of `int64` parameters after those.
            private: not callable from outside the module.
            loc: location of the definition.
        """
        decls = [*params, *(ScalarDecl(each, "int64") for each in integers)]
        dims = [
            [SymExpr.of(dim) for dim in decl.shape] if isinstance(decl, BufferDecl) else None
            for decl in decls
        ]
        types = [
            buffer_type(shape, decl.dtype, decl.layout.strides)
            if isinstance(decl, BufferDecl) and shape is not None
            else scalar_type(decl.dtype)
            for shape, decl in zip(dims, decls, strict=True)
        ]
        loc = loc or ir.Location.current
        self.op: Any = func.FuncOp(name, (types, []), loc=loc)
        self.op.attributes["tir.prim_func"] = ir.UnitAttr.get()
        if private:
            self.op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        attrs = [_parameter(decl, shape) for decl, shape in zip(decls, dims, strict=True)]
        if attrs:
            self.op.arg_attrs = ir.ArrayAttr.get([ir.DictAttr.get(item) for item in attrs])
        self._entry = self.op.operation.regions[0].blocks.append(
            *types, arg_locs=[ir.Location.name(decl.name) for decl in decls]
        )
        self.buffers: list[Buffer] = []
        self.scalars: dict[str, Scalar] = {}
        for decl, shape, value in zip(decls, dims, self._entry.arguments, strict=True):
            if shape is None:
                self.scalars[decl.name] = Scalar(value, decl.dtype)
            else:
                self.buffers.append(Buffer(self, decl.name, shape, decl.dtype, value))
        self.integers: dict[str, Scalar] = {
            each: scalar for each, scalar in self.scalars.items() if scalar.dtype == "int64"
        }
        self._symbols: dict[SymExpr, Scalar] = {}
        self._accesses: list[_Accesses] = []
        self._first: ir.Operation | None = None

    @property
    def entry(self) -> ir.Block:
        """The block that the function begins with."""
        return self._entry

    @contextmanager
    def body(self) -> Iterator[None]:
        """Set the insertion point to the body; the return is added at the end."""
        with ir.InsertionPoint(self._entry):
            # Symbols are materialised before this point, so that they dominate every use.
            first = self._first = func.ReturnOp([]).operation
            with ir.InsertionPoint(first):
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

    def alloc(
        self, name: str, shape: Sequence[IntLike], dtype: str, layout: Layout = _PLAIN
    ) -> Buffer:
        """Allocate an intermediate buffer at the current point; with strides, a view of one."""
        dims = [SymExpr.of(dim) for dim in shape]
        if layout.strides is not None:
            length = layout.strides[0] * dims[0] if dims else SymExpr.const(1)
            flat = self.alloc(f"{name}_data", [length], dtype, replace(layout, strides=None))
            return self.reshaped(flat, name, dims, layout.strides)
        sizes = [self.symbol(dim).value for dim in dims if not dim.is_const]
        value = memref.AllocOp(
            buffer_type(dims, dtype), sizes, [], loc=ir.Location.name(name)
        ).result
        _describe(value, name, dims, dtype, layout)
        return Buffer(self, name, dims, dtype, value)

    def linear(self, buffer: Buffer) -> Buffer:
        """Return a one-dimensional view of a buffer, in row-major order."""
        total = product(buffer.dims)
        value = self._view(buffer, [total], [SymExpr.const(1)], SymExpr.const(0))
        return Buffer(self, buffer.name, [total], buffer.dtype, value)

    def reshaped(
        self, buffer: Buffer, name: str, shape: Sequence[IntLike],
        strides: Sequence[SymExpr] | None = None, offset: IntLike = 0,
    ) -> Buffer:  # fmt: skip
        """Return a buffer's memory in another shape, row-major where no strides are given."""
        dims, start = [SymExpr.of(dim) for dim in shape], SymExpr.of(offset)
        given = None if strides is None else tuple(strides)
        value = self._view(buffer, dims, given or row_major(dims), start)
        _describe(value, name, dims, buffer.dtype, Layout(given, start))
        return Buffer(self, name, dims, buffer.dtype, value)

    def _view(
        self, buffer: Buffer, dims: Sequence[SymExpr], strides: Sequence[SymExpr], start: SymExpr
    ) -> ir.Value:
        groups = ([start], dims, strides)
        dynamic = [[self.symbol(e).value for e in group if e.value is None] for group in groups]
        known = [static(group) for group in groups]
        return memref.ReinterpretCastOp(
            buffer_type(dims, buffer.dtype, strides, start.value), buffer.value, *dynamic,
            static_offsets=known[0], static_sizes=known[1], static_strides=known[2],
        ).result  # fmt: skip

    @contextmanager
    def loop(
        self, extent: "IntLike | Scalar", *, start: "ScalarLike" = 0, kind: str = "serial",
        name: str = "i", annotations: ir.Attribute | None = None,
    ) -> Iterator[Scalar]:  # fmt: skip
        """Open a loop, with a dictionary of annotations; yields its variable."""
        op = ir.Operation.create(
            "tir.for",
            operands=[cast(start, INDEX).value, self.size(extent).value],
            attributes={"kind": ir.StringAttr.get(kind)},
            regions=1,
        )
        if annotations is not None:
            op.attributes["annotations"] = annotations
        block = op.regions[0].blocks.append(ir.IndexType.get(), arg_locs=[ir.Location.name(name)])
        with ir.InsertionPoint(block):
            yield Scalar(block.arguments[0], INDEX)
            ir.Operation.create("tir.yield")

    @contextmanager
    def block(
        self, name: str, iters: "Sequence[tuple[str, ScalarLike, IntLike | Scalar]]",
        names: Sequence[str] = (), *, predicate: Scalar | None = None,
        annotations: ir.Attribute | None = None,
    ) -> "Iterator[_Block]":  # fmt: skip
        """Open a block.

        Args:
            name: the block's name.
            iters: for each iterator its type, value and extent.
            names: names of the iterators.
            predicate: a bool, false where the block does not run.
            annotations: a dictionary.

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
        if annotations is not None:
            op.attributes["annotations"] = annotations
        names = list(names) or [f"v{i}" for i in range(len(iters))]
        block = _Block(self, op, names)
        self._accesses.append(_Accesses(op, len(iters)))
        if predicate is not None:
            set_block_predicate(op, predicate.value)
        with ir.InsertionPoint(block.body):
            yield block
            ir.Operation.create("tir.yield")
        # Behind the predicate.
        first = block.body.operations[0 if predicate is None else 1]
        with ir.InsertionPoint(first):
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
        exprs = [index.affine for index in indices if index.affine is not None]
        # An attribute rather than the map itself, which does not compare with None.
        access = ir.UnitAttr.get()
        if len(exprs) == len(indices) and all(
            _is_of(index.value, accesses.block) for index in indices
        ):
            access = ir.AffineMapAttr.get(ir.AffineMap.get(accesses.iters, 0, exprs))
        entry = (kind, buffer.value, access)
        if entry not in accesses.seen:
            accesses.seen.append(entry)

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Note no accesses: what is loaded inside is not kept."""
        seen = self._accesses[-1].seen if self._accesses else []
        count = len(seen)
        yield
        del seen[count:]

    def declare(self, kind: str, accesses: Sequence[Access]) -> None:
        """Say what the innermost open block touches, in the place of what its body does.

        Args:
            kind: `"tir.reads"` or `"tir.writes"`.
            accesses: the regions.
        """
        self._accesses[-1].declared.setdefault(kind, []).extend(accesses)

    def _declare(self, accesses: _Accesses, body: ir.Block) -> None:
        for kind in ("tir.reads", "tir.writes"):
            for each in accesses.declared.get(kind, ()):
                attributes = {"map": each.map}
                if each.extents:
                    attributes["extents"] = Dims.of(each.extents)
                ir.Operation.create(kind, operands=[each.buffer.value], attributes=attributes)
            if kind in accesses.declared:
                continue
            for access_kind, value, access in accesses.seen:
                if access_kind == kind and not _defined_in(value, body):
                    ir.Operation.create(kind, operands=[value], attributes={"map": access})


def _parameter(
    decl: BufferDecl | ScalarDecl, dims: Sequence[SymExpr] | None
) -> dict[str, ir.Attribute]:
    """Return what a function says of a parameter: types have no names, shapes and signs."""
    result: dict[str, ir.Attribute] = {"tir.name": ir.StringAttr.get(decl.name)}
    if dims is not None and isinstance(decl, BufferDecl):
        result["tir.shape"] = Dims.of(dims)
        result |= decl.layout.attributes()
    if dims is not None or decl.dtype != "int64":
        result["tir.dtype"] = ir.StringAttr.get(decl.dtype)
    return result


def _describe(
    value: ir.Value, name: str, dims: Sequence[SymExpr], dtype: str, layout: Layout
) -> None:
    """Note what a buffer is on the operation that makes it: memrefs do not have it."""
    attributes = value.owner.attributes
    attributes["tir.name"] = ir.StringAttr.get(name)
    attributes["tir.dtype"] = ir.StringAttr.get(dtype)
    attributes["tir.shape"] = Dims.of(dims)
    for key, attribute in layout.attributes().items():
        attributes[key] = attribute


def _is_of(value: ir.Value, block: ir.Operation) -> bool:
    """Whether an index is made of a block's own iterators, not of those of one around it."""
    if isinstance(value.owner, ir.Block):
        return value.owner.owner.operation == block
    return all(_is_of(operand, block) for operand in value.owner.operation.operands)


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
