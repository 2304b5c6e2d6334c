"""The loops and the block of one `te.compute`, and what one `te.extern` writes."""

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import IntLike
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast
from relax_mlir.errors import ExprError
from relax_mlir.te.tensor import ComputeOp, ExternOp
from relax_mlir.tir.scalar.axes import IterVar
from relax_mlir.tir.scalar.emission import Emitter
from relax_mlir.tir.scalar.nodes import Reduce
from relax_mlir.tir.scalar.reduction import Reduction


def write_extern(builder: PrimFuncBuilder, stage: ExternOp, buffers: dict[int, Buffer]) -> None:
    """Write a stage of `te.extern` at the current insertion point."""
    from relax_mlir.tir import ir_builder

    block = nullcontext() if stage.writes_blocks else builder.block(stage.name, [])
    with block, ir_builder.writing(builder) as writer:
        body = ir.InsertionPoint.current.block
        before = len(body.operations)
        made = stage.write(
            [ir_builder.BufferVar(buffers[id(each)]) for each in stage.inputs],
            [ir_builder.BufferVar(buffers[id(each)]) for each in stage.outputs],
        )
        writer.emit(made)
        empty = len(body.operations) == before
    if empty:
        raise ExprError(
            f"te.extern '{stage.name}' writes nothing: its function stores by tir.ir_builder, or "
            "gives back a call on its buffers"
        )


class Stage:
    """Writes the loops and the block of one `te.compute`."""

    def __init__(self, builder: PrimFuncBuilder, op: ComputeOp, buffers: dict[int, Buffer]) -> None:
        """Make a writer.

        Args:
            builder: the function's.
            op: the stage.
            buffers: of all tensors, by the identities of these.
        """
        self._builder, self._op, self._buffers = builder, op, buffers
        self._targets = [buffers[id(output)] for output in op.outputs]

    def write(self, step: Scalar | None = None) -> None:
        """Write the stage at the current insertion point.

        Args:
            step: the one index of its first axis that is computed; all are where there is none.
        """
        builder, op = self._builder, self._op
        axes = [*op.axis, *op.reduce_axis]
        with ExitStack() as stack:
            iters: list[tuple[str, Scalar, IntLike]] = []
            for position, axis in enumerate(axes):
                extent = axis.dom.extent
                if step is not None and position == 0:
                    iters.append(("scan", step, extent))
                    continue
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
                results = [values.value(expr) for expr in op.body]
                for target, value in zip(self._targets, results, strict=True):
                    target.store(value, at)

    def _emitter(self, iters: Sequence[Scalar], extra: dict[int, Scalar] | None = None) -> Emitter:
        leaves = dict(extra or {})
        axes: list[IterVar] = [*self._op.axis, *self._op.reduce_axis]
        for axis, value in zip(axes, iters, strict=True):
            start = axis.dom.min.value
            if start != 0:
                first = start if start is not None else self._builder.symbol(axis.dom.min)
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
            operands = [values.value(expr) for expr in reduction.source]
        else:
            test = values.value(reduction.where)
            pairs = zip(reduction.source, reduction.identity, strict=True)
            operands = [
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
            **{id(leaf): value for leaf, value in zip(reduction.rhs, operands, strict=True)},
        }
        combined = self._emitter(iters, extra)
        results = [combined.value(expr) for expr in reduction.result]
        for target, value in zip(self._targets, results, strict=True):
            target.store(cast(value, target.dtype), at)
