"""Operators at run time, for operations whose shapes or dtypes are unknown at compile time."""

from collections.abc import Callable
from typing import Any

from relax_mlir.runtime.bytecode.builtins import LIBRARY_PREFIX as PREFIX
from relax_mlir.runtime.library.index import CHECKS
from relax_mlir.runtime.library.operands import named


def library_function(name: str) -> Callable[..., Any] | None:
    """Return an operator by its name with the prefix, None where there is none."""
    key = name.removeprefix(PREFIX)
    if key in CHECKS:
        # What compiled kernels wait for; most programs have all shapes compiled and need no more.
        return named(key, CHECKS[key])
    from relax_mlir.runtime.library.table import LIBRARY

    return LIBRARY.get(name)
