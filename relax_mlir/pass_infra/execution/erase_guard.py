"""Checks of erasure: a Python pass that uses freed operations raises instead of crashing.

MLIR trusts `Operation.erase()`: nothing may use the results any more, and while a rewrite runs the
operation has to go through the driver's rewriter, which keeps pointers to all of them. It also
trusts that a value that is put in the place of another lives on, which the result of an operation
outside of any block does not. So the first Python pass replaces these methods: they look first, and
in a thread in which a rewrite runs `erase()` asks the rewriter, for operations of that module.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

from relax_mlir.dialects.bindings import ir

# Where `Operation` and `OpView` have their methods from.
_BASE: Any = ir.Operation.__mro__[1]


class _Thread(threading.local):
    """What a rewrite in this thread works on.

    Attributes:
        module: the operation of the module, None outside of rewrites.
        erase: erases an operation of it.
    """

    module: ir.Operation | None = None
    erase: Callable[[ir.Operation], None] | None = None


_THREAD = _Thread()
_INSTALLING = threading.Lock()


class guarded:
    """Let `erase()` of operations of a module be done by `erase` inside the body of a `with`.

    A class of its own, as it surrounds every single call of a pattern.
    """

    __slots__ = ("_erase", "_module", "_outer")

    def __init__(self, module: ir.Operation, erase: Callable[[ir.Operation], None]) -> None:
        self._module, self._erase = module, erase

    def __enter__(self) -> None:
        self._outer = _THREAD.module, _THREAD.erase
        _THREAD.module, _THREAD.erase = self._module, self._erase

    def __exit__(self, *_: object) -> None:
        _THREAD.module, _THREAD.erase = self._outer


def only_looks(op: ir.Operation) -> None:
    """Raise instead of erasing: what a constraint of PDL may do.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"a constraint only looks, it cannot erase '{op.name}'")


def around(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield an operation and those that it is in, from the inside out."""
    inner: Any = op
    while inner is not None:
        yield inner
        inner = inner.parent.operation if inner.attached and inner.parent is not None else None


def check_unused(op: ir.Operation) -> None:
    """Raise ValueError if an operation's results are in use, so that it cannot go."""
    for value in op.results:
        for use in value.uses:
            raise ValueError(
                f"'{op.name}' cannot be erased: its results are in use, by "
                f"'{use.owner.operation.name}'"
            )


def check_attached(new: Any) -> None:
    """Raise ValueError if a value is made by an operation that is in no block, and so goes away."""
    # The owner of an argument is a block, which has no such attribute.
    operation = getattr(getattr(new, "owner", None), "operation", None)
    if operation is not None and not operation.attached:
        raise ValueError(
            f"the new value's '{operation.name}' is in no block: make it inside "
            "`with ir.InsertionPoint(op):`, where `op` is what it stands in front of"
        )


def _rewriting(op: ir.Operation) -> Callable[[ir.Operation], None] | None:
    """Return who erases an operation while a rewrite runs on the module that it is in."""
    module = _THREAD.module
    if module is None or all(outer != module for outer in around(op)):
        return None
    return _THREAD.erase


def install() -> None:
    """Replace the methods for the rest of the process, unless that was done before."""
    with _INSTALLING:
        if not hasattr(_BASE.erase, "is_safe"):
            _replace_methods()


def _replace_methods() -> None:
    erase, detach = _BASE.erase, _BASE.detach_from_parent

    def safe_erase(self: Any) -> None:
        """Erase the operation.

        Raises:
            ValueError: something uses its results.
        """
        op = self.operation
        check_unused(op)
        rewriting = _rewriting(op)
        if rewriting is None:
            erase(self)
        else:
            rewriting(op)

    def safe_detach(self: Any) -> Any:
        """Detach the operation from its parent block.

        Raises:
            ValueError: a rewrite runs on its module.
        """
        if _rewriting(self.operation) is not None:
            raise ValueError(
                f"a rewrite cannot detach '{self.operation.name}': clone or move it, and erase it "
                "with rewriter.erase_op"
            )
        return detach(self)

    replace = ir.Value.replace_all_uses_with

    def safe_replace(self: ir.Value, new: ir.Value) -> None:
        """Replace all uses of the value with another one.

        Raises:
            ValueError: the other one is made by an operation in no block.
        """
        check_attached(new)
        replace(self, new)

    set_operand = ir.OpOperandList.__setitem__

    def safe_set_operand(self: Any, index: int, value: ir.Value) -> None:
        """Set an operand.

        Raises:
            ValueError: the value is made by an operation in no block.
        """
        check_attached(value)
        set_operand(self, index, value)

    ir.OpOperandList.__setitem__ = safe_set_operand
    ir.Value.replace_all_uses_with = safe_replace
    safe_erase.is_safe = True  # type: ignore[attr-defined]
    _BASE.erase, _BASE.detach_from_parent = safe_erase, safe_detach
