"""`topi`: sorting, places that data gives, slices, layouts and transforms against numpy."""

import numpy as np
import pytest
from te_cases import Case, check, random

from relax_mlir import te, tir, topi
from relax_mlir.errors import ExprError

X = random(4, 5, 3)
ROW = np.float32([3, -1, np.nan, 7, 0, -0.0, 7, 2, np.inf])
PLACES = np.array([[0, 3, -1], [2, 2, 1]])


def test_in_order() -> None:
    best = np.argsort(-X, axis=1, kind="stable")
    check([
        Case("sort", lambda x: topi.sort(x, 1), [X], np.sort(X, 1), ["nmk"]),
        Case("down", lambda x: topi.sort(x, -1, is_ascend=0), [X], np.sort(X, -1)[..., ::-1]),
        Case("nan", topi.sort, [ROW], np.sort(ROW), ["n"]),
        Case("argsort", lambda x: topi.argsort(x, axis=0, dtype="int32"), [X],
             np.argsort(X, 0, kind="stable").astype("int32"), ["nmk"]),
        Case("floats", topi.argsort, [X], np.argsort(X, -1, kind="stable").astype("float32")),
        Case("both", lambda x: topi.topk(x, 2, 1), [X],
             [np.take_along_axis(X, best, 1)[:, :2], best[:, :2]], ["n_k"]),
        Case("least", lambda x: topi.topk(x, 3, 1, "indices", True, "int32"), [X],
             np.argsort(X, 1, kind="stable")[:, :3].astype("int32"), ["n_k"]),
        Case("every", lambda x: topi.topk(x, 0, 1, "values"), [X], -np.sort(-X, 1), ["nmk"]),
    ])  # fmt: skip


def test_searching() -> None:
    edges, values = np.sort(ROW), np.float32([[-1, 0, 8], [np.nan, 7, -9]])
    rows = np.sort(random(2, 6), -1)
    by_row = [np.searchsorted(r, v) for r, v in zip(rows, values, strict=True)]
    after = [np.searchsorted(r, v, "right") for r, v in zip(rows, rows[:, :3], strict=True)]
    check([
        Case("left", topi.searchsorted, [edges, values], np.searchsorted(edges, values),
             ["n", "mk"]),
        Case("right", lambda a, b: topi.searchsorted(a, b, True, "int32"), [edges, values],
             np.searchsorted(edges, values, "right").astype("int32"), ["n", "mk"]),
        Case("rows", topi.searchsorted, [rows, values], np.stack(by_row), ["nm", "nk"]),
        Case("after", lambda a, b: topi.searchsorted(a, b, True), [rows, rows[:, :3]],
             np.stack(after), ["nm", "nk"]),
    ])  # fmt: skip


def test_places() -> None:
    values = random(2, 3, 5, 3)
    put, added = X.copy(), X.copy()
    put[PLACES] = values
    np.add.at(added, PLACES, values)
    numbers = np.array([[0, 7], [59, 31]])
    dense = np.zeros((4, 5), "float32")
    dense[PLACES[0], PLACES[1]] = [5, 6, 7]
    check([
        Case("index", lambda x, i: topi.adv_index(x, [i]), [X, PLACES], X[PLACES], ["nmk", "ab"]),
        Case("pairs", lambda x, i, j: topi.index_tensor(x, [i, j]), [X, PLACES, PLACES[:1]],
             X[PLACES, PLACES[:1]], ["nmk", "_a", "_a"]),
        Case("put", lambda x, i, v: topi.index_put(x, [i], v), [X, PLACES, values], put,
             ["nmk", "ab", "abmk"]),
        Case("add", lambda x, i, v: topi.index_put(x, [i], v, True), [X, PLACES, values], added,
             ["nmk", "ab", "abmk"]),
        Case("row", lambda x, i, v: topi.index_put(x, [i], v), [X, PLACES[0, :2], X[0, :1]],
             np.concatenate([np.tile(X[0, :1], (1, 5, 1)), X[1:3], np.tile(X[0, :1], (1, 5, 1))])),
        Case("unravel", lambda x: topi.unravel_index(x, (4, 5, 3)), [numbers],
             np.stack(np.unravel_index(numbers, (4, 5, 3))), ["nm"]),
        Case("by_data", topi.unravel_index, [numbers, np.array([4, 5, 3])],
             np.stack(np.unravel_index(numbers, (4, 5, 3))), ["nm", "_"]),
        Case("dense", lambda i, v: topi.sparse_to_dense(i, (4, 5), v),
             [PLACES.T.copy(), np.float32([5, 6, 7])], dense),
        Case("vector", lambda i: topi.sparse_to_dense(
            i, (5,), te.compute((), lambda: te.const(2, "int32")), -1),
            [np.array([1, 3])], np.int32([-1, 2, -1, 2, -1])),
    ])  # fmt: skip


def test_diagonals() -> None:
    matrix = random(2, 3, 4)
    main, band = matrix.copy(), matrix.copy()
    for i in range(3):
        main[:, i, i] = [i, 10 + i]
    given = np.arange(2 * 3 * 3).reshape(2, 3, 3).astype("float32")
    # The diagonals 1, 0 and -1 of three rows and four columns: 3, 3 and 2 elements.
    for row, k in enumerate((1, 0, -1)):
        size = 2 if k < 0 else 3
        for j in range(size):
            band[:, j - min(k, 0), j + max(k, 0)] = given[:, row, j]
    right = band.copy()
    for j in range(2):
        right[:, j + 1, j] = given[:, 2, j + 1]
    diagonal = np.float32([[0, 1, 2], [10, 11, 12]])
    check([
        Case("main", topi.matrix_set_diag, [matrix, diagonal], main, ["nmk", "n_"]),
        Case("band", lambda x, d: topi.matrix_set_diag(x, d, (-1, 1)), [matrix, given], band,
             ["nmk", "n__"]),
        Case("right", lambda x, d: topi.matrix_set_diag(x, d, (-1, 1), "RIGHT_RIGHT"),
             [matrix, given], right),
    ])  # fmt: skip


def test_slices_of_data() -> None:
    begin, steps = np.array([1, -4, 0]), np.array([1, 2, 1])
    new = random(4, 2, 3)
    put, scattered = X.copy(), X.copy()
    put[:, 1:4:2] = new
    scattered[:, 1:5:3] = new
    back = X.copy()
    back[:, 3:0:-2] = new
    turned = X.copy()
    for row, length in enumerate((0, 2, 5, 1)):
        turned[row, :length] = X[row, :length][::-1]
    windows = np.lib.stride_tricks.sliding_window_view(X, (2, 3), axis=(1, 2))[:, ::2]
    check([
        Case("slice", lambda x, b, s: topi.dynamic_strided_slice(x, b, b, s, (2, 2, 3)),
             [X, begin, steps], X[1:3, 1:4:2], ["nmk", "_", "_"]),
        Case("set", lambda x, v: topi.strided_set(x, v, [0, 1, 0], [4, 4, 3], [1, 2, 1]), [X, new],
             put, ["n_k", "n_k"]),
        Case("back", lambda x, v: topi.strided_set(x, v, [0, 3, 0], [4, 0, 3], [1, -2, 1]),
             [X, new], back),
        Case("scatter", lambda x, v: topi.slice_scatter(x, v, 1, -1 + 6, 3, 1), [X, new],
             scattered, ["n_k", "n_k"]),
        Case("reverse", topi.reverse_sequence, [X, np.array([0, 2, 5, 1])], turned, ["nmk", "n"]),
        Case("windows", lambda x: topi.sliding_window(x, 1, (2, 3), (2, 1)), [X], windows,
             ["nm_"]),
    ])  # fmt: skip


def test_layouts_and_shapes() -> None:
    image = random(2, 32, 3, 5)
    blocked = image.reshape(2, 2, 16, 3, 5).transpose(0, 1, 3, 4, 2)
    kernel = random(8, 4, 3, 3)
    both = kernel.reshape(2, 4, 2, 2, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    check([
        Case("blocks", lambda x: topi.layout_transform(x, "NCHW", "NCHW16c"), [image], blocked,
             ["n_hw"]),
        Case("plain", lambda x: topi.layout_transform(x, "NCHW16c", "NHWC"),
             [np.ascontiguousarray(blocked)], image.transpose(0, 2, 3, 1), ["nchw_"]),
        Case("other", lambda x: topi.layout_transform(x, "NCHW16c", "NCHW8c"),
             [np.ascontiguousarray(blocked)],
             image.reshape(2, 4, 8, 3, 5).transpose(0, 1, 3, 4, 2)),
        Case("kernel", lambda x: topi.layout_transform(x, "OIHW", "OIHW2i4o"), [kernel], both),
        Case("shape", topi.shape, [X], np.int32([4, 5, 3]), ["nmk"]),
        Case("size", lambda x: topi.tensor_size(x, "int64"), [X], np.int64(60), ["nmk"]),
        Case("like", lambda x, y: topi.expand_like(x, y, [1]), [X[:, 0], X],
             np.tile(X[:, :1], (1, 5, 1)), ["nk", "nmk"]),
        Case("dyn_tile", lambda x: topi.dyn_tile(x, (2, 4, 10, 3), 4), [X],
             np.tile(X, (2, 1, 2, 1))),
        Case("collapse", lambda x: topi.collapse_sum(x, (5, 1)), [X],
             X.sum((0, 2))[:, None], ["n_k"]),
        Case("log2", topi.ceil_log2, [np.int32([1, 2, 3, 4, 5, 1 << 30])],
             np.int32([0, 1, 2, 2, 3, 30]), ["n"]),
        Case("scan", lambda x: topi.scanop(x, tir.max, -10, "cummax", 1), [X],
             np.maximum.accumulate(X, 1), ["nmk"]),
    ])  # fmt: skip


def test_fourier() -> None:
    real, imaginary = random(3, 12), random(2, 12)[:1].repeat(3, 0)
    found, signal = np.fft.fft(real + 1j * imaginary), random(2, 40)
    window = np.hamming(9)[:-1].astype("float32")
    parts = np.stack([signal[:, i : i + 12] for i in range(0, 28, 4)], 1)
    parts = parts * np.pad(window, 2)
    spectra = np.fft.rfft(parts).transpose(0, 2, 1) / np.sqrt(12)
    back = np.fft.ifft(real + 1j * imaginary)
    check([
        Case("dft", topi.dft, [real, imaginary], [found.real.astype("float32"),
             found.imag.astype("float32")], ["nm", "nm"], 2e-5),
        Case("inverse", lambda a, b: topi.dft(a, b, True), [real, imaginary],
             [back.real.astype("float32"), back.imag.astype("float32")], rtol=2e-5),
        Case("stft", lambda x, w: topi.stft(x, 12, 4, 8, w, True, True, (2, 7, 7, 2)),
             [signal, window],
             np.stack([spectra.real, spectra.imag], -1).astype("float32"), rtol=2e-5),
        Case("hamming", lambda x: topi.broadcast_to(topi.hamming_window(8), (2, 8)) + x,
             [np.zeros((2, 8), "float32")], np.tile(window, (2, 1))),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda x: topi.topk(x, 9, 1), "is not known to have 9 elements"),
        (lambda x: topi.topk(x, 1, 1, "best"), "both, values or indices"),
        (lambda x: topi.argsort(x, x), "takes no valid_count"),
        (lambda x: topi.layout_transform(x, "NCW", "NCW4c"), "makes no whole blocks of 4"),
        (lambda x: topi.layout_transform(x, "NCW", "NCH"), "other axes"),
        (lambda x: topi.layout_transform(x, "NcW", "NCW"), "is no layout"),
        (lambda x: topi.adv_index(x, []), "from 1 to 3 tensors of indices"),
        (lambda x: topi.adv_index(x, [x]), "integer indices"),
        (lambda x: topi.slice_scatter(x, x, 0, 4, -1, 0), "step is at least 1"),
        (lambda x: topi.sliding_window(x, 1, (9, 1), (1, 1)), "a window of 9 in 5 elements"),
        (lambda x: topi.matrix_set_diag(x, x), "does not fit"),
        (lambda x: topi.collapse_sum(x, (4, 2, 3)), "does not collapse to"),
        (lambda x: topi.searchsorted(x, te.placeholder((2, 5))), "does not fit rows"),
        (lambda x: topi.unravel_index(topi.cast(x, "int32"),
                                      te.placeholder((te.var("n"),), "int32")),
         "a known number of dimensions"),
    ],
)  # fmt: skip
def test_refusals(call, why: str) -> None:
    with pytest.raises(ExprError, match=why):
        call(te.placeholder((4, 5, 3), name="x"))


def test_names_without_a_counterpart_say_why() -> None:
    with pytest.raises(AttributeError, match=r"topi\.nn has no 'bitserial_dense'.*int8"):
        _ = topi.nn.bitserial_dense
    with pytest.raises(AttributeError, match=r"topi has no 'unique'.*R\.unique"):
        _ = topi.unique
    with pytest.raises(AttributeError, match="did you mean 'roi_align'"):
        _ = topi.vision.roi_alin
    with pytest.raises(AttributeError, match="te has no 'thread_axis'"):
        _ = te.thread_axis


def test_modules_hide_no_functions() -> None:
    """Importing a module makes it an attribute of its package."""
    for package in (te, topi, topi.nn, topi.image, topi.vision):
        for name in dir(package):
            getattr(package, name)
        for name in (name for names in package._EXPORTS.values() for name in names):
            assert callable(getattr(package, name)), f"{package.__name__}.{name}"
