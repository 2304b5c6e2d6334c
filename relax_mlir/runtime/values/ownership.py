"""Ownership of the arrays in a value: who may write or reuse their memory."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.device.memory import PooledStorage, Storage
from relax_mlir.runtime.values.convert import from_dlpack, to_value

ndarray = np.ndarray
STORAGE = (Storage, PooledStorage)


def arrays_of(value: Any) -> list[np.ndarray]:
    """Return all arrays in a value."""
    if isinstance(value, ndarray):
        return [value]
    return [a for v in value for a in arrays_of(v)] if type(value) is tuple else []


def root_of(array: Any) -> Any:
    """Return the object at the end of a chain of views: the owner of the memory."""
    while isinstance(array, ndarray) and array.base is not None:
        array = array.base
    return array


def read_only_owner(memory: Any) -> np.ndarray | None:
    """Return the read-only array whose memory `writable_alias` made this memory of, or None."""
    return getattr(memory, "read_only_owner", None)


def _read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


def _locked(value: Any) -> Any:
    """Return a value whose arrays over read-only memory are marked so again."""
    if type(value) is ndarray:
        base = value.base
        if base is None or type(base) in STORAGE or read_only_owner(root_of(value)) is None:
            return value
        return _read_only(value)
    return tuple([_locked(v) for v in value]) if type(value) is tuple else value


def guarded(
    func: Callable[..., Any], outward: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """Return a function that hands on as read-only what is, so that writing to it is an error.

    Args:
        func: takes values of the virtual machine.
        outward: makes each argument what `func` takes, if it takes others.
    """
    if outward is not None:
        return lambda *args: func(*[outward(_locked(a)) for a in args])

    def call(*args: Any) -> Any:
        for arg in args:
            kind = type(arg)
            if kind is tuple or (kind is ndarray and arg.base is not None):
                return func(*[_locked(a) for a in args])
        return func(*args)

    return call


def frozen(value: Any) -> Any:
    """Return a constant of the program as a value over read-only memory."""
    if type(value) is ndarray:
        return to_value(_read_only(value))
    return tuple([frozen(v) for v in value]) if type(value) is tuple else value


def unlocked(value: Any) -> Any:
    """Return a copy of an array over read-only memory; native code may write any argument."""
    if type(value) is ndarray and read_only_owner(root_of(value)) is not None:
        return value.copy()
    return value


def write_back(array: np.ndarray, value: np.ndarray, what: str, *, written: bool) -> None:
    """Bring what native code wrote to a copy of an argument to the argument itself.

    Args:
        array: the argument.
        value: its copy.
        what: the argument, for messages.
        written: whether it is known to be written; if not, it may be.

    Raises:
        ArgumentTypeError: the argument is read-only.
    """
    if np.may_share_memory(array, value):
        return
    if not written and to_value(array).tobytes() == value.tobytes():
        return
    if not array.flags.writeable:
        raise ArgumentTypeError(
            f"{what} is an output, but the array is read-only; pass one that can be written, as "
            f"np.empty(...) makes"
        )
    np.copyto(array, value)


def write_all_back(args: Iterable[Any], values: Iterable[Any], what: str) -> None:
    """Bring what a function wrote to values to the arguments that they are copies of.

    Args:
        args: as they were given; what has DLPack too.
        values: those of the virtual machine.
        what: the function, for messages.

    Raises:
        ArgumentTypeError: the function wrote, and an argument is read-only.
    """
    for i, (arg, value) in enumerate(zip(args, values, strict=True)):
        if type(value) is tuple and isinstance(arg, (tuple, list)):
            write_all_back(arg, value, what)
        elif type(value) is ndarray and value is not arg and hasattr(arg, "__dlpack__"):
            array = arg if isinstance(arg, ndarray) else from_dlpack(arg)
            write_back(array, value, f"{what}: argument {i}", written=False)
