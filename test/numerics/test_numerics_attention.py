"""Attention, losses and questions about tensors against numpy."""

import math
from typing import Any

import numpy as np
import pytest
from programs import Program, tensor
from samples import FLOATS, check, sample

from relax_mlir.dialects.relax import InferError
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.errors import ShapeMismatchError

# Lengths of queries and keys: empty, ones, odd and prime, longer than a vector.
SIZES = ((1, 1), (0, 3), (3, 0), (5, 13), (17, 5), (2, 67))


def _attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray | None = None,
    scale: float | None = None, causal_mask: str | None = None, window_size: int | None = None,
) -> np.ndarray:  # fmt: skip
    wide = [x.astype("float64") for x in (q, k, v)]
    scores = np.einsum("bihd,bjhd->bhij", *wide[:2])
    scores *= scale if scale is not None else 1 / math.sqrt(q.shape[-1])
    if bias is not None:
        shape = {4: bias.shape, 3: (bias.shape[0], 1, *bias.shape[1:])}.get(bias.ndim)
        scores = scores + bias.reshape(shape or (bias.shape[0], 1, 1, bias.shape[1]))
    if causal_mask:
        i, j = np.indices(scores.shape[2:])
        i = i + (scores.shape[3] - scores.shape[2] if causal_mask == "BottomRight" else 0)
        hidden = (j > i) | (window_size is not None and i - j >= (window_size or 0))
        scores[..., hidden] = -np.inf
    out = np.zeros((*q.shape[:3], v.shape[3]))
    for b, h, i in np.ndindex(q.shape[0], q.shape[2], q.shape[1]):
        row = scores[b, h, i]
        seen = row > -np.inf
        powers = np.exp(row[seen] - row[seen].max(initial=-np.inf))
        out[b, i, h] = powers @ wide[2][b, seen, h] / powers.sum() if seen.any() else 0
    return out.astype(q.dtype)


CASES: tuple[tuple[list[Any] | None, dict[str, Any]], ...] = (
    (None, {"scale": 0.3, "causal_mask": "TopLeft"}),
    ([2, 3, "n", "m"], {}),
    ([2, "m"], {"causal_mask": "BottomRight", "window_size": 3}),
    ([2, 1, 1, "m"], {"scale": 0.5}),
    ([2, "n", "m"], {"causal_mask": "BottomRight"}),
)


@pytest.mark.parametrize("dtype", FLOATS)
def test_attention(dtype: str) -> None:
    program = Program()
    chosen = CASES if dtype == "float32" else CASES[:1]
    types = [([2, size, 3, depth], dtype) for size, depth in (("n", 7), ("m", 7), ("m", 5))]
    for index, (bias, attrs) in enumerate(chosen):
        added = [] if bias is None else [(bias, dtype)]
        program.op(f"f{index}", "attention", *types, *added, **attrs)
        program.op(f"g{index}", "attention", *[(None, "")] * (3 + len(added)), **attrs)
    static = [([2, 17, 3, 8], dtype)] * 3
    program.op("static", "attention", *static)
    vm = program.build()
    for index, (bias, attrs) in enumerate(chosen):
        for n, m in SIZES:
            q, k, v = (
                sample((2, length, 3, depth), dtype, seed, scale=1.0)
                for seed, (length, depth) in enumerate(((n, 7), (m, 7), (m, 5)))
            )
            added = []
            if bias is not None:
                sizes = [{"n": n, "m": m}.get(dim, dim) for dim in bias]
                added = [sample(sizes, dtype, 9, scale=1.0)]
            wanted = _attention(q, k, v, *added, **attrs)
            for name in "fg":
                got = vm[f"{name}{index}"](q, k, v, *added)
                check(got, wanted, ulps=32, scale=4, what=(name, bias, attrs, n, m))
    q, k, v = (sample((2, 17, 3, 8), dtype, seed, scale=1.0) for seed in range(3))
    check(vm["static"](q, k, v), _attention(q, k, v), ulps=32, scale=4)


def test_powers() -> None:
    # Of two keys, one with the score 0, the other's share is e^x / (1 + e^x).
    program = Program()
    for name, count in (("few", 3), ("many", 4002)):
        each = [([1, size, 1, 1], "float32") for size in (count, 2, 2)]
        program.op(name, "attention", *each, scale=1.0)
    vm = program.build()
    x = np.append(np.linspace(-100, 0, 4001), -1e30).astype("float32").reshape(1, -1, 1, 1)
    k = np.array((0, 1), "float32").reshape(1, 2, 1, 1)
    power = np.exp(x.astype("float64"))
    wanted = power / (1 + power)
    few = [vm["few"](x[:, i : i + 3], k, k) for i in range(0, x.size, 3)]
    for got in (np.concatenate(few, axis=1), vm["many"](x, k, k)):
        assert got[0, -1] == 0
        # What the scores are rounded by shows in the powers.
        error = np.abs(got - wanted) - 2.0**-99
        assert np.all(error <= wanted * 2.0**-24 * (6 + 2 * np.abs(np.maximum(x, -100))))


@pytest.mark.parametrize(
    ("shapes", "attrs", "message"),
    [
        ([[1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4]], {}, "query must have 4 dimensions, got 3"),
        ([[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 4]], {}, "depths of query and key must match"),
        ([[1, 2, 3, 4], [1, 5, 3, 4], [1, 6, 3, 4]], {}, "lengths of key and value must match"),
        (
            [[1, 2, 3, 4], [1, 5, 2, 4], [1, 5, 3, 4]],
            {},
            "numbers of heads of key and value must match",
        ),
        ([[1, 2, 3, 4]] * 3 + [[1, 3, 2, 5]], {}, "shapes .* cannot be broadcast"),
        ([[1, 2, 3, 4]] * 3, {"causal_mask": "Left"}, "causal_mask must be one of TopLeft"),
        ([[1, 2, 3, 4]] * 3, {"window_size": 2}, "window_size needs causal_mask"),
    ],
)
def test_attention_refuses(shapes: Any, attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(InferError, match=message):
        Program().op("f", "attention", *[(shape, "float32") for shape in shapes], **attrs)


@pytest.mark.parametrize("dtype", FLOATS)
def test_cross_entropy(dtype: str) -> None:
    program = Program()
    for name, dims in (("vector", ["n"]), ("matrix", ["n", "m"]), ("more", ["n", "m", 3])):
        program.op(name, "cross_entropy_with_logits", (dims, dtype), (dims, dtype))
    program.op("unknown", "cross_entropy_with_logits", (None, ""), (None, ""))
    vm = program.build()
    for name, shape in (("vector", (7,)), ("matrix", (5, 13)), ("more", (2, 67, 3))):
        x, y = sample(shape, dtype), sample(shape, dtype, 1)
        total = -(x.astype("float64") * y.astype("float64")).sum()
        wanted = np.array(total / (shape[0] if len(shape) > 1 else 1)).astype(dtype)
        check(vm[name](x, y), wanted, ulps=32, scale=99)
        check(vm["unknown"](x, y), wanted, ulps=32, scale=99)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nll_loss(reduction: str) -> None:
    attrs = {"reduction": reduction, "ignore_index": 2}
    program = Program()
    program.op("f", "nll_loss", (["n", 5, "m"],), (["n", "m"], "int64"), ([5],), **attrs)
    program.op("plain", "nll_loss", (["n", 5],), (["n"], "int32"), **attrs)
    program.op("one", "nll_loss", ([5],), ([], "int64"), **attrs)
    vm = program.build()
    x, weights = sample((3, 5, 7), "float32"), np.abs(sample(5, "float32", 1))
    targets = np.arange(21).reshape(3, 7) % 5
    chosen = np.take_along_axis(x, targets[:, None], 1)[:, 0].astype("float64")
    for name, value, w in (("f", x, weights), ("plain", x[:, :, 0], np.ones(5, "float32"))):
        picked, t = (chosen, targets) if name == "f" else (chosen[:, 0], targets[:, 0])
        factor = np.where(t == 2, 0, w[t]).astype("float64")
        loss = -picked * factor
        wanted = {
            "none": loss,
            "sum": np.array(loss.sum()),
            "mean": np.array(loss.sum() / factor.sum()),
        }[reduction]
        given = (value, t) + ((w,) if name == "f" else ())
        given = (given[0].copy(), given[1].astype("int64" if name == "f" else "int32"), *given[2:])
        check(vm[name](*given), wanted.astype("float32"), ulps=32, scale=9)
    got = vm["one"](x[0, :, 0].copy(), np.array(3))
    check(got, -x[0, 3, 0], ulps=2)
    with pytest.raises(ShapeMismatchError, match="target 5 is none of 5 classes"):
        vm["one"](x[0, :, 0].copy(), np.array(5))


def test_size_and_shapes_as_tensors() -> None:
    program = Program()
    program.op("known", "size", (["n", "m", 3], "int8"))
    program.op("unknown", "size", (None, ""))

    def body(x: Any) -> Any:
        shape = relax_op("tensor_to_shape", [x], {})
        return relax_op("shape_to_tensor", [shape], {})

    program.function("round", lambda: [tensor([3], "int64")], body)
    program.function(
        "reshape",
        lambda: [tensor(["n"], "float32"), tensor([2], "int64")],
        lambda x, shape: relax_op("reshape", [x, relax_op("tensor_to_shape", [shape], {})], {}),
    )
    vm = program.build()
    for shape in ((2, 5, 3), (0, 4, 3), (1, 1, 3)):
        x = sample(shape, "int8")
        check(vm["known"](x), np.array(x.size, "int64"))
        check(vm["unknown"](x), np.array(x.size, "int64"))
    check(vm["round"](np.array([3, 0, 5])), np.array([3, 0, 5]))
    x = sample(6, "float32")
    check(vm["reshape"](x, np.array([2, 3])), x.reshape(2, 3))
    with pytest.raises(InferError, match="a shape is made of one dimension of int64"):
        Program().op("f", "tensor_to_shape", ([2], "float32"))
