"""Making tensors: inputs, computed ones, ones written with loops."""

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.te.checks import check_body
from relax_mlir.te.tensor import ComputeOp, ExternOp, PlaceholderOp, Tensor, listed, named
from relax_mlir.tir.scalar.axes import Dim, IterVar, dims_of
from relax_mlir.tir.scalar.conversion import as_expr
from relax_mlir.tir.scalar.dtypes import checked
from relax_mlir.tir.scalar.prim_expr import PrimExpr

_tags = threading.local()


@contextmanager
def tag_scope(tag: str) -> Iterator[str]:
    """Give the stages made inside, by `te.compute` and `te.extern` without a tag, this one."""
    before = getattr(_tags, "tag", "")
    _tags.tag = tag
    try:
        yield tag
    finally:
        _tags.tag = before


def placeholder(shape: Any, dtype: Any = "float32", name: str = "placeholder") -> Tensor:
    """Return an input tensor.

    Args:
        shape: integers, `tir.Var` and expressions of them.
        dtype: of its elements.
        name: of its buffer.

    Raises:
        ExprTypeError: an element of the shape is no size.
        ExprError: there is no such dtype, or a size is negative.
    """
    name = named(name, "te.placeholder")
    dims = dims_of(shape, f"te.placeholder '{name}'")
    return PlaceholderOp(name, [dims], [checked(dtype)]).outputs[0]


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Any = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """Return a tensor whose elements a function gives from their indices.

    Args:
        shape: its shape; `()` for a scalar.
        fcompute: from one index for each dimension an expression; a tuple of them makes as many
            tensors.
        name: of the stage and its buffer.
        tag: kept in `op.tag`.
        attrs: kept in `op.attrs`.
        varargs_names: names of the axes of an `fcompute` that takes `*indices`.

    Returns:
        A tensor, or a tuple of several.

    Raises:
        ExprError: the function takes another number of indices, or its expression has no meaning;
            the message names the stage.
        ExprTypeError: what it gives is no scalar expression, or mixes what does not go together.
    """
    name = named(name, "te.compute")
    dims = dims_of(shape, f"te.compute '{name}'")
    names = _axis_names(fcompute, len(dims), name, varargs_names)
    pairs = zip(dims, names, strict=True)
    axis = [IterVar((SymExpr.const(0), SymExpr.of(dim)), each, "spatial") for dim, each in pairs]
    try:
        given = fcompute(*axis)
        several = isinstance(given, (list, tuple))
        body = [as_expr(each) for each in (given if several else [given])]
        if not body:
            raise ExprError("it gives no expression")
    except ExprError as error:
        raise type(error)(f"in te.compute '{name}': {error}") from error
    return _computed(name, dims, axis, body, tag, attrs)


def _computed(
    name: str, dims: Sequence[Dim], axis: list[IterVar], body: list[PrimExpr], tag: str, attrs: Any
) -> Any:
    # What reads steps before is checked where it turns out to be no part of a scan.
    check_body(name, axis, body, steps=True)
    outputs = ComputeOp(name, dims, axis, body, tag or current_tag(), attrs).outputs
    return one_or_all(outputs)


def one_or_all(outputs: Sequence[Tensor]) -> Any:
    """Return what a stage gives: its tensor, or a tuple of several."""
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def current_tag() -> str:
    """Return the tag of stages without one of their own."""
    return getattr(_tags, "tag", "")


def _axis_names(
    fcompute: Callable[..., Any], count: int, name: str, varargs_names: Sequence[str] | None
) -> list[str]:
    """Return names for the axes: those of the function's parameters."""
    if not callable(fcompute):
        raise ExprTypeError(f"te.compute '{name}' takes a function of indices, got {fcompute!r}")
    try:
        parameters = list(inspect.signature(fcompute).parameters.values())
    except (TypeError, ValueError):
        return [f"i{i}" for i in range(count)]
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p.name for p in plain if p.default is p.empty]
    rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(needed) > count or (len(plain) < count and not rest):
        raise ExprError(
            f"te.compute '{name}' has {count} dimensions, its function takes {len(needed)} indices"
        )
    names = [p.name for p in plain][:count]
    more = list(varargs_names or [])
    names += more[: count - len(names)]
    return names + [f"i{i}" for i in range(len(names), count)]


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Any], list[Any]], Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",
    attrs: Any = None,
) -> Any:
    """Return tensors that a function writes with loops and stores, by `tir.ir_builder`.

    Args:
        shape: of the output, or a list of shapes.
        inputs: the tensors that it reads.
        fcompute: from input buffers and output buffers writes the stage.
        name: of the stage.
        dtype: of the output, or a list; the inputs' where all have one.
        in_buffers: as in TVM; buffers are compact here, so there is nothing to say.
        out_buffers: as in TVM.
        tag: kept in `op.tag`.
        attrs: kept in `op.attrs`.

    Raises:
        ExprTypeError: an input is no tensor, or the dtype cannot be inferred.
    """
    name = named(name, "te.extern")
    inputs = listed(inputs, f"te.extern '{name}'")
    for each in inputs:
        if not isinstance(each, Tensor):
            raise ExprTypeError(f"te.extern '{name}' takes tensors, got {each!r}")
    several = isinstance(shape, (list, tuple)) and bool(shape) and isinstance(
        shape[0], (list, tuple)
    )  # fmt: skip
    shapes = [dims_of(each, f"te.extern '{name}'") for each in (shape if several else [shape])]
    kinds = {each.dtype for each in inputs}
    if dtype is None:
        if len(kinds) != 1:
            raise ExprTypeError(f"te.extern '{name}' needs a dtype: its inputs have {len(kinds)}")
        dtype = next(iter(kinds))
    dtypes = list(dtype) if isinstance(dtype, (list, tuple)) else [dtype] * len(shapes)
    if len(dtypes) != len(shapes):
        raise ExprError(f"te.extern '{name}' has {len(shapes)} shapes and {len(dtypes)} dtypes")
    kinds = [checked(each) for each in dtypes]
    made = ExternOp(name, shapes, kinds, inputs, fcompute, tag or current_tag(), attrs)
    return one_or_all(made.outputs)
