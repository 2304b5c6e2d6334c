"""Small models as modules of layers, written by the current builder (TVM's `relax.testing.nn`)."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir import topi
from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import collect
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.builder.emitted import own_values
from relax_mlir.relax.expr import Expr, GlobalVar, TensorType, Var


def _builder() -> BlockBuilder:
    result = BlockBuilder.current()
    if result is None:
        raise BuilderError("modules write into a function: with bb.function(name, params):")
    return result


def emit(expr: Any, name_hint: str = "") -> Var:
    """Bind an expression in the function that is being built.

    Raises:
        BuilderError: none is.
    """
    return _builder().emit(expr, name_hint)


def emit_te(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
    """Bind the result of a tensor expression in the function that is being built.

    Raises:
        BuilderError: none is.
    """
    return _builder().emit_te(func, *args, **kwargs)


class Placeholder(Var):
    """An input of a model; its name is made unique in the function that is being built."""

    __slots__ = ()

    def __init__(self, shape: Sequence[Any], dtype: str = "float32", name: str = "data") -> None:
        if not isinstance(shape, (list, tuple)):
            raise ExprTypeError(f"the shape of {type(self).__name__} is a tuple, got {shape!r}")
        builder = BlockBuilder.current()
        name = name if builder is None else builder.get_unique_name(name)
        super().__init__(name, TensorType(shape, dtype))


class Parameter(Placeholder):
    """A weight of a model."""

    __slots__ = ()

    def __init__(self, shape: Sequence[Any], dtype: str = "float32", name: str = "param") -> None:
        super().__init__(shape, dtype, name)


class Module:
    """A model or a layer; subclasses define `forward`.

    Attributes:
        define_subroutine: whether each call is one of a private function of the module, written
            at the first call with arguments of these types; otherwise it is written in place.
    """

    define_subroutine: bool = False

    def parameters(self) -> list[Parameter]:
        """Return the weights of the module and of the modules in it."""
        return _parameters(vars(self))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the module computes; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the module computes of its inputs."""
        if not self.define_subroutine:
            return self.forward(*args, **kwargs)
        return self._subroutine(inspect.signature(self.forward).bind(*args, **kwargs))

    def _subroutine(self, given: inspect.BoundArguments) -> Var:
        outer, inner = _builder(), BlockBuilder()
        given.apply_defaults()
        inputs = {
            name: value if isinstance(value, Var) else outer.emit(value)
            for name, value in given.arguments.items()
            if isinstance(value, Expr)
        }
        weights = self.parameters()
        own = {name: Var(name, value.ty) for name, value in inputs.items()}
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()
        with own_values(weights), inner.function(name, [*own.values(), *weights], private=True):
            inner.emit_func_output(self.forward(**{**given.arguments, **own}))
        return outer.emit(_moved(inner.get(), outer)(*inputs.values(), *weights))


class Sequential(Module):
    """Modules one after the other."""

    def __init__(self, *modules: Module) -> None:
        self.modules: tuple[Module, ...] = modules

    def forward(self, input: Any) -> Any:
        """Return what the last module gives."""
        for module in self.modules:
            input = module(input)
        return input


class ReLU(Module):
    """The rectified linear unit."""

    def forward(self, input: Any) -> Var:
        """Return `max(input, 0)`."""
        return emit_te(topi.nn.relu, input)


class LogSoftmax(Module):
    """The logarithm of softmax over the last axis."""

    def forward(self, input: Any) -> Var:
        """Return `log(softmax(input))`."""
        return emit_te(topi.nn.log_softmax, input)


class Linear(Module):
    """An affine map: `input @ weight + bias`."""

    def __init__(self, in_features: Any, out_features: Any, bias: bool = True) -> None:
        self.in_features, self.out_features = in_features, out_features
        self.weight: Parameter = Parameter((in_features, out_features), name="linear_weight")
        self.bias: Parameter | None = None
        if bias:
            self.bias = Parameter((out_features,), name="linear_bias")

    def forward(self, input: Any) -> Var:
        """Return `input @ weight + bias`."""
        result = emit_te(topi.matmul, input, self.weight)
        return result if self.bias is None else emit_te(topi.add, result, self.bias)


def init_params(mod: IRModule) -> list[np.ndarray]:
    """Return zeros for each parameter of `main` whose name does not begin with `data`.

    Raises:
        ExprTypeError: the size of one is not a number.
    """
    result = []
    for param in mod["main"].params:
        if param.name.startswith("data"):
            continue
        dims = param.ty.dims
        sizes = [dim.value for dim in dims or () if dim.value is not None]
        if dims is None or len(sizes) < len(dims):
            raise ExprTypeError(f"the size of '{param.name}' is not known: {param.ty}")
        result.append(np.zeros(sizes, param.ty.dtype))
    return result


def _moved(mod: IRModule, builder: BlockBuilder) -> GlobalVar:
    """Add the functions of a module, callees first, to a builder's; returns the last one's name."""
    names: dict[str, str] = {}
    for name in mod.function_names:
        for op in collect(mod[name].mlir_op, lambda each: "callee" in each.attributes):
            callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            op.attributes["callee"] = ir.FlatSymbolRefAttr.get(names[callee], op.context)
        names[name] = builder.add_func(mod[name], name).name_hint
    return GlobalVar(names[mod.function_names[-1]])


def _parameters(value: Any) -> list[Parameter]:
    if isinstance(value, Parameter):
        return [value]
    if isinstance(value, Module):
        return value.parameters()
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [result for each in value for result in _parameters(each)]
    return []
