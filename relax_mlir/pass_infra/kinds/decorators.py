"""`@module_pass`, `@function_pass` and the other decorators, for functions and classes."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import PassTypeError, PipelineError
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.kinds.dataflow_block import DataflowBlockPass
from relax_mlir.pass_infra.kinds.per_function import FunctionPass, PrimFuncPass
from relax_mlir.pass_infra.kinds.sequential import Sequential
from relax_mlir.pass_infra.passes import ModulePass, Pass, make_info


def module_pass(
    pass_func: Callable[..., Any] | type | None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a module pass of `f(mod, ctx)` or of a class with `transform_module(self, mod, ctx)`.

    Raises:
        ValueError: no opt_level.
        TypeError: `required` is no list, or what is decorated is not callable.
    """
    info = opt_level, name, required, traceable
    return _decorate(ModulePass, "transform_module", pass_func, *info)


def function_pass(
    pass_func: Callable[..., Any] | type | None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a function pass of `f(func, mod, ctx)` or of a class with `transform_function`.

    Raises:
        ValueError: no opt_level.
        TypeError: `required` is no list, or what is decorated is not callable.
    """
    info = opt_level, name, required, traceable
    return _decorate(FunctionPass, "transform_function", pass_func, *info)


def prim_func_pass(
    pass_func: Callable[..., Any] | type | None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a pass over prim funcs of `f(func, mod, ctx)` or of a class with `transform_function`.

    Raises:
        ValueError: no opt_level.
        TypeError: `required` is no list, or what is decorated is not callable.
    """
    info = opt_level, name, required, traceable
    return _decorate(PrimFuncPass, "transform_function", pass_func, *info)


def dataflowblock_pass(
    pass_func: Callable[..., Any] | type | None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a pass over dataflow blocks of `f(block, mod, ctx)`.

    A class has the method `transform_dataflowblock(self, block, mod, ctx)`.

    Raises:
        ValueError: no opt_level.
        TypeError: `required` is no list, or what is decorated is not callable.
    """
    info = opt_level, name, required, traceable
    return _decorate(DataflowBlockPass, "transform_dataflowblock", pass_func, *info)


def CreateModulePass(
    pass_func: Callable[..., Any], opt_level: int, name: str, required: Sequence[str] = ()
) -> ModulePass:
    """Return a module pass of `pass_func(mod, ctx)`.

    This and the functions like it also take the order of Relay's RFC, `(name, opt_level, func)`.
    """
    return _create(ModulePass, pass_func, opt_level, name, required)


def CreateFunctionPass(
    pass_func: Callable[..., Any], opt_level: int, name: str, required: Sequence[str] = ()
) -> FunctionPass:
    """Return a function pass of `pass_func(func, mod, ctx)`."""
    return _create(FunctionPass, pass_func, opt_level, name, required)


def CreatePrimFuncPass(
    pass_func: Callable[..., Any], opt_level: int, name: str, required: Sequence[str] = ()
) -> PrimFuncPass:
    """Return a pass over prim funcs of `pass_func(func, mod, ctx)`."""
    return _create(PrimFuncPass, pass_func, opt_level, name, required)


def CreateDataflowBlockPass(
    pass_func: Callable[..., Any], opt_level: int, name: str, required: Sequence[str] = ()
) -> DataflowBlockPass:
    """Return a pass over dataflow blocks of `pass_func(block, mod, ctx)`."""
    return _create(DataflowBlockPass, pass_func, opt_level, name, required)


def CreateSequentialPass(
    passes: Sequence[Pass] | str,
    opt_level: int = 0,
    name: str | Sequence[Pass] = "sequential",
    required: Sequence[str] = (),
    disabled: Sequence[str] = (),
) -> Sequential:
    """Return the passes in a row as one, but for those whose names are in `disabled`.

    Relay's RFC has the order `(name, opt_level, passes, disabled)`, which works as well.
    """
    given: Any = passes
    called: Any = name
    if isinstance(given, str):
        given, called = called, given
        required, disabled = (required, disabled) if disabled else ((), required)
    kept = [each for each in given if each.info.name not in disabled]
    return Sequential(kept, opt_level, called, required)


# The RFC's Python name.
sequential = CreateSequentialPass


def _create(base: Any, pass_func: Any, opt_level: int, name: Any, required: Sequence[str]) -> Any:
    if isinstance(pass_func, str):
        pass_func, name = name, pass_func
    return base(pass_func, make_info(name, opt_level, required))


# What each kind of pass calls its function with.
_CALLED_WITH = {
    "transform_module": ("mod", "ctx"),
    "transform_function": ("func", "mod", "ctx"),
    "transform_dataflowblock": ("block", "mod", "ctx"),
}


def _decorate(
    base: Any,
    method: str,
    pass_func: Callable[..., Any] | type | None,
    opt_level: int | None,
    name: str | None,
    required: Sequence[str] | None,
    traceable: bool,
) -> Any:
    if opt_level is None:
        raise PipelineError("Please provide opt_level for the pass.")
    if name is not None and not isinstance(name, str):
        raise PassTypeError(f"the name of a pass is a str, got {type(name).__name__} {name!r}")
    make_info(name or "", opt_level, required)

    def decorate(target: Any) -> Any:
        if not callable(target):
            raise PassTypeError(f"pass_func must be a callable, got {type(target).__name__}")
        called = name or getattr(target, "__name__", type(target).__name__)
        info = make_info(called, opt_level, required, traceable)
        if isinstance(target, type):
            return _wrap_class(base, method, target, info)
        _check_arguments(target, info.name, _CALLED_WITH[method])
        return base(target, info)

    return decorate if pass_func is None else decorate(pass_func)


def _check_arguments(function: Any, name: str, names: tuple[str, ...]) -> None:
    """Raise TypeError unless a function can be called with arguments of those names, in order."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Not every callable has a signature.
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise PassTypeError(
            f"'{name}' takes {signature}, and is called with ({', '.join(names)})"
        ) from None


def _wrap_class(base: Any, method: str, wrapped: type, info: PassInfo) -> Any:
    """Return a pass class that builds the user's object and runs its method."""
    if not callable(getattr(wrapped, method, None)):
        raise PassTypeError(f"class '{wrapped.__name__}' needs a method '{method}' to be a pass")
    function = inspect.getattr_static(wrapped, method)
    if inspect.isfunction(function):
        _check_arguments(function, f"{wrapped.__name__}.{method}", ("self", *_CALLED_WITH[method]))

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        self.inner = wrapped(*args, **kwargs)
        base.__init__(self, getattr(self.inner, method), info)

    def fall_through(self: Any, attribute: str) -> Any:
        # Called only for what the pass itself lacks; `inner` itself is missing while copying.
        if attribute == "inner":
            raise AttributeError(attribute)
        return getattr(self.inner, attribute)

    made = type(wrapped.__name__, (base,), {"__init__": init, "__getattr__": fall_through})
    functools.update_wrapper(made, wrapped, updated=())
    # pickle and inspect look `__init__`'s arguments up through these.
    made.__init__.__wrapped__ = wrapped.__init__
    return made
