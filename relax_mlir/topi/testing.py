"""What operations compute, in numpy, under the names of TVM's `topi.testing`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.runtime.library.boxes import BOXES
from relax_mlir.runtime.library.image import IMAGE


def affine_grid_python(data: np.ndarray, target_shape: Any) -> np.ndarray:
    """Return where affine maps (batch, 2, 3) take the points of a grid from -1 to 1."""
    return IMAGE["affine_grid"](data, tuple(target_shape), True)


def get_valid_counts_python(
    data: np.ndarray, score_threshold: float = 0, id_index: int = 0, score_index: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers of boxes above a score, these boxes in front, and where they were."""
    return BOXES["get_valid_counts"](data, score_threshold, id_index, score_index)


def non_max_suppression_python(
    data: np.ndarray, valid_count: np.ndarray, indices: np.ndarray, max_output_size: int = -1,
    iou_threshold: float = 0.5, force_suppress: bool = False, top_k: int = -1,
    coord_start: int = 2, score_index: int = 1, id_index: int = 0, return_indices: bool = True,
    invalid_to_bottom: bool = False, soft_nms_sigma: float = 0.0, score_threshold: float = 0.0,
) -> Any:  # fmt: skip
    """Return the best boxes, without those that overlap a better one too much.

    Returns:
        Their places and number; before these the boxes for a `soft_nms_sigma` above 0. The boxes
        alone without `return_indices`.
    """
    return BOXES["non_max_suppression"](
        data, valid_count, indices, max_output_size, iou_threshold, force_suppress, top_k,
        coord_start, score_index, id_index, return_indices, invalid_to_bottom, soft_nms_sigma,
        score_threshold,
    )  # fmt: skip


def strided_slice_python(
    data: np.ndarray, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] | None,
    slice_mode: str = "end", axes: Sequence[int] | None = None,
) -> np.ndarray:  # fmt: skip
    """Return every so many elements from `begin` to before `end`, by numpy's rules.

    With `slice_mode="size"`, `end` is how many, -1 for all that are left, and strides are 1.
    """
    index = [slice(None)] * data.ndim
    steps = strides or ()
    for i, (axis, first, last) in enumerate(
        zip(range(len(begin)) if axes is None else axes, begin, end, strict=True)
    ):
        if slice_mode == "size":
            index[axis] = slice(first, None if last < 0 else first + last)
        else:
            index[axis] = slice(first, last, steps[i] if i < len(steps) else None)
    return data[tuple(index)]
