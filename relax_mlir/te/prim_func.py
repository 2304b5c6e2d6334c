"""From tensors to a prim func: a block for each stage, buffers for what is in between (R22)."""

import keyword
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax.symbolic import IntLike, SymExpr
from relax_mlir.dialects.tir.builder import Buffer, BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.te.checks import nodes_of
from relax_mlir.te.reduction import Reduction
from relax_mlir.te.tensor import ComputeOp, ExternOp, IterVar, Operation, PlaceholderOp, Tensor
from relax_mlir.tir.emission import Emitter
from relax_mlir.tir.nodes import Reduce
from relax_mlir.tir.prim_expr import Size


def create_prim_func(
    ops: Sequence[Any], index_dtype_override: str | None = None, name: str = "main"
) -> IRModule:
    """Return the prim func that computes tensors from others (R21, R22).

    Symbols that no dimension of a buffer is by itself, such as `m` in a buffer of `2 * (m // 2)`
    elements, become `int64` parameters after the buffers, in the order of their names.

    Args:
        ops: placeholders and computed tensors, which become the buffers, in that order; a
            `tir.Var` among them becomes a parameter also where a buffer binds it.
        index_dtype_override: as in TVM; indices are the machine's integers here.
        name: of the function.

    Returns:
        A module of that function, as `T.prim_func` gives it; `with_attr` and `IRModule({...})` take
        it as a function.

    Raises:
        ExprTypeError: something in the list is no tensor.
        ExprError: a tensor is given twice, or an input that is read is not given.
    """
    tensors = [each for each in ops if isinstance(each, Tensor)]
    asked = [each for each in ops if isinstance(each, SymExpr) and each.name is not None]
    for each in ops:
        if not isinstance(each, Tensor) and each not in asked:
            raise ExprTypeError(f"te.create_prim_func takes te tensors, got {each!r}")
    if len({id(each) for each in tensors}) < len(tensors):
        raise ExprError("te.create_prim_func is given one tensor twice")
    stages = _stages(tensors)
    given = {id(each) for each in tensors}
    for stage in stages:
        if isinstance(stage, PlaceholderOp) and id(stage.outputs[0]) not in given:
            raise ExprError(
                f"placeholder '{stage.name}' is read, but is not in the list of te.create_prim_func"
            )
    names = _buffer_names([*tensors, *(t for stage in stages for t in stage.outputs)])
    decls = [BufferDecl(names[id(each)], each.shape, each.dtype) for each in tensors]
    context = default_context()
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            builder = PrimFuncBuilder(name, decls, _integers(tensors, stages, asked), private=False)
            with builder.body():
                _write(builder, tensors, stages, names)
    return IRModule(module)


def placeholders_of(*tensors: Tensor) -> list[Tensor]:
    """Return the inputs that tensors are computed from, in the order in which they are read."""
    return [stage.outputs[0] for stage in _stages(tensors) if isinstance(stage, PlaceholderOp)]


def _stages(tensors: Sequence[Tensor]) -> list[Operation]:
    """Return the operations behind tensors, each after those that it reads."""
    order: list[Operation] = []
    seen: set[int] = set()
    pending = [(each.op, False) for each in reversed(tensors)]
    while pending:
        op, ready = pending.pop()
        if ready:
            order.append(op)
            continue
        if id(op) in seen:
            continue
        seen.add(id(op))
        pending.append((op, True))
        pending += [(each.op, False) for each in reversed(op.input_tensors)]
    return order


def _buffer_names(tensors: Sequence[Tensor]) -> dict[int, str]:
    names: dict[int, str] = {}
    taken: set[str] = set()
    for tensor in tensors:
        if id(tensor) in names:
            continue
        plain = tensor.name.isidentifier() and not keyword.iskeyword(tensor.name)
        stem = tensor.name if plain else "buffer"
        name, count = stem, 1
        while name in taken:
            name, count = f"{stem}_{count}", count + 1
        taken.add(name)
        names[id(tensor)] = name
    return names


def _integers(
    tensors: Sequence[Tensor], stages: Sequence[Operation], asked: Sequence[SymExpr]
) -> list[str]:
    """Return the symbols to pass: asked for, and bound by no dimension of a parameter."""
    bound = {
        dim.name for each in tensors for dim in map(SymExpr.of, each.shape) if dim.name is not None
    }
    used: set[str] = set()
    for stage in stages:
        sizes: list[Any] = [dim for output in stage.outputs for dim in output.shape]
        if isinstance(stage, ComputeOp):
            sizes += [size for axis in stage.reduce_axis for size in axis.dom]
            sizes += [node.expr for node in nodes_of(stage.body) if isinstance(node, Size)]
        for size in sizes:
            used |= SymExpr.of(size).symbols
    first = [str(each.name) for each in asked]
    return [*first, *sorted(used - bound - set(first))]


def _write(
    builder: PrimFuncBuilder, tensors: Sequence[Tensor], stages: Sequence[Operation],
    names: dict[int, str],
) -> None:  # fmt: skip
    buffers = {id(tensor): buffer for tensor, buffer in zip(tensors, builder.buffers, strict=True)}
    for stage in stages:
        for output in stage.outputs:
            if id(output) not in buffers:
                name = names[id(output)]
                buffers[id(output)] = builder.alloc(name, output.shape, output.dtype)
    for stage in stages:
        try:
            if isinstance(stage, ComputeOp):
                _Stage(builder, stage, buffers).write()
            elif isinstance(stage, ExternOp):
                _write_extern(builder, stage, buffers)
        except ExprError as error:
            raise type(error)(f"in stage '{stage.name}': {error}") from error


def _write_extern(builder: PrimFuncBuilder, stage: ExternOp, buffers: dict[int, Buffer]) -> None:
    from relax_mlir.tir import ir_builder

    with ir_builder.writing(builder) as writer:
        made = stage.write(
            [ir_builder.BufferVar(buffers[id(each)]) for each in stage.inputs],
            [ir_builder.BufferVar(buffers[id(each)]) for each in stage.outputs],
        )
        writer.emit(made)


class _Stage:
    """Writes the loops and the block of one `te.compute`."""

    def __init__(self, builder: PrimFuncBuilder, op: ComputeOp, buffers: dict[int, Buffer]) -> None:
        self._builder, self._op, self._buffers = builder, op, buffers
        self._targets = [buffers[id(output)] for output in op.outputs]

    def write(self) -> None:
        """Write the stage at the current insertion point."""
        builder, op = self._builder, self._op
        axes = [*op.axis, *op.reduce_axis]
        with ExitStack() as stack:
            iters: list[tuple[str, Scalar, IntLike]] = []
            for axis in axes:
                extent = axis.dom[1]
                loop = builder.loop(extent, name=axis.name)
                iters.append((axis.iter_type, stack.enter_context(loop), extent))
            names = [f"v_{axis.name}" for axis in axes]
            block = stack.enter_context(builder.block(op.name, iters, names=names))
            if op.reduce_axis:
                with block.init() as init:
                    self._start(init)
                self._combine(list(block))
            else:
                values = self._emitter(list(block))
                at = tuple(block)
                # All are computed before one is stored: one may read what another writes.
                found = [values.value(expr) for expr in op.body]
                for target, value in zip(self._targets, found, strict=True):
                    target.store(value, at)

    def _emitter(self, iters: Sequence[Scalar], extra: dict[int, Scalar] | None = None) -> Emitter:
        leaves = dict(extra or {})
        axes: list[IterVar] = [*self._op.axis, *self._op.reduce_axis]
        for axis, value in zip(axes, iters, strict=True):
            start = axis.dom[0].value
            if start != 0:
                first = start if start is not None else self._builder.symbol(axis.dom[0])
                value = binary("add", value, first)
            leaves[id(axis)] = value
        return Emitter(self._builder, self._buffers, leaves)

    def _reduction(self) -> Reduction:
        expr = self._op.body[0]
        assert isinstance(expr, Reduce), "only reductions have axes to reduce over"
        return expr.reduction

    def _start(self, iters: Sequence[Scalar]) -> None:
        reduction = self._reduction()
        values = self._emitter(iters)
        at = tuple(iters[: len(self._op.axis)])
        for target, expr in zip(self._targets, reduction.init, strict=True):
            target.store(values.value(expr), at)

    def _combine(self, iters: list[Scalar]) -> None:
        reduction = self._reduction()
        at = tuple(iters[: len(self._op.axis)])
        known = [target[at] for target in self._targets]
        values = self._emitter(iters)
        if reduction.where is None:
            found = [values.value(expr) for expr in reduction.source]
        else:
            test = values.value(reduction.where)
            pairs = zip(reduction.source, reduction.identity, strict=True)
            found = [
                values.choose(
                    test,
                    lambda inner, expr=expr: inner.value(expr),
                    lambda inner, nothing=nothing: inner.value(nothing),
                    expr.dtype,
                )
                for expr, nothing in pairs
            ]
        extra = {
            **{id(leaf): value for leaf, value in zip(reduction.lhs, known, strict=True)},
            **{id(leaf): value for leaf, value in zip(reduction.rhs, found, strict=True)},
        }
        combined = self._emitter(iters, extra)
        results = [combined.value(expr) for expr in reduction.result]
        for target, value in zip(self._targets, results, strict=True):
            target.store(cast(value, target.dtype), at)
