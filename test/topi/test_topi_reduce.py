"""`topi`: reductions, scans and products against numpy, static and symbolic."""

import logging

import numpy as np
import pytest
from te_cases import Case, build, check, random

from relax_mlir import te, tir, topi
from relax_mlir.errors import ExprError

X = random(4, 5, 3)


def test_reductions() -> None:
    cases = []
    for name in ("sum", "prod", "max", "min"):
        for axis, keep in ((None, False), (1, True), ((0, -1), False), ([], False)):
            tag = f"{name}_{len(cases)}"
            over = axis if isinstance(axis, (int, type(None))) else tuple(axis)
            want = getattr(np, name)(X, axis=over, keepdims=keep)
            cases.append(
                Case(
                    tag,
                    lambda x, name=name, a=axis, k=keep: getattr(topi, name)(x, a, k),
                    [X],
                    want,
                    ["nmk"],
                )
            )
    check(cases)


def test_reductions_of_other_dtypes() -> None:
    half, ints, bools = X.astype("float16"), random(4, 5, dtype="int32"), random(4, 5, dtype="bool")
    empty = np.zeros((3, 0), "float32")
    check([
        Case("half", lambda x: topi.sum(x, 1), [half], half.sum(1), ["nmk"], 2e-3),
        Case("ints", lambda x: topi.max(x, 0), [ints], ints.max(0), ["nm"]),
        Case("every", lambda x: topi.all(x, 1), [bools], bools.all(1), ["nm"]),
        Case("some", lambda x: topi.any(x, 1), [ints], ints.any(1), ["nm"]),
        Case("least", lambda x: topi.min(x, 1), [bools], bools.min(1), ["nm"]),
        Case("nothing", lambda x: topi.sum(x, 1), [empty], empty.sum(1), ["nm"]),
        Case("apart", lambda x: topi.variance(x, 1), [X], X.var(1), ["nmk"]),
        Case("deviation", lambda x: topi.std(x, None, True), [X], X.std(keepdims=True), ["nmk"]),
        Case("middle", lambda x: topi.mean(x, (0, 2), True), [X], X.mean((0, 2), keepdims=True),
             ["nmk"]),
    ])  # fmt: skip


def test_argmax_and_argmin() -> None:
    ties = np.array([[1, 3, 3, 0], [-np.inf] * 4, [1, np.nan, 5, np.nan]], "float32")
    ints = random(4, 6, dtype="int64")
    long = random(3, 1013, low=-100, high=100, dtype="int32")

    def want(array: np.ndarray, axis: int | None, what: str = "argmax") -> np.ndarray:
        return np.asarray(getattr(np, what)(array, axis), "int32")

    check([
        Case("ties", lambda x: topi.argmax(x, 1), [ties], want(ties, 1), ["nm"]),
        Case("last", lambda x: topi.argmax(x, 1, select_last_index=True), [ties[:2]],
             np.array([2, 3], "int32"), ["nm"]),
        Case("whole", topi.argmin, [ints], want(ints, None, "argmin"), ["nm"]),
        Case("kept", lambda x: topi.argmin(x, 0, True), [ints],
             want(ints, 0, "argmin")[None], ["nm"]),
        Case("none", lambda x: topi.argmax(x, 1, select_last_index=True), [ties],
             np.array([2, 3, 1], "int32"), ["nm"]),
        Case("deep", lambda x: topi.argmin(x), [X], want(X, None, "argmin"), ["nmk"]),
        Case("halves", lambda x: topi.argmax(x, 1), [ties.astype("float16")], want(ties, 1)),
        Case("bools", lambda x: topi.argmin(x, 0), [ints > 0], want(ints > 0, 0, "argmin")),
        Case("bytes", lambda x: topi.argmax(x, 1, select_last_index=True),
             [np.uint8([[255, 255, 0], [0, 0, 0]])], np.array([1, 2], "int32")),
        Case("long", lambda x: topi.argmax(x, 1), [long], want(long, 1), ["nm"]),
        Case("nothing", lambda x: topi.argmax(x, 1), [ties[:, :0]],
             np.array([-1, -1, -1], "int32")),
    ])  # fmt: skip


def test_arg_reductions_have_a_fast_path(caplog: pytest.LogCaptureFixture) -> None:
    x = random(64, 129)
    with caplog.at_level(logging.WARNING, "relax_mlir.kernels"):
        build([Case("rows", lambda x: topi.argmax(x, 1, False, True), [x], None, ["nm"]),
               Case("all", topi.argmin, [x], None, ["nm"])], symbolic=True)  # fmt: skip
    assert not caplog.messages


def test_scans() -> None:
    exclusive = np.cumsum(X, 1) - X
    check([
        Case("sums", lambda x: topi.cumsum(x, 1), [X], np.cumsum(X, 1), ["nmk"]),
        Case("row", topi.cumsum, [X], np.cumsum(X), ["nmk"]),
        Case("products", lambda x: topi.cumprod(x, 0), [X], np.cumprod(X, 0), ["nmk"]),
        Case("before", lambda x: topi.cumsum(x, 1, exclusive=True), [X], exclusive, ["nmk"]),
        Case("wider", lambda x: topi.cumsum(x, 0, "int64"), [X[0].astype("int32")],
             np.cumsum(X[0].astype("int32"), 0, dtype="int64"), ["nm"]),
    ])  # fmt: skip


def test_products() -> None:
    a, b, v = random(5, 7), random(7, 3), random(7)
    batch, many = random(2, 1, 5, 7), random(4, 7, 3)
    check([
        Case("plain", topi.matmul, [a, b], a @ b, ["nk", "km"]),
        Case("turned", lambda x, y: topi.matmul(x, y, True, True), [a.T.copy(), b.T.copy()], a @ b,
             ["kn", "mk"]),
        Case("vector", topi.matmul, [a, v], a @ v, ["nk", "k"]),
        Case("dot", topi.matmul, [v, v], v @ v, ["k", "k"]),
        Case("batches", topi.matmul, [batch, many], batch @ many, ["a_nk", "bkm"]),
        Case("half", topi.matmul, [a.astype("float16"), b.astype("float16")],
             (a @ b).astype("float16"), ["nk", "km"], 1e-2),
        Case("dense", topi.nn.dense, [a, b.T.copy()], a @ b, ["nk", "mk"]),
        Case("biased", topi.nn.dense, [a, b.T.copy(), v[:3]], a @ b + v[:3], ["nk", "mk", "m"]),
        Case("batch_matmul", topi.nn.batch_matmul, [random(2, 3, 4), random(2, 5, 4)],
             random(2, 3, 4) @ random(2, 5, 4).swapaxes(1, 2), ["bnk", "bmk"]),
        Case("einsum", lambda x, y: topi.einsum("ij,jk->ki", x, y), [a, b], (a @ b).T,
             ["nk", "km"]),
        Case("trace", lambda x: topi.einsum("ii->", x), [a[:5, :5].copy()], np.trace(a[:5, :5])),
        Case("tensordot", lambda x, y: topi.tensordot(x, y, 1), [a, b], a @ b, ["nk", "km"]),
        Case("outer", lambda x, y: topi.tensordot(x, y, ((0, 1), (1, 0))), [a, a.T.copy()],
             np.tensordot(a, a.T, ((0, 1), (1, 0))), ["nk", "kn"]),
    ])  # fmt: skip


def test_errors() -> None:
    a, b = te.placeholder((2, 3), name="a"), te.placeholder((tir.Var("n"), 2), name="b")
    with pytest.raises(ExprError, match=r"topi\.matmul: the inner dimensions 3 and n differ"):
        topi.matmul(a, b)
    with pytest.raises(ExprError, match=r"topi\.sum: axis 2 is none of a tensor of 2 dimensions"):
        topi.sum(a, 2)
    with pytest.raises(ExprError, match="an axis is given twice"):
        topi.sum(a, (0, -2))
    with pytest.raises(ExprError, match=r"topi\.einsum"):
        topi.einsum("ij,jk", a)


def test_reductions_of_bools_have_fast_paths(caplog: pytest.LogCaptureFixture) -> None:
    few, many = (np.random.default_rng(0).random((67, 131)) < share for share in (0.01, 0.99))
    with caplog.at_level(logging.WARNING, "relax_mlir.kernels"):
        check([
            Case("rows", lambda x: topi.all(x, 1), [many], many.all(1), ["nm"]),
            Case("columns", lambda x: topi.any(x, 0), [few], few.any(0), ["nm"]),
            Case("whole", lambda x: topi.any(x), [few], few.any(), ["nm"]),
            Case("nothing", lambda x: topi.all(x, 1), [few[:, :0].copy()], np.ones(67, "bool"),
                 ["nm"]),
        ])  # fmt: skip
    assert not caplog.records
