"""Modules whose `forward` becomes a function of its own, called where the module is."""

import functools
import inspect
import re
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from relax_mlir.frontend.nn.tensor import Tensor, current_builder
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.builder.core import active
from relax_mlir.relax.expr import Tuple, Var

_MADE: "weakref.WeakKeyDictionary[BlockBuilder, dict[Any, Any]]" = weakref.WeakKeyDictionary()
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])")


class SubroutineMixin:
    """A module that is one function in the program if its class sets `define_subroutine`."""

    define_subroutine: bool = False

    def __init_subclass__(cls) -> None:
        forward = cls.__dict__.get("forward")
        if forward is not None:
            type.__setattr__(cls, "forward", _dispatched(forward))


def _dispatched(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.define_subroutine:
            return forward(self, *args, **kwargs)
        bound = inspect.signature(forward).bind(self, *args, **kwargs)
        arguments = dict(list(bound.arguments.items())[1:])
        return _call(self, forward, arguments)

    return call


def _call(module: Any, forward: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    builder = current_builder()
    given = {name: _expression(value) for name, value in arguments.items()}
    weights = [param._expr for param in module.parameters()]
    key = (
        forward, builder.current_block_is_dataflow(),
        *(str(each.ty) for each in (*given.values(), *weights)),
    )  # fmt: skip
    made = _MADE.setdefault(active()[0], {})
    if key not in made:
        made[key] = _function(builder, module, forward, arguments, given)
    function, is_tensor = made[key]
    result = builder.emit(function(*given.values(), *weights), f"{function.name_hint}_output")
    return Tensor(_expr=result) if is_tensor else result


def _expression(value: Any) -> Any:
    if isinstance(value, tuple):
        return Tuple([_expression(each) for each in value])
    return value._expr if isinstance(value, Tensor) else value


def _function(
    outer: BlockBuilder, module: Any, forward: Callable[..., Any], arguments: dict[str, Any],
    given: dict[str, Any],
) -> tuple[Any, bool]:  # fmt: skip
    """Return the function that a module is, and whether its result is a tensor of nn."""
    name = _WORD.sub("_", type(module).__name__).lower()
    params = [Var(key, value.ty) for key, value in given.items()]
    inputs = [
        Tensor(_expr=param) if isinstance(argument, Tensor) else param
        for param, argument in zip(params, arguments.values(), strict=True)
    ]
    weights = list(module.parameters())
    before = [weight._expr for weight in weights]
    for weight in weights:
        weight._expr = Var(weight._expr.name_hint, weight._expr.ty)
        params.append(weight._expr)
    is_dataflow = outer.current_block_is_dataflow()
    inner = BlockBuilder()
    try:
        with inner.function(name, params, private=True):
            with inner.dataflow() if is_dataflow else nullcontext():
                result = forward(module, *inputs)
                is_tensor = isinstance(result, Tensor)
                result = _expression(result)
                result = inner.emit_output(result) if is_dataflow else result
            inner.emit_func_output(result)
    finally:
        for weight, expr in zip(weights, before, strict=True):
            weight._expr = expr
    function = inner.finalize()[name]
    first, *others = active()
    results = first.add_func(function, name)
    for each in others:
        each.add_func(function, results.name_hint)
    return results, is_tensor
