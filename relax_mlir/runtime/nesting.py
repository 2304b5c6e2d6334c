"""How deeply calls are nested that use the C stack, which no recursion limit of Python guards."""

import threading
from collections.abc import Callable
from typing import Any

from relax_mlir.errors import VMError

# A level through the FFI takes some 4 KiB of the stack's usual 8 MiB; who calls has frames too.
MAX_NESTED = 1000
# Python frames that the FFI must find free: it dies when its own error handling has none left.
_ROOM = 100


class _Nested(threading.local):
    level = 0


NESTED = _Nested()


def _check_room(frames: int) -> None:
    if frames:
        _check_room(frames - 1)


def too_nested(name: str) -> VMError:
    """Return the error for a call that would be one too many."""
    return VMError(
        f"{name}: the virtual machine is called from functions that it calls, {MAX_NESTED} times "
        "over: a recursion without end, or one that the stack has no room for"
    )


def bounded(name: str, func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the FFI's that may call the virtual machine again, but not for ever."""

    def call(*args: Any) -> Any:
        level = NESTED.level
        if level >= MAX_NESTED:
            raise too_nested(name)
        if level > 1:
            _check_room(_ROOM)
        NESTED.level = level + 1
        try:
            return func(*args)
        finally:
            NESTED.level = level

    return call
