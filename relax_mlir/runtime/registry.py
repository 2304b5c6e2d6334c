"""Functions by name: the runtime's own, then the TVM FFI's global registry."""

import threading
from collections.abc import Callable, Iterable
from sys import getrecursionlimit
from typing import Any, Literal, overload

from relax_mlir.errors import ArgumentTypeError, FunctionNotFoundError, did_you_mean
from relax_mlir.extension_points import extension
from relax_mlir.runtime.bytecode.builtins import (
    BUILTINS,
    CALL_TIR_DYN,
    LIBRARY_PREFIX,
    MODEL_PREFIX,
    PREFIX,
)
from relax_mlir.runtime.bytecode.shape_builtins import SHAPE_BUILTINS
from relax_mlir.runtime.bytecode.tensor_cache import TENSOR_CACHE
from relax_mlir.runtime.device.memory import is_storage_shared
from relax_mlir.runtime.native.ffi_errors import register_errors
from relax_mlir.runtime.random_key import next_key
from relax_mlir.runtime.specializer import dispatching
from relax_mlir.runtime.values.convert import to_value
from relax_mlir.runtime.values.ndarray import as_tensors, tensor_view
from relax_mlir.runtime.values.ownership import guarded
from relax_mlir.runtime.vm.call_depth import TRUSTED_LIMIT, bounded

# One table, so that a look-up is one dictionary access.
BUILTINS.update({**SHAPE_BUILTINS, **TENSOR_CACHE, PREFIX + "next_random_key": next_key})

# Functions of imported models; the name has their configuration.
_FUNCTIONS: dict[str, Callable[..., Any]] = {}
# Those that programs call by R.call_py_func, registered outside of a class.
_PY_FUNCS: set[str] = set()
_LOCK = threading.RLock()


def register_func(
    name: Any, func: Callable[..., Any] | None = None, override: bool = False
) -> Callable[..., Any]:
    """Register a Python callable or an FFI function under a name; without `func`, a decorator.

    `@register_func` alone registers a Python function under its own name.

    The VM calls Python callables with tensors, tuples and numbers. The name also enters TVM FFI's
    global registry; callers from there have their tensors converted to `runtime.Tensor`.

    Args:
        name: the name in the registry.
        func: what to call, or None to get a decorator.
        override: whether a function of that name may be replaced.

    Raises:
        ValueError: the name is taken and `override` is false, or it is reserved for builtins.
        TypeError: `name` is not a string or `func` not callable.
    """
    if callable(name) and func is None:
        name, func = getattr(name, "__name__", None), name
    if not isinstance(name, str):
        raise TypeError(f"register_func: the name of a function is a string, got {name!r}")
    if func is None:
        return lambda f: register_func(name, f, override)
    if not callable(func):
        raise TypeError(f"cannot register {func!r} as '{name}': it is not callable")
    if name in BUILTINS or name.startswith(PREFIX):
        raise ValueError(f"'{name}' is reserved for the VM's builtin functions")
    from relax_mlir.runtime.native.ffi import tvm_ffi

    register_errors()

    def from_ffi(*args: Any) -> Any:
        return to_value(func(*[as_tensors(to_value(a)) for a in args]))

    with _LOCK:
        known = find_func(name) is not None
        if known and not override:
            raise ValueError(f"a function '{name}' is registered already; pass override=True")
        shared = func if isinstance(func, tvm_ffi.Function) else from_ffi
        tvm_ffi.register_global_func(name, shared, override=True)
        _FUNCTIONS[name] = func
    return func


def _register_py_func(name: str, func: Callable[..., Any]) -> None:
    register_func(name, func, override=True)
    _PY_FUNCS.add(name)


def _clear_py_funcs() -> None:
    """Forget the functions of `vm.builtin.register_py_func`."""
    while _PY_FUNCS:
        remove_global_func(_PY_FUNCS.pop())


def invoke_debug_func(state: Any, name: str, place: str, *args: Any) -> None:
    """Call a registered function with the place in the model that asks for it, and arguments."""
    func = find_func(name)
    if func is None:
        raise not_found(name)
    func(place, *args)


BUILTINS["vm.builtin.invoke_debug_func"] = invoke_debug_func
BUILTINS["vm.builtin.register_py_func"] = _register_py_func
BUILTINS["vm.builtin.clear_py_func_registry"] = _clear_py_funcs
BUILTINS["runtime.TVMTensorIsStorageShared"] = is_storage_shared
BUILTINS["runtime.TVMTensorCreateView"] = tensor_view
BUILTINS["vm.builtin.debug_print"] = lambda place, value: print(f"{place}: {value}")

# TVM's name of it since 0.22.
register_global_func = register_func


def load_builtins(names: Iterable[str]) -> None:
    """Import the builtins that few programs call if a name may be one of theirs."""
    if all(name in BUILTINS or not name.startswith(PREFIX) for name in names):
        return
    from relax_mlir.runtime.bytecode.kv_cache import KV_CACHE
    from relax_mlir.runtime.bytecode.paged_kv_cache import PAGED_KV_CACHE
    from relax_mlir.runtime.bytecode.tvm_builtins import TVM_BUILTINS

    BUILTINS.update({**TVM_BUILTINS, **KV_CACHE, **PAGED_KV_CACHE})


def find_func(name: str) -> Callable[..., Any] | None:
    """Return what a name stands for, or None: builtins, registered, TVM FFI's, passes."""
    load_builtins([name])
    func = BUILTINS.get(name) or _FUNCTIONS.get(name)
    if func is None:
        from relax_mlir.runtime.native.ffi import tvm_ffi

        register_errors()
        func = tvm_ffi.core._get_global_func(name, True)
    if func is None and name.startswith(LIBRARY_PREFIX):
        from relax_mlir.runtime.library import library_function

        func = library_function(name)
        return None if func is None else dispatching(name, func)
    if func is None and name.startswith(MODEL_PREFIX):
        from relax_mlir.runtime.models import model_function

        return model_function(name)
    if func is None and ".transform." in f".{name}":
        return _pass_maker(name)
    return func


def _pass_maker(name: str) -> Callable[..., Any] | None:
    """Return what makes a pass, as TVM registers `relax.transform.FoldConstant`."""
    try:
        entry = extension("runtime.find_pass")(name)
    except ImportError:
        # A machine that only runs programs has no passes.
        return None
    return None if entry is None else entry.make


def is_registered(name: str) -> bool:
    """Return whether a name is that of a user's function."""
    return name in _FUNCTIONS


@overload
def get_global_func(name: str, allow_missing: Literal[False] = False) -> Callable[..., Any]: ...
@overload
def get_global_func(name: str, allow_missing: bool) -> Callable[..., Any] | None: ...
def get_global_func(name: str, allow_missing: bool = False) -> Callable[..., Any] | None:
    """Return a registered function.

    A user's Python function is returned as it is. Builtins and FFI functions take what programs
    take, and return tensors, tuples and numbers.

    Raises:
        FunctionNotFoundError: there is none and `allow_missing` is false.
    """
    func = find_func(name)
    if func is None:
        if allow_missing:
            return None
        raise not_found(name)
    if is_registered(name) and not type(func).__module__.startswith("tvm_ffi"):
        return func
    return lambda *args: as_tensors(to_value(func(*[to_value(a) for a in args])))


def not_found(name: str, more: tuple[str, ...] = ()) -> FunctionNotFoundError:
    """Return the error for a function that no registry has; `more` are further candidates."""
    from relax_mlir.runtime.library.table import LIBRARY

    library = LIBRARY if name.startswith(LIBRARY_PREFIX) else ()
    candidates = (*more, *BUILTINS, *library, *list_global_func_names())
    return FunctionNotFoundError(
        f"packed function '{name}' is not registered; "
        f"register it with relax_mlir.register_func('{name}')" + did_you_mean(name, candidates)
    )


def remove_global_func(name: str) -> None:
    """Forget a registered function; VMs that already called it keep theirs.

    Raises:
        FunctionNotFoundError: there is none in this registry.
    """
    with _LOCK:
        if _FUNCTIONS.pop(name, None) is None:
            raise not_found(name)
        from relax_mlir.runtime.native.ffi import tvm_ffi

        if tvm_ffi.get_global_func(name, allow_missing=True) is not None:
            tvm_ffi.remove_global_func(name)


def list_global_func_names() -> list[str]:
    """Return the names of all registered functions, TVM FFI's included, sorted."""
    from relax_mlir.runtime.native.ffi import tvm_ffi

    return sorted({*_FUNCTIONS, *(str(n) for n in tvm_ffi.registry.list_global_func_names())})


def call_tir_dyn(func: Any, *args: Any) -> Any:
    """Call `func` with the last argument, a shape, unpacked into integers."""
    if type(func) is str:
        func = guarded(get_global_func(func), as_tensors)
    if not args or type(args[-1]) is not tuple:
        raise ArgumentTypeError("call_tir_dyn takes a shape as its last argument")
    if getrecursionlimit() > TRUSTED_LIMIT:
        func = bounded("call_tir_dyn", func)
    return func(*args[:-1], *args[-1])


BUILTINS.update(dict.fromkeys(CALL_TIR_DYN, call_tir_dyn))
