"""Operators that are kernels where import knows enough, of any sizes.

Numbers are those of onnx's reference, or of the library, which the node tests of onnx check.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator

import relax_mlir
from relax_mlir.frontend.onnx import from_onnx
from relax_mlir.runtime.models.recurrent import RECURRENT
from relax_mlir.transform import PassContext

RNG = np.random.default_rng(0)
RESIZES = [
    'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"',
    'mode = "nearest"',
    'mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"',
    'mode = "linear", coordinate_transformation_mode = "align_corners"',
    'mode = "cubic", cubic_coeff_a = -0.5',
]
# Cells, their gates, directions, other attributes, sizes of the state. Both directions of the
# second one run at once; rows of the first one's weights are 4 KB, and go by four.
LAYERS = [
    ("LSTM", 4, "forward", "", 256),
    ("LSTM", 4, "bidirectional", "", 40),
    ("LSTM", 4, "reverse", "layout = 1", 5),
    ("GRU", 3, "bidirectional", "layout = 1", 5),
    ("GRU", 3, "forward", "linear_before_reset = 1", 5),
    ("RNN", 1, "forward", "", 5),
]


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def check(
    text: str, inputs: Sequence[dict[str, np.ndarray]],
    reference: Callable[..., Sequence[Any]] | None = None, **weights: np.ndarray,
) -> None:  # fmt: skip
    """Compare a model with a reference, and see that nothing of it is a library call."""
    model = parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {text}')
    for name, array in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    for node in model.graph.node:
        node.input[:] = ["" if name == "none" else name for name in node.input]
    imported = from_onnx(model)
    assert "call_pure_packed" not in imported.script()
    with PassContext(opt_level=0):
        main = relax_mlir.compile(imported)
    for given in inputs:
        results = main(*given.values())
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        expected = (
            reference(*given.values()) if reference else ReferenceEvaluator(model).run(None, given)
        )
        for result, right in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-5)


def test_resize() -> None:
    nodes = "\n".join(
        f"a{i} = Resize<{attributes}>(x, none, scales)\n"
        f"b{i} = Resize<axes = [2, 3], {attributes}>(x, none, none, sizes)"
        for i, attributes in enumerate(RESIZES)
    )
    outputs = ", ".join(f"float[n,2,u{i},v{i}] a{i}, float[n,2,7,4] b{i}" for i in range(5))
    check(
        f"""g (float[n,2,h,w] x) => ({outputs})
<float[4] scales = {{1, 1, 2, 3}}, int64[2] sizes> {{
{nodes} }}""",
        # Small: onnx computes the references one element at a time.
        [{"x": normal(1, 2, 4, 5)}, {"x": normal(2, 2, 3, 2)}],
        sizes=np.int64([7, 4]),
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "gates", "direction", "more", "size"), LAYERS)
def test_recurrent_layers(kind: str, gates: int, direction: str, more: str, size: int) -> None:
    directions = 2 if direction == "bidirectional" else 1
    names = ["y", "h", "c"][: 3 if kind == "LSTM" else 2]
    outputs = ", ".join(f"float[{'a,b,c,d' if name == 'y' else 'a,b,c'}] {name}" for name in names)
    attributes = ", ".join(filter(None, (f'direction = "{direction}"', more)))
    weights = {
        "w": normal(directions, gates * size, 3), "r": normal(directions, gates * size, size),
        "b": normal(directions, gates * size * 2),
    }  # fmt: skip

    def reference(x: np.ndarray) -> Sequence[Any]:
        found = RECURRENT["recurrent"](
            x, *weights.values(), *[None] * 4, kind=kind, direction=direction,
            layout=int("layout" in more), variant="linear_before_reset" in more,
        )  # fmt: skip
        return found[: len(names)]

    check(
        f"""g (float[t,n,3] x) => ({outputs}) <float[0] w, float[0] r, float[0] b> {{
    {", ".join(names)} = {kind}<hidden_size = {size}, {attributes}>(x, w, r, b) }}""",
        [{"x": normal(4, 2, 3)}, {"x": normal(1, 3, 3)}],
        reference,
        **weights,
    )


@pytest.mark.parametrize("layout", [0, 1])
def test_recurrent_layer_of_a_sum_of_any_sizes(layout: int) -> None:
    def reference(*x: np.ndarray) -> Sequence[Any]:
        given = [*weights.values(), *[None] * 4]
        return RECURRENT["recurrent"](
            x[0] + x[1], *given, kind="LSTM", direction="forward", layout=layout, variant=False
        )

    weights = {"w": normal(1, 20, 3), "r": normal(1, 20, 5), "b": normal(1, 40)}
    check(
        f"""g (float[t,n,3] x, float[s,m,3] z) => (float[a,b,c,d] y, float[a,b,c] h, float[a,b,c] k)
<float[0] w, float[0] r, float[0] b> {{
    v = Add(x, z)
    y, h, k = LSTM<hidden_size = 5, layout = {layout}>(v, w, r, b) }}""",
        [
            {"x": normal(4, 2, 3), "z": normal(1, 2, 3)},
            {"x": normal(1, 3, 3), "z": normal(2, 1, 3)},
        ],
        reference,
        **weights,
    )


def test_tile_as_often_as_a_dimension_says() -> None:
    check(
        """g (float[n,3] x, float[m,2] z) => (float[a,b] y)
<int64[1] twice = {2}> {
    count = Shape<end = 1>(z)
    repeats = Concat<axis = 0>(count, twice)
    y = Tile(x, repeats)
}""",
        [{"x": normal(2, 3), "z": normal(3, 2)}, {"x": normal(1, 3), "z": normal(0, 2)}],
    )


def test_suppression() -> None:
    boxes, scores = np.abs(normal(1, 40, 4)), np.abs(normal(1, 2, 40))
    boxes[0, 20:] = boxes[0, :20]  # overlaps of 1, and of all below and above the threshold
    check(
        """g (float[1,n,4] boxes, float[1,2,n] scores) => (int64[k,3] y)
<int64[1] most = {3}, float[1] share = {0.5}, float[1] least = {0.2}> {
    y = NonMaxSuppression<center_point_box = 1>(boxes, scores, most, share, least)
}""",
        [{"boxes": boxes, "scores": scores}],
    )
