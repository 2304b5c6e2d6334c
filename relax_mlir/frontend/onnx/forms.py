"""What is known of a value on all ways that lead to it: of branches, and of the turns of a loop."""

import dataclasses
from typing import Any

from relax_mlir.frontend.onnx.weights import storage_dtype
from relax_mlir.frontend.values import ObjectValue, TupleValue, Value, materialize, of_expr
from relax_mlir.relax import op
from relax_mlir.relax.expr import ObjectType, TensorType


@dataclasses.dataclass(frozen=True)
class Form:
    """What a tensor or an object has in common with all that may be in its place.

    Attributes:
        dtype: of the elements, or of the tensors in it; empty for a sequence that has none yet.
        dims: of a tensor: the shape, None for dimensions that differ; None where the rank does.
        kind: `tensor`, `sequence` or `optional`, which is that of a tensor.
        ndim: of tensors in an object: their rank, None where there is none, -1 where it differs.
    """

    dtype: str = ""
    dims: tuple[Any, ...] | None = None
    kind: str = "tensor"
    ndim: int | None = None

    @property
    def type(self) -> Any:
        """The type of what has this form."""
        if self.kind != "tensor":
            return ObjectType()
        dtype = storage_dtype(self.dtype)
        if self.dims is None or None in self.dims:
            return TensorType(dtype=dtype, ndim=-1 if self.dims is None else len(self.dims))
        return TensorType(self.dims, dtype)


def form_of(value: Any) -> Form:
    """Return the form of a value; None is an optional without an element."""
    if isinstance(value, Value):
        dims = value.dims
        if dims is None and value.ndim >= 0:
            dims = (None,) * value.ndim
        return Form(value.dtype, dims)
    if isinstance(value, ObjectValue):
        return Form(value.dtype, None, value.kind, value.ndim)
    form = Form(kind="optional" if value is None else "sequence")
    for field in value.fields if value is not None else ():
        form = joined(form, Form(field.dtype, None, "sequence", field.ndim))
    return form


def joined(left: Form, right: Form) -> Form:
    """Return the form of what has one of two."""
    if left == right:
        return left
    dtype = left.dtype or right.dtype
    if left.kind == right.kind == "tensor":
        if left.dims is None or right.dims is None or len(left.dims) != len(right.dims):
            return Form(dtype)
        pairs = zip(left.dims, right.dims, strict=True)
        return Form(dtype, tuple(a if a is not None and a == b else None for a, b in pairs))
    ranks = {_rank(left), _rank(right)} - {None}
    kind = "sequence" if "sequence" in (left.kind, right.kind) else "optional"
    return Form(dtype, None, kind, ranks.pop() if len(ranks) == 1 else -1 if ranks else None)


def _rank(form: Form) -> int | None:
    if form.kind != "tensor":
        return form.ndim
    return -1 if form.dims is None else len(form.dims)


def lowered(node: Any, value: Any, form: Form) -> Any:
    """Return a value as an expression of the type of a form that it has."""
    builder = node.graph.builder
    if form.kind != "tensor":
        return as_object(node, value).expr
    expr = builder.emit(materialize(value))
    return expr if form_of(value) == form else builder.match_cast(expr, form.type)


def lifted(node: Any, expr: Any, form: Form) -> Any:
    """Return a variable as the value it is; dimensions that differ get symbols."""
    if form.kind != "tensor":
        return ObjectValue(expr, form.dtype, form.kind, form.ndim)
    if form.dims is not None and None in form.dims:
        dims = [node.graph.fresh("d") if dim is None else dim for dim in form.dims]
        made = TensorType(dims, storage_dtype(form.dtype))
        expr = node.graph.builder.match_cast(expr, made)
    return of_expr(expr, form.dtype)


def as_object(node: Any, value: Any) -> ObjectValue:
    """Return a sequence or an optional as an object of run time."""
    if isinstance(value, ObjectValue):
        return value
    form = form_of(value)
    if value is None:
        return ObjectValue(node.emit(op.null_value()), kind="optional")
    if isinstance(value, TupleValue):
        fields = [materialize(field) for field in value.fields]
        return node.object("sequence_construct", fields, form)
    return ObjectValue(materialize(value), value.dtype, "optional", value.ndim)
