"""PassInfo: a pass's name, optimization level, required passes and whether traces record it."""

import operator
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.errors import PassTypeError


@dataclass(frozen=True)
class PassInfo:
    """Name, optimisation level, the passes to run first, and whether traces record the pass.

    TVM's order `PassInfo(opt_level, name)` works as well.

    Raises:
        TypeError: one of them is of another kind.
    """

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    traceable: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.opt_level, str) and isinstance(self.name, int):
            name, opt_level = self.opt_level, self.name
            object.__setattr__(self, "name", name)
            object.__setattr__(self, "opt_level", opt_level)
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
