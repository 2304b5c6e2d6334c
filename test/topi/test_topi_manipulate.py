"""`topi`: shapes, orders, indices and creation against numpy, static and symbolic."""

import numpy as np
import pytest
from te_cases import Case, check, random

from relax_mlir import te, tir, topi
from relax_mlir.errors import ExprError, ExprTypeError

X, Y = random(4, 5, 3), random(2, 5, 3)


def test_shapes() -> None:
    check([
        Case("transpose", topi.transpose, [X], X.T, ["nmk"]),
        Case("permuted", lambda x: topi.transpose(x, (1, 2, 0)), [X], X.transpose(1, 2, 0),
             ["nmk"]),
        Case("expand", lambda x: topi.expand_dims(x, 1, 2), [X], X[:, None, None], ["nmk"]),
        Case("squeeze", topi.squeeze, [X[:, None]], X, ["n_mk"]),
        Case("one", lambda x: topi.squeeze(x, -1), [X[..., None]], X, ["nmk_"]),
        Case("reshape", lambda x: topi.reshape(x, (10, -1)), [X], X.reshape(10, -1)),
        Case("joined", lambda x: topi.reshape(x, (-1, x.shape[2])), [X], X.reshape(-1, 3),
             ["nmk"]),
        Case("flatten", topi.flatten, [X], X.ravel(), ["nmk"]),
        Case("flip", lambda x: topi.flip(x, 1), [X], X[:, ::-1], ["nmk"]),
        Case("roll", lambda x: topi.roll(x, 2, 1), [X], np.roll(X, 2, 1), ["nmk"]),
        Case("back", lambda x: topi.roll(x, -7, -1), [X], np.roll(X, -7, -1), ["nmk"]),
        Case("round", lambda x: topi.roll(x, 2**40, 0), [X], np.roll(X, 2**40, 0), ["nmk"]),
        Case("none", lambda x: topi.roll(x, 2, 2), [X[..., :0]], X[..., :0], ["nmk"]),
        Case("tile", lambda x: topi.tile(x, (2, 1, 3)), [X], np.tile(X, (2, 1, 3)), ["nmk"]),
        Case("more", lambda x: topi.tile(x, (2, 1, 1, 1)), [X], np.tile(X, (2, 1, 1, 1)),
             ["nmk"]),
        Case("repeat", lambda x: topi.repeat(x, 3, 1), [X], np.repeat(X, 3, 1), ["nmk"]),
    ])  # fmt: skip


def test_joining_and_cutting() -> None:
    check([
        Case("concat", lambda x, y: topi.concatenate([x, y, x]), [X, Y], np.concatenate([X, Y, X]),
             ["nmk", "lmk"]),
        Case("last", lambda x: topi.concatenate([x, x * 2], -1), [X],
             np.concatenate([X, X * 2], -1), ["nmk"]),
        Case("stack", lambda x: topi.stack([x, x], 1), [X], np.stack([X, X], 1), ["nmk"]),
        Case("thirds", lambda x: topi.split(x, 2, 0), [X], np.split(X, 2), ["_mk"]),
        Case("cuts", lambda x: topi.split(x, [1, 4], 1), [X], np.split(X, [1, 4], 1), ["n_k"]),
    ])  # fmt: skip


@pytest.mark.parametrize("symbolic", [False, True])
def test_slices(symbolic: bool) -> None:
    wanted = [
        (1, 4, 1), (0, 100, 2), (-3, -1, 1), (3, 0, -1), (None, None, -2), (4, 2, 1), (-100, 3, 1),
    ]  # fmt: skip
    check([
        Case(f"slice{i}", lambda x, p=part: topi.strided_slice(x, [p[0]], [p[1]], [p[2]], [1]),
             [X], X[:, slice(*part)], ["nmk" if symbolic else "___"])
        for i, part in enumerate(wanted)
    ])  # fmt: skip


def test_slices_by_size() -> None:
    sizes = [1, 2], [2, -1]
    check([
        Case("sizes", lambda x: topi.strided_slice(x, *sizes, slice_mode="size"), [X],
             X[1:3, 2:], ["nmk"]),
    ])  # fmt: skip
    wanted = topi.testing.strided_slice_python(X, *sizes, [3, 3], "size")
    np.testing.assert_array_equal(wanted, X[1:3, 2:])
    chosen = topi.testing.strided_slice_python(X, [3, 0], [0, 9], [-2], axes=[2, 0])
    np.testing.assert_array_equal(chosen, X[0:9, :, 3:0:-2])


def test_indices() -> None:
    at = np.array([[0, 3], [2, 9]], "int64")
    where = np.array([[0, -1, 2], [3, 1, 1]], "int32")
    places = np.array([[0, 1, 3], [4, 0, -1]], "int64")
    flat = X[:, :, 0].copy()
    lengths = np.array([1, 4, 0, 2, 3], "int32")
    masked = np.where(np.arange(4)[:, None] < lengths, flat, -1).astype("float32")
    check([
        Case("take", lambda x, i: topi.take(x, i, 1), [X, at], X.take(at, 1, mode="clip"),
             ["nmk", "ab"]),
        Case("wrap", lambda x, i: topi.take(x, i, 1, mode="wrap"), [X, at],
             X.take(at, 1, mode="wrap"), ["nmk", "ab"]),
        Case("flat", topi.take, [X, at], X.take(at), ["nmk", "ab"]),
        Case("batched", lambda x, i: topi.take(x, i, 1, 1), [flat[:2], at % 5],
             np.take_along_axis(flat[:2], at % 5, 1), ["bm", "ba"]),
        Case("gather", lambda x, i: topi.gather(x, 0, i), [flat, where],
             flat[where, np.arange(3)], ["nm", "ab"]),
        Case("gather_nd", topi.gather_nd, [X, places], X[tuple(places)], ["nmk", "_a"]),
        Case("mask", lambda x, n: topi.sequence_mask(x, n, -1.0), [flat, lengths], masked,
             ["nm", "m"]),
    ])  # fmt: skip


def test_scatter() -> None:
    flat, new = X[:, :, 0].copy(), random(2, 3)
    where = np.array([[0, -1, 2], [3, 1, 1]], "int32")
    places = np.array([[0, 1, -1], [4, 0, 2]], "int64")
    rows = random(3, 3)
    put, added, nd, summed = flat.copy(), flat.copy(), flat.copy(), X.copy()
    for i in range(2):
        for j in range(3):
            put[where[i, j], j] = new[i, j]
            added[i, where[i, j]] += new[i, j]
    nd[tuple(places)] = new[0]
    np.add.at(summed, tuple(places), rows)
    check([
        Case("put", topi.scatter_elements, [flat, where, new], put, ["nm", "ab", "ab"]),
        Case("added", lambda x, i, u: topi.scatter_elements(x, i, u, 1, "add"),
             [flat, where, new], added, ["nm", "ab", "ab"]),
        Case("nd", topi.scatter_nd, [flat, places, new[0].copy()], nd, ["nm", "_a", "a"]),
        Case("summed", lambda x, i, u: topi.scatter_nd(x, i, u, "add"), [X, places, rows], summed,
             ["nmk", "_a", "ak"]),
    ])  # fmt: skip


def test_creation() -> None:
    ids = np.array([[1, 0], [2, 5]], "int64")
    hot = np.where(np.arange(4)[None, :, None] == ids[:, None], 2.0, -1.0).astype("float32")
    square = random(2, 4, 5)
    check([
        Case("full", lambda x: topi.full((2, 3), "int8", 7), [X], np.full((2, 3), 7, "int8")),
        Case("like", lambda x: topi.full_like(x, 1.5), [X], np.full_like(X, 1.5), ["nmk"]),
        Case("zeros", topi.zeros_like, [X], np.zeros_like(X), ["nmk"]),
        Case("arange", lambda x: topi.arange(1, 8, 2, "int32"), [X], np.arange(1, 8, 2, "int32")),
        Case("fractions", lambda x: topi.arange(0.5, 2, 0.25), [X],
             np.arange(0.5, 2, 0.25, "float32")),
        Case("down", lambda x: topi.arange(5, 0, -2, "int64"), [X], np.arange(5, 0, -2)),
        Case("counted", lambda x: topi.arange(x.shape[0], dtype="int64"), [X], np.arange(4),
             ["nmk"]),
        Case("lower", lambda x: topi.tril(x, 1), [square], np.tril(square, 1), ["bnm"]),
        Case("upper", lambda x: topi.triu(x, -1), [square], np.triu(square, -1), ["bnm"]),
        Case("eye", lambda x: topi.eye(x.shape[0], 5, 1), [square[0]], np.eye(4, 5, 1, "float32"),
             ["n_"]),
        Case("mesh", lambda x, y: topi.meshgrid([x, y], "xy"), [X[0, 0], X[0, :, 0].copy()],
             np.meshgrid(X[0, 0], X[0, :, 0]), ["n", "m"]),
        Case("one_hot", lambda i: topi.one_hot(i, 2, -1, 4, 1, "float32"), [ids], hot, ["nm"]),
    ])  # fmt: skip


def test_errors() -> None:
    n = tir.Var("n")
    x = te.placeholder((n, 4), name="x")
    with pytest.raises(ExprError, match=r"topi\.reshape: .* has n \* 4 elements.* has 8"):
        topi.reshape(x, (2, 4))
    with pytest.raises(ExprError, match="dimension 0 has n elements, not 1"):
        topi.squeeze(x, 0)
    with pytest.raises(ExprError, match="no order of 2 dimensions"):
        topi.transpose(x, (0, 0))
    with pytest.raises(ExprError, match="does not go with"):
        topi.concatenate([x, te.placeholder((3, 5))])
    with pytest.raises(ExprTypeError, match=r"topi\.take takes integer indices, got float32"):
        topi.take(x, x)
    with pytest.raises(ExprError, match="mode is one of clip, wrap, fast"):
        topi.take(x, te.placeholder((2,), "int32"), mode="nan")
    with pytest.raises(ExprError, match="step other than 0"):
        topi.arange(0, 4, 0)
