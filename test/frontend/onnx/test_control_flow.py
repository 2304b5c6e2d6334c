"""Branches, loops, scans and sequences, of sizes that import knows and that only run time knows."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

import relax_mlir

RNG = np.random.default_rng(0)


def model(text: str) -> onnx.ModelProto:
    return parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}')


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def turns(x: Any, m: Any = 3, c: Any = True) -> Any:
    """What `BODY` does: the last state, and the slices."""
    sums = [x * (k + 2) for k in range(int(m) if c else 0)]
    return (sums or [x])[-1], np.array([s * x for s in sums]).reshape(-1, *x.shape)


def doubled(x: Any, limit: Any) -> Any:
    count = 1
    while (x * 2**count).max() < limit:
        count += 1
    return x * 2**count, np.arange(count)


def scanned(s: Any, x: Any) -> Any:
    sums = s + np.cumsum(x, 0)
    return sums[-1], sums * x


def two_shapes(x: Any, c: Any) -> Any:
    y = np.concatenate([x, x]) if c else np.maximum(x, 0)
    return y, y @ y.T


# Each with what it computes, and with the inputs of several runs; many turns are not unrolled.
BODY = """<body = b (int64 i, bool c, float[n,4] s) => (bool d, float[n,4] t, float[n,4] z) {
    d = Identity(c) t = Add(s, x) z = Mul(t, x) }>"""
GROWING = """<body = b (int64 i, bool c, float[m,4] s) => (bool d, float[k,4] t) {
    d = Identity(c) t = Concat<axis = 0>(s, x) }>"""
CASES: dict[str, tuple[Any, str, list[list[Any]]]] = {
    "few turns": (
        turns,
        f"(float[n,4] x) => (float[n,4] y, float[a,n,4] z) <int64 m = {{3}}> "
        f'{{ y, z = Loop{BODY}(m, "", x) }}',
        [[floats(2, 4)], [floats(5, 4)]],
    ),
    "many turns": (
        lambda x: turns(x, 200),
        f"(float[n,4] x) => (float[n,4] y, float[a,n,4] z) <int64 m = {{200}}> "
        f'{{ y, z = Loop{BODY}(m, "", x) }}',
        [[floats(2, 4)]],
    ),
    "turns of run time": (
        turns,
        f"(float[n,4] x, int64 m, bool c) => (float[n,4] y, float[a,n,4] z) "
        f"{{ y, z = Loop{BODY}(m, c, x) }}",
        [[floats(2, 4), np.array(m), np.array(c)] for m, c in ((1, True), (3, True))],
    ),
    "no first turn": (
        lambda x, m, c: x,
        f"(float[2,4] x, int64 m, bool c) => (float[2,4] y) {{ y, z = Loop{BODY}(m, c, x) }}",
        [[floats(2, 4), np.array(3), np.array(False)]],
    ),
    "as many turns as rows": (
        lambda x: np.concatenate([x] * (len(x) + 1)),
        f"(float[n,4] x) => (float[a,4] y) {{ s = Shape<end = 1>(x) k = Squeeze(s) "
        f'y = Loop{GROWING}(k, "", x) }}',
        [[floats(2, 4)], [floats(3, 4)]],
    ),
    "until a condition": (
        doubled,
        "(float[n] x, float limit) => (float[n] y, int64[a] z) { c = Constant<value = bool {1}>() "
        "y, z = Loop<body = b (int64 i, bool c, float[n] s) => (bool d, float[n] t, int64 j) "
        '{ t = Add(s, s) w = ReduceMax<keepdims = 0>(t) d = Less(w, limit) j = Identity(i) }>("", '
        "c, x) }",
        [[np.abs(floats(3)) + 1, np.array(100, "float32")]],
    ),
    "a turn uses its number": (
        lambda x: x.sum(0),
        "(float[n,4] x) => (float[4] y) { s = Shape<end = 1>(x) k = Squeeze(s) zero = "
        "Constant<value = float[1] {0}>() shape = Constant<value = int64[1] {4}>() "
        'first = Expand(zero, shape) y = Loop<body = b (int64 i, bool c, float[4] s) => (bool d, '
        'float[4] t) { d = Identity(c) r = Gather(x, i) t = Add(s, r) }>(k, "", first) }',
        [[floats(3, 4)], [floats(6, 4)]],
    ),
    "loops in loops": (
        lambda x, m: x * (1 + m * (m - 1) // 2),
        "(float[4] x, int64 m) => (float[4] y) "
        '{ y = Loop<body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t) { d = '
        "Identity(c) t = Loop<body = e (int64 j, bool f, float[4] u) => (bool g, float[4] v) { "
        'g = Identity(f) v = Add(u, x) }>(i, "", s) }>(m, "", x) }',
        [[floats(4), np.array(3)]],
    ),
    "scan": (
        lambda s, x: (scanned(s, x[::-1])[0], scanned(s, x[::-1])[1][::-1].T),
        "(float[2] s, float[n,2] x) => (float[2] y, float[2,n] z) { y, z = Scan<num_scan_inputs = "
        "1, scan_input_directions = [1], scan_output_axes = [1], scan_output_directions = [1], "
        "body = b (float[2] a, float[2] e) => (float[2] f, float[2] h) "
        "{ f = Add(a, e) h = Mul(f, e) }>(s, x) }",
        [[floats(2), floats(3, 2)], [floats(2), floats(7, 2)]],
    ),
    "scan of a known length": (
        lambda s, x: scanned(s, x.T),
        "(float[2] s, float[2,3] x) => (float[2] y, float[3,2] z) { y, z = Scan<num_scan_inputs = "
        "1, scan_input_axes = [1], body = b (float[2] a, float[2] e) => (float[2] f, float[2] h) "
        "{ f = Add(a, e) h = Mul(f, e) }>(s, x) }",
        [[floats(2), floats(2, 3)]],
    ),
    "branches of two shapes": (
        two_shapes,
        "(float[n,4] x, bool c) => (float[k,4] y, float[a,b] z) { y = If<then_branch = t () => "
        "(float[p,4] u) { u = Concat<axis = 0>(x, x) }, else_branch = e () => (float[q,4] v) "
        "{ v = Relu(x) }>(c) w = Transpose(y) z = MatMul(y, w) }",
        [[floats(3, 4), np.array(c)] for c in (True, False)],
    ),
    "branches of data": (
        lambda x, c: np.array(np.nonzero(x if c else np.maximum(x, 0))),
        "(float[n] x, bool c) => (int64[1,k] y) { y = If<then_branch = t () => (int64[1,p] u) "
        "{ u = NonZero(x) }, else_branch = e () => (int64[1,q] v) { r = Relu(x) v = NonZero(r) }>"
        "(c) }",
        [[floats(5), np.array(c)] for c in (True, False)],
    ),
    "a sequence of known length": (
        lambda x, z: (np.concatenate([z, x]), np.array(2)),
        "(float[n,4] x, float[m,4] z) => (float[k,4] y, int64 l) { s = SequenceConstruct(x, z) "
        "at = Constant<value = int64 {0}>() t = SequenceInsert(s, z, at) u = SequenceErase(t) "
        "y = ConcatFromSequence<axis = 0>(u) l = SequenceLength(u) }",
        [[floats(2, 4), floats(3, 4)]],
    ),
    "a sequence of run time": (
        lambda x, m: (np.array([x + k for k in range(m)]), m, x + (m - 1)),
        "(float[n,4] x, int64 m) => (float[a,n,4] y, int64 l, float[n,4] f) "
        '{ s = SequenceEmpty() t = Loop<body = b (int64 i, bool c, seq(float[n,4]) e) => (bool d, '
        "seq(float[n,4]) h) { d = Identity(c) k = Cast<to = 1>(i) w = Add(x, k) "
        'h = SequenceInsert(e, w) }>(m, "", s) y = ConcatFromSequence<axis = 0, new_axis = 1>(t) '
        "l = SequenceLength(t) at = Constant<value = int64 {-1}>() f = SequenceAt(t, at) }",
        [[floats(2, 4), np.array(3)]],
    ),
    "parts of unknown number": (
        lambda x, m: (x, np.array(-(-len(x) // int(m)))),
        "(float[n,4] x, int64 m) => (float[a,4] y, int64 l) { s = SplitToSequence<axis = 0>(x, m) "
        "y = ConcatFromSequence<axis = 0>(s) l = SequenceLength(s) }",
        [[floats(5, 4), np.array(2)], [floats(6, 4), np.array(3)]],
    ),
    "a branch gives a sequence": (
        lambda x, c: x if c else np.concatenate([x, x]),
        "(float[n] x, bool c) => (float[a] y) { s = If<then_branch = t () => (seq(float[n]) u) "
        "{ u = SequenceConstruct(x) }, else_branch = e () => (seq(float[n]) v) "
        "{ v = SequenceConstruct(x, x) }>(c) y = ConcatFromSequence<axis = 0>(s) }",
        [[floats(3), np.array(c)] for c in (True, False)],
    ),
}  # fmt: skip


@pytest.mark.codegen
@pytest.mark.parametrize("name", CASES)
def test_control_flow(name: str) -> None:
    compute, text, runs = CASES[name]
    main = relax_mlir.compile(model(text))
    for inputs in runs:
        made, wanted = main(*inputs), compute(*inputs)
        many = isinstance(wanted, tuple)
        for mine, other in zip(*(made, wanted) if many else ([made], [wanted]), strict=True):
            assert mine.dtype.kind == np.asarray(other).dtype.kind
            np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-4)
            assert mine.shape == np.shape(other)
