"""Shape rules that users register: argument types, result types, checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.op_names import dialect_name
from relax_mlir.extension_points import extension

PREFIX = "relax."
# Operation, without the prefix -> attribute -> value.
ATTRIBUTES: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True)
class ShapeOf:
    """The shape of an argument where only run time knows it."""

    arg: "Argument"


@dataclass(frozen=True)
class ShapeCall:
    """A shape that a packed function computes from other shapes at run time."""

    func: str
    args: tuple[Any, ...]
    ndim: int = -1


def call_shape_func(func: Any, *args: Any, ndim: int = -1) -> ShapeCall:
    """Return the shape that a packed function gives at run time, for a rule to return.

    Args:
        func: its name; it gets tuples of integers and returns one. Or
            `ir.Op.get("binary_broadcast")`, which the runtime has.
        args: shapes: what `shape()` returned, or tuples of integers and symbols.
        ndim: how many dimensions it gives, -1 where that is not known either.
    """
    if not isinstance(func, str):
        func = f"vm.builtin.{func.name.removeprefix(PREFIX)}"
    return ShapeCall(func, args, ndim)


@dataclass(frozen=True)
class Argument:
    """An operand as a shape rule sees it: its type, not its value.

    Attributes:
        index: position among the operands.
        type: the MLIR type.
    """

    index: int
    type: Any

    @property
    def dtype(self) -> str:
        """The dtype, `""` when it is not known."""
        return T.tensor_dtype(self.type) if T.is_tensor(self.type) else ""

    @property
    def ndim(self) -> int:
        """The number of dimensions, -1 when it is not known."""
        if T.is_tensor(self.type):
            return T.tensor_ndim(self.type)
        return T.shape_ndim(self.type) if isinstance(self.type, Shape) else -1

    def shape(self) -> Any:
        """Return the shape: a `relax.ShapeExpr` where it is known symbolically, else a `ShapeOf`.

        A shape operand is its own.
        """
        dims = None
        if T.is_tensor(self.type):
            dims = T.tensor_dims(self.type)
        elif isinstance(self.type, Shape):
            dims = T.shape_dims(self.type)
        if dims is None:
            return ShapeOf(self)
        return extension("ir.ShapeExpr")(dims)


@dataclass(frozen=True)
class InferCall:
    """A call as a shape rule sees it.

    Attributes:
        name: the operation, with its prefix.
        args: the operands; None for one that was left out.
        attrs: the values of the attributes.
    """

    name: str
    args: tuple[Any, ...]
    attrs: dict[str, Any]

    def __call__(self, func: Any, *args: Any) -> ShapeCall:
        """Return `call_shape_func`, as the design document's rule writes it."""
        return call_shape_func(func, *args)


def get_op_attr(op_name: str, attr_key: str) -> Any:
    """Return what `register_op_attr` attached, None when nothing was."""
    return ATTRIBUTES.get(dialect_name(op_name.removeprefix(PREFIX)), {}).get(attr_key)


def has_op_attrs() -> bool:
    """Whether `register_op_attr` or `register_op` attached anything to any operation."""
    return any(ATTRIBUTES.values())


def infer_user_shape(name: str, types: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Return what the registered rule of an operation says of the result's shape."""
    rule = ATTRIBUTES[name].get("FInferShape")
    args = [None if type_ is None else Argument(i, type_) for i, type_ in enumerate(types)]
    return None if rule is None else rule(InferCall(f"{PREFIX}{name}", tuple(args), attrs))
