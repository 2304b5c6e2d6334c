"""Packed functions `test.vm.*` and a check of saved functions; importing this registers them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime import VirtualMachine, register_func, tensor


def check_saved_func(vm: VirtualMachine, func_name: str, *inputs: Any) -> Any:
    """Return the result of a function, after checking that its saved call gives the same.

    Args:
        vm: the virtual machine.
        func_name: a function that returns one tensor.
        inputs: its arguments.

    Raises:
        AssertionError: the saved call gives another result.
    """
    saved = f"{func_name}_saved"
    vm.save_function(func_name, saved, *inputs)
    result = vm[func_name](*inputs)
    np.testing.assert_allclose(result.numpy(), vm[saved]().numpy(), rtol=1e-7, atol=1e-7)
    return result


def _identity(a: Any, out: Any) -> None:
    out[:] = a


def _tile(a: Any, out: Any) -> None:
    out[:] = np.tile(a.numpy(), (1, 2))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "move": lambda src: src,
    "add": lambda a, b: tensor(a.numpy() + b.numpy()),
    "mul": lambda a, b: tensor(a.numpy() * b.numpy()),
    "equal_zero": lambda a: tensor(np.all(a.numpy() == 0)),
    "subtract_one": lambda a: tensor(np.subtract(a.numpy(), 1)),
    "identity": _identity,
    "tile": _tile,
    "add_scalar": lambda a, b: a + b,
    "get_device_id": lambda device: device.index,
    "check_if_defined": lambda value: value is not None,
}
for _name, _func in _FUNCTIONS.items():
    register_func(f"test.vm.{_name}", _func, override=True)
