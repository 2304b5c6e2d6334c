"""Operations that are compositions of others, against numpy: three kinds of shape."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.relax import op
from relax_mlir.runtime.models.images import grid_sample
from relax_mlir.script import from_source

pytestmark = pytest.mark.unoptimized

RNG = np.random.default_rng(7)


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


@dataclass
class Case:
    """A call of an operation with the numbers that it gives.

    Attributes:
        name: of the operation in `relax.op`.
        arrays: tensor operands.
        dims: dimensions of the operands with symbols.
        attrs: other arguments by keyword.
        expected: computes the result from the arrays.
        call: the call, if it is not the operation of the operands and attributes.
        tolerance: of floating-point results.
    """

    name: str
    arrays: list[np.ndarray]
    dims: list[tuple[Any, ...]]
    expected: Callable[..., Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    tolerance: float = 1e-6

    def run(self, types: list[Any]) -> tuple[Any, Any]:
        """Return the program and its result, for operands of these types."""
        made = self.call
        if made is None:
            function: Any = op
            for part in self.name.split("."):
                function = getattr(function, part)
            made = lambda *operands: function(*operands, **self.attrs)  # noqa: E731
        variables = [relax.Var(f"x{i}", type_) for i, type_ in enumerate(types)]
        bb = relax.BlockBuilder()
        with bb.function("main", variables):
            bb.emit_func_output(made(*variables))
        module = bb.get()
        again = from_source(module.script())
        assert again.script() == module.script()
        return module, relax.VirtualMachine(relax.build(module))["main"](*self.arrays)


def slices(data: np.ndarray, source: np.ndarray) -> np.ndarray:
    result = data.copy()
    result[:, 1:6:2] = source
    return result


def reversed_sequences(data: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    result = data.copy()
    for row, length in enumerate(lengths.clip(0, data.shape[1])):
        result[row, :length] = data[row, :length][::-1]
    return result


def put(data: np.ndarray, i: np.ndarray, j: np.ndarray, values: np.ndarray) -> np.ndarray:
    result = data.copy()
    np.add.at(result, (i, j), values)
    return result


def shuffled(x: np.ndarray) -> np.ndarray:
    *outer, c, h, w = x.shape
    found = np.empty((*outer, c // 4, 2 * h, 2 * w), x.dtype)
    for i, j in np.ndindex(2, 2):
        found[..., i::2, j::2] = x[..., 2 * i + j :: 4, :, :]
    return found


def middle(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(x, axis, kind="stable").take([(x.shape[axis] - 1) // 2], axis)
    return np.take_along_axis(x, order, axis).squeeze(axis), order.squeeze(axis)


def sampled(prob: np.ndarray, uniform: np.ndarray, rows: np.ndarray) -> np.ndarray:
    sums = np.cumsum(prob, 1)[rows[:, 0]]
    return (sums <= uniform).sum(1, keepdims=True).clip(0, prob.shape[1] - 1)


def grid(x: np.ndarray, at: np.ndarray, method: str, padding: str, corners: bool) -> np.ndarray:
    mode = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}[method]
    points = np.moveaxis(at, 1, -1)
    return grid_sample(x, points, mode=mode, padding_mode=padding, align_corners=corners)


def affine(x: np.ndarray, *size: int, corners: bool) -> np.ndarray:
    found = np.empty((len(x), len(size), *size))
    for at in np.ndindex(*size):
        place = [
            2 * i / (n - 1) - 1 if corners else (2 * i + 1) / n - 1
            for i, n in zip(at, size, strict=True)
        ]
        found[(..., *at)] = x @ np.array([*place[::-1], 1])
    return found


def trilinear(x: np.ndarray, size: tuple[int, ...], corners: bool) -> np.ndarray:
    for axis, m in enumerate(size, 2):
        n = x.shape[axis]
        place = np.arange(m) * (n - 1) / (m - 1) if corners else (np.arange(m) + 0.5) * n / m - 0.5
        share = np.maximum(1 - np.abs(np.arange(-1, n + 1) - place[:, None]), 0)
        inner = share[:, 1:-1] + np.eye(1, n) * share[:, :1] + np.eye(1, n, n - 1) * share[:, -1:]
        x = np.moveaxis(np.tensordot(inner, x, (1, axis)), 0, axis)
    return x


def in_threes(x: np.ndarray, fill: float) -> np.ndarray:
    return np.pad(x, (0, -len(x) % 3), constant_values=fill).reshape(-1, 3).T


PROB = np.array([[0.2, 0.3, 0.5], [0.3, 0.4, 0.3]], "float32")
CASES = [
    Case("nn.batch_flatten", [floats(3, 5, 2, 7)], [("n", "c", 2, 7)], lambda x: x.reshape(3, 70)),
    Case("nn.batch_flatten", [floats(0, 5, 2)], [("n", 5, "k")], lambda x: x.reshape(0, 10)),
    Case("nn.pixel_shuffle", [floats(2, 12, 3, 5)], [("n", 12, "h", "w")], shuffled,
         {"upscale_factor": 2}),
    Case("nn.pixel_shuffle", [floats(4, 3, 5)], [(4, "h", "w")], shuffled, {"upscale_factor": 2}),
    Case("layout_transform", [floats(2, 8, 5, 3)], [("n", 8, 5, "w")],
         lambda x: x.reshape(2, 2, 4, 5, 3).transpose(0, 1, 3, 4, 2),
         {"index_map": lambda n, c, h, w: (n, c // 4, h, w, c % 4)}),
    Case("layout_transform", [floats(2, 2, 5, 3, 4)], [("n", 2, 5, "w", 4)],
         lambda x: x.transpose(0, 2, 3, 1, 4).reshape(2, 5, 3, 8),
         {"index_map": lambda n, c, h, w, i: (n, h, w, c * 4 + i)}),
    *(Case("layout_transform", [floats(n)], [("n",)], functools.partial(in_threes, fill=2.0),
           {"index_map": lambda i: (i % 3, i // 3), "pad_value": 2.0}) for n in (0, 1, 7, 9)),
    Case("layout_transform", [RNG.integers(-9, 9, (2, 7))], [("n", 7)],
         lambda x: np.pad(x, ((0, 0), (0, 1))).reshape(2, 2, 4).transpose(1, 0, 2).reshape(2, 8),
         {"index_map": lambda i, j: (j // 4, i * 4 + j % 4)}),
    Case("collapse_sum_to", [floats(3, 4, 5)], [("n", "m", 5)],
         lambda x: x.sum((0, 1)).reshape(1, 5), call=lambda x: op.collapse_sum_to(x, (1, 5)),
         tolerance=1e-5),
    Case("collapse_sum_like", [floats(3, 4, 5), floats(4, 1)], [("n", "m", "k"), ("m", 1)],
         lambda x, y: x.sum((0, 2)).reshape(4, 1), tolerance=1e-5),
    Case("median", [floats(3, 7)], [("n", "m")], lambda x: middle(x.reshape(-1), 0)[0]),
    Case("median", [floats(3, 8)], [("n", "m")], lambda x: middle(x, 1), {"axis": 1}),
    Case("median", [floats(3, 8)], [("n", "m")],
         lambda x: tuple(each[None] for each in middle(x, 0)), {"axis": [-2], "keepdims": True}),
    Case("median", [RNG.integers(-9, 9, (5, 131))], [("n", 131)], lambda x: middle(x, 1),
         {"axis": [1]}),
    Case("slice_scatter", [floats(3, 7), floats(3, 3)], [("n", 7), ("n", 3)], slices,
         {"start": 1, "end": 6, "step": 2, "axis": 1}),
    Case("slice_scatter", [floats(6, 2), floats(6, 2)], [("n", 2), ("n", 2)],
         lambda data, source: source, {"start": 0, "end": 2**40, "step": 1}),
    Case("index_put", [floats(4, 5), np.array([0, -1, 0]), np.array([[2], [3]]), floats(2, 3)],
         [("n", 5), ("k",), (2, 1), (2, "k")], put,
         call=lambda x, i, j, v: op.index_put(x, (i, j), v, accumulate=True)),
    Case("index_put", [floats(9), np.array([3, 1, 1], "int32"), floats(3)],
         [("n",), ("k",), ("k",)], lambda x, i, v: np.array([*x[:1], v[2], x[2], v[0], *x[4:]]),
         call=lambda x, i, v: op.index_put(x, (i,), v)),
    Case("reverse_sequence", [floats(4, 5, 3), np.array([0, 1, 4, 5])], [("b", "t", 3), ("b",)],
         reversed_sequences),
    Case("reverse_sequence", [floats(5, 4), np.array([2, 9, 1, 3], "int32")], [("t", "b"), ("b",)],
         lambda x, n: reversed_sequences(x.T, n).T, {"seq_axis": 0, "batch_axis": 1}),
    Case("multinomial_from_uniform",
         [PROB, np.array([[0.4], [0.9], [0.0], [1.0]], "float32"), np.array([[0], [1], [1], [0]])],
         [("b", "v"), ("n", 1), ("n", 1)], sampled),
    Case("multinomial_from_uniform",
         [PROB.astype("float16"), np.array([[0.4]], "float64"), np.array([[1]], "int32")],
         [(2, "v"), ("n", 1), ("n", 1)], sampled, {"dtype": "int32"}),
    Case("image.affine_grid", [floats(3, 2, 3)], [("n", 2, 3)],
         lambda x: affine(x, 4, 7, corners=True), {"size": (4, 7)}, tolerance=1e-5),
    Case("image.affine_grid", [floats(2, 3, 4)], [("n", 3, 4)],
         lambda x: affine(x, 2, 3, 5, corners=False), {"size": (2, 3, 5), "align_corners": False},
         tolerance=1e-5),
    *[Case("image.grid_sample", [floats(2, 3, 5, 7), floats(2, 2, 4, 3)],
           [("n", "c", "h", "w"), ("n", 2, "p", "q")],
           lambda x, at, how=(method, padding, corners): grid(x, at, *how),
           {"method": method, "padding_mode": padding, "align_corners": corners}, tolerance=1e-4)
      for method in ("nearest", "bilinear", "bicubic")
      for padding in ("zeros", "border", "reflection") for corners in (True, False)],
    Case("image.grid_sample", [floats(2, 3, 4, 5, 7), floats(2, 3, 2, 4, 3)],
         [("n", "c", "d", "h", "w"), ("n", 3, "p", "q", "r")], lambda x, at: grid(
             x, at, "bilinear", "zeros", False), {"layout": "NCDHW"}, tolerance=1e-5),
    *[Case("image.resize3d", [floats(1, 2, 4, 5, 6)], [("n", "c", "d", "h", "w")],
           lambda x, corners=corners: trilinear(x, (3, 7, 9), corners),
           {"size": (3, 7, 9),
            "coordinate_transformation_mode": "align_corners" if corners else "half_pixel"},
           tolerance=1e-5) for corners in (True, False)],
    Case("image.resize3d", [floats(1, 2, 4, 5, 6)], [("n", "c", "d", "h", "w")],
         lambda x: x.repeat(2, 2).repeat(2, 3).repeat(2, 4),
         {"size": (8, 10, 12), "method": "nearest_neighbor",
          "coordinate_transformation_mode": "asymmetric"}),
    *[Case(name, [floats(2, 3)], [("n", "m")], lambda x: x, attrs) for name, attrs in (
        ("grad.no_grad", {}), ("grad.start_checkpoint", {}), ("grad.end_checkpoint", {}),
        ("builtin.stop_lift_params", {}), ("memory.ensure_zero_offset", {}),
        ("to_vdevice", {"dst_vdevice": "llvm:0"}), ("hint_on_device", {"dst_vdevice": "cpu"}))],
    Case("wrap_param", [floats(2, 3)], [("n", 3)], lambda x: x.astype("float16"),
         {"dtype": "float16"}),
    Case("memory.view", [floats(4, 6)], [("n", 6)], lambda x: x.reshape(-1)[5:15].reshape(2, 5),
         {"shape": (2, 5), "relative_byte_offset": 20}),
    Case("memory.view", [floats(4, 6)], [("n", 6)], lambda x: x.view("int32"),
         {"dtype": "int32"}),
]  # fmt: skip
# What is decided by the sizes, so that a kernel needs to know them.
NO_KERNEL = ("slice_scatter", "memory.view")


@pytest.mark.parametrize("kind", ["static", "symbolic", "unknown"])
@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{c.name}" for i, c in enumerate(CASES)])
def test_numbers(case: Case, kind: str) -> None:
    dtypes = [str(array.dtype) for array in case.arrays]
    types = {
        "static": [relax.TensorType(a.shape, a.dtype) for a in case.arrays],
        "symbolic": [relax.TensorType(d, t) for d, t in zip(case.dims, dtypes, strict=True)],
        "unknown": [relax.TensorType(dtype=None) for _ in case.arrays],
    }[kind]
    module, got = case.run(types)
    wanted = case.expected(*case.arrays)
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    for mine, right in pairs:
        assert mine.shape == right.shape
        np.testing.assert_allclose(mine, right, case.tolerance, case.tolerance)
    if kind != "unknown" and case.name not in NO_KERNEL:
        legalised = str(transform.LegalizeOps()(module))
        assert f"vm.op.{case.name.rsplit('.', 1)[-1]}" not in legalised


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("size", [1, 2, 7, 131])
def test_hamming_window(size: int, periodic: bool) -> None:
    x = relax.Var("x", relax.TensorType(("n",), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        sizes = (size, x.ty.dims[0])
        windows = [op.hamming_window(n, periodic, 0.5, 0.4, "float32") for n in sizes]
        bb.emit_func_output(relax.Tuple(windows))
    turns = np.arange(size) * 2 * np.pi / max(size if periodic else size - 1, 1)
    wanted = 0.5 - 0.4 * np.cos(turns) if size > 1 else np.ones(1)
    got = relax.VirtualMachine(relax.build(bb.get()))["main"](np.zeros(size, "float32"))
    for each in got:
        np.testing.assert_allclose(each, wanted, 1e-6, 1e-6)


def test_what_does_not_fit_is_rejected_at_run_time() -> None:
    unknown = [relax.TensorType(dtype=None)] * 2
    data = floats(3, 7)
    for case in (
        Case("slice_scatter", [data, floats(3, 4)], [], slices,
             {"start": 1, "end": 6, "step": 2, "axis": 1}),
        Case("memory.view", [data], [], slices, {"shape": (22,)}),
        Case("nn.pixel_shuffle", [floats(3, 2, 2)], [], shuffled, {"upscale_factor": 2}),
        Case("layout_transform", [data], [], in_threes, {"index_map": lambda i: (i // 2, i % 2)}),
        Case("layout_transform", [data], [], in_threes, {"index_map": lambda i, j: (i % 2, j)}),
        Case("reverse_sequence", [data, np.array([1, 2])], [], slices),
        Case("collapse_sum_like", [data, floats(2, 1)], [], slices),
        Case("median", [floats(0, 3)], [], slices),
    ):  # fmt: skip
        with pytest.raises(RelaxMLIRError):
            case.run(unknown[: len(case.arrays)])
