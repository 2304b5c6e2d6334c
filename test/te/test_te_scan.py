"""`te.scan`: parts along the first axis computed from those before, against numpy."""

import numpy as np
import pytest
from te_cases import Case, check, random

from relax_mlir import te, tir
from relax_mlir.errors import ExprError, ExprTypeError

X = random(7, 5)


def sums(x: te.Tensor, first: int = 1) -> te.Tensor:
    """Return the sums of rows so far, halved at each step."""
    state = te.placeholder(x.shape, name="state")
    begin = te.compute((first, x.shape[1]), lambda t, i: x[t, i], name="begin")
    step = te.compute(
        x.shape, lambda t, i: state[t - 1, i] * 0.5 + state[t - first, i] + x[t, i], name="step"
    )
    return te.scan(begin, step, state, name="sums")


def halved(x: np.ndarray, first: int = 1) -> np.ndarray:
    out = x.copy()
    for t in range(first, len(x)):
        out[t] = out[t - 1] * np.float32(0.5) + out[t - first] + x[t]
    return out


def test_one_state() -> None:
    check([
        Case("one", sums, [X], halved(X), ["nm"]),
        Case("two", lambda x: sums(x, 2), [X], halved(X, 2), ["nm"]),
        Case("only", sums, [X[:1]], X[:1], ["nm"]),
    ])  # fmt: skip


def test_fewer_steps_than_begin() -> None:
    x = te.placeholder((te.var("n"), 5), name="x")
    begin = te.compute((2, 5), lambda t, i: te.const(1.0), name="begin")
    state = te.placeholder(x.shape, name="state")
    step = te.compute(x.shape, lambda t, i: state[t - 2, i] + x[t, i], name="step")
    run = tir.build(te.create_prim_func([x, te.scan(begin, step, state)]))["main"]
    for count in (0, 1, 2, 3):
        # What is behind the result stays.
        memory = np.full((count + 4, 5), 9, "float32")
        run(np.ones((count, 5), "float32"), memory[:count])
        np.testing.assert_array_equal(memory[: min(count, 2)], 1)
        np.testing.assert_array_equal(memory[2:count], 2)
        np.testing.assert_array_equal(memory[count:], 9)


def test_stages_inside_and_several_states() -> None:
    """Fibonacci-like pairs: a product of matrices and a stage between states and updates."""
    weight = random(5, 5)

    def both(x: te.Tensor, w: te.Tensor) -> tuple[te.Tensor, ...]:
        a, b = (te.placeholder(x.shape, name=name) for name in "ab")
        k = te.reduce_axis((0, 5), "k")
        product = te.compute(
            x.shape, lambda t, i: te.sum(a[t - 1, k] * w[k, i], axis=k), name="product"
        )
        bounded = te.compute(x.shape, lambda t, i: tir.tanh(product[t, i]), name="bounded")
        begin = [te.compute((1, 5), lambda t, i, f=f: x[t, i] * f) for f in (1.0, 2.0)]
        next_a = te.compute(x.shape, lambda t, i: bounded[t, i] + b[t - 1, i], name="next_a")
        next_b = te.compute(x.shape, lambda t, i: next_a[t, i] * x[t, i], name="next_b")
        return te.scan(begin, [next_a, next_b], [a, b])

    a, b = X.copy(), X * 2
    for t in range(1, 7):
        a[t] = np.tanh(a[t - 1] @ weight) + b[t - 1]
        b[t] = a[t] * X[t]
    check([Case("both", both, [X, weight], [a, b], ["n_", "__"], 1e-4)])


def state_of(shape: tuple[int, ...] = (7, 5)) -> te.Tensor:
    return te.placeholder(shape, name="state")


def begin_of(first: int = 1) -> te.Tensor:
    return te.compute((first, 5), lambda t, i: te.const(0.0), name="begin")


@pytest.mark.parametrize(
    ("element", "why"),
    [
        (lambda s, t, i: s[t, i], "states are read at a step before it"),
        (lambda s, t, i: s[i, i], "states are read at a step before it"),
        (lambda s, t, i: s[t - 2, i], "begin with 1 steps only"),
    ],
)
def test_steps_read_what_was_before(element, why: str) -> None:
    state = state_of()
    step = te.compute((7, 5), lambda t, i: element(state, t, i), name="step")
    with pytest.raises(ExprError, match=why):
        te.scan(begin_of(), step, state)


def test_refusals() -> None:
    state = state_of()
    step = te.compute((7, 5), lambda t, i: state[t - 1, i], name="step")
    with pytest.raises(ExprTypeError, match=r"takes tensors, got 3"):
        te.scan(3, step, state)
    with pytest.raises(ExprError, match="as many states as begin and are updated"):
        te.scan([begin_of()], [step, step], [state])
    with pytest.raises(ExprTypeError, match=r"a state is a te\.placeholder"):
        te.scan(begin_of(), step, step)
    with pytest.raises(ExprError, match="do not fit"):
        te.scan(begin_of(), step, state_of((6, 5)))
    with pytest.raises(ExprError, match="less steps than it begins with"):
        te.scan(begin_of(8), step, state)
    text = te.extern((7, 5), [state], lambda ins, outs: None, name="text")
    after = te.compute((7, 5), lambda t, i: text[t - 1, i] + state[t - 1, i], name="after")
    with pytest.raises(ExprError, match=r"'text' is computed at each step"):
        te.scan(begin_of(), after, state)
