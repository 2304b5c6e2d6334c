"""Side effects of Relax computations, as MLIR's own passes see them.

A computation is pure, and upstream's `cse` merges equal ones. But an impure call may change a
tensor in place, what a computation reads as well as what it made, and MLIR cannot see that. So in a
function with such calls each computation says that it reads memory and makes a new tensor: it may
still be dropped when it has no use, but is never merged with another, nor moved.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relax_mlir.dialects.bindings import ext, ir


class _Thread(threading.local):
    """The passes that run in this thread.

    Attributes:
        find: returns the names of the functions in which tensors are written to.
        writing: what it returned, None before the first query.
    """

    find: Callable[[], frozenset[str]] | None = None
    writing: frozenset[str] | None = None


_THREAD = _Thread()


@contextmanager
def known(find: Callable[[], frozenset[str]]) -> Iterator[None]:
    """Let computations look up in the body which functions write to tensors.

    Args:
        find: returns their names; called when MLIR first asks for the effects of something.
    """
    around = _THREAD.find, _THREAD.writing
    _THREAD.find, _THREAD.writing = find, None
    try:
        yield
    finally:
        _THREAD.find, _THREAD.writing = around


def forget() -> None:
    """Look again: the module has changed."""
    _THREAD.writing = None


class _ReadsAndAllocates(ir.MemoryEffectsOpInterface):
    """The effects of a computation."""

    @staticmethod
    def get_effects(op: Any, effects: Any) -> None:
        writing = _THREAD.writing
        if writing is None:
            if _THREAD.find is None:
                return
            writing = _THREAD.writing = _THREAD.find()
        if writing and _function(op.operation) in writing:
            effects.append(ir.MemoryEffect.Read)
            for result in op.operation.results:
                effects.append(ir.MemoryEffect.Allocate, result)


def _function(op: ir.Operation) -> str | None:
    """Return the name of the function that an operation is in."""
    outer: Any = op
    while outer is not None and outer.name != "func.func":
        outer = outer.parent and outer.parent.operation
    return None if outer is None else outer.attributes["sym_name"].value


class Computation:
    """Trait of an operation that computes from its operands and does nothing else."""

    @staticmethod
    def attach(op_name: str) -> None:
        """Attach the interfaces to an operation."""
        _ReadsAndAllocates.attach(op_name)
        ext.Pure.AlwaysSpeculatable.attach(op_name)
