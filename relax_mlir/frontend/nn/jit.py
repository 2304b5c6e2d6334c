"""Compiled modules that take and give tensors of PyTorch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.compiler.driver import compile as compile_module
from relax_mlir.frontend.nn import spec as specs
from relax_mlir.frontend.nn.exporter import INITIALIZE
from relax_mlir.frontend.nn.tensor import as_runtime_tensor
from relax_mlir.runtime import VirtualMachine


def compiled(
    module: Any, spec: specs.ModuleSpec, params: Sequence[tuple[str, Any]], device: Any,
    pipeline: Any, out_format: str,
) -> "TorchModule":  # fmt: skip
    """Return an exported module compiled, with its parameters.

    Raises:
        ValueError: a parameter has no numbers, or `out_format` is not `torch`.
    """
    if out_format != "torch":
        raise ValueError(f"Unknown out_format: {out_format}")
    missing = [name for name, param in params if param.data is None]
    if missing:
        raise ValueError(f"Parameters are not set to any concrete values: {', '.join(missing)}")
    names = "default" if pipeline in (None, "default_build") else pipeline
    vm = VirtualMachine(compile_module(module, relax_pipeline=names), device)
    return TorchModule(spec, vm, [param.data for _, param in params])


class TorchModule:
    """The methods of a compiled module, by name: `model["forward"](x)`."""

    def __init__(self, spec: specs.ModuleSpec, vm: Any, params: list[Any]) -> None:
        self.spec: specs.ModuleSpec = spec
        self.vm: Any = vm
        self.params: list[Any] = params
        self.effects: Any = vm[INITIALIZE]() if _has(vm, INITIALIZE) else None

    def __getitem__(self, method_name: str) -> Callable[..., Any]:
        """Return a method.

        Raises:
            ValueError: the specification has none of that name.
        """
        if method_name not in self.spec.method_names:
            raise ValueError(f"Method `{method_name}` is not found in the module spec. {self.spec}")
        spec = self.spec.method_specs[self.spec.method_names.index(method_name)]
        method = self.vm[method_name]

        def call(*args: Any) -> Any:
            if len(args) != len(spec.arg_names):
                raise TypeError(
                    f"Argument length mismatch. Expected {len(spec.arg_names)} arguments, "
                    f"but got {len(args)} arguments. The spec is: {spec}"
                )
            given = [
                _given(*each) for each in zip(spec.arg_names, spec.arg_specs, args, strict=True)
            ]
            if self.effects is None:
                return _result(method(*given, *self.params))
            result, self.effects = method(*given, *self.effects, *self.params)
            return _result(result)

        call.__name__ = method_name
        return call


def _has(vm: Any, name: str) -> bool:
    try:
        vm[name]
    except (AttributeError, LookupError):
        return False
    return True


def _given(name: str, spec: Any, value: Any) -> Any:
    if isinstance(spec, specs.Tuple):
        pairs = zip(spec.elements, value, strict=True)
        return tuple(_given(f"{name}[{i}]", *pair) for i, pair in enumerate(pairs))
    if isinstance(spec, specs.Int):
        if not isinstance(value, int):
            raise TypeError(f"Expected argument `{name}` to be `int`, but got {type(value)}")
        return (value,)
    if not hasattr(value, "__dlpack__"):
        raise TypeError(f"Expected argument `{name}` to be `torch.Tensor`, but got {type(value)}")
    return as_runtime_tensor(value)


def _result(value: Any) -> Any:
    import torch

    if isinstance(value, (list, tuple)):
        return [_result(each) for each in value]
    return torch.from_numpy(np.asarray(value))
