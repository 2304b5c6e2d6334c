"""The limit of nested calls that use the C stack, which Python's recursion limit does not count."""

from collections.abc import Callable
from threading import get_ident
from types import TracebackType
from typing import Any

from relax_mlir.errors import VMError

# A level through the FFI takes some 4 KiB of the stack's usual 8 MiB; who calls has frames too.
MAX_NESTED = 1000
# Python frames that the FFI must find free: it dies when its own error handling has none left.
_ROOM = 100
# Up to this recursion limit, Python's own count ends calls that do not go through the FFI.
TRUSTED_LIMIT = 10_000


# From this level on errors keep that many of their innermost frames. The FFI writes all of them as
# text and makes them anew at each level, which took 40 s for 1000 levels.
_MAX_FRAMES = 100

# Levels by thread; half the time that `threading.local` takes.
NESTED: dict[int, int] = {}


def _check_room(frames: int) -> None:
    if frames:
        _check_room(frames - 1)


def too_nested(name: str) -> VMError:
    """Return the error for a call that would be one too many."""
    return VMError(
        f"{name}: the virtual machine is called from functions that it calls, {MAX_NESTED} times "
        "over: a recursion without end, or one that the stack has no room for"
    )


def _innermost(trace: TracebackType | None) -> TracebackType | None:
    traces = []
    while trace is not None:
        traces.append(trace)
        trace = trace.tb_next
    return traces[-_MAX_FRAMES:][0] if traces else None


def bounded(name: str, func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function, such as one of the FFI's, that may come to call itself, not for ever."""

    def call(*args: Any) -> Any:
        thread = get_ident()
        level = NESTED.get(thread, 0)
        if level:
            if level >= MAX_NESTED:
                raise too_nested(name)
            _check_room(_ROOM)
        NESTED[thread] = level + 1
        try:
            return func(*args)
        except BaseException as error:
            if level < _MAX_FRAMES:
                raise
            raise error.with_traceback(_innermost(error.__traceback__))  # noqa: B904 - itself
        finally:
            if level:
                NESTED[thread] = level
            else:
                del NESTED[thread]

    return call
