"""The nodes of a torch graph, one after another, as bindings of a Relax function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import fx

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, RelaxMLIRError
from relax_mlir.frontend.registry import Converter
from relax_mlir.frontend.torch.dtypes import dtype_name
from relax_mlir.frontend.torch.symbols import size
from relax_mlir.frontend.values import call_model_function
from relax_mlir.relax import op
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.types import PrimType, ShapeType, TensorType, TupleType
from relax_mlir.relax.expr.values import Constant, ShapeExpr, const

# What stands in front of an overload's name where an operand is of complex numbers.
COMPLEX = "complex "


@dataclass(frozen=True)
class Complex:
    """A tensor of complex numbers.

    Attributes:
        real: the real parts.
        imag: the imaginary parts, of the same shape and dtype.
    """

    real: Any
    imag: Any

    @staticmethod
    def constant(array: np.ndarray) -> "Complex":
        """Return known numbers."""
        return Complex(
            *(Constant(np.ascontiguousarray(x)) for x in (np.real(array), np.imag(array)))
        )


class Importer:
    """What converters see of the import.

    Attributes:
        block_builder: the builder; a function is open.
        env: the values of nodes: expressions, symbolic integers, Python's numbers, sequences.
        node: the node that is converted.
    """

    def __init__(
        self, builder: BlockBuilder, converters: Mapping[str, Converter],
        custom: Mapping[str, Converter] | None = None, env: dict[fx.Node, Any] | None = None,
    ) -> None:  # fmt: skip
        self.block_builder = builder
        self.env: dict[fx.Node, Any] = env if env is not None else {}
        self.node: fx.Node = None  # type: ignore[assignment]
        self._converters = converters
        self._custom = custom or {}
        self._bound: set[str] = set()

    # What converters ask

    @property
    def value(self) -> Any:
        """The fake value that torch computed for the node."""
        return self.node.meta.get("val")

    @property
    def _first(self) -> Any:
        return self.value[0] if isinstance(self.value, (list, tuple)) else self.value

    @property
    def dtype(self) -> str:
        """The dtype of the node's result, of its first one where it has many; of its parts."""
        return dtype_name(self._first.dtype.to_real())

    @property
    def dims(self) -> list[SymExpr]:
        """The dimensions of the node's result, of its first one where it has many."""
        return [size(dim) for dim in self._first.shape]

    @property
    def shape(self) -> ShapeExpr:
        """The shape of the node's result; `reshape` takes a 0 in it for a size, not in `dims`."""
        return ShapeExpr(self.dims)

    def fake(self, index: int) -> Any:
        """Return the fake value, or number, that torch had for an argument of the node."""
        argument = self.node.args[index]
        return argument.meta["val"] if isinstance(argument, fx.Node) else argument

    def emit(self, expr: Any) -> Any:
        """Bind an expression to a variable that is named after the node."""
        return self.block_builder.emit(expr, self.node.name)

    def cast(self, x: Any, dtype: str) -> Expr:
        """Return a tensor, or a number as a scalar tensor, of a dtype."""
        if isinstance(x, SymExpr):
            if x.value is None:
                scalar = op.reshape(op.shape_to_tensor(ShapeExpr([x])), ())
                return scalar if dtype == "int64" else op.astype(scalar, dtype)
            x = x.value
        if isinstance(x, (bool, int, float)):
            return _number(x, dtype)
        if x.ty.dtype == dtype:
            return x
        return op.astype(x, dtype)

    def runtime(self, name: str, args: Sequence[Any], **config: Any) -> Expr:
        """Call a function of `runtime.models`; None is an operand that is left out.

        Of a result of complex numbers it gives the real and the imaginary parts.
        """
        many = _many(self.value) or self.value.is_complex()
        types = [
            TensorType(ndim=each.ndim, dtype=dtype_name(each.dtype.to_real()))
            for each in (self.value if _many(self.value) else [self.value])
            for _ in range(2 if each.is_complex() else 1)
        ]
        return call_model_function(name, args, TupleType(types) if many else types[0], config)

    # The walk

    def retrieve_args(self, node: fx.Node) -> list[Any]:
        """Return a node's arguments with the values of nodes in their place."""
        return [self._value(argument) for argument in node.args]

    def convert(self, node: fx.Node) -> Any:
        """Return the value of a call, converted by the table.

        Raises:
            ExprError: a converter failed; the message names the node and its place in the model.
        """
        previous, self.node = self.node, node
        try:
            result = self._converted(node)
            return self._refined(result, node.meta.get("val"))
        except (RelaxMLIRError, NotImplementedError) as error:
            if isinstance(error, ImportedNodeError):
                raise
            raise ImportedNodeError(f"{error}\n  at {describe(node)}") from error
        finally:
            self.node = previous

    def _converted(self, node: fx.Node) -> Any:
        value = node.meta.get("val")
        name = target_name(node)
        custom = self._custom.get(name) or self._custom.get(name.removeprefix("aten."))
        if custom is not None:
            return custom(node, self)
        if isinstance(value, torch.SymInt) and not _binds(node):
            return size(value)
        kwargs = {key: self._value(item) for key, item in node.kwargs.items()}
        return self.apply(name, self.retrieve_args(node), kwargs)

    def apply(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what an operator gives, by its name and its operands' values.

        Raises:
            ExprError: it has no converter for complex numbers.
        """
        flat = [each for x in args for each in (x if _many(x) else [x])]
        if any(isinstance(each, (Complex, complex)) for each in flat):
            converter = self._converters.get(COMPLEX + name)
        else:
            converter = self._converters.get(name)
        if converter is None:
            kind = "real" if COMPLEX + name in self._converters else "complex"
            raise ExprError(f"{name} cannot be imported for {kind} numbers")
        return converter(self, *args, **kwargs)

    def _value(self, argument: Any) -> Any:
        if isinstance(argument, fx.Node):
            return self.env[argument]
        if isinstance(argument, (list, tuple)):
            return [self._value(item) for item in argument]
        if isinstance(argument, torch.SymInt):
            return size(argument)
        return argument

    def _refined(self, result: Any, value: Any) -> Any:
        """Return a result bound to a variable of the type that torch inferred."""
        if isinstance(result, (list, tuple)):
            values = value if isinstance(value, (list, tuple)) else [None] * len(result)
            return [self._refined(*pair) for pair in zip(result, values, strict=False)]
        if isinstance(value, torch.Tensor) and value.is_complex():
            if not isinstance(result, Complex):
                result = Complex(result, op.zeros_like(result))
            return Complex(self._typed(result.real, value), self._typed(result.imag, value))
        return self._typed(result, value)

    def _typed(self, result: Any, value: Any) -> Any:
        if not isinstance(result, Expr) or isinstance(result.ty, PrimType):
            return result
        var = self.emit(result)
        if not isinstance(value, torch.Tensor) or not isinstance(var.ty, TensorType):
            return var
        dtype = dtype_name(value.dtype.to_real())
        if var.ty.dtype != dtype:
            raise ExprError(f"the converter gave {var.ty.dtype or 'no dtype'}, torch has {dtype}")
        dims = tuple(size(dim) for dim in value.shape)
        if var.ty.dims is not None and tuple(var.ty.dims) == dims:
            return var
        return self.block_builder.match_cast(var, TensorType(dims, dtype), self.node.name)

    def bind_size(self, scalar: Expr, name: str) -> SymExpr:
        """Bind a symbol to the integer that a tensor of one element holds."""
        shape = op.tensor_to_shape(op.reshape(self.cast(scalar, "int64"), (1,)))
        self.block_builder.match_cast(self.emit(shape), ShapeType([name]))
        return SymExpr.var(name)


class ImportedNodeError(ExprError):
    """A node could not be converted; the message says which and where."""


def target_name(node: fx.Node) -> str:
    """Return the name of what a node calls: `aten.add.Tensor`, `getitem`."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return getattr(target, "__name__", str(target))


def describe(node: fx.Node) -> str:
    """Return which node this is, and the line of the model that it comes from."""
    trace = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines() if line]
    place = next((line for line in reversed(trace) if line.startswith("File ")), "")
    return f"%{node.name} = {target_name(node)}" + (f", {place}" if place else "")


def _many(x: Any) -> bool:
    return isinstance(x, (list, tuple))


def _binds(node: fx.Node) -> bool:
    """Whether a node gives a size that only run time knows."""
    return bool(node.meta.get("unbacked_bindings"))


def _number(x: bool | int | float, dtype: str) -> Expr:
    """Return a scalar; as torch has it, a float becomes an integer towards zero, and wraps."""
    if isinstance(x, float) and "int" in dtype:
        x = int(x)
    if "int" in dtype and not isinstance(x, bool):
        x = int(np.array(x).astype(dtype))
    with np.errstate(all="ignore"):
        return const(x, dtype)


def as_sequence(x: Any, count: int) -> list[Any]:
    """Return an argument that may be one number for all dimensions, as torch allows."""
    items = list(x) if isinstance(x, Sequence) else [x]
    return items * count if len(items) == 1 else items
