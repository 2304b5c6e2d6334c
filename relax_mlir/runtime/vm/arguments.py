"""Arguments of calls from Python: bound to parameters, converted to VM values."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, VMError, did_you_mean
from relax_mlir.runtime.program import Program, VMFunction
from relax_mlir.runtime.values.convert import to_value
from relax_mlir.runtime.vm.signature import integer_places, parameters


def bind(func: VMFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return all arguments in order.

    Raises:
        ArgumentTypeError: their number or names are wrong; names the function and its parameters.
    """
    names = func.param_names
    signature = f"{func.name}({', '.join(names)})"
    unknown = [k for k in kwargs if k not in names]
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise ArgumentTypeError(f"{signature} has no parameter '{unknown[0]}'{hint}")
    twice = [k for k in kwargs if k in names[: len(args)]]
    if twice:
        raise ArgumentTypeError(f"{signature} got two values for '{twice[0]}'")
    if len(args) + len(kwargs) != len(names):
        missing = [n for n in names[len(args) :] if n not in kwargs]
        raise ArgumentTypeError(
            f"{signature} takes {len(names)} argument{'' if len(names) == 1 else 's'}, "
            f"got {len(args) + len(kwargs)}"
            + (f"; missing {', '.join(missing)}" if missing else "")
        )
    return (*args, *[kwargs[n] for n in names[len(args) :]])


def convert(executable: Program, func: VMFunction, args: tuple[Any, ...]) -> list[Any]:
    """Return the arguments as values.

    Raises:
        VMError, ArgumentTypeError: one cannot be; names the parameter.
    """
    values = []
    for name, arg in zip(func.param_names, plain_integers(executable, func, args), strict=True):
        try:
            values.append(to_value(arg))
        except MemoryError as error:
            raise VMError(f"{func.name}: argument '{name}': {error}") from error
        except (ArgumentTypeError, RecursionError) as error:
            raise ArgumentTypeError(f"{func.name}: argument '{name}': {error}") from error
    return values


def plain_integers(executable: Program, func: VMFunction, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments, with numpy's integers as Python's where the function takes integers.

    Anywhere else a number of numpy's is a tensor without dimensions.
    """
    try:
        if not _holds_integer(args):
            return args
    except RecursionError:
        # Refused where the parameter is known.
        return args
    return tuple(_plain(args, (), integer_places(executable, func)))


def _plain(values: Any, at: tuple[int, ...], kinds: dict[tuple[int, ...], str]) -> Iterator[Any]:
    for i, value in enumerate(values):
        kind = kinds.get((*at, i))
        if kind == "int" and isinstance(value, np.integer):
            yield value.item()
        elif kind == "shape" and isinstance(value, (tuple, list)):
            yield tuple([int(n) if isinstance(n, np.integer) else n for n in value])
        else:
            nested = isinstance(value, (tuple, list))
            yield tuple(_plain(value, (*at, i), kinds)) if nested else value


def _holds_integer(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_integer, value))
    return isinstance(value, np.integer)


def with_placeholders(
    executable: Program, func: VMFunction, args: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the arguments, with views of a wrong shape replaced by placeholders without memory.

    Views are copied before the function's own checks see them: a broadcast array of the wrong
    shape would take the memory of all its elements before it is rejected.
    """
    if not any(_is_copied(arg) for arg in args):
        return args
    return tuple(
        np.broadcast_to(np.empty((), arg.dtype.newbyteorder("=")), arg.shape)
        if _is_copied(arg) and param.declared and not _fits(arg.shape, param.dims)
        else arg
        for arg, param in zip(args, parameters(executable, func), strict=True)
    )


def _is_copied(value: Any) -> bool:
    return type(value) is np.ndarray and not value.flags.c_contiguous


def _fits(shape: tuple[int, ...], dims: tuple[int, ...] | None) -> bool:
    if dims is None:
        return True
    return len(shape) == len(dims) and all(
        wanted in (-1, size) for size, wanted in zip(shape, dims, strict=True)
    )


def described(call: Callable[..., Any], func: VMFunction) -> Callable[..., Any]:
    """Give a Python function the name, the parameters and a docstring of the VM's function."""
    parameter, kind = inspect.Parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__name__ = call.__qualname__ = func.name
    call.__doc__ = f"Function '{func.name}' of an executable: ({', '.join(func.param_names)})."
    if all(p.isidentifier() for p in func.param_names):
        params = [parameter(p, kind) for p in func.param_names]
        vars(call)["__signature__"] = inspect.Signature(params)
    return call
