"""Einsum notation: the labels of operands and result."""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.relax.infer import InferError

ELLIPSIS = "..."


@dataclass(frozen=True)
class Subscripts:
    """Letters of every operand and of the result; an ellipsis is one item.

    Attributes:
        inputs: for each operand its items.
        output: the items of the result.
    """

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]

    def __str__(self) -> str:
        return f"{','.join(map(''.join, self.inputs))}->{''.join(self.output)}"


def parse_subscripts(text: str, count: int) -> Subscripts:
    """Return what subscripts mean; without an arrow, letters that occur once are the result's.

    Args:
        text: as numpy takes it, `"bij,bjk->bik"`.
        count: how many operands there are.

    Raises:
        InferError: it is no such text, or does not go with so many operands.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = tuple(_items(part, text) for part in left.split(","))
    if len(inputs) != count:
        raise InferError(f"subscripts '{text}' are for {len(inputs)} operands, got {count}")
    letters = [item for items in inputs for item in items if item != ELLIPSIS]
    has_ellipsis = any(ELLIPSIS in items for items in inputs)
    if not arrow:
        once = sorted(item for item in letters if letters.count(item) == 1)
        return Subscripts(inputs, ((ELLIPSIS,) if has_ellipsis else ()) + tuple(once))
    output = _items(right, text)
    for item in output:
        if output.count(item) > 1:
            raise InferError(f"the result of '{text}' has '{item}' more than once")
        if item not in letters and not (item == ELLIPSIS and has_ellipsis):
            raise InferError(f"the result of '{text}' has '{item}', which no operand has")
    if has_ellipsis and ELLIPSIS not in output:
        raise InferError(f"the result of '{text}' needs the ellipsis of its operands")
    return Subscripts(inputs, output)


def _items(part: str, text: str) -> tuple[str, ...]:
    head, dots, tail = part.partition(ELLIPSIS)
    items = (*head, *([ELLIPSIS] if dots else []), *tail)
    for item in items:
        if item != ELLIPSIS and not (item.isascii() and item.isalpha()):
            raise InferError(f"subscripts '{text}' have '{item}', which is no letter")
    return items


def expand_ellipsis(subscripts: Subscripts, ranks: Sequence[int]) -> Subscripts:
    """Return subscripts of letters only; the axes of an ellipsis become names `"...1"`, `"...0"`.

    They are counted from the last axis, as they broadcast.

    Raises:
        InferError: an operand has another number of dimensions than its letters.
    """
    inputs, longest = [], 0
    for items, rank in zip(subscripts.inputs, ranks, strict=True):
        named = len(items) - (ELLIPSIS in items)
        if rank < named or (rank > named and ELLIPSIS not in items):
            raise InferError(f"an operand of '{''.join(items)}' has {rank} dimensions")
        longest = max(longest, rank - named)
        inputs.append(_expanded(items, rank - named))
    return Subscripts(tuple(inputs), _expanded(subscripts.output, longest))


def _expanded(items: Sequence[str], count: int) -> tuple[str, ...]:
    axes = [f"{ELLIPSIS}{i}" for i in reversed(range(count))]
    return tuple(name for item in items for name in (axes if item == ELLIPSIS else [item]))


def is_broadcast(item: str) -> bool:
    """Whether an item is an axis of an ellipsis, along which a 1 broadcasts."""
    return item.startswith(ELLIPSIS)
