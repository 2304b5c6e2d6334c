"""Layouts and sliding windows: what convolutions, pooling and layout passes compute with."""

from collections.abc import Sequence

from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.symbolic import SymExpr


def layout_axes(layout: str, letters: str) -> list[int]:
    """Return where each of the letters stands in a layout: `("NHWC", "NCHW")` gives 0, 3, 1, 2.

    Raises:
        InferError: the layout is not a permutation of the letters.
    """
    if sorted(layout) != sorted(letters):
        raise InferError(f"a layout here has the letters of '{letters}', got '{layout}'")
    return [layout.index(letter) for letter in letters]


def permutation(source: str, target: str) -> list[int]:
    """Return the axes for permute_dims that take a tensor from one layout to another.

    Raises:
        InferError: one has letters that the other lacks.
    """
    layout_axes(target, source)
    return layout_axes(source, target)


def pair(values: Sequence[int], what: str) -> tuple[int, int]:
    """Return one number per spatial axis.

    Raises:
        InferError: there are not one or two, or one is below 1.
    """
    items = list(values)
    if len(items) not in (1, 2) or any(item < 1 for item in items):
        raise InferError(f"{what} takes one or two positive integers, got {items}")
    return (items[0], items[-1])


def four_pads(padding: Sequence[int]) -> tuple[int, int, int, int]:
    """Return top, left, bottom, right of a padding given as 1, 2 (height, width) or 4 numbers.

    Raises:
        InferError: any other count, or a negative number.
    """
    items = list(padding)
    if any(item < 0 for item in items):
        raise InferError(f"padding cannot be negative, got {items}")
    if len(items) == 1:
        return (items[0], items[0], items[0], items[0])
    if len(items) == 2:
        return (items[0], items[1], items[0], items[1])
    if len(items) == 4:
        return (items[0], items[1], items[2], items[3])
    raise InferError(f"padding takes 1, 2 or 4 integers, got {items}")


def window_count(
    size: SymExpr, window: SymExpr, stride: int, dilation: int, pads: int, ceil_mode: bool = False
) -> SymExpr:
    """Return how many windows fit along one axis.

    Raises:
        InferError: the window is certainly larger than the padded axis.
    """
    room = size + pads - (window - 1) * dilation - 1
    if room.value is not None and room.value < 0:
        raise InferError(f"a window of {window} is larger than the padded size {size + pads}")
    return (room + (stride - 1 if ceil_mode else 0)) // stride + 1
