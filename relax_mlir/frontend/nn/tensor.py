"""Tensors of `frontend.nn`: expressions of the function under construction, and parameters."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.relax import op
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr import Expr, TensorType, TupleType, Var, const

_DEFAULT = {"dtype": "float32"}


def get_default_dtype() -> str:
    """Return the dtype of parameters that name none."""
    return _DEFAULT["dtype"]


def set_default_dtype(dtype: str) -> None:
    """Set the dtype of parameters that name none."""
    _DEFAULT["dtype"] = dtype


def current_builder() -> BlockBuilder:
    """Return the builder of the function under construction.

    Raises:
        BuilderError: there is none; operations run while a module is exported.
    """
    builder = BlockBuilder.current()
    if builder is None:
        raise BuilderError("operations of nn run inside of export_tvm or a BlockBuilder function")
    return builder


class Tensor:
    """A tensor of the program under construction; its shape and dtype are known at once.

    Attributes:
        _expr: the expression.
    """

    def __init__(self, *, _expr: Expr) -> None:
        type_ = _expr.ty
        if not isinstance(type_, TensorType) or type_.dims is None:
            raise ExprTypeError(f"a tensor of nn has a known shape, got {type_}")
        self._expr: Any = _expr

    @staticmethod
    def from_const(data: Any) -> "Tensor":
        """Return an array as a constant; numpy's own widths become 32 bits, as in `relax.const`."""
        array = np.asarray(data)
        dtype = {"float64": "float32", "int64": "int32"}.get(str(array.dtype))
        return Tensor(_expr=const(array, dtype))

    @staticmethod
    def from_scalar(data: Any, dtype: str) -> "Tensor":
        """Return a number as a constant without dimensions."""
        return Tensor(_expr=const(data, dtype))

    @staticmethod
    def from_ty(ty: TensorType, name: str = "tensor") -> "Tensor":
        """Return a placeholder of a type."""
        return Tensor(_expr=Var(name, ty))

    from_struct_info = from_ty

    @staticmethod
    def placeholder(shape: Sequence[Any], dtype: str, name: str = "tensor") -> "Tensor":
        """Return a placeholder: a parameter, or what describes a result.

        Args:
            shape: integers, symbolic integers and names of symbols.
            dtype: of the elements.
            name: of the variable.
        """
        dims = [each if isinstance(each, str) else SymExpr.of(each) for each in shape]
        return Tensor(_expr=Var(name.replace(".", "_"), TensorType(dims, dtype)))

    @property
    def shape(self) -> list[Any]:
        """The dimensions: integers, and symbolic ones."""
        return [dim if dim.value is None else dim.value for dim in self._expr.ty.dims]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._expr.ty.ndim

    @property
    def dtype(self) -> str:
        """The dtype."""
        return self._expr.ty.dtype

    def __repr__(self) -> str:
        return f'Tensor({self.shape}, "{self.dtype}")'

    def astype(self, dtype: str) -> "Tensor":
        """Return the tensor in another dtype, itself where it has it already."""
        return self if dtype == self.dtype else wrap_nested(op.astype(self._expr, dtype), "astype")

    def reshape(self, *shape: Any) -> "Tensor":
        """Return the elements in another shape."""
        return wrap_nested(op.reshape(self._expr, _flat(shape)), "reshape")

    def permute_dims(self, *axes: Any) -> "Tensor":
        """Return the tensor with its dimensions in another order, reversed by default."""
        return wrap_nested(op.permute_dims(self._expr, _flat(axes) or None), "permute_dims")

    def repeat(self, repeats: int, axis: int | None = None) -> "Tensor":
        """Return the tensor with each element repeated."""
        return wrap_nested(op.repeat(self._expr, repeats, axis), "repeat")


def _flat(values: tuple[Any, ...]) -> list[Any]:
    first = values[0] if len(values) == 1 else values
    return list(first) if isinstance(first, (list, tuple)) else [first]


def _operator(function: Callable[..., Any], name: str, swapped: bool = False) -> Any:
    """Return a method that applies a function to two tensors, or a tensor and a number."""

    def apply(self: Tensor, other: Any) -> Any:
        if isinstance(other, (int, float, np.number)):
            other = Tensor.from_scalar(other, self.dtype)
        if not isinstance(other, Tensor):
            return NotImplemented
        pair = (other, self) if swapped else (self, other)
        return wrap_nested(function(*(each._expr for each in pair)), name)

    return apply


_ARITHMETIC = {
    "add": (op.add, "add"), "sub": (op.subtract, "subtract"), "mul": (op.multiply, "mul"),
    "truediv": (op.divide, "divide"),
}  # fmt: skip
for _name, (_function, _hint) in _ARITHMETIC.items():
    setattr(Tensor, f"__{_name}__", _operator(_function, _hint))
    # What commutes keeps the tensor in front, as TVM has it.
    is_ordered = _name in ("sub", "truediv")
    setattr(Tensor, f"__r{_name}__", _operator(_function, _hint, swapped=is_ordered))
for _name, _function in {
    "__lt__": op.less, "__le__": op.less_equal, "__gt__": op.greater, "__ge__": op.greater_equal,
    "maximum": op.maximum, "minimum": op.minimum,
}.items():  # fmt: skip
    setattr(Tensor, _name, _operator(_function, _name.strip("_")))


class Parameter(Tensor):
    """A weight of a module, with or without its numbers.

    Args:
        shape: integers, symbolic integers and names of symbols.
        dtype: of the elements, the default one if left out.

    Attributes:
        attrs: of the user.
    """

    def __init__(self, shape: Sequence[Any], dtype: str | None = None) -> None:
        self._shape, self._dtype = list(shape), dtype or get_default_dtype()
        self._var: Any = None
        self._data: Any = None
        self.attrs: dict[str, Any] = OrderedDict()

    @property
    def _expr(self) -> Any:
        """The variable, made when it is first used: until then any dtype is only a name."""
        if self._var is None:
            self._var = Tensor.placeholder(self._shape, self._dtype, "param")._expr
        return self._var

    @_expr.setter
    def _expr(self, value: Any) -> None:
        self._var = value

    @property
    def dtype(self) -> str:
        """The dtype."""
        return self._dtype

    @property
    def data(self) -> Any:
        """The numbers, None for a parameter without."""
        return self._data

    @data.setter
    def data(self, data: Any) -> None:
        """Set the numbers: an array, a tensor of the runtime or of another library, or None.

        Raises:
            ValueError: the shape or dtype is another one.
            TypeError: it is none of these.
        """
        if data is None:
            self._data = None
            return
        made = as_runtime_tensor(data)
        if tuple(made.shape) != tuple(self.shape):
            raise ValueError(
                f"Shape mismatch: expected {tuple(self.shape)}, got {tuple(made.shape)}"
            )
        if str(made.dtype) != self.dtype:
            raise ValueError(f"Dtype mismatch: expected {self.dtype}, got {made.dtype}")
        self._data = made

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype.

        Raises:
            ValueError: the parameter has numbers already.
        """
        if dtype is None:
            return
        if self._data is not None:
            raise ValueError("a parameter that has numbers keeps its dtype; convert them instead")
        self._dtype, self._var = dtype, None


def as_runtime_tensor(data: Any) -> Any:
    """Return an array, or a tensor of another library, as a tensor of the runtime.

    Raises:
        TypeError: it is neither.
    """
    from relax_mlir.runtime import tensor

    if hasattr(data, "detach"):
        data = data.detach()
    if not isinstance(data, np.ndarray) and not hasattr(data, "__dlpack__"):
        raise TypeError(f"Unsupported data type: {type(data)}")
    return tensor(data)


def wrap_nested(expr: Any, name: str) -> Any:
    """Bind an expression to a variable and return it as a tensor, a tuple as a tuple of tensors.

    Args:
        expr: a tensor or a tuple.
        name: of the variable.

    Raises:
        ExprTypeError: it is neither.
    """
    var = expr if isinstance(expr, Var) else current_builder().emit(expr, name.replace(".", "_"))
    if isinstance(var.ty, TensorType):
        return Tensor(_expr=var)
    if isinstance(var.ty, TupleType):
        count = len(var.ty.fields)
        return tuple(wrap_nested(var[index], f"{name}.{index}") for index in range(count))
    raise ExprTypeError(f"a result of nn is a tensor or a tuple of tensors, got {var.ty}")
