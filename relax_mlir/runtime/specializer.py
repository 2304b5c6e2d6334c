"""The hook by which a compiler in the process replaces library calls by specialized kernels.

The runtime knows no compiler. One that is there sets `current`; until then, and whenever it
declines, the library's own function runs.
"""

from collections.abc import Callable
from typing import Any

# Called with the function's name and its arguments; returns NotImplemented to decline.
Specializer = Callable[[str, tuple[Any, ...]], Any]


class _Slot:
    specializer: Specializer | None = None


current: _Slot = _Slot()


def dispatching(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the library that asks the compiler first, if one is there."""

    def call(*args: Any) -> Any:
        specializer = current.specializer
        if specializer is not None:
            result = specializer(name, args)
            if result is not NotImplemented:
                return result
        return function(*args)

    call.__name__ = call.__qualname__ = name
    return call
