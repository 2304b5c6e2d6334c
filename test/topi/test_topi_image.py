"""`topi.image` and `topi.vision` against numpy, static and symbolic."""

import itertools
import logging

import numpy as np
import pytest
from te_cases import Case, check, random

from relax_mlir import relax, te, tir, topi
from relax_mlir.errors import ExprError
from relax_mlir.script import relax as R

IMAGE = random(2, 3, 5, 7)
BYTES = np.uint8(IMAGE * 50 + 100)
MODES = {
    "half_pixel": lambda x, n, m: (x + 0.5) * n / m - 0.5,
    "align_corners": lambda x, n, m: x * (n - 1) / max(m - 1, 1),
    "asymmetric": lambda x, n, m: x * n / m,
    "pytorch_half_pixel": lambda x, n, m: (x + 0.5) * n / m - 0.5 if m > 1 else x * 0.0,
    "tf_half_pixel_for_nn": lambda x, n, m: (x + 0.5) * n / m,
}


def weights(n: int, m: int, method: str, mode: str, exclude: bool = False) -> np.ndarray:
    """Return how much each of n pixels counts for each of m."""
    places = MODES[mode](np.arange(m, dtype="float64"), n, m)
    found = np.zeros((m, n))
    for i, x in enumerate(places):
        low, t = int(np.floor(x)), x - np.floor(x)
        if method == "nearest_neighbor":
            taps = {int(np.rint(x) if mode == "align_corners" else np.floor(x + 1e-5)): 1.0}
        elif method == "linear":
            taps = {low: 1 - t, low + 1: t}
        else:
            a = -0.75
            near = [(a + 2) * abs(d) ** 3 - (a + 3) * d * d + 1 for d in (t, 1 - t)]
            far = [a * (d**3 - 5 * d * d + 8 * d - 4) for d in (1 + t, 2 - t)]
            taps = dict(zip(range(low - 1, low + 3), (far[0], *near, far[1]), strict=True))
        if exclude:
            taps = {k: v for k, v in taps.items() if 0 <= k < n}
            taps = {k: v / sum(taps.values()) for k, v in taps.items()}
        for k, v in taps.items():
            found[i, min(max(k, 0), n - 1)] += v
    return found


def resized(method: str, mode: str, exclude: bool = False) -> np.ndarray:
    rows, columns = (weights(n, m, method, mode, exclude) for n, m in ((5, 8), (7, 4)))
    return np.einsum("ya,xb,ncab->ncyx", rows, columns, IMAGE).astype("float32")


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
def test_resize(method: str) -> None:
    check([
        Case(mode, lambda x, mode=mode: topi.image.resize2d(
            x, None, (8, 4), method=method, coordinate_transformation_mode=mode),
            [IMAGE], resized(method, mode), ["nchw"] if mode == "half_pixel" else (), 1e-4)
        for mode in MODES
    ])  # fmt: skip


def test_other_resizes() -> None:
    last = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
    wide = weights(7, 11, "linear", "half_pixel")
    deep = [weights(n, m, "linear", "half_pixel") for n, m in ((3, 2), (5, 6), (7, 7))]
    up = [np.repeat(IMAGE, 2, 2), 2]
    crop = np.stack([IMAGE[1, :, 1:4, 2:6], IMAGE[0, :, 1:4, 2:6]])
    boxes = np.float32([[1 / 4, 2 / 6, 3 / 4, 5 / 6]] * 2)
    outside = np.full((1, 3, 2, 2), 9, "float32")
    outside[..., 0, 0] = IMAGE[0, :, 4, 6]
    check([
        Case("rows", lambda x: topi.image.resize1d(x, None, 11), [IMAGE[:, :, 0]],
             np.einsum("xb,ncb->ncx", wide, IMAGE[:, :, 0]).astype("float32"), ["ncw"]),
        Case("volumes", lambda x: topi.image.resize3d(x, None, (2, 6, 7)), [IMAGE[None]],
             np.einsum("za,yb,xc,nmabc->nmzyx", *deep, IMAGE[None]).astype("float32"), rtol=1e-4),
        Case("last", lambda x: topi.image.resize2d(x, None, (8, 4), "NHWC"), [last],
             resized("linear", "half_pixel").transpose(0, 2, 3, 1), ["nhwc"], 1e-4),
        Case("exclude", lambda x: topi.image.resize2d(x, None, (8, 4), method="cubic",
             bicubic_exclude=1), [IMAGE], resized("cubic", "half_pixel", True), rtol=1e-4),
        Case("bytes", lambda x: topi.image.resize2d(
             x, None, (10, 7), method="nearest_neighbor",
             coordinate_transformation_mode="asymmetric"), [BYTES], np.repeat(BYTES, 2, 2)),
        Case("up", lambda x: topi.nn.upsampling(x, 2, 2), [IMAGE], np.repeat(*up, 3), ["nchw"]),
        Case("up3", lambda x: topi.nn.upsampling3d(
             x, 1, 2, 1, coordinate_transformation_mode="asymmetric"), [IMAGE[None]],
             np.repeat(IMAGE[None], 2, 3), ["n_chw"]),
        Case("roi", lambda x: topi.image.resize2d(
             x, [1 / 4, 2 / 6, 3 / 4, 5 / 6], (3, 4), coordinate_transformation_mode=CROP),
             [IMAGE], IMAGE[:, :, 1:4, 2:6], rtol=1e-4),
        Case("crop", lambda x, b, i: topi.image.crop_and_resize(x, b, i, (3, 4)),
             [IMAGE, boxes, np.int32([1, 0])], crop, ["nchw", "b_", "b"], 1e-4),
        Case("outside", lambda x, b, i: topi.image.crop_and_resize(
             x, b, i, (2, 2), extrapolation_value=9),
             [IMAGE, np.float32([[1, 1, 2, 2]]), np.int32([0])], outside),
    ])  # fmt: skip


CROP = "tf_crop_and_resize"


def sampled(grid: np.ndarray, method: str, padding: str, corners: bool) -> np.ndarray:
    """Return images at the points of a grid, one point after the other."""
    out = np.zeros((2, 3, *grid.shape[2:]))

    def mirrored(x: float, n: int) -> float:
        low, span = (0, n - 1) if corners else (-0.5, n)
        away = abs(x - low)
        rest = away % span
        return min(max(rest + low if away // span % 2 == 0 else span - rest + low, 0), n - 1)

    def placed(x: float, n: int) -> float:
        return {"zeros": x, "border": min(max(x, 0), n - 1), "reflection": mirrored(x, n)}[padding]

    for n, *at in np.ndindex(2, *grid.shape[2:]):
        axes = []
        for axis, size in ((1, 5), (0, 7)):
            g = float(grid[(n, axis, *at)])
            x = (g + 1) * (size - 1) / 2 if corners else (g + 1) * size / 2 - 0.5
            if method == "bicubic":
                low, t = int(np.floor(x)), x - np.floor(x)
                kernel = [
                    (1.25 * d - 2.25) * d * d + 1 if d <= 1 else -0.75 * (((d - 5) * d + 8) * d - 4)
                    for d in (1 + t, t, 1 - t, 2 - t)
                ]
                axes.append([
                    (round(placed(low - 1 + k, size)), w) for k, w in enumerate(kernel)
                ])  # fmt: skip
                continue
            x = placed(x, size)
            low, t = int(np.floor(x)), x - np.floor(x)
            linear = [(low, 1 - t), (low + 1, t)]
            axes.append([(round(x), 1.0)] if method == "nearest" else linear)
        for (y, wy), (x, wx) in itertools.product(*axes):
            if 0 <= y < 5 and 0 <= x < 7:
                out[(n, slice(None), *at)] += IMAGE[n, :, y, x] * wy * wx
    return out.astype("float32")


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample(padding: str) -> None:
    grid = random(2, 2, 4, 3, low=-1.6, high=1.6)
    check([
        Case(f"{method}{int(corners)}", lambda x, g, m=method, c=corners: topi.image.grid_sample(
             x, g, m, "NCHW", padding, c),
             [IMAGE, grid], sampled(grid, method, padding, corners),
             ["n___", "n_hw"] if method == "bilinear" else (), 1e-4)
        for method in ("nearest", "bilinear", "bicubic") for corners in (True, False)
    ])  # fmt: skip


def test_grids() -> None:
    turn = np.float32([[[1, 0, 0], [0, 1, 0]], [[0, 2, 0.5], [-1, 0, 0]]])
    y, x = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 3), indexing="ij")
    flat = np.einsum("nij,jhw->nihw", turn, np.stack([x, y, np.ones_like(x)])).astype("float32")
    # What is nowhere is read nowhere; weights may be no numbers.
    far = np.float32([[[[np.nan, 1e30], [-1e30, 0]]] * 2] * 2)
    none = np.zeros((2, 3))
    check([
        Case("affine", lambda m: topi.image.affine_grid(m, (4, 3)), [turn], flat, ["n__"]),
        Case("nowhere", topi.image.grid_sample, [IMAGE, far],
             np.stack([none * np.nan, none, none, IMAGE[..., 2, 3]], -1).reshape(2, 3, 2, 2)
             .astype("float32")),
    ])  # fmt: skip


def test_dilation() -> None:
    kernel = random(3, 2, 3)
    windows = np.lib.stride_tricks.sliding_window_view(IMAGE, (2, 3), axis=(2, 3))[:, :, ::2]
    want = (windows + kernel[None, :, None, None]).max((-1, -2))
    check([
        Case("first", lambda x, k: topi.image.dilation2d_nchw(x, k, (2, 1), 0, 1), [IMAGE, kernel],
             want, ["n_hw", "___"]),
        Case("last", lambda x, k: topi.image.dilation2d_nhwc(x, k, (2, 1), "VALID", 1),
             [np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1)),
              np.ascontiguousarray(kernel.transpose(1, 2, 0))], want.transpose(0, 2, 3, 1)),
    ])  # fmt: skip


def aligned(rois: np.ndarray, count: int, largest: bool) -> np.ndarray:
    """Return the bins of regions, two by three, with so many samples along each side of a bin."""
    out = np.zeros((len(rois), 3, 2, 3))
    for r, (batch, x0, y0, x1, y1) in enumerate(rois * [1, 0.5, 0.5, 0.5, 0.5]):
        sides = [max(y1 - y0, 1) / 2, max(x1 - x0, 1) / 3]
        for c, i, j in np.ndindex(3, 2, 3):
            found = []
            counts = [count if count > 0 else int(np.ceil(side)) for side in sides]
            for a, b in np.ndindex(*counts):
                y = y0 + (i + (a + 0.5) / counts[0]) * sides[0]
                x = x0 + (j + (b + 0.5) / counts[1]) * sides[1]
                if y < -1 or x < -1 or y > 5 or x > 7:
                    found.append(0.0)
                    continue
                y, x = min(max(y, 0), 4), min(max(x, 0), 6)
                ys, xs = min(int(y), 3), min(int(x), 5)
                part = IMAGE[int(batch), c, ys : ys + 2, xs : xs + 2]
                t, u = y - ys, x - xs
                found.append(np.float64([1 - t, t]) @ part @ [1 - u, u])
            out[r, c, i, j] = max(found) if largest else np.mean(found)
    return out.astype("float32")


def test_regions() -> None:
    rois = np.float32([[0, 1, 1, 9, 8], [1, -9, 0, 30, 6], [1, 3, 3, 3, 3]])
    # Corners are rounded and both in the region; bins overlap where pixels do not divide.
    pooled = np.zeros((2, 3, 2, 2), "float32")
    pooled[0] = [[[c[:2, :3].max(), c[:2, 2:].max()], [c[1:3, :3].max(), c[1:3, 2:].max()]]
                 for c in IMAGE[0][:, 1:4, 1:6]]  # fmt: skip
    pooled[1] = IMAGE[1][:, 2, 2][:, None, None]
    boxes = np.float32([[0, 1, 1, 5, 3], [1, 2, 2, 2, 2]])
    check([
        Case("mean", lambda x, r: topi.vision.roi_align(x, r, (2, 3), 0.5, "avg", 2), [IMAGE, rois],
             aligned(rois, 2, False), ["nchw", "r_"], 1e-4),
        Case("max", lambda x, r: topi.vision.roi_align_nchw(x, r, (2, 3), 0.5, "max"),
             [IMAGE, rois], aligned(rois, 0, True), rtol=1e-4),
        Case("last", lambda x, r: topi.vision.roi_align_nhwc(x, r, (2, 3), 0.5, "avg", 3),
             [np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1)), rois],
             aligned(rois, 3, False).transpose(0, 2, 3, 1), rtol=1e-4),
        Case("pool", lambda x, r: topi.vision.roi_pool(x, r, 2, 1.0), [IMAGE, boxes], pooled,
             ["nchw", "r_"]),
    ])  # fmt: skip


def test_boxes() -> None:
    classes, places = random(2, 3, 4), random(2, 16, low=-0.3, high=0.3)
    anchors = np.float32([[[0, 0, 1, 1], [0.2, 0.1, 0.5, 0.7], [0, 0.5, 1, 0.6], [0, 0, 0.1, 2]]])
    loc = places.reshape(2, 4, 4)
    size = np.stack([anchors[..., 2] - anchors[..., 0], anchors[..., 3] - anchors[..., 1]], -1)
    middle = (anchors[..., :2] + anchors[..., 2:]) / 2 + loc[..., :2] * 0.1 * size
    half = np.exp(loc[..., 2:] * 0.2) * size / 2
    box = np.concatenate([(middle - half)[..., ::-1], (middle + half)[..., ::-1]], -1).clip(0, 1)
    scores = np.exp(classes) / np.exp(classes).sum(1, keepdims=True)
    scores = np.where(scores >= 0.3, scores, 0)
    scores[:, 0] = 0
    found = np.float32([[[0, 0.9, 1], [-1, 0.8, 2], [1, 0.1, 3], [2, 0.7, 4]]])
    front = np.float32([[[0, 0.9, 1], [2, 0.7, 4], [-1, -1, -1], [-1, -1, -1]]])
    check([
        Case("decode", lambda c, b, a: topi.vision.multibox_transform_loc(
             c, b, a, (0.1, 0.1, 0.2, 0.2), True, 0.3, False),
             [classes, places, anchors], [box.astype("float32"), scores.astype("float32")]),
        Case("valid", lambda x: topi.vision.get_valid_counts(x, 0.5), [found],
             [np.int32([2]), front, np.int32([[0, 3, -1, -1]])], ["bn_"]),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda x: topi.image.resize2d(x, None, (2, 2), "NCW"), "layout is an order of"),
        (lambda x: topi.image.resize2d(x, None, (2, 2), method="best"), "method is nearest"),
        (lambda x: topi.image.resize2d(x, None, 3), "size needs 2 numbers"),
        (lambda x: topi.image.resize2d(
            x, None, (2, 2), coordinate_transformation_mode="middle"), "is one of half_pixel"),
        (lambda x: topi.image.resize2d(x, None, (2, 2), rounding_method="up"), "rounding_method"),
        (lambda x: topi.image.resize2d(x, None, (2, 2), coordinate_transformation_mode=CROP),
         "roi needs 4 numbers"),
        (lambda x: topi.image.grid_sample(x, x), "does not fit"),
        (lambda x: topi.vision.roi_align(x, x, 2, 1.0), "regions are rows"),
        (lambda x: topi.nn.upsampling(te.placeholder((1, 1, te.var("n"), 2)), 1.5, 2),
         "is no whole number"),
    ],
)  # fmt: skip
def test_refusals(call, why: str) -> None:
    with pytest.raises(ExprError, match=why):
        call(te.placeholder((2, 3, 5, 7), name="x"))


def test_resizes_have_fast_paths(caplog: pytest.LogCaptureFixture) -> None:
    bb = relax.BlockBuilder()
    cases = [(1, "NCW", "linear"), (2, "NHWC", "cubic"), (2, "NCHW", "nearest_neighbor"),
             (3, "NCDHW", "linear")]  # fmt: skip
    for rank, layout, method in cases:
        dims = [tir.Var(letter) if letter in "DHW" else 4 for letter in layout]
        x = relax.Var("x", R.Tensor(tuple(dims), "float32"))
        resize = getattr(topi.image, f"resize{rank}d")
        with bb.function(f"{method}{rank}", [x]):
            size = [9, 31, 70][3 - rank :]
            bb.emit_func_output(bb.emit_te(resize, x, (0.0,) * 2 * rank, size, layout, method))
    with caplog.at_level(logging.WARNING, "relax_mlir.kernels"):
        relax.build(bb.get())
    assert not caplog.records
