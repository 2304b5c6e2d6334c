"""Passes from a user's function on prim funcs: a rewrite or a filter."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.pass_infra.kinds.decorators import CreatePrimFuncPass
from relax_mlir.pass_infra.kinds.per_function import PrimFuncPass


def Apply(ftransform: Callable[[ir.Operation], Any]) -> PrimFuncPass:
    """Return a pass that puts `ftransform(func)` in the place of each prim func.

    Args:
        ftransform: gets a copy of the function's operation, which it may change and return.
    """
    return CreatePrimFuncPass(lambda func, mod, ctx: ftransform(func), 0, "Apply")


def Filter(fcond: Callable[[ir.Operation], bool]) -> PrimFuncPass:
    """Return a pass that keeps the prim funcs for which `fcond(func)` is true.

    A function that is called cannot go.

    Args:
        fcond: gets a copy of the function's operation.
    """
    return CreatePrimFuncPass(lambda func, mod, ctx: func if fcond(func) else None, 0, "Filter")
