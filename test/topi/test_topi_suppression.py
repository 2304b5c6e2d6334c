"""Suppression of boxes that overlap better ones, against plain loops."""

from typing import Any

import numpy as np
import pytest
from te_cases import Case, check

from relax_mlir import te, topi
from relax_mlir.errors import ExprError

vision = topi.vision


def test_references() -> None:
    rng = np.random.default_rng(0)
    corners = rng.random((2, 9, 2)).astype("float32")
    data = np.concatenate([rng.integers(-1, 2, (2, 9, 1)), rng.random((2, 9, 1)), corners,
                           corners + 0.5], 2).astype("float32")  # fmt: skip
    count, boxes, places = topi.testing.get_valid_counts_python(data, score_threshold=0.3)
    for i in range(2):
        good = ((data[i, :, 1] > 0.3) & (data[i, :, 0] >= 0)).nonzero()[0]
        assert count[i] == len(good)
        np.testing.assert_array_equal(places[i, : len(good)], good)
        np.testing.assert_array_equal(boxes[i, : len(good)], data[i, good])
    wanted, _ = suppressed(boxes, count, places)
    got = topi.testing.non_max_suppression_python(boxes, count, places)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    grid = topi.testing.affine_grid_python(np.eye(2, 3, dtype="float32")[None], (3, 5))
    np.testing.assert_allclose(grid[0, 0], np.tile(np.linspace(-1, 1, 5), (3, 1)))


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    low = np.maximum(np.minimum(a[:2], a[2:]), np.minimum(b[:2], b[2:]))
    high = np.minimum(np.maximum(a[:2], a[2:]), np.maximum(b[:2], b[2:]))
    shared = np.prod(np.maximum(high - low, 0))
    covered = np.prod(np.abs(a[2:] - a[:2])) + np.prod(np.abs(b[2:] - b[:2])) - shared
    return shared / covered if covered > 0 else 0.0


def suppressed(
    data: np.ndarray, counts: np.ndarray, names: np.ndarray, most: int = -1, share: float = 0.5,
    force: bool = False, top_k: int = -1, at: tuple[int, int, int] = (2, 1, 0),
) -> tuple[list[np.ndarray], np.ndarray]:  # fmt: skip
    corner, score, kind = at
    boxes, places = np.full_like(data, -1), np.full(data.shape[:2], -1, "int32")
    total = np.zeros((len(data), 1), "int32")
    for i, rows in enumerate(data):
        count = min(max(int(counts[i]), 0), len(rows))
        order = np.argsort(-rows[:count, score], kind="stable")
        order = order[:top_k] if top_k > 0 else order
        kept: list[int] = []
        for j, box in enumerate(order):
            rivals = kept
            if kind >= 0 and not force:
                rivals = [k for k in rivals if rows[k, kind] == rows[box, kind]]
            ends = slice(corner, corner + 4)
            if 0 < most == len(kept) or not rows[box, score] > 0:
                continue
            if any(overlap(rows[box, ends], rows[k, ends]) >= share for k in rivals):
                continue
            kept.append(box)
            boxes[i, j] = rows[box]
            places[i, total[i, 0]] = names[i, box]
            total[i, 0] += 1
    return [places, total], boxes


def some_boxes(batch: int, count: int, classes: int = 2, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    corners = rng.uniform(0, 1, (batch, count, 4))
    scores = rng.permutation(batch * count).reshape(batch, count, 1) / (batch * count) - 0.1
    kinds = rng.integers(-1, classes, (batch, count, 1))
    return np.concatenate([kinds, scores, corners], -1).astype("float32")


def test_every_option() -> None:
    data = some_boxes(3, 37)
    counts = np.int32([37, 20, 0])
    names = np.random.default_rng(1).permutation(3 * 37).reshape(3, 37).astype("int32")
    options: list[dict[str, Any]] = [
        {}, {"force_suppress": True, "iou_threshold": 0.3},
        {"id_index": -1, "iou_threshold": 0.3}, {"top_k": 5}, {"max_output_size": 3},
        {"max_output_size": 0}, {"iou_threshold": 0.0, "top_k": 4}, {"iou_threshold": 0.05},
    ]  # fmt: skip
    cases = []
    for i, given in enumerate(options):
        places, boxes = suppressed(
            data, counts, names, given.get("max_output_size", -1), given.get("iou_threshold", 0.5),
            given.get("force_suppress", False), given.get("top_k", -1),
            (2, 1, given.get("id_index", 0)),
        )  # fmt: skip
        inputs, dims = [data, counts, names], ["bn_", "b", "bn"] if i == 0 else ()

        def run(x: Any, c: Any, n: Any, given: dict[str, Any] = given, **more: Any) -> Any:
            return vision.non_max_suppression(x, c, n, **given, **more)

        cases.append(Case(f"places{i}", run, inputs, places, dims))
        if i in (0, 3):
            cases.append(Case(
                f"boxes{i}", lambda *x, run=run: run(*x, return_indices=False), inputs, boxes, dims,
            ))  # fmt: skip
    front = np.full_like(boxes, -1)
    for i, rows in enumerate(boxes):
        some = rows[rows[:, 1] >= 0]
        front[i, : len(some)] = some
    cases.append(Case(
        "front",
        lambda *x: run(*x, return_indices=False, invalid_to_bottom=True), inputs, front,
    ))  # fmt: skip
    check(cases)


def faded(data, counts, names, most, share, sigma, least):
    """Return what soft suppression gives: boxes, places and how many."""
    boxes, places = np.full_like(data, -1), np.full(data.shape[:2], -1, "int32")
    total = np.zeros((len(data), 1), "int32")
    for i, rows in enumerate(data.copy()):
        left = list(range(int(counts[i])))
        while left and (most <= 0 or total[i, 0] < most):
            best = max(left, key=lambda j: rows[j, 1])
            if not rows[best, 1] > least:
                break
            left.remove(best)
            at = total[i, 0]
            boxes[i, at], places[i, at] = rows[best], names[i, best]
            total[i, 0] += 1
            for j in list(left):
                if rows[j, 0] != rows[best, 0]:
                    continue
                common = overlap(rows[best, 2:], rows[j, 2:])
                rows[j, 1] *= np.exp(-0.5 / sigma * common**2)
                if common >= share or rows[j, 1] <= least:
                    left.remove(j)
    return [boxes, places, total]


def test_soft_suppression() -> None:
    data = some_boxes(3, 23, seed=4)
    counts = np.int32([23, 9, 0])
    names = np.random.default_rng(2).permutation(69).reshape(3, 23).astype("int32")
    cases = []
    for i, (most, share, sigma, least) in enumerate(
        [(-1, 0.9, 0.5, 0.1), (4, 0.3, 0.2, 0.0), (0, 2.0, 0.05, 0.3)]
    ):

        def run(x: Any, c: Any, n: Any, given: Any = (most, share, sigma, least)) -> Any:
            most, share, sigma, least = given
            return vision.non_max_suppression(
                x, c, n, most, share, soft_nms_sigma=sigma, score_threshold=least
            )

        want = faded(data, counts, names, most, share, sigma, least)
        dims = ["bn_", "b", "bn"] if i == 0 else ()
        cases.append(Case(f"soft{i}", run, [data, counts, names], want, dims))
    check(cases)


def test_numbers_as_data_and_odd_counts() -> None:
    """Counts out of range, scores that are no numbers, boxes in other places, no boxes."""
    data = np.ascontiguousarray(some_boxes(2, 11, seed=3)[..., [2, 3, 4, 5, 1]])
    names = np.arange(22, dtype="int32").reshape(2, 11)
    counts, most = np.int32([1 << 30, -5]), np.int32([4])
    want, _ = suppressed(data, counts, names, 4, 0.3, at=(0, 4, -1))
    odd = data.copy()
    odd[0, 3, 4] = np.nan
    rest = data.copy()
    rest[0, 3, 4] = -np.inf
    without, _ = suppressed(rest, counts, names, -1, 0.3, at=(0, 4, -1))
    nothing = np.zeros((2, 0, 6), "float32")

    def run(x: Any, c: Any, n: Any, most: Any = -1) -> Any:
        return vision.non_max_suppression(
            x, c, n, most, 0.3, coord_start=0, score_index=4, id_index=-1
        )

    check([
        Case("most", run, [data, counts, names, most], want, ["bn_", "b", "bn", "_"]),
        Case("nan", run, [odd, counts, names], without),
        Case("nothing", lambda *x: vision.non_max_suppression(*x), [nothing, counts, names[:, :0]],
             [names[:, :0], np.int32([[0], [0]])]),
    ])  # fmt: skip


def best_of_classes(
    boxes: np.ndarray, scores: np.ndarray, most: int, share: float, least: float
) -> list[list[tuple[int, int, float]]]:
    found = []
    for corners, classes in zip(boxes, scores, strict=True):
        rows = []
        for c, points in enumerate(classes):
            kept: list[int] = []
            for box in np.argsort(-points, kind="stable"):
                beaten = any(overlap(corners[box], corners[k]) >= share for k in kept)
                if points[box] > least and not beaten and (most <= 0 or len(kept) < most):
                    kept.append(box)
            rows += [(c, box, points[box]) for box in kept]
        found.append(rows)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_classes(dtype: str) -> None:
    boxes = some_boxes(2, 23, seed=5)[..., 2:].astype(dtype)
    scores = np.random.default_rng(6).uniform(-0.2, 1, (2, 3, 23)).astype(dtype)
    cases = []
    for i, (most, share, least) in enumerate([(-1, 0.3, 0.1), (2, 0.5, 0.0), (4, 0.1, 2.0)]):
        found = best_of_classes(boxes, scores, most, share, least)
        rows = [(b, c, box) for b, each in enumerate(found) for c, box, _ in each]
        indices = np.zeros((2 * 3 * 23, 3), "int64")
        indices[: len(rows)] = np.int64(rows).reshape(-1, 3)
        pairs, points = np.zeros((2, 69, 2), "int64"), np.zeros((2, 69), dtype)
        for b, each in enumerate(found):
            for row, (c, box, point) in enumerate(each):
                pairs[b, row], points[b, row] = (c, box), point
        counts = np.int64([len(each) for each in found])
        dims = ["bn_", "bcn"] if i == 0 else ()
        for kind, want in (
            ("onnx", [indices, np.int64([len(rows)])]), ("tensorflow", [pairs, points, counts])
        ):  # fmt: skip
            cases.append(Case(
                f"{kind}{i}", lambda x, s, numbers=(most, share, least), kind=kind:
                vision.all_class_non_max_suppression(x, s, *numbers, kind),
                [boxes, scores], want, dims,
            ))  # fmt: skip
        if i == 1:
            data = [np.int64([most]), np.array([share], dtype), np.array([least], dtype)]
            cases.append(Case(
                "data", vision.all_class_non_max_suppression, [boxes, scores, *data],
                [indices, np.int64([len(rows)])],
            ))  # fmt: skip
    check(cases)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda x, c, n: vision.non_max_suppression(x, n, c), "takes float boxes"),
        (lambda x, c, n: vision.non_max_suppression(x, x, n), "takes float boxes"),
        (lambda x, c, n: vision.non_max_suppression(x, c, n, coord_start=3), "numbers 6 and 1"),
        (lambda x, c, n: vision.non_max_suppression(x, c, n, n), "tensor of one element"),
        (lambda x, c, n: vision.all_class_non_max_suppression(x, x, 1, 0.5, 0.5), "are floats of"),
        (lambda x, c, n: vision.all_class_non_max_suppression(x, n, 1, 0.5, 0.5), "3 dimensions"),
        (lambda x, c, n: vision.all_class_non_max_suppression(x, x, 1, 0.5, 0.5, "torch"),
         "onnx or tensorflow"),
    ],
)  # fmt: skip
def test_refusals(call: Any, why: str) -> None:
    data, counts = te.placeholder((2, 5, 6)), te.placeholder((2,), "int32")
    with pytest.raises(ExprError, match=why):
        call(data, counts, te.placeholder((2, 5), "int32"))
