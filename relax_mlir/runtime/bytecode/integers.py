"""Builtin functions of control flow: integers compared and counted, conditions combined."""

import operator
from collections.abc import Callable
from typing import Any

from relax_mlir.errors import VMError


def for_continues(index: int, stop: int, step: int) -> bool:
    """Return whether a loop over a range has another turn.

    Raises:
        VMError: the step is 0.
    """
    if step > 0:
        return index < stop
    if step < 0:
        return index > stop
    raise VMError("the step of a loop is 0")


# Names without their prefix; those of comparisons are what `relax.compare_prim` calls its kinds.
INTEGERS: dict[str, Callable[..., Any]] = {
    "for_continues": for_continues,
    "int_add": operator.add,
    "int_less": operator.lt,
    "int_less_equal": operator.le,
    "int_greater": operator.gt,
    "int_greater_equal": operator.ge,
    "int_equal": operator.eq,
    "int_not_equal": operator.ne,
}
