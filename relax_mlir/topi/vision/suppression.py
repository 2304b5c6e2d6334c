"""Non-maximum suppression."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute, extern
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import ir_builder
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.axes import plain
from relax_mlir.tir.scalar.conversion import cast, const
from relax_mlir.tir.scalar.dtypes import SIZE, is_float
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.sorting import argsort
from relax_mlir.topi.support import same, size, tensor

_ONE = "topi.vision.non_max_suppression"
_ALL = "topi.vision.all_class_non_max_suppression"
_NONE = -1


def non_max_suppression(
    data: Tensor, valid_count: Tensor, indices: Tensor, max_output_size: Any = -1,
    iou_threshold: float = 0.5, force_suppress: bool = False, top_k: int = -1,
    coord_start: int = 2, score_index: int = 1, id_index: int = 0, return_indices: bool = True,
    invalid_to_bottom: bool = False, soft_nms_sigma: float = 0.0, score_threshold: float = 0.0,
) -> Any:  # fmt: skip
    """Return the boxes that overlap no better one of their class, the best first.

    Args:
        data: (batch, box, number) what is known of each box, as `get_valid_counts` gives it.
        valid_count: (batch,) how many boxes count, those in front.
        indices: (batch, box) where each box was.
        max_output_size: how many are kept of a batch, all if it is not positive: a number or a
            tensor of one.
        iou_threshold: a box goes whose overlap with one that is kept, as a share of what the two
            cover, is not less.
        force_suppress: whether a box suppresses those of other classes too.
        top_k: how many of the best are looked at, -1 for all.
        coord_start: where the coordinates begin, which are those of two opposite corners.
        score_index: where the score is. Only boxes of positive scores are kept.
        id_index: where the class is, -1 for none.
        return_indices: whether the places of boxes are returned.
        invalid_to_bottom: whether boxes of negative scores go behind the others.
        soft_nms_sigma: where positive, boxes that overlap less than `iou_threshold` stay, of a
            score that is less by `exp(-overlap ** 2 / (2 * sigma))`, and the next best one follows.
        score_threshold: of such scores a box is kept whose is greater.

    Returns:
        Where the boxes were that are kept, (batch, box) with -1 behind them, and how many,
        (batch, 1), both int32; with `soft_nms_sigma` the boxes before these two. Or the boxes,
        which are -1 where they are suppressed.

    Raises:
        ExprError: shapes or dtypes do not fit, or a box has not so many numbers.
    """
    _check_boxes(data, valid_count, indices, (coord_start + 3, score_index, id_index))
    batch, boxes, width = data.shape
    order = _best_first(data, valid_count, score_index)
    soft = soft_nms_sigma > 0
    given, most_of = _number(max_output_size, _ONE)

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        source, counts, names, ranks = ins[:4]
        out, places, total = outs
        kept = None if soft else _Kept(ib, boxes)
        sides = None if soft else _Boxes(ib, boxes, data.dtype)
        least = const(float(score_threshold) if soft else 0.0, data.dtype)
        none = const(_NONE, data.dtype)
        most = cast(most_of(ins), SIZE)
        most = ib.let("most", Select(most > 0, most, const(_NONE, SIZE)))

        def are_rivals(i: PrimExpr, j: PrimExpr, k: PrimExpr) -> PrimExpr:
            """Return whether a box is of another's class."""
            if force_suppress or id_index < 0:
                return const(True, "bool")
            return out[i, j, id_index] == out[i, k, id_index]

        def drop(i: PrimExpr, j: PrimExpr) -> None:
            places[i, j] = const(_NONE, "int32")
            with ib.for_range(0, width, "k") as k:
                out[i, j, k] = none

        with ib.for_range(0, batch, "i") as i:
            inside = functions.min(functions.max(cast(counts[i], SIZE), 0), boxes)
            looked = functions.min(inside, top_k) if top_k > 0 else inside
            count = ib.let("count", cast(looked, SIZE))
            with ib.for_range(0, boxes, "j") as j:
                drop(i, j)
            with ib.for_range(0, count, "j") as j:
                rank = ib.let("rank", cast(ranks[i, j], SIZE))
                places[i, j] = cast(rank, "int32")
                with ib.for_range(0, width, "k") as k:
                    out[i, j, k] = source[i, rank, k]
                if sides is not None:
                    sides.put(j, [source[i, rank, coord_start + n] for n in range(4)])
            if kept is None or sides is None:
                scale = -0.5 / float(soft_nms_sigma)
                rows = _Rows(ib, out, places, i, width, score_index)

                def fade(j: PrimExpr, k: PrimExpr, i: PrimExpr = i) -> None:
                    with ib.if_scope(are_rivals(i, j, k)):
                        corners = ([out[i, x, coord_start + n] for n in range(4)] for x in (j, k))
                        share = ib.let("share", _overlap(*corners))
                        score = out[i, j, score_index] * functions.UNARY["exp"](
                            share * share * scale
                        )
                        goes = share >= const(iou_threshold, data.dtype)
                        out[i, j, score_index] = Select(goes, out[i, j, score_index], score)
                        with ib.if_scope(functions.any(goes, out[i, j, score_index] <= least)):
                            places[i, j] = const(_NONE, "int32")

                chosen = rows.choose(count, most, least, fade)
                with ib.for_range(0, count, "j") as j, ib.if_scope(j >= chosen[0]):
                    drop(i, j)
            else:

                def beaten(
                    j: PrimExpr, k: PrimExpr, i: PrimExpr = i, sides: _Boxes = sides
                ) -> PrimExpr:
                    goes = sides.overlap(j, k) >= const(iou_threshold, data.dtype)
                    return functions.all(goes, are_rivals(i, j, k))

                kept.choose(
                    count, most, lambda j: out[i, j, score_index] > least, beaten,
                    lambda j: drop(i, j),
                )  # fmt: skip
            total[i, 0] = const(0, "int32")
            if return_indices:
                with ib.for_range(0, count, "j") as j:
                    place = ib.let("place", cast(places[i, j], SIZE))
                    with ib.if_scope(place >= 0):
                        places[i, j] = const(_NONE, "int32")
                        places[i, total[i, 0]] = cast(names[i, place], "int32")
                        total[i, 0] = total[i, 0] + 1

    inputs = [data, valid_count, indices, order, *given]
    shapes = [(batch, boxes, width), (batch, boxes), (batch, 1)]
    made = extern(shapes, inputs, write, "non_max_suppression", [data.dtype, "int32", "int32"])
    if return_indices:
        return list(made) if soft else [made[1], made[2]]
    return _valid_first(made[0], score_index) if invalid_to_bottom else made[0]


def all_class_non_max_suppression(
    boxes: Tensor, scores: Tensor, max_output_boxes_per_class: Any, iou_threshold: Any,
    score_threshold: Any, output_format: str = "onnx",
) -> list[Tensor]:  # fmt: skip
    """Return which boxes of each class overlap no better ones, the best of each class first.

    Args:
        boxes: (batch, box, 4) coordinates of two opposite corners.
        scores: (batch, class, box).
        max_output_boxes_per_class: how many are kept, all if it is not positive. This and what
            follows are numbers, or tensors of one element.
        iou_threshold: a box goes whose overlap with one that is kept, as a share of what the two
            cover, is not less.
        score_threshold: boxes whose scores are not greater are left out.
        output_format: `onnx` or `tensorflow`.

    Returns:
        For `onnx` batch, class and box, (batch * class * box, 3), and how many rows of these
        count, (1,). For `tensorflow` class and box, (batch, class * box, 2), their scores, and how
        many count, (batch,). Places and numbers are int64; 0 is behind what counts.

    Raises:
        ExprError: shapes or dtypes do not fit, or there is no such format.
    """
    if output_format not in ("onnx", "tensorflow"):
        raise ExprError(f"{_ALL}: output_format is onnx or tensorflow, got '{output_format}'")
    if tensor(boxes, _ALL).ndim != 3 or tensor(scores, _ALL).ndim != 3:
        raise ExprError(f"{_ALL}: boxes and scores have 3 dimensions, got {boxes} and {scores}")
    batch, classes, count = scores.shape
    fits = (batch, count, 4)
    if not all(map(same, boxes.shape, fits)) or not is_float(boxes.dtype):
        raise ExprError(f"{_ALL}: boxes are floats of {list(fits)}, got {boxes}")
    order = argsort(scores, axis=2, is_ascend=False, dtype="int32")
    inputs, readers = [boxes, scores, order], []
    for value in (max_output_boxes_per_class, iou_threshold, score_threshold):
        more, read = _number(value, _ALL, len(inputs))
        inputs += more
        readers.append(read)
    most_of, share_of, least_of = readers
    together = output_format == "onnx"

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        corners, points, ranks = ins[:3]
        selected, total = outs[0], outs[-1]
        kept, sides = _Kept(ib, count), _Boxes(ib, count, boxes.dtype)
        share = ib.let("share", cast(share_of(ins), boxes.dtype))
        most = cast(most_of(ins), SIZE)
        most = Select(most > 0, most, const(_NONE, SIZE))
        _clear(ib, outs)
        with ib.for_range(0, batch, "b") as b, ib.for_range(0, classes, "c") as c:

            def place(j: PrimExpr) -> PrimExpr:
                return cast(ranks[b, c, j], SIZE)

            with ib.for_range(0, count, "j") as j:
                sides.put(j, [corners[b, place(j), n] for n in range(4)])

            def beaten(j: PrimExpr, k: PrimExpr) -> PrimExpr:
                return sides.overlap(j, k) >= share

            kept.choose(
                count, most, lambda j: points[b, c, place(j)] > cast(least_of(ins), scores.dtype),
                beaten, None,
            )  # fmt: skip
            at = 0 if together else b
            with ib.for_range(0, kept.count, "j") as j:
                row = ib.let("row", total[at])
                box = ib.let("box", place(cast(kept.chosen[j], SIZE)))
                if together:
                    for n, value in enumerate((b, c, box)):
                        selected[row, n] = value
                else:
                    selected[b, row, 0] = c
                    selected[b, row, 1] = box
                    outs[1][b, row] = points[b, c, box]
                total[at] = row + 1

    if together:
        shapes, kinds = [(size([batch, classes, count]), 3), (1,)], ["int64", "int64"]
    else:
        rows = size([classes, count])
        shapes = [(batch, rows, 2), (batch, rows), (batch,)]
        kinds = ["int64", scores.dtype, "int64"]
    return list(extern(shapes, inputs, write, "all_class_nms", kinds))


class _Kept:
    """The candidates that are kept, by their numbers in order."""

    def __init__(self, ib: ir_builder.IRBuilder, most: Any) -> None:
        self._ib = ib
        self.chosen = ib.allocate(SIZE, (most,), "chosen")
        self._lost = ib.allocate("int32", (most,), "lost")
        # How many are kept; where the last candidate that counts ends, then whether one is kept.
        self._state = ib.allocate(SIZE, (2,), "state")

    @property
    def count(self) -> PrimExpr:
        """How many there are."""
        return self._state[0]

    def choose(
        self, candidates: Any, most: PrimExpr, counts: Callable[[PrimExpr], PrimExpr],
        beaten: Callable[[PrimExpr, PrimExpr], PrimExpr],
        drop: Callable[[PrimExpr], None] | None,
    ) -> None:  # fmt: skip
        """Write what keeps up to `most` candidates that count and that no kept one beats.

        What one that is kept beats is marked at once: a loop without a branch, which vectorizes.
        """
        ib, state, lost = self._ib, self._state, self._lost
        no, yes = const(0, "int32"), const(1, "int32")
        state[0] = state[1] = const(0, SIZE)
        with ib.for_range(0, candidates, "j") as j:
            lost[j] = Select(counts(j), no, yes)
            with ib.if_scope(lost[j] == no):
                state[1] = j + 1
        end = ib.let("end", state[1])
        with ib.for_range(0, candidates, "j") as j:
            stays = functions.all(lost[j] == no, state[0] != cast(most, SIZE))
            state[1] = cast(stays, SIZE)
            with ib.if_scope(state[1] != 0):
                self.chosen[state[0]] = j
                state[0] = state[0] + 1
                rest = ib.let("rest", end - j)
                with ib.for_range(0, rest, "k") as k:
                    lost[j + k] = Select(beaten(j + k, j), yes, lost[j + k])
            if drop is not None:
                with ib.if_scope(state[1] == 0):
                    drop(j)


class _Boxes:
    """Boxes by their sides, each an array: what a loop over boxes reads is in a row."""

    def __init__(self, ib: ir_builder.IRBuilder, most: Any, dtype: str) -> None:
        self._sides = [ib.allocate(dtype, (most,), f"side{n}") for n in range(4)]

    def put(self, j: PrimExpr, ends: Sequence[PrimExpr]) -> None:
        """Write box `j`, given by two opposite corners."""
        for n in (0, 1):
            self._sides[n][j] = functions.min(ends[n], ends[n + 2])
            self._sides[n + 2][j] = functions.max(ends[n], ends[n + 2])

    def overlap(self, j: PrimExpr, k: PrimExpr) -> PrimExpr:
        """Return what two boxes share, as a part of what they cover; 0 where that is nothing."""
        return _overlap(*([side[x] for side in self._sides] for x in (j, k)))


class _Rows:
    """The rows of one batch, of which the best is brought to the front again and again."""

    def __init__(
        self, ib: ir_builder.IRBuilder, out: Any, places: Any, batch: PrimExpr, width: Any,
        score: int,
    ) -> None:  # fmt: skip
        self._ib, self._out, self._places = ib, out, places
        self._batch, self._width, self._score = batch, width, score

    def choose(
        self, count: PrimExpr, most: PrimExpr, least: PrimExpr,
        fade: Callable[[PrimExpr, PrimExpr], None],
    ) -> Any:  # fmt: skip
        """Write what keeps up to `most` rows; return the buffer of one element of how many.

        Args:
            count: how many rows there are.
            most: how many are kept at most, none if negative.
            least: kept are those of greater scores.
            fade: writes what one row, the first argument, loses to one that is kept.
        """
        ib, i, out, places, score = self._ib, self._batch, self._out, self._places, self._score
        chosen = ib.allocate(SIZE, (1,), "chosen")
        best = ib.allocate(SIZE, (1,), "best")
        chosen[0] = const(0, SIZE)
        with ib.for_range(0, count, "step"), ib.if_scope(chosen[0] != most):
            best[0] = const(_NONE, SIZE)
            with ib.for_range(0, count, "j") as j:
                open_ = functions.all(j >= chosen[0], places[i, j] >= 0, out[i, j, score] > least)
                with ib.if_scope(open_):
                    with ib.if_scope(best[0] < 0):
                        best[0] = j
                    with ib.if_scope(out[i, j, score] > out[i, functions.max(best[0], 0), score]):
                        best[0] = j
            with ib.if_scope(best[0] >= 0):
                first, from_ = ib.let("first", chosen[0]), ib.let("from", best[0])
                place = ib.let("place", places[i, first])
                places[i, first] = places[i, from_]
                with ib.if_scope(first != from_):
                    places[i, from_] = place
                with ib.for_range(0, self._width, "k") as k:
                    value = ib.let("value", out[i, first, k])
                    out[i, first, k] = out[i, from_, k]
                    with ib.if_scope(first != from_):
                        out[i, from_, k] = value
                with ib.for_range(0, count, "j") as j:
                    rest = functions.all(j > first, places[i, j] >= 0, out[i, j, score] > least)
                    with ib.if_scope(rest):
                        fade(j, first)
                chosen[0] = chosen[0] + 1
        return chosen


def _overlap(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> PrimExpr:
    """Return what two boxes share, as a part of what they cover; 0 where they cover nothing."""
    zero = const(0, a[0].dtype)
    sides = []
    for low, high in ((0, 2), (1, 3)):
        ends = [(functions.min(x[low], x[high]), functions.max(x[low], x[high])) for x in (a, b)]
        inner = functions.min(ends[0][1], ends[1][1]) - functions.max(ends[0][0], ends[1][0])
        sides.append((functions.max(inner, zero), *(last - first for first, last in ends)))
    shared, *own = (x * y for x, y in zip(*sides, strict=True))
    covered = own[0] + own[1] - shared
    return Select(covered > zero, shared / covered, zero)


def _best_first(data: Tensor, valid_count: Tensor, score_index: int) -> Tensor:
    """Return the places of boxes, the best first and those that do not count last."""
    worst = -functions.infinity(data.dtype)

    def key(i: Any, j: Any) -> PrimExpr:
        score = data[i, j, score_index]
        return Select(functions.all(j < valid_count[i], score == score), score, worst)

    keys = compute(data.shape[:2], key, name="nms_scores")
    return argsort(keys, axis=1, is_ascend=False, dtype="int32")


def _valid_first(boxes: Tensor, score_index: int) -> Tensor:
    """Return boxes with those in front whose scores are not negative."""
    batch, count, width = boxes.shape

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        out, ends = outs
        with ib.for_range(0, batch, "i") as i:
            ends[i] = const(0, SIZE)
            with ib.for_range(0, count, "j") as j, ib.for_range(0, width, "k") as k:
                out[i, j, k] = const(_NONE, boxes.dtype)
            with ib.for_range(0, count, "j") as j, ib.if_scope(ins[0][i, j, score_index] >= 0):
                with ib.for_range(0, width, "k") as k:
                    out[i, ends[i], k] = ins[0][i, j, k]
                ends[i] = ends[i] + 1

    kinds = [boxes.dtype, SIZE]
    return extern([boxes.shape, (batch,)], [boxes], write, "nms_valid_first", kinds)[0]


def _clear(ib: ir_builder.IRBuilder, outs: Sequence[Any]) -> None:
    for out in outs:
        with ib.for_range(0, size(list(map(plain, out.buffer.dims))), "i") as i:
            out[i] = const(0, out.dtype)


def _number(value: Any, where: str, at: int = 4) -> tuple[list[Tensor], Callable[..., PrimExpr]]:
    """Return what input a number is, if one, and what reads it from the inputs."""
    if not isinstance(value, Tensor):
        number = const(value)
        return [], lambda ins: number
    if any(dim != 1 for dim in value.shape):
        raise ExprError(f"{where}: a number is a tensor of one element, got {value}")
    return [value], lambda ins: ins[at][(0,) * max(value.ndim, 1)]


def _check_boxes(
    data: Tensor, valid_count: Tensor, indices: Tensor, numbers: Sequence[int]
) -> None:
    ranks = [tensor(each, _ONE).ndim for each in (data, valid_count, indices)]
    if ranks != [3, 1, 2] or not is_float(data.dtype):
        raise ExprError(
            f"{_ONE}: takes float boxes (batch, box, number), counts (batch,) and places "
            f"(batch, box), got {data}, {valid_count} and {indices}"
        )
    batch, boxes, width = data.shape
    if not all(map(same, (batch, batch, boxes), (*valid_count.shape, *indices.shape))):
        raise ExprError(f"{_ONE}: {data} does not fit {valid_count} and {indices}")
    if any(is_float(each.dtype) for each in (valid_count, indices)):
        raise ExprError(f"{_ONE}: counts and places are integers, got {valid_count} and {indices}")
    *needed, number = numbers
    if min(needed) < 0 or (isinstance(width, int) and max(*needed, number) >= width):
        raise ExprError(f"{_ONE}: numbers {max(*needed, number)} and {min(needed)} of {data}")
