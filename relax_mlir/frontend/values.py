"""Values of a model under import: what is known of integers is carried along with the tensors.

Shapes that a model computes from shapes (Shape, Gather, Concat, Mul) stay integers and symbolic
expressions, so that converters ask `ints(value)` and no converter inspects the IR.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.relax import op
from relax_mlir.relax.expr import Constant, Expr, ShapeExpr, TensorType, Tuple, convert
from relax_mlir.runtime.bytecode.builtins import MODEL_PREFIX

# Dtypes that Relax has not, and the dtype whose elements hold them: the bits of floats, the values
# of integers.
STORAGE = {
    **dict.fromkeys(
        ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
         "float4_e2m1fn", "uint4", "uint2"), "uint8",
    ),
    "int4": "int8",
    "int2": "int8",
}  # fmt: skip


@dataclass(eq=False, slots=True)
class Value:
    """A tensor, known elements, or both.

    Attributes:
        dtype: of the elements; one of `STORAGE` where the expression has the dtype named there.
        expr: the tensor in the program under construction, None until something needs it.
        data: elements known at import: an array of numbers, or of integers and symbolic
            expressions (numpy dtype `object`).
    """

    dtype: str
    expr: Expr | None = None
    data: np.ndarray | None = None

    @property
    def dims(self) -> tuple[SymExpr, ...] | None:
        """The shape, None where only run time knows it."""
        if self.data is not None:
            return tuple(SymExpr.of(size) for size in self.data.shape)
        assert self.expr is not None, "a value has an expression or elements"
        type_ = self.expr.ty
        if not isinstance(type_, TensorType):
            return None
        shape = type_.shape
        return tuple(shape.values) if isinstance(shape, ShapeExpr) else None

    @property
    def ndim(self) -> int:
        """The number of dimensions, -1 where only run time knows it."""
        if self.data is not None:
            return self.data.ndim
        type_ = self.expr.ty if self.expr is not None else None
        return type_.ndim if isinstance(type_, TensorType) else -1

    @property
    def array(self) -> np.ndarray | None:
        """The elements where all are numbers."""
        return None if self.data is None or self.data.dtype == object else self.data


@dataclass(eq=False, slots=True)
class TupleValue:
    """Several values as one: a sequence of ONNX, a tuple of Python.

    Attributes:
        fields: the values.
    """

    fields: tuple[Any, ...]


@dataclass(eq=False, slots=True)
class ObjectValue:
    """A sequence whose length only run time knows, or an optional of a tensor.

    Attributes:
        expr: the object.
        dtype: of its tensors, empty where none was put in yet.
        kind: `sequence`, which may be optional, or `optional`.
        ndim: the rank of its tensors, None where none was put in yet, -1 where it differs.
    """

    expr: Expr
    dtype: str = ""
    kind: str = "sequence"
    ndim: int | None = None


def of_expr(expr: Any, dtype: str = "") -> Value:
    """Return the value that an expression has."""
    expr = convert(expr)
    return Value(dtype or getattr(expr.ty, "dtype", ""), expr)


def of_array(array: Any, dtype: str = "") -> Value:
    """Return a value whose elements are known."""
    array = np.asarray(array)
    return Value(dtype or str(array.dtype), data=array)


def of_ints(values: Iterable[Any] | Any, dtype: str = "int64") -> Value:
    """Return integers and symbolic expressions as a tensor of one dimension, or a single one."""
    is_list = isinstance(values, (list, tuple))
    numbers = [number(each) for each in (values if is_list else [values])]
    if all(isinstance(each, int) for each in numbers):
        data = np.array(numbers, dtype=dtype)
    else:
        data = np.empty(len(numbers), dtype=object)
        data[:] = numbers
    return Value(dtype, data=data if is_list else data.reshape(()))


def number(value: Any) -> Any:
    """Return an integer as `int`, a symbolic expression as it is."""
    if isinstance(value, SymExpr):
        return value if value.value is None else value.value
    return int(value)


def ints(value: Value) -> tuple[Any, ...] | None:
    """Return the elements of an integer tensor as integers and symbolic expressions.

    Returns:
        None where only run time knows them.
    """
    if value.data is None:
        return None
    return tuple(number(each) for each in value.data.reshape(-1))


def materialize(value: Value) -> Expr:
    """Return the tensor as an expression, made of its known elements if need be."""
    if value.expr is None:
        assert value.data is not None, "a value has an expression or elements"
        value.expr = _expression(value.data, value.dtype)
    return value.expr


def _expression(data: np.ndarray, dtype: str) -> Expr:
    if data.dtype != object:
        return Constant(data)
    numbers = [SymExpr.of(each) for each in data.reshape(-1)]
    # A shape has no negative numbers, so it holds by how much they exceed what they are at least.
    bounds = [number.lower_bound() for number in numbers]
    least = [min(bound or 0, 0) for bound in bounds]
    above = [
        number.max(0) if bound is None else number - low
        for number, bound, low in zip(numbers, bounds, least, strict=True)
    ]
    made = op.shape_to_tensor(ShapeExpr(above))
    if any(least):
        made = op.add(made, Constant(np.array(least, "int64")))
    if None in bounds:
        below = [
            (-number).max(0) if bound is None else 0
            for number, bound in zip(numbers, bounds, strict=True)
        ]
        made = op.subtract(made, op.shape_to_tensor(ShapeExpr(below)))
    if data.ndim != 1:
        made = op.reshape(made, data.shape)
    return made if dtype == "int64" else op.astype(made, dtype)


def call_model_function(
    name: str, args: Iterable[Expr | None], type_: Any, config: Mapping[str, Any]
) -> Expr:
    """Return a call of a function of `runtime.models`.

    Args:
        name: its name there.
        args: its operands; None is one that is left out.
        type_: the type of the result.
        config: what import knows of it, numbers, texts and lists of them.
    """
    return op.call_pure_packed(
        f"{MODEL_PREFIX}{name}:{json.dumps(config)}",
        *[Tuple([]) if arg is None else arg for arg in args],
        sinfo_args=type_,
    )


def same_dims(left: Sequence[Any] | None, right: Sequence[Any] | None) -> bool:
    """Whether two shapes are the same for sure."""
    return left is not None and right is not None and tuple(left) == tuple(right)
