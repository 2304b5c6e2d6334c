"""Tensors in the layouts of images, blocks of axes such as `NCHW16c` among them."""

import re

import numpy as np

from relax_mlir.errors import ShapeMismatchError

_PARTS = re.compile(r"([A-Z])|([0-9]+)([a-z])")


def _positions(layout: str) -> dict[str, tuple[int, ...]]:
    """Return where each letter is: one dimension, or the one of its blocks and that inside them."""
    positions: dict[str, tuple[int, ...]] = {}
    for position, (axis, _, inner) in enumerate(_PARTS.findall(layout)):
        letter = axis or inner.upper()
        old = positions.get(letter, ())
        positions[letter] = (*old, position) if inner else (position, *old)
    return positions


def ndim_of(layout: str) -> int:
    """Return how many dimensions a tensor in the layout has."""
    return len(_PARTS.findall(layout))


def to_plain(x: np.ndarray, layout: str, letters: str) -> np.ndarray:
    """Return a tensor in a layout as one whose dimensions are the letters.

    Raises:
        ShapeMismatchError: blocks have not the size that the layout says.
    """
    for position, (_, size, letter) in enumerate(_PARTS.findall(layout)):
        if letter and x.shape[position] != int(size):
            raise ShapeMismatchError(
                f"blocks along '{letter.upper()}' have {size} elements, got {x.shape[position]}"
            )
    positions = _positions(layout)
    permuted = x.transpose([place for letter in letters for place in positions[letter]])
    return permuted.reshape(
        [np.prod([x.shape[i] for i in positions[each]], dtype=int) for each in letters]
    )


def from_plain(x: np.ndarray, letters: str, layout: str) -> np.ndarray:
    """Return a tensor whose dimensions are the letters in a layout.

    Raises:
        ShapeMismatchError: blocks do not divide an axis.
    """
    blocks = {inner.upper(): int(size) for _, size, inner in _PARTS.findall(layout) if inner}
    shape: list[int] = []
    for letter, size in zip(letters, x.shape, strict=True):
        block = blocks.get(letter)
        if block and size % block:
            raise ShapeMismatchError(f"{size} elements along '{letter}' are no blocks of {block}")
        shape += [size // block, block] if block else [size]
    positions = _positions(layout)
    places = [place for letter in letters for place in positions[letter]]
    return x.reshape(shape).transpose(np.argsort(places))
