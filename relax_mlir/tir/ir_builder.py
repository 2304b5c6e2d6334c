"""TVM's `tir.ir_builder`: loops and stores in sequence, for the bodies of `te.extern`.

Statements go into the prim func as they are written. Loads are expressions, evaluated by the
statement that they are part of.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import product
from relax_mlir.dialects.symbolic.sizes import size_of
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.layout import Layout
from relax_mlir.dialects.tir.ops import LOOP_KINDS
from relax_mlir.dialects.tir.scalar import Scalar, cast
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.conversion import as_expr, condition
from relax_mlir.tir.scalar.conversion import cast as converted
from relax_mlir.tir.scalar.dtypes import SIZE, checked
from relax_mlir.tir.scalar.emission import Emitter
from relax_mlir.tir.scalar.externs import ExternCall
from relax_mlir.tir.scalar.nodes import ProducerLoad
from relax_mlir.tir.scalar.prim_expr import IntImm, Leaf, PrimExpr

scf: ModuleType = submodule("dialects.scf")
_state = threading.local()


class IRBuilder:
    """Writes statements into the prim func that is being made."""

    def __init__(self, builder: PrimFuncBuilder) -> None:
        self.builder = builder
        self.buffers: dict[int, Buffer] = {}
        self.leaves: dict[int, Scalar] = {}
        self._keep: list[Any] = []
        self._condition: Scalar | None = None

    def value(self, expr: Any, dtype: str = "") -> Scalar:
        """Write an expression at the current point and return its value."""
        tree = as_expr(expr, dtype)
        return Emitter(self.builder, self.buffers, self.leaves).value(
            converted(tree, dtype) if dtype else tree
        )

    @contextmanager
    def for_range(
        self, begin: Any, end: Any, name: str = "i", dtype: str = SIZE, kind: str = "serial"
    ) -> Iterator[PrimExpr]:
        """Open a loop from `begin` to before `end`; gives its variable.

        Raises:
            ExprError: there is no such kind of loop.
        """
        if kind not in LOOP_KINDS:
            raise ExprError(f"a loop is one of {', '.join(LOOP_KINDS)}, got '{kind}'")
        sizes = size_of(begin), size_of(end)
        extent = (
            sizes[1] - sizes[0]
            if sizes[0] is not None and sizes[1] is not None
            else self._positive(as_expr(end, SIZE) - begin)
        )
        start = begin if isinstance(begin, int) else self.value(begin, SIZE)
        variable = Leaf(name)
        with self.builder.loop(extent, start=start, kind=kind, name=name) as counter:
            self.leaves[id(variable)] = counter
            self._keep.append(variable)
            yield variable

    def _positive(self, count: PrimExpr) -> Scalar:
        return cast(self.value(binary("max", count, 0)), "index")

    @contextmanager
    def if_scope(self, cond: Any) -> Iterator[None]:
        """Open a branch that runs where a condition holds."""
        test = self.value(condition(cond, "if_scope"))
        with self._branch(test):
            yield
        self._condition = test

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Open the branch that runs where the `if_scope` before it does not.

        Raises:
            BuilderError: no `if_scope` was closed just before.
        """
        if self._condition is None:
            raise BuilderError("else_scope follows an if_scope")
        test, self._condition = self._condition, None
        with self._branch(test == False):  # noqa: E712
            yield

    @contextmanager
    def while_loop(self, cond: Any) -> Iterator[None]:
        """Open a loop that runs while a condition holds, which is evaluated before each turn."""
        test = condition(cond, "while_loop")
        op = ir.Operation.create("scf.while", regions=2)
        with ir.InsertionPoint(op.regions[0].blocks.append()):
            ir.Operation.create("scf.condition", operands=[self.value(test).value])
        with ir.InsertionPoint(op.regions[1].blocks.append()):
            yield
            scf.YieldOp([])

    @contextmanager
    def _branch(self, test: Scalar) -> Iterator[None]:
        op = ir.Operation.create("scf.if", operands=[test.value], regions=2)
        with ir.InsertionPoint(op.regions[0].blocks.append()):
            yield
            scf.YieldOp([])

    def allocate(self, dtype: str, shape: Any, name: str = "buf", scope: str = "") -> "BufferVar":
        """Allocate a buffer at the current point."""
        items = shape if isinstance(shape, (list, tuple)) else [shape]
        sizes = [size_of(item) for item in items]
        if any(size is None for size in sizes):
            raise ExprTypeError(f"buffer '{name}' needs sizes, got {shape!r}")
        dims = [size for size in sizes if size is not None]
        layout = Layout(scope=scope or "global")
        return BufferVar(self.builder.alloc(name, dims, checked(dtype), layout))

    def buffer_ptr(self, buf: "BufferVar", shape: Any = None) -> "BufferVar":
        """Return a buffer itself: it is read and written by its indices, or by a flat one.

        Raises:
            ExprTypeError: it is no buffer of `ins` or `outs`, and none that was allocated.
        """
        if not isinstance(buf, BufferVar):
            raise ExprTypeError(
                f"buffer_ptr takes one of the buffers that the function is given, got {buf!r}"
            )
        return buf

    def let(self, name: str, value: Any) -> PrimExpr:
        """Evaluate an expression now, and return a name for the result."""
        expr = as_expr(value)
        variable = Leaf(name, expr.dtype)
        self.leaves[id(variable)] = self.value(expr)
        self._keep.append(variable)
        return variable

    def emit(self, statement: Any) -> None:
        """Write a call of `tir.call_extern` or `call_packed`; others are written when made."""
        if isinstance(statement, ExternCall):
            self.value(statement)

    def get(self) -> None:
        """Do nothing: what was written is where it belongs."""


class BufferVar:
    """A buffer of the prim func: index it to load, assign to store."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self._flat: Buffer | None = None
        self._flat_var: BufferVar | None = None
        builder = current()
        builder.buffers[id(self)] = buffer
        builder._keep.append(self)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its shape."""
        return tuple(dim if dim.value is None else dim.value for dim in self.buffer.dims)

    @property
    def dtype(self) -> str:
        """Name of its dtype."""
        return self.buffer.dtype

    @property
    def name(self) -> str:
        """Its name."""
        return self.buffer.name

    def __getitem__(self, indices: Any) -> PrimExpr:
        """Return an element, by an index for each dimension or by one in row-major order."""
        target, items = self._target(indices)
        return ProducerLoad(target, [self._index(item) for item in items])

    def __setitem__(self, indices: Any, value: Any) -> None:
        """Store an element, converted to the buffer's dtype."""
        target, items = self._target(indices)
        builder = current()
        stored = builder.value(value, self.dtype)
        where: list[Any] = [self._index(item) for item in items]
        at = [x.value if isinstance(x, IntImm) else builder.value(x) for x in where]
        target.buffer.store(stored, tuple(at))

    def _index(self, item: Any) -> PrimExpr:
        index = as_expr(item, SIZE)
        if "float" in index.dtype:
            raise ExprTypeError(f"an index of buffer '{self.name}' must be an integer")
        return index

    def _target(self, indices: Any) -> "tuple[BufferVar, Sequence[Any]]":
        items = indices if isinstance(indices, tuple) else (indices,)
        if len(items) == len(self.buffer.dims):
            return self, items
        if len(items) != 1:
            raise ExprError(
                f"buffer '{self.name}' has {len(self.buffer.dims)} dimensions, it is indexed with "
                f"{len(items)}"
            )
        if self._flat_var is None:
            builder = current().builder
            total = builder.symbol(_total(self.buffer))
            owner = self.buffer.value.owner
            # Where the buffer is made, or how long it is: that is before all uses.
            if isinstance(owner, ir.Block):
                owner = total.value.owner
            point = ir.InsertionPoint.after(owner)
            with point:
                self._flat_var = BufferVar(builder.linear(self.buffer))
        return self._flat_var, items


def _total(buffer: Buffer) -> Any:
    return product(buffer.dims)


def create() -> IRBuilder:
    """Return the builder of the prim func that `te.create_prim_func` is writing.

    Raises:
        BuilderError: none is being written: call it in the function that `te.extern` is given.
    """
    return current()


def current() -> IRBuilder:
    """Return what statements go to.

    Raises:
        BuilderError: nothing is being written.
    """
    result = getattr(_state, "builder", None)
    if result is None:
        raise BuilderError("tir.ir_builder writes stages of te.extern, and none is being written")
    return result


@contextmanager
def writing(builder: PrimFuncBuilder) -> Iterator[IRBuilder]:
    """Make a builder of prim funcs what statements go to."""
    before = getattr(_state, "builder", None)
    _state.builder = IRBuilder(builder)
    try:
        yield _state.builder
    finally:
        _state.builder = before
