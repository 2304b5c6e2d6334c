"""Boxes and regions: kernels, static and of any size, and the library against each other.

`test_topi_image` and `test_topi_suppression` have the kernels against plain loops; the library is
written apart from them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, tir, transform
from relax_mlir.errors import ExprError, ShapeMismatchError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.script import relax as R

pytestmark = pytest.mark.unoptimized

V, zeros = relax.op.vision, relax.op.zeros
RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(2, 3, 5, 7)).astype("float32")
LAST = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
NAN, INF = np.nan, np.inf
ROIS = np.float32([
    [0, 1, 1, 9, 8], [1, -9, 0, 30, 6], [1, 3, 3, 3, 3], [7, NAN, 1, INF, 2], [NAN, 5, 4, 1, 0],
])  # fmt: skip
BOXES = np.concatenate([
    RNG.integers(-1, 2, (3, 37, 1)), RNG.permutation(111).reshape(3, 37, 1) / 111 - 0.1,
    RNG.uniform(0, 1, (3, 37, 4)),
], -1).astype("float32")  # fmt: skip
BOXES[0, 3, 1] = NAN
COUNTS = np.int32([37, 20, 0])
NAMES = np.arange(111, dtype="int32").reshape(3, 37)
CORNERS = np.ascontiguousarray(BOXES[..., 2:])
SCORES = RNG.uniform(-0.2, 1, (3, 4, 37)).astype("float32")
ANCHORS, PLACES = RNG.uniform(0, 1, (1, 5, 4)), RNG.normal(size=(3, 20))

# The operation, arrays, for each array its symbolic dimensions, attributes.
CASES: list[tuple[str, Sequence[np.ndarray], Sequence[str], dict[str, Any]]] = [
    ("roi_align", [IMAGE, ROIS], ["nchw", "r_"], {"pooled_size": (2, 3), "spatial_scale": 0.5}),
    ("roi_align", [LAST, ROIS], ["nhwc", "r_"],
     {"pooled_size": 2, "spatial_scale": 0.7, "sample_ratio": 2, "aligned": True,
      "layout": "NHWC", "mode": "max"}),
    ("roi_align", [IMAGE.astype("float64"), ROIS], ["____", "__"],
     {"pooled_size": [1, 4], "spatial_scale": 1.0, "aligned": True}),
    ("roi_align", [IMAGE[:, :, :0], ROIS], ["nchw", "r_"],
     {"pooled_size": 2, "spatial_scale": 1.0}),
    ("roi_pool", [IMAGE, ROIS], ["nchw", "r_"], {"pooled_size": 2, "spatial_scale": 1.0}),
    ("roi_pool", [(IMAGE[:0] * 9).astype("int8"), ROIS], ["n___", "__"],
     {"pooled_size": [3, 2], "spatial_scale": 0.5}),
    ("get_valid_counts", [BOXES], ["bn_"], {"score_threshold": 0.3}),
    ("get_valid_counts", [BOXES], ["bnw"], {"id_index": -1, "score_index": 5}),
    ("non_max_suppression", [BOXES, COUNTS, NAMES], ["bn_", "b", "bn"], {}),
    ("non_max_suppression", [BOXES, COUNTS, NAMES], ["bn_", "c", "dm"],
     {"max_output_size": 3, "force_suppress": True, "iou_threshold": 0.1}),
    ("non_max_suppression", [BOXES, COUNTS, NAMES], ["___", "_", "__"],
     {"return_indices": False, "invalid_to_bottom": True, "top_k": 9, "id_index": -1}),
    ("non_max_suppression", [BOXES, COUNTS, NAMES], ["bn_", "b", "bn"],
     {"soft_nms_sigma": 0.4, "score_threshold": 0.1}),
    ("multibox_transform_loc", [SCORES[:, :, :5], PLACES, ANCHORS], ["bc_", "b_", "___"],
     {"clip": True, "threshold": 0.2, "variances": (0.1, 0.1, 0.2, 0.2),
      "keep_background": False}),
    ("multibox_transform_loc", [SCORES[:, :, :5], PLACES, ANCHORS], ["bcn", "bm", "_n_"],
     {"apply_softmax": False}),
]  # fmt: skip


def all_classes(output_format: str) -> Callable[..., Any]:
    return lambda x, y: V.all_class_non_max_suppression(x, y, 5, 0.4, 0.1, output_format)


def module(cases: Sequence[tuple[Callable[..., Any], Sequence[np.ndarray], Any]]) -> Any:
    """Return a module of a function for each case; dimensions are symbols, or not known at all."""
    bb = relax.BlockBuilder()
    for number, (function, arrays, marks) in enumerate(cases):
        params = []
        for i, array in enumerate(arrays):
            if marks is None:
                type_ = R.Tensor(ndim=array.ndim)
            else:
                dims = [n if m == "_" else tir.Var(m)
                        for n, m in zip(array.shape, marks[i], strict=True)]  # fmt: skip
                type_ = R.Tensor(tuple(dims), str(array.dtype))
            params.append(relax.Var(f"x{i}", type_))
        with bb.function(f"f{number}", params):
            bb.emit_func_output(bb.emit(function(*params)))
    return bb.get()


def fields(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_kernels_and_library() -> None:
    cases = [
        (lambda *x, name=name, attrs=attrs: getattr(V, name)(*x, **attrs),
         [np.ascontiguousarray(a.astype("float32") if a.dtype == "float64" and name[0] == "m"
                               else a) for a in arrays], marks)
        for name, arrays, marks, attrs in CASES
    ]  # fmt: skip
    for kind in ("onnx", "tensorflow"):
        cases.append((all_classes(kind), [CORNERS, SCORES], ["bn_", "bcn"]))
        cases.append((all_classes(kind), [CORNERS, SCORES], ["bn_", "bcm"]))
    static = [(f, arrays, ["_" * a.ndim for a in arrays]) for f, arrays, _ in cases]
    unknown = [(f, arrays, None) for f, arrays, _ in cases]
    built = [relax.build(module(each)) for each in (static, cases, unknown)]
    assert not any(name.startswith("vm.op.") for name in built[0].func_names)
    machines = [relax.VirtualMachine(each) for each in built]
    for number, (_, arrays, _) in enumerate(cases):
        wanted, *others = (fields(vm[f"f{number}"](*arrays)) for vm in machines)
        for got in others:
            for a, b in zip(wanted, got, strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape), number
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=str(number))


def test_sizes_that_only_run_time_knows() -> None:
    """Sizes that do not fit are refused before anything is read."""
    vm = relax.VirtualMachine(relax.build(module([
        (V.multibox_transform_loc, [SCORES, SCORES[0], CORNERS[:1]], ["bcn", "bm", "_kl"]),
        (lambda x: V.get_valid_counts(x, score_index=5), [BOXES], ["bnw"]),
    ])))  # fmt: skip
    with pytest.raises(ShapeMismatchError, match=r"shapes \(3, 148\) and \(1, 37, 4\)"):
        vm["f0"](SCORES, SCORES[:, 0], CORNERS[:1])
    with pytest.raises(ShapeMismatchError, match="boxes of 4 numbers have no number 5"):
        vm["f1"](CORNERS)


def test_script() -> None:
    mod = from_source("""
@R.function
def main(x: R.Tensor(("n", 3, 8, 8), "float32"), r: R.Tensor((5, 5), "float32"),
         b: R.Tensor((2, 9, 6), "float32"), s: R.Tensor((2, 3, 9), "float32")):
    a = R.vision.roi_align(x, r, pooled_size=(2, 2), spatial_scale=0.5, mode="max")
    p = R.vision.roi_pool(x, r, 3, 1.0)
    v = R.vision.get_valid_counts(b, 0.1, id_index=-1)
    n = R.vision.non_max_suppression(v[1], v[0], v[2], soft_nms_sigma=0.5)
    d = R.vision.multibox_transform_loc(s, R.zeros((2, 36), "float32"),
                                        R.zeros((1, 9, 4), "float32"), variances=(1, 1, 2, 2))
    c = R.vision.all_class_non_max_suppression(d[0], s, 3, 0.5, 0.1)
    return (a, p, n, c)
""")
    text = mod.script()
    for name in ("roi_align", "roi_pool", "get_valid_counts", "all_class_non_max_suppression"):
        assert f"R.vision.{name}(" in text
    assert "R.Tensor((5, 3, 2, 2)" in text
    assert_structural_equal(from_source(text), mod)
    legal = transform.LegalizeOps()(mod)
    assert_structural_equal(from_source(legal.script()), legal)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda x, r, b: V.roi_align(r, r, 2, 1.0), r"data has dimensions \(n, c, h, w\), got R"),
        (lambda x, r, b: V.roi_align(x, b, 2, 1.0), r"rois has dimensions \(r, 5\), got R.Tensor"),
        (lambda x, r, b: V.roi_align(x, zeros((4, 4), "float32"), 2, 1.0),
         "dimension 1 of rois must be 5, got 4"),
        (lambda x, r, b: V.roi_align(x, r, 0, 1.0), "one or two positive numbers, got 0"),
        (lambda x, r, b: V.roi_align(x, r, 2, 1.0, mode="min"), "mode must be avg or max, got 'm"),
        (lambda x, r, b: V.roi_pool(x, r, 2, 1.0, "NHWC"), "layout must be NCHW, got 'NHWC'"),
        (lambda x, r, b: V.get_valid_counts(b, id_index=6), "id_index must be from -1 to 5, got 6"),
        (lambda x, r, b: V.non_max_suppression(b, zeros((3,), "int32"),
                                               zeros((2, 9), "int32")),
         "dimension 0 of valid_count must be 2, as dimension 0 of data is, got 3"),
        (lambda x, r, b: V.non_max_suppression(b, zeros((2,), "float32"),
                                               zeros((2, 9), "int32")),
         "valid_count must be int32, got float32"),
        (lambda x, r, b: V.non_max_suppression(b, b, b, coord_start=3),
         r"valid_count has dimensions \(batch\)"),
        (lambda x, r, b: V.all_class_non_max_suppression(b, b, 1, 0.5, 0.5),
         "dimension 2 of boxes must be 4, got 6"),
        (lambda x, r, b: V.multibox_transform_loc(b, zeros((2, 23), "float32"), b),
         "dimension 0 of anchor must be 1, got 2"),
        (lambda x, r, b: V.multibox_transform_loc(b, zeros((2, 23), "float32"),
                                                  zeros((1, 6, 4), "float32")),
         "dimension 1 of loc_pred must be 4 times the number of boxes, 24, got 23"),
    ],
)  # fmt: skip
def test_refusals(make: Callable[..., Any], why: str) -> None:
    shapes = [("n", 3, 8, 8), (5, 5), (2, 9, 6)]
    x, r, b = (relax.Var(n, R.Tensor(s, "float32")) for n, s in zip("xrb", shapes, strict=True))
    with pytest.raises(ExprError, match=why):
        _ = make(x, r, b).ty
