"""Sequences and optionals of ONNX: tuples of tensors, and None for an optional without an element.

A tensor put into a sequence is copied: a program plans memory for what it can see.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_Array = np.ndarray


def _position(at: Any, count: int, extra: int = 0) -> int:
    """Return a position counted from the beginning.

    Raises:
        IndexError: the sequence has none such.
    """
    place = int(at.reshape(-1)[0])
    if not -count <= place < count + extra:
        raise IndexError(f"position {place} in a sequence of {count}")
    return place + count if place < 0 else place


def _construct(*items: _Array) -> Any:
    return tuple(item.copy() for item in items)


def _insert(sequence: tuple[Any, ...], item: _Array, *at: Any) -> Any:
    place = _position(at[0], len(sequence), 1) if at else len(sequence)
    return (*sequence[:place], item.copy(), *sequence[place:])


def _erase(sequence: tuple[Any, ...], *at: Any) -> Any:
    place = _position(at[0], len(sequence)) if at else len(sequence) - 1
    if not sequence:
        raise IndexError("an element of an empty sequence")
    return (*sequence[:place], *sequence[place + 1 :])


def _at(sequence: tuple[Any, ...], at: _Array) -> Any:
    return sequence[_position(at, len(sequence))].copy()


def _length(sequence: tuple[Any, ...]) -> Any:
    return np.array(len(sequence), "int64")


def _concat(
    sequence: tuple[Any, ...], *, axis: int, stacks: bool, empty: Sequence[int] = (),
    dtype: str = "",
) -> Any:  # fmt: skip
    if not sequence and dtype:
        return np.zeros(tuple(empty), dtype)
    return (np.stack if stacks else np.concatenate)(sequence, axis)


def _split(x: _Array, *sizes: Any, axis: int, keepdims: bool) -> Any:
    total = x.shape[axis]
    given = sizes[0] if sizes else np.array(1)
    if given.ndim:
        parts = [int(each) for each in given]
        if sum(parts) != total:
            raise ValueError(f"parts {parts} of an axis of {total}")
        ends = np.cumsum(parts)[:-1]
    else:
        ends = np.arange(int(given), total, int(given))
    parts = np.split(x, ends, axis)
    return tuple((each if keepdims or sizes else each.squeeze(axis)).copy() for each in parts)


def _has(value: Any) -> Any:
    return np.array(value is not None)


def _get(value: Any) -> Any:
    if value is None:
        raise ValueError("the optional has no element")
    return value.copy() if isinstance(value, np.ndarray) else value


SEQUENCES: dict[str, Callable[..., Any]] = {
    "optional_get": _get,
    "optional_has": _has,
    "sequence_at": _at,
    "sequence_concat": _concat,
    "sequence_construct": _construct,
    "sequence_erase": _erase,
    "sequence_insert": _insert,
    "sequence_length": _length,
    "sequence_split": _split,
}
