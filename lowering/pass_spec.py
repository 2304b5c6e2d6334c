"""Declarations of passes: entries of a table, whose code is imported at the first run."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PassOption:
    """One option of a pass, as written in `flag{name=value}`."""

    name: str
    type: type
    default: Any
    doc: str


# Of passes that write code for a target.
TARGET = PassOption("target", str, "", "what for; by default the module's or the current one")


@dataclass(frozen=True)
class PassSpec:
    """A module pass; `entry` is `package.module:function`, called with the `builtin.module`.

    The function changes the module in place and takes the options as keyword arguments. It reports
    a failure by emitting diagnostics at the operations concerned and raising `PassError`.
    A pass with `parts` is the sequence of the passes called so; `entry` then does the same at once.
    """

    flag: str
    name: str
    entry: str
    summary: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    options: tuple[PassOption, ...] = ()
    parts: tuple[str, ...] = ()

    def load(self) -> Callable[..., None]:
        """Import and return the function."""
        module, _, function = self.entry.partition(":")
        return getattr(importlib.import_module(module), function)


def pass_of(package: str) -> Callable[..., PassSpec]:
    """Return a function that declares passes of a package.

    It takes the module and function, `module:function` or `module` where they have one name, the
    pass's name, its summary, its options, and the other fields by keywords. The flag is the
    function's name in kebab case.
    """

    def declare(entry: str, name: str, summary: str, *options: PassOption, **rest: Any) -> PassSpec:
        module, _, function = entry.partition(":")
        function = function or module.rpartition(".")[2]
        flag, entry = function.replace("_", "-"), f"{package}.{module}:{function}"
        return PassSpec(flag, name, entry, summary, options=options, **rest)

    return declare


def pass_table(*specs: PassSpec) -> dict[str, PassSpec]:
    """Return passes by flag, in order."""
    return {spec.flag: spec for spec in specs}
