"""Packages that import what they offer on first use: importing one alone is cheap."""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from relax_mlir.errors import missing
from relax_mlir.interpreter import without_collector

_NOTHING = object()


def lazy_exports(
    package: str,
    exports: Mapping[str, Sequence[str]],
    modules: Iterable[str] | Mapping[str, str] = (),
    unsupported: Mapping[str, str] | None = None,
    table: Callable[[], Mapping[str, Any]] = dict,
    finish: Callable[[str, Any], Any] = lambda _, value: value,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package.

    Args:
        package: its full name.
        exports: by module, without `relax_mlir.` in front, the names that are taken from it.
        modules: modules of the package that are offered, or by name any modules.
        unsupported: names of TVM's that have no counterpart, each with the reason.
        table: gives further values by name.
        finish: from a name and what it stands for to what the package offers.

    The `__getattr__` raises AttributeError for a name that the package does not have; it says why,
    or names the closest one.
    """
    sources = {name: module for module, names in exports.items() for name in names}
    places = modules if isinstance(modules, Mapping) else {m: f"{package}.{m}" for m in modules}
    short = package.removeprefix("relax_mlir").removeprefix(".")

    def get(name: str) -> Any:
        value: Any = _NOTHING
        if name in places:
            value = importlib.import_module(places[name])
        elif name in sources:
            with without_collector():
                module = importlib.import_module(f"relax_mlir.{sources[name]}")
            value = getattr(module, name)
        elif not name.startswith("_"):
            value = table().get(name, _NOTHING)
        if value is _NOTHING:
            # Python asks modules for names in underscores, which must load nothing.
            known = [] if name.startswith("_") else names()
            raise AttributeError(missing(short, name, unsupported or {}, known), name=name)
        value = vars(sys.modules[package])[name] = finish(f"{short}.{name}", value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *sources, *places, *table()})

    return get, names
