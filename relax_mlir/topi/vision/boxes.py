"""Decoding of predicted boxes, and compaction of valid ones."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute, extern
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import ir_builder
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.conversion import cast, const
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.nn.activation import softmax
from relax_mlir.topi.support import same, size, tensor

_exp = functions.UNARY["exp"]


def multibox_transform_loc(
    cls_pred: Tensor, loc_pred: Tensor, anchor: Tensor, variances: Sequence[float],
    clip: bool = False, threshold: float = 0.0, keep_background: bool = True,
    apply_softmax: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the boxes and scores of anchors.

    Args:
        cls_pred: (batch, class, anchor) logits or scores.
        loc_pred: (batch, 4 * anchor) x, y, width and height of each, relative to the anchor.
        anchor: (1, anchor, 4) left, top, right, bottom.
        variances: what these four are multiplied by.
        clip: whether boxes are kept from 0 to 1.
        threshold: lower scores become 0.
        keep_background: whether class 0 keeps its scores.
        apply_softmax: whether scores are the softmax of `cls_pred` over classes.

    Returns:
        Boxes (batch, anchor, 4) as top, left, bottom, right, and scores (batch, class, anchor).

    Raises:
        ExprError: the shapes do not fit.
    """
    where = "topi.vision.multibox_transform_loc"
    if tensor(cls_pred, where).ndim != 3 or tensor(loc_pred, where).ndim != 2:
        raise ExprError(f"{where}: got {cls_pred} and {loc_pred}")
    batch, classes, count = cls_pred.shape
    sizes = [*loc_pred.shape, *tensor(anchor, where).shape]
    fits = [batch, size([count, 4]), 1, count, 4]
    if len(sizes) != len(fits) or not all(map(same, sizes, fits)) or len(variances) != 4:
        raise ExprError(
            f"{where}: for {cls_pred} places are {fits[:2]} and anchors {fits[2:]} with 4 "
            f"variances, got {loc_pred}, {anchor} and {len(variances)}"
        )

    def box(b: Any, a: Any, k: Any) -> PrimExpr:
        left, top, right, bottom = (anchor[0, a, i] for i in range(4))
        ends = []
        for at, low, high in ((1, top, bottom), (0, left, right)):
            side = high - low
            middle = loc_pred[b, a * 4 + at] * float(variances[at]) * side + (low + high) * 0.5
            half = _exp(loc_pred[b, a * 4 + 2 + at] * float(variances[2 + at])) * side * 0.5
            ends.append((middle - half, middle + half))
        (y0, y1), (x0, x1) = ends
        result = Select(k == 0, y0, Select(k == 1, x0, Select(k == 2, y1, x1)))
        return functions.max(functions.min(result, 1.0), 0.0) if clip else result

    scores = softmax(cls_pred, axis=1) if apply_softmax else cls_pred

    def score(b: Any, c: Any, n: Any) -> PrimExpr:
        value, none = scores[b, c, n], const(0, cls_pred.dtype)
        result = Select(value >= float(threshold), value, none)
        return result if keep_background else Select(c == 0, none, result)

    return (
        compute((batch, count, 4), box, name="multibox_boxes"),
        compute((batch, classes, count), score, name="multibox_scores"),
    )


def get_valid_counts(
    data: Tensor, score_threshold: Any = 0, id_index: int = 0, score_index: int = 1
) -> list[Tensor]:
    """Return boxes with those that count in front.

    Args:
        data: (batch, box, number) what is known of each box.
        score_threshold: a box counts when its score is greater: a number or a scalar tensor.
        id_index: where its class is, which must not be negative; -1 for no class.
        score_index: where its score is.

    Returns:
        How many count in each batch, the boxes with -1 behind these, and where each was, or -1.

    Raises:
        ExprError: the boxes have not so many numbers.
    """
    where = "vision.get_valid_counts"
    width = data.shape[2] if tensor(data, where).ndim == 3 else None
    known = isinstance(width, int) and not max(id_index, score_index) < width
    if width is None or known or score_index < 0:
        raise ExprError(f"topi.{where}: numbers {id_index} and {score_index} of {data}")
    batch, boxes, _ = data.shape
    given = isinstance(score_threshold, Tensor)

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        source, (valid, out, places) = ins[0], outs
        limit = cast(
            ins[1][(0,) * max(score_threshold.ndim, 1)] if given else const(score_threshold,
                                                                           data.dtype),
            data.dtype,
        )  # fmt: skip
        with ib.for_range(0, batch, "i") as i:
            valid[i] = const(0, "int32")
            with ib.for_range(0, boxes, "j") as j:
                with ib.for_range(0, width, "k") as k:
                    out[i, j, k] = const(-1, data.dtype)
                places[i, j] = const(-1, "int32")
            with ib.for_range(0, boxes, "j") as j:
                counts = source[i, j, score_index] > limit
                if id_index >= 0:
                    counts = functions.all(counts, source[i, j, id_index] >= 0)
                with ib.if_scope(counts):
                    at = ib.let("at", cast(valid[i], SIZE))
                    with ib.for_range(0, width, "k") as k:
                        out[i, at, k] = source[i, j, k]
                    places[i, at] = cast(j, "int32")
                    valid[i] = valid[i] + 1

    shapes = [(batch,), (batch, boxes, width), (batch, boxes)]
    kinds = ["int32", data.dtype, "int32"]
    inputs = [data, score_threshold] if given else [data]
    return list(extern(shapes, inputs, write, "get_valid_counts", kinds))
