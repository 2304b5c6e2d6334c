"""Statement trees to prim funcs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder, ScalarDecl
from relax_mlir.dialects.tir.scalar import DtypeError, Scalar
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import named
from relax_mlir.script.tir_parser.bounds import beyond
from relax_mlir.tir import ir_builder, stmt
from relax_mlir.tir.expr import Param
from relax_mlir.tir.scalar.conversion import as_expr, cast
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.prim_expr import IntImm, Leaf, PrimExpr
from relax_mlir.tir.stmt import Buffer
from relax_mlir.tir.stmt_functor import substitute
from relax_mlir.tir.view.buffers import dims_of, name_of
from relax_mlir.tir.view.index import Indices


def prim_func(
    params: Sequence[Any], body: Any, buffer_map: Mapping[Any, Buffer] | None = None,
    attrs: Mapping[str, Any] | None = None, name: str = "main",
) -> IRModule:  # fmt: skip
    """Return a module of one prim func.

    Args:
        params: buffers; handles, `tir.Var("a", "handle")`, that `buffer_map` has; integers,
            `tir.Var("n")`.
        body: a statement.
        buffer_map: the buffers that handles point to.
        attrs: the function's attributes.
        name: of the function.

    Raises:
        ExprTypeError: a parameter is none of these, or the body no statement.
        ExprError: a name has no value where it is used, or an index leaves its buffer.
    """
    buffers, decls = _parameters(params, buffer_map or {})
    root = stmt.statement(body, "body of tir.PrimFunc")
    context = default_context()
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            builder = PrimFuncBuilder(name, decls, private=False)
            with builder.body(), ir_builder.writing(builder) as ib:
                writer = _Writer(ib)
                for described, buffer in zip(buffers, builder.buffers, strict=True):
                    ib.buffers[id(described)] = buffer
                try:
                    writer.write(root)
                except DtypeError as error:
                    raise ExprError(f"tir.PrimFunc: {error}") from error
        for key, value in (attrs or {}).items():
            attribute = python_attribute(value)
            builder.op.attributes[key if "." in key else f"tir.{key}"] = attribute
        _check_names(builder, decls)
        _check_places(builder.op.operation)
    return IRModule(module)


def _parameters(
    params: Sequence[Any], buffer_map: Mapping[Any, Buffer]
) -> tuple[list[Buffer], list[BufferDecl | ScalarDecl]]:
    buffers: list[Buffer] = []
    decls: list[BufferDecl | ScalarDecl] = []
    if not isinstance(params, (list, tuple)):
        raise ExprTypeError(f"tir.PrimFunc takes a list of parameters, got {params!r}")
    for each in params:
        buffer = each if isinstance(each, Buffer) else buffer_map.get(each)
        if isinstance(buffer, Buffer):
            buffers.append(buffer)
            decls.append(BufferDecl(buffer.name, buffer.shape, buffer.dtype))
        elif isinstance(each, SymExpr) and each.name is not None:
            decls.append(ScalarDecl(str(each), "int64"))
        elif isinstance(each, Leaf):
            raise ExprTypeError(
                f"tir.PrimFunc: '{each}' is a number of {each.dtype}, which is the element of a "
                f"buffer here, tir.decl_buffer((), '{each.dtype}')"
            )
        elif isinstance(each, Param):
            raise ExprError(f"tir.PrimFunc: buffer_map does not say what handle '{each}' points to")
        else:
            raise ExprTypeError(
                "a parameter of tir.PrimFunc is a buffer, a handle, tir.Var('a', 'handle'), or an "
                f"integer, tir.Var('n'), got {each!r}"
            )
    return buffers, decls


def _check_names(builder: PrimFuncBuilder, decls: Sequence[BufferDecl | ScalarDecl]) -> None:
    """Reject names that neither a parameter nor a statement around gives a value."""
    bound = {each.name for each in decls if isinstance(each, ScalarDecl)}
    shapes = [each.shape for each in decls if isinstance(each, BufferDecl)]
    bound |= {SymExpr.of(dim).name for shape in shapes for dim in shape} - {None}
    used = [op.attributes["value"].dims[0] for op in named(builder.op.operation, ("tir.symbol",))]
    for size in [*used, *(SymExpr.of(dim) for shape in shapes for dim in shape)]:
        unknown = sorted(size.symbols - bound)
        if unknown:
            raise ExprError(
                f"tir.PrimFunc: '{unknown[0]}' has no value: no loop or block around it, no "
                "parameter and no dimension of one is called so"
            )


def _check_places(func: ir.Operation) -> None:
    """Reject indices that leave their buffers whenever the function runs."""
    for op in named(func, ("memref.load", "memref.store")):
        first = 1 if op.name == "memref.load" else 2
        buffer = op.operands[first - 1]
        dims = dims_of(Indices(func), buffer)
        for axis, dim in enumerate(dims):
            ends = beyond(op.operands[first + axis], dim, op.block)
            if ends is not None:
                raise ExprError(
                    f"tir.PrimFunc: index {axis} of buffer '{name_of(buffer)}' goes from {ends[0]} "
                    f"to {ends[1]}, outside a dimension of {dim}"
                )


class _Writer:
    """Writes statements; names are replaced by the values that they have here."""

    def __init__(self, ib: ir_builder.IRBuilder) -> None:
        self._ib = ib
        self._names: dict[Any, Any] = {}

    def write(self, root: stmt.Stmt) -> None:
        """Write a statement at the current point."""
        _RULES[type(root)](self, root)

    def _expr(self, value: Any, dtype: str = "") -> PrimExpr:
        expr = as_expr(value, dtype)
        return substitute(expr, self._names) if self._names else expr

    def _value(self, value: Any) -> Scalar:
        return self._ib.value(self._expr(value, SIZE))

    @contextmanager
    def _named(self, variables: Sequence[Any], leaves: Sequence[Any]) -> Iterator[None]:
        """Let variables have values for what is written inside."""
        before = dict(self._names)
        self._names.update(zip(map(_key, variables), leaves, strict=True))
        try:
            yield
        finally:
            self._names = before

    def _leaf(self, name: str, value: Scalar) -> Leaf:
        leaf = Leaf(name)
        self._ib.leaves[id(leaf)] = value
        self._ib._keep.append(leaf)
        return leaf

    def sequence(self, node: stmt.SeqStmt) -> None:
        """Write one statement after another."""
        for each in node.seq:
            self.write(each)

    def loop(self, node: stmt.For) -> None:
        """Write a loop."""
        begin, extent = (self._size(each) for each in (node.min, node.extent))
        notes = _notes(node.annotations)
        name = str(node.loop_var)
        with self._ib.builder.loop(
            extent, start=begin, kind=node.kind, name=name, annotations=notes
        ) as counter, self._named([node.loop_var], [self._leaf(name, counter)]):  # fmt: skip
            self.write(node.body)

    def _size(self, value: Any) -> Any:
        """Return an extent: a size as it is, anything else as a value."""
        expr = self._expr(value, SIZE)
        if isinstance(expr, IntImm):
            if expr.value < 0:
                raise ExprError(f"a loop has no negative number of steps, got {expr.value}")
            return expr.value
        size = getattr(expr, "expr", None)
        return size if isinstance(size, SymExpr) else self._ib.value(expr)

    def store(self, node: stmt.BufferStore) -> None:
        """Write a store."""
        buffer = self._ib.buffers.get(id(node.buffer))
        if buffer is None:
            raise ExprError(
                f"buffer '{node.buffer.name}' is no parameter of tir.PrimFunc, and no "
                "tir.AllocBuffer before makes it"
            )
        at = [self._expr(each, SIZE) for each in node.indices]
        value = self._ib.value(self._expr(node.value, node.buffer.dtype))
        places = [each.value if isinstance(each, IntImm) else self._ib.value(each) for each in at]
        buffer.store(value, tuple(places))

    def branch(self, node: stmt.IfThenElse) -> None:
        """Write a choice."""
        test = self._ib.value(self._expr(node.condition))
        op = ir.Operation.create("scf.if", operands=[test.value], regions=2)
        for region, case in zip(op.regions, (node.then_case, node.else_case), strict=True):
            if case is not None:
                with ir.InsertionPoint(region.blocks.append()):
                    self.write(case)
                    ir.Operation.create("scf.yield")

    def repeat(self, node: stmt.While) -> None:
        """Write a loop that ends when a condition does not hold."""
        with self._ib.while_loop(self._expr(node.condition)):
            self.write(node.body)

    def check(self, node: stmt.AssertStmt) -> None:
        """Write an assertion, then its body."""
        holds = self._ib.value(self._expr(node.condition))
        attributes = {"message": ir.StringAttr.get(node.message)}
        ir.Operation.create("tir.assert", operands=[holds.value], attributes=attributes)
        if node.body is not None:
            self.write(node.body)

    def name(self, node: stmt.LetStmt) -> None:
        """Write a number, and what uses it by its name."""
        value = self._ib.let(str(node.var), cast(self._expr(node.value), SIZE))
        with self._named([node.var], [value]):
            self.write(node.body)

    def call(self, node: stmt.Evaluate) -> None:
        """Write a call for its effect."""
        self._ib.value(self._expr(node.value))

    def alloc(self, node: stmt.AllocBuffer) -> None:
        """Write an allocation, then its body."""
        self._alloc(node.buffer)
        if node.body is not None:
            self.write(node.body)

    def _alloc(self, made: Buffer) -> None:
        variable = self._ib.allocate(made.dtype, list(made.shape), made.name, made.scope)
        self._ib.buffers[id(made)] = variable.buffer

    def block(self, node: stmt.Block) -> None:
        """Write a block without iterators' values: it has none."""
        self.realize(stmt.BlockRealize([], True, node))

    def realize(self, node: stmt.BlockRealize) -> None:
        """Write a block."""
        inner = node.block
        iters = [
            (each.iter_type, self._value(value), self._size(each.extent))
            for each, value in zip(inner.iter_vars, node.iter_values, strict=True)
        ]
        names = [str(each.var) for each in inner.iter_vars]
        holds = self._expr(node.predicate)
        always = isinstance(holds, IntImm) and bool(holds.value)
        predicate = None if always else self._ib.value(holds)
        for buffer in inner.alloc_buffers:
            self._alloc(buffer)
        variables = [each.var for each in inner.iter_vars]
        with self._ib.builder.block(
            inner.name_hint,
            iters,
            names,
            predicate=predicate,
            annotations=_notes(inner.annotations),
        ) as block:
            if inner.init is not None:
                with block.init() as values, self._named(variables, self._leaves(names, values)):
                    self.write(inner.init)
            with self._named(variables, self._leaves(names, list(block))):
                self.write(inner.body)

    def _leaves(self, names: Sequence[str], values: Sequence[Scalar]) -> list[Leaf]:
        return [self._leaf(name, value) for name, value in zip(names, values, strict=True)]


def _key(variable: Any) -> Any:
    return variable if isinstance(variable, Leaf) else SymExpr.var(str(variable))


def _notes(annotations: Mapping[str, Any] | None) -> ir.Attribute | None:
    if not annotations:
        return None
    return ir.DictAttr.get({key: python_attribute(value) for key, value in annotations.items()})


_RULES: dict[type, Callable[[_Writer, Any], None]] = {
    stmt.SeqStmt: _Writer.sequence,
    stmt.For: _Writer.loop,
    stmt.BufferStore: _Writer.store,
    stmt.IfThenElse: _Writer.branch,
    stmt.While: _Writer.repeat,
    stmt.AssertStmt: _Writer.check,
    stmt.LetStmt: _Writer.name,
    stmt.Evaluate: _Writer.call,
    stmt.AllocBuffer: _Writer.alloc,
    stmt.Block: _Writer.block,
    stmt.BlockRealize: _Writer.realize,
}
