"""From tensors to a prim func: a block for each stage, buffers for what is in between."""

import keyword
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir.function_protocols import PrimFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.te.checks import check_body
from relax_mlir.te.scans import ScanOp
from relax_mlir.te.stage import Stage, write_extern
from relax_mlir.te.tensor import (
    ComputeOp,
    ExternOp,
    Operation,
    PlaceholderOp,
    Tensor,
    listed,
)
from relax_mlir.tir.scalar.nodes import nodes_of
from relax_mlir.tir.scalar.prim_expr import Size


def create_prim_func(
    ops: Sequence[Any], index_dtype_override: str | None = None, name: str = "main"
) -> PrimFunc:
    """Return the prim func that computes tensors from others.

    Symbols that no dimension of a buffer is by itself, such as `m` in a buffer of `2 * (m // 2)`
    elements, become `int64` parameters after the buffers, in the order of their names.

    Args:
        ops: placeholders and computed tensors, which become the buffers, in that order; a
            `tir.Var` among them becomes a parameter also where a buffer binds it.
        index_dtype_override: as in TVM; indices are the machine's integers here.
        name: of the function.

    Returns:
        The function, alone in a module, as `T.prim_func` gives it.

    Raises:
        ExprTypeError: something in the list is no tensor.
        ExprError: a tensor is given twice, or an input that is read is not given.
    """
    ops = listed(ops, "te.create_prim_func")
    if not ops:
        raise ExprError("te.create_prim_func takes inputs and outputs, got an empty list")
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
    inside = [t for stage in stages if isinstance(stage, ScanOp) for t in stage.hidden]
    names = _buffer_names([*tensors, *(t for stage in stages for t in stage.outputs), *inside])
    decls = [BufferDecl(names[id(each)], each.shape, each.dtype) for each in tensors]
    context = default_context()
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            builder = PrimFuncBuilder(name, decls, _integers(tensors, stages, asked), private=False)
            with builder.body():
                _write(builder, tensors, stages, names)
    return IRModule(module)[name]


def write_tensors(builder: PrimFuncBuilder, tensors: Sequence[Tensor]) -> None:
    """Write what computes tensors from others into the body of a prim func.

    Args:
        builder: of the function; its parameters bind every symbol that the tensors use.
        tensors: inputs, then outputs, which are the function's buffers in that order.

    Raises:
        ExprError: a stage cannot be written.
    """
    stages = _stages(tensors)
    inside = [t for stage in stages if isinstance(stage, ScanOp) for t in stage.hidden]
    names = _buffer_names([*tensors, *(t for stage in stages for t in stage.outputs), *inside])
    _write(builder, tensors, stages, names)


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
    """Return the symbols to pass: requested, and bound by no dimension of a parameter."""
    bound = {
        dim.name for each in tensors for dim in map(SymExpr.of, each.shape) if dim.name is not None
    }
    used: set[str] = set()
    every = [*stages, *(op for s in stages if isinstance(s, ScanOp) for op in s.inside)]
    for stage in every:
        sizes: list[Any] = [dim for output in stage.outputs for dim in output.shape]
        if isinstance(stage, ComputeOp):
            sizes += [
                size for axis in stage.reduce_axis for size in (axis.dom.min, axis.dom.extent)
            ]
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
        for output in (*stage.outputs, *(stage.hidden if isinstance(stage, ScanOp) else ())):
            if id(output) not in buffers:
                name = names[id(output)]
                buffers[id(output)] = builder.alloc(name, output.shape, output.dtype)
    for stage in stages:
        try:
            if isinstance(stage, ComputeOp):
                check_body(stage.name, stage.axis, stage.body)
                Stage(builder, stage, buffers).write()
            elif isinstance(stage, ScanOp):
                stage.write(builder, buffers)
            elif isinstance(stage, ExternOp):
                write_extern(builder, stage, buffers)
        except ExprError as error:
            raise type(error)(f"in stage '{stage.name}': {error}") from error
