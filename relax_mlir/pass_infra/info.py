"""PassInfo: a pass's name, optimization level and required passes."""

import operator
from dataclasses import dataclass
from typing import Any

from relax_mlir.errors import PassTypeError


@dataclass(frozen=True)
class PassInfo:
    """Name, optimisation level and the passes to run first.

    Raises:
        TypeError: one of them is of another kind.
    """

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise PassTypeError(f"the name of a pass is a str, got {_kind(self.name)}")
        what = f"opt_level of '{self.name}'" if self.name else "opt_level"
        object.__setattr__(self, "opt_level", level(what, self.opt_level))
        if not isinstance(self.required, (list, tuple)):
            raise PassTypeError(
                "Required is expected to be the type of list/tuple, "
                f"got {_kind(self.required)} for '{self.name}'"
            )
        for each in self.required:
            if not isinstance(each, str):
                raise PassTypeError(f"'{self.name}' requires passes by name, got {_kind(each)}")
        object.__setattr__(self, "required", tuple(self.required))


def level(what: str, value: Any) -> int:
    """Return an optimisation level.

    Raises:
        TypeError: it is no integer.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise PassTypeError(f"{what} is an int, got {_kind(value)}") from None


def _kind(value: object) -> str:
    return f"{type(value).__name__} {value!r}"
