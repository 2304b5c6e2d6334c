"""Packages of the operator library, whose functions check their arguments."""

import importlib
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from relax_mlir.lazy import lazy_exports
from relax_mlir.topi.unsupported import UNSUPPORTED


def checked_exports(
    package: str, exports: Mapping[str, Sequence[str]], tables: Iterable[str] = (),
    modules: Iterable[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:  # fmt: skip
    """Return the `__getattr__` and the `__dir__` of a package of operators.

    Args:
        package: its full name.
        exports: as `lazy_exports` takes them.
        tables: modules of the package whose `FUNCTIONS` are offered.
        modules: modules of the package that are offered.
    """

    def functions() -> Mapping[str, Any]:
        members = (importlib.import_module(f"{package}.{name}").FUNCTIONS for name in tables)
        return ChainMap(*members)

    def check(name: str, value: Any) -> Any:
        return importlib.import_module("relax_mlir.topi.argument_checks").checked(name, value)

    reasons = UNSUPPORTED.get(package.removeprefix("relax_mlir."))
    return lazy_exports(package, exports, modules, reasons, functions, check)
