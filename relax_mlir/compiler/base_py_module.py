"""Modules as Python objects: functions are methods, kernels and packed functions are called."""

import functools
import inspect
import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from relax_mlir import runtime
from relax_mlir.compiler.pipeline import build
from relax_mlir.errors import did_you_mean
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.target.target import Target
from relax_mlir.relax.expr import ExternFunc, TensorType


class _ScriptClass(type):
    """Classes that have the attributes of their module."""

    def __getattr__(cls, name: str) -> Any:
        return _of_module(cls, name)


class BasePyModule(metaclass=_ScriptClass):
    """A built module whose functions are attributes.

    A class marked `@I.ir_module` that derives from this one stays a class: what it makes for a
    device is built at once. `ir_mod` is its module, whose attributes it has; `pyfuncs` are its
    Python functions, marked `@I.pyfunc`. One whose first parameter is `self` gets the object; a
    parameter annotated as a tensor of torch gets one, also from programs.

    Results are tensors of torch where an argument is one, and of the runtime otherwise.

    Args:
        ir_mod: the module; a class marked `@I.ir_module` has its own.
        device: where it runs, `relax_mlir.cpu()` where nothing is given.
        target: what it is built for.

    Raises:
        TypeError: there is no module.
    """

    ir_mod: ClassVar[Any] = None
    pyfuncs: ClassVar[Mapping[str, Callable[..., Any]]] = {}

    def __init__(
        self, ir_mod: Any = None, device: Any = None, target: str | Target | None = None
    ) -> None:
        if ir_mod is not None and not isinstance(ir_mod, IRModule) and device is None:
            ir_mod, device = None, ir_mod
        module = self.ir_mod if ir_mod is None else ir_mod
        if not isinstance(module, IRModule):
            raise TypeError(
                f"{type(self).__name__} needs an IRModule, got {type(module).__name__}: pass one, "
                "or mark the class with @I.ir_module"
            )
        own = vars(self)
        own["ir_mod"] = module
        self.device = runtime.cpu() if device is None else device
        self.target = target
        bound = {name: self._bound(func) for name, func in type(self).pyfuncs.items()}
        own.update(bound, pyfuncs=bound)
        executable = build(module, target)
        called = {name: functools.partial(_from_program, func) for name, func in bound.items()}
        executable.import_module(runtime.Module(called))
        self._vm = runtime.VirtualMachine(executable, self.device)
        self._names = [name for name in module if not isinstance(module[name], ExternFunc)]
        for name in self._names:
            setattr(self, name, _as_method(self._vm[name]))

    def __getattr__(self, name: str) -> Any:
        return _of_module(self, name)

    def _bound(self, func: Callable[..., Any]) -> Callable[..., Any]:
        takes_self = next(iter(inspect.signature(func).parameters), None) == "self"
        return func.__get__(self) if takes_self else func

    def call_py_func(self, func_name: str, args: Any) -> Any:
        """Call a Python function of the module.

        Args:
            func_name: its name.
            args: its arguments, one or a sequence.

        Raises:
            ValueError: the module has no such function.
        """
        if func_name not in self.pyfuncs:
            known = did_you_mean(func_name, list(self.pyfuncs))
            raise ValueError(f"Python function '{func_name}' not found in module pyfuncs{known}")
        return self.pyfuncs[func_name](*(args if isinstance(args, list | tuple) else [args]))

    def call_tir(self, tir_func: Any, args: Any, out_ty: Any) -> Any:
        """Call a prim func of the module, with new tensors for its results.

        Args:
            tir_func: its name, or the variable or function that has it.
            args: its inputs, one or a sequence.
            out_ty: the type of a result or a list of types: a `TensorType` or `R.Tensor(...)`,
                whose symbols have the sizes of the first input of as many dimensions, or a shape
                of integers (float32).

        Returns:
            The result, a list of several.

        Raises:
            ValueError: the module has no such function, or a size is not known.
        """
        name = tir_func
        for attribute in ("name_hint", "name", "__name__"):
            name = name if isinstance(name, str) else getattr(tir_func, attribute, None)
        if name not in self._names:
            raise ValueError(f"the module has no function {tir_func!r}, it has {self._names}")
        return self._call(self._vm[name], args, out_ty)

    def call_dps_packed(self, func_name: str, args: Any, out_ty: Any) -> Any:
        """Call a registered function that writes its results to its last arguments.

        Args:
            func_name: the name that `register_func` gave it.
            args: its inputs, one or a sequence.
            out_ty: as for `call_tir`.

        Raises:
            ValueError: no function of this name is registered, or a size is not known.
        """
        return self._call(runtime.get_global_func(func_name), args, out_ty)

    def _call(self, function: Any, args: Any, out_ty: Any) -> Any:
        given = [
            runtime.tensor(each) if isinstance(each, np.ndarray) else each
            for each in (args if isinstance(args, list | tuple) else [args])
        ]
        types = out_ty if isinstance(out_ty, list) else [out_ty]
        results = []
        for each in types:
            each = each.as_ty() if hasattr(each, "as_ty") else each
            typed = isinstance(each, TensorType)
            shape = self._infer_concrete_shape_from_args(each.shape if typed else each, given)
            dtype = each.dtype if typed else "float32"
            results.append(runtime.tensor(np.zeros(shape, dtype)))
        function(*given, *results)
        return _as_given(results[0] if len(results) == 1 else results, given)

    def _infer_concrete_shape_from_args(self, shape: Any, in_args: Any) -> list[int]:
        """Return sizes, symbolic ones as the first argument of as many dimensions has them."""
        dims = [_size(dim) for dim in getattr(shape, "values", shape) or ()]
        if None not in dims:
            return [dim for dim in dims if dim is not None]
        inputs: Sequence[Any] = in_args if isinstance(in_args, list | tuple) else [in_args]
        for each in inputs:
            sizes = getattr(each, "shape", ())
            if len(sizes) == len(dims):
                return [
                    int(new) if dim is None else dim for dim, new in zip(dims, sizes, strict=True)
                ]
        raise ValueError(
            f"Cannot infer concrete output shape {shape}: no argument has {len(dims)} dimensions; "
            "pass a shape of integers"
        )


def _of_module(holder: Any, name: str) -> Any:
    module = holder.ir_mod
    if name.startswith("_") or not isinstance(module, IRModule):
        raise AttributeError(f"{holder!r} has no attribute '{name}'")
    return getattr(module, name)


def _as_method(func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def method(*args: Any) -> Any:
        return _as_given(func(*args), args)

    return method


def _from_program(func: Callable[..., Any], *args: Any) -> Any:
    """Call a Python function with what a program passes."""
    annotations = [each.annotation for each in inspect.signature(func).parameters.values()]
    given = [
        _to_torch(arg) if _of_torch(annotation) else arg
        for arg, annotation in itertools.zip_longest(args, annotations[: len(args)])
    ]
    result = func(*given)
    return runtime.from_dlpack(result) if _of_torch(type(result)) else result


def _as_given(result: Any, given: Iterable[Any]) -> Any:
    """Return a result as tensors of torch where an argument is one."""
    return _to_torch(result) if any(_of_torch(type(each)) for each in given) else result


def _to_torch(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_to_torch, value))
    return sys.modules["torch"].from_dlpack(value) if isinstance(value, np.ndarray) else value


def _of_torch(class_: Any) -> bool:
    """Whether a class, or the text of an annotation, is one of torch's tensors."""
    return getattr(class_, "__module__", str(class_)).split(".")[0] == "torch"


def _size(dim: Any) -> int | None:
    try:
        return operator.index(getattr(dim, "value", dim))
    except TypeError:
        return None
