"""Helpers of the dialects' verifiers. A verifier emits and returns False, never raises."""

import functools
import threading
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir

# IRDL carries no traits, so a stock mlir-opt sees no terminator in them. `export-stock` ends
# regions with this upstream one instead, which is allowed anywhere with any operands; verifiers
# accept it in place of the dialects' so that such a module can be printed and read.
STOCK_TERMINATOR = "smt.yield"

# A context forgets which operations it found sound when it knows so many.
_REMEMBERED = 1 << 13


class _Around(threading.local):
    """How often a verifier of this thread looked at what is around an operation."""

    looks = 0


_AROUND = _Around()
# How often a rule that verifiers follow has been replaced by another one.
_rules = 0


def rules_changed() -> None:
    """Have every operation verified again: it follows other rules from now on."""
    global _rules
    _rules += 1


def once_each(verify: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Make a verifier look once at operations that agree in class, types and attributes.

    Every pass has the whole module verified again, and most of it is as it was. For verifiers that
    look at nothing but operands' and results' types and attributes, and at what is around by
    `expect_parent`: who asks that is asked again each time.
    """

    @functools.wraps(verify)
    def remembering(view: Any) -> bool:
        op = view.operation
        # A type or an attribute is unique in its context and its hash is where it lies there, as
        # long as the context lives. Not itself: it would keep the context that keeps this.
        key = hash(
            (
                type(view),
                _rules,
                *[hash(value.type) for value in op.operands],
                None,
                *map(hash, op.results.types),
                *[(name, hash(value)) for name, value in op.attributes.items()],
            )
        )
        known = op.context.__dict__.setdefault("_relax_sound", set())
        if key in known:
            return True
        looks = _AROUND.looks
        if not verify(view):
            return False
        if _AROUND.looks != looks:
            return True
        if len(known) >= _REMEMBERED:
            known.clear()
        known.add(key)
        return True

    return remembering


def op_error(view: ir.OpView, message: str) -> bool:
    """Emit an MLIR-style error at the operation and return False, for use in verifiers."""
    view.operation.location.emit_error(f"'{view.operation.name}' op {message}")
    return False


def attribute(op: ir.Operation, name: str) -> Any:
    """Return an attribute, None when the operation lacks it."""
    return op.attributes.get(name)


def only_block(
    view: ir.OpView,
    index: int,
    what: str,
    terminator: str,
    arguments: int = 0,
    may_be_empty: bool = False,
) -> list[ir.OpView] | None:
    """Return the operations of a region that is one block, its arguments `index`, ended as named.

    Args:
        view: operation that has the region.
        index: which of its regions.
        what: the region in words.
        terminator: name of the last operation.
        arguments: how many the block takes.
        may_be_empty: whether a region without a block is allowed; it holds no operations.

    Returns:
        The operations, or None when the region is otherwise: the error is emitted.
    """
    regions = view.operation.regions
    blocks = list(regions[index].blocks) if index < len(regions) else []
    if not blocks and may_be_empty:
        return []
    if len(blocks) != 1:
        op_error(view, f"{what} must be one block, got {len(blocks)}")
        return None
    types = [str(argument.type) for argument in blocks[0].arguments]
    if types != ["index"] * arguments:
        wanted = f"{arguments} index values" if arguments != 1 else "1 index value"
        op_error(view, f"{what} takes {wanted}, got ({', '.join(types)})")
        return None
    operations = list(blocks[0].operations)
    last = operations[-1].operation.name if operations else ""
    if last not in (terminator, STOCK_TERMINATOR):
        op_error(view, f"{what} must end with '{terminator}'")
        return None
    return operations


def expect_parent(view: ir.OpView, *parents: str) -> bool:
    """Check that an operation stands directly in another of one of these names."""
    _AROUND.looks += 1
    parent_op = view.operation.parent
    if parent_op is None or parent_op.operation.name not in parents:
        where = f"'{parent_op.operation.name}'" if parent_op is not None else "no operation"
        wanted = " or ".join(f"'{parent}'" for parent in parents)
        return op_error(view, f"must stand directly in {wanted}, got {where}")
    return True
