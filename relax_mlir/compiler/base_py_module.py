"""Modules as Python objects: functions are methods, kernels and packed functions are called."""

import operator
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from relax_mlir import runtime
from relax_mlir.compiler.pipeline import build
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.target.target import Target
from relax_mlir.relax.expr import TensorType


class BasePyModule:
    """A built module whose functions are attributes.

    A class marked `@I.ir_module` that derives from this one stays a class: what it makes for a
    device is built at once. `ir_mod` is its module.

    Args:
        ir_mod: the module; a class marked `@I.ir_module` has its own.
        device: where it runs, `relax_mlir.cpu()` where nothing is given.
        target: what it is built for.

    Raises:
        TypeError: there is no module.
    """

    ir_mod: ClassVar[Any] = None

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
        self.__dict__["ir_mod"] = module
        self.device = runtime.cpu() if device is None else device
        self.target = target
        self._vm = runtime.VirtualMachine(build(module, target), self.device)
        self._names = [variable.name_hint for variable in module.functions]
        for name in self._names:
            setattr(self, name, self._vm[name])

    def call_tir(self, tir_func: Any, args: Any, out_ty: Any) -> Any:
        """Call a prim func of the module, with new tensors for its results.

        Args:
            tir_func: its name, or the variable or function that has it.
            args: its inputs, one or a sequence.
            out_ty: the type of a result or a list of types: a `TensorType`, whose symbols have the
                sizes of the first input of as many dimensions, or a shape of integers (float32).

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
            typed = isinstance(each, TensorType)
            shape = self._infer_concrete_shape_from_args(each.shape if typed else each, given)
            dtype = each.dtype if typed else "float32"
            results.append(runtime.tensor(np.zeros(shape, dtype)))
        function(*given, *results)
        return results[0] if len(results) == 1 else results

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


def _size(dim: Any) -> int | None:
    try:
        return operator.index(getattr(dim, "value", dim))
    except TypeError:
        return None
