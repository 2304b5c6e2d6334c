"""Names for values: those that locations carry, made unique and valid."""

import keyword
import re

from relax_mlir.dialects.bindings import ir

_RESERVED = {"R", "T", "I", "cls", "range", "float", "metadata", "_", "Tensor", "Shape", "ty",
             "relax", "tir", "max", "min", "abs"}  # fmt: skip


def location_name(location: ir.Location) -> str:
    """Return the variable's name that a location carries, `""` when it carries none."""
    if location.is_a_name():
        return location.name_str
    if location.is_a_fused():
        return next((n for n in map(location_name, location.locations) if n), "")
    return ""


def identifier(text: str) -> str:
    """Return the text as a Python identifier."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not name or name[0].isdigit():
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
            name = f"{base}_{self._counts[base]}" if base[-1].isdigit() else f"{base}{self._counts[base]}"
        self._taken.add(name)
        return name

    def name(self, value: ir.Value, hint: str) -> str:
        """Name a value."""
        self._names[value] = self.fresh(hint)
        return self._names[value]

    def set(self, value: ir.Value, text: str) -> None:
        """Have a value appear as this text."""
        self._names[value] = text

    def get(self, value: ir.Value) -> str | None:
        """Return what a value appears as, None when it has not been named."""
        return self._names.get(value)
