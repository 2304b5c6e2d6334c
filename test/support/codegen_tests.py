"""Finds the tests that compile native code, by the names that they and their helpers use."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

_TEST = str(Path(__file__).resolve().parents[1])
# Functions and methods of the compiler that end in native code.
_NAMES = frozenset({"build", "compile", "compile_module"})
_known: dict[CodeType, bool] = {}


def compiles(function: Any) -> bool:
    """Whether a function of the tests, or one that it uses, has a name of those that compile."""
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    return code is not None and _compiles(code, function.__globals__)


def functions_in(value: Any, depth: int = 0) -> Iterator[FunctionType]:
    """Yield the functions that a test's parameter is or holds."""
    if isinstance(value, FunctionType):
        yield value
    elif depth < 2 and isinstance(value, (list, tuple)):
        for each in value:
            yield from functions_in(each, depth + 1)
    elif depth < 2 and hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType)):
        for each in vars(value).values():
            yield from functions_in(each, depth + 1)


def _compiles(code: CodeType, names: dict[str, Any]) -> bool:
    if not code.co_filename.startswith(_TEST):
        return False
    if code not in _known:
        _known[code] = False  # what calls itself
        inner = (each for each in code.co_consts if isinstance(each, CodeType))
        _known[code] = (
            not _NAMES.isdisjoint(code.co_names)
            or any(_compiles(each, names) for each in inner)
            or any(map(compiles, _helpers(code.co_names, names)))
        )
    return _known[code]


def _helpers(used: Iterable[str], names: dict[str, Any]) -> Iterator[Any]:
    for name in used:
        value = names.get(name)
        if isinstance(value, FunctionType):
            yield value
        elif isinstance(value, type) and value.__module__ in sys.modules:
            yield from vars(value).values()
        elif isinstance(value, ModuleType) and str(getattr(value, "__file__", "")).startswith(
            _TEST
        ):
            yield from (vars(value).get(each) for each in used)
