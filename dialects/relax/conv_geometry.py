"""Geometry of convolution and pooling: layout axes, padding, number of windows."""

from collections.abc import Sequence

from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.symbolic.expr import SymExpr


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


# The spatial letters of layouts by their number.
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def per_axis(values: Sequence[int], count: int, what: str, least: int = 1) -> list[int]:
    """Return one number per spatial axis, of one for all or one for each.

    Raises:
        InferError: there are as many as neither, or one is too small.
    """
    items = list(values)
    if len(items) not in (1, count) or any(item < least for item in items):
        words = {1: "one", 2: "one or two", 3: "one or three"}[count]
        sign = "positive integers" if least else "integers not below 0"
        raise InferError(f"{what} takes {words} {sign}, got {items}")
    return items if len(items) == count else items * count


def pads(padding: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Return what is padded before and after each spatial axis.

    One number is for all, one for each axis is for both of its ends; else all befores come first.

    Raises:
        InferError: any other count, or a negative number.
    """
    items = list(padding)
    if any(item < 0 for item in items):
        raise InferError(f"padding cannot be negative, got {items}")
    if len(items) == 1:
        return [(items[0], items[0])] * count
    if len(items) == count:
        return [(item, item) for item in items]
    if len(items) == 2 * count:
        return list(zip(items[:count], items[count:], strict=True))
    wanted = {1: "1 or 2", 2: "1, 2 or 4", 3: "1, 3 or 6"}[count]
    raise InferError(f"padding takes {wanted} integers, got {items}")


def window_count(
    size: SymExpr, window: SymExpr, stride: int, dilation: int, pads: int, ceil_mode: bool = False
) -> SymExpr:
    """Return how many windows fit along one axis.

    Raises:
        InferError: not even one does, certainly.
    """
    room = window_room(size, window, stride, dilation, pads, ceil_mode)
    if room.value is not None and room.value < 0:
        raise InferError(f"a window of {window} is larger than the padded size {size + pads}")
    return room // stride + 1


def window_room(
    size: SymExpr, window: SymExpr, stride: int, dilation: int, pads: int, ceil_mode: bool = False
) -> SymExpr:
    """Return how far the first window along one axis can move; it does not fit if that is negative.

    In `ceil_mode` windows may hang over the end, by less than a stride.
    """
    room = size + pads - (window - 1) * dilation - 1
    return room + (stride - 1) if ceil_mode else room
