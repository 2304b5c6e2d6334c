"""Names of printed values: from locations, made unique and valid."""

import keyword
import re
import unicodedata

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name

_RESERVED = {"R", "T", "cls", "range", "float", "metadata", "_"}


def is_variable(op: ir.Operation) -> bool:
    """Whether script has a variable for a scalar: its name has a place there.

    Kernels that the compiler makes have names without places, those of the whole kernel.
    """
    location = op.location
    return isinstance(location, ir.NameLoc) and isinstance(location.child_loc, ir.FileLineColLoc)


def own_name(op: ir.Operation) -> str:
    """Return the variable's name of an operation, `""` when it only helps to make that variable.

    A pass that replaces one operation by several gives all of them its location.
    """
    name = location_name(op.location)
    if name and len(op.results) == 1:
        for use in op.results[0].uses:
            if use.owner.operation.location == op.location:
                return ""
    return name


def identifier(text: str) -> str:
    """Return the text as a Python identifier."""
    # What Python makes of the letters of a name; MLIR's names can hold others.
    name = re.sub(r"\W", "_", unicodedata.normalize("NFKC", text))
    if not f"v{name}".isidentifier():
        name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not name or name[0].isdigit():
        name = f"v{name}"
    if not name.isidentifier():
        name = f"v{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


class Namer:
    """Gives every value of one function its own name."""

    def __init__(self, taken: set[str] | None = None) -> None:
        self._taken = _RESERVED | (taken or set())
        self._names: dict[ir.Value, str] = {}
        self._counts: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """Return a name that nothing has yet: the hint, or the hint with a number."""
        base = name = identifier(hint)
        while name in self._taken:
            self._counts[base] = self._counts.get(base, 0) + 1
            name = (
                f"{base}_{self._counts[base]}"
                if base[-1].isdigit() or base in _RESERVED
                else f"{base}{self._counts[base]}"
            )
        self._taken.add(name)
        return name

    def name(self, value: ir.Value, hint: str) -> str:
        """Name a value."""
        self._names[value] = self.fresh(hint)
        return self._names[value]

    def mark(self) -> set[str]:
        """Return what is taken now, for `release`."""
        return set(self._taken)

    def release(self, mark: set[str]) -> None:
        """Free the names given since: the values of a loop mean nothing after it."""
        self._taken = mark
        self._counts = {}

    def set(self, value: ir.Value, text: str) -> None:
        """Have a value appear as this text."""
        self._names[value] = text

    def get(self, value: ir.Value) -> str | None:
        """Return what a value appears as, None when it has not been named."""
        return self._names.get(value)
