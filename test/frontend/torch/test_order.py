"""Scans, medians and adaptive maxima of NaN, infinities, ties, no elements, every dtype."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
import torch.nn.functional as F
from torch.utils import _pytree as pytree

from relax_mlir import relax
from relax_mlir.frontend.torch import from_exported_program
from relax_mlir.transform import PassContext

NAN, INF = float("nan"), float("inf")
ODD = torch.tensor(
    [[1.0, NAN, 3.0, 3.0, -1.0], [-INF, -INF, 2.0, INF, INF], [0.5, 0.5, NAN, NAN, 0]]
)
NOTHING = torch.zeros(0, 4)
WHOLE = torch.tensor([[3, 1, 3, 2, 3], [0, 0, 5, 5, 1], [7, 7, 7, 2, 2]])
LONG = torch.arange(3 * 131 * 2.0).sin().view(3, 131, 2)
DTYPES = [torch.float64, torch.float16, torch.int32, torch.int8, torch.uint8]
SCANS = [torch.cummax, torch.cummin]
MEDIANS = [torch.median, torch.nanmedian]


class Calls(torch.nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def forward(self, *inputs):
        return [call(x) for call, x in zip(self.calls, inputs, strict=True)]


def check(rows):
    """Compile all calls as one program, and compare each with eager torch."""
    calls, inputs = zip(*rows, strict=True)
    program = torch.export.export(Calls(calls), inputs)
    with PassContext(opt_level=0):
        main = relax.VirtualMachine(relax.build(from_exported_program(program)))["main"]
    actual = iter(main(*[each.numpy() for each in inputs]))
    for i, (call, x) in enumerate(rows):
        for expected in pytree.tree_leaves(call(x)):
            result, expected = np.asarray(next(actual)), expected.numpy()
            assert result.dtype == expected.dtype, i
            rtol = 2e-3 if result.dtype == "float16" else 1e-5
            np.testing.assert_allclose(result, expected, rtol=rtol, atol=1e-6, err_msg=str(i))


def test_running_extremes():
    check([
        *((lambda x, f=f, d=d: f(x, d), x) for f in SCANS for d in (0, 1)
          for x in (ODD, WHOLE > 2)),
        *((lambda x, f=f: f(x, -1), WHOLE.to(dtype)) for f in SCANS for dtype in DTYPES),
        *((lambda x, f=f: f(x, 0), x) for f in SCANS for x in (NOTHING, torch.tensor(3.0))),
        *((lambda x, f=f: f(x, 1), LONG) for f in SCANS),
    ])  # fmt: skip


def test_running_log_sums():
    check([
        *((lambda x, d=d: torch.logcumsumexp(x, d), x) for d in (0, 1)
          for x in (ODD, WHOLE.double() * 400, WHOLE.half(), -WHOLE.float() * 200)),
        *((lambda x: torch.logcumsumexp(x, 0), x) for x in (NOTHING, torch.tensor(3.0))),
    ])  # fmt: skip


def test_medians():
    check([
        *((f, x) for f in MEDIANS
          for x in (ODD, ODD[1], WHOLE, WHOLE[:2], torch.zeros(0), torch.tensor(2.0))),
        *((lambda x, f=f, d=d: f(x, d).values, x) for f in MEDIANS for d in (0, 1)
          for x in (ODD, WHOLE, WHOLE[:, :4].double(), WHOLE.half())),
        *((lambda x, f=f: f(x, 1, keepdim=True), NOTHING) for f in MEDIANS),
        *((lambda x, f=f: f(x, 0), torch.tensor(2)) for f in MEDIANS),
    ])  # fmt: skip


def test_maxima_of_adaptive_windows():
    volume = torch.arange(2 * 3 * 5 * 6 * 7).float().sin().view(2, 3, 5, 6, 7)
    ties = (volume * 2).round()
    ties[0, 0, 0, 1, 1], ties[1, 2, 3] = NAN, -INF
    check([
        *((lambda x, s=s: F.adaptive_max_pool3d(x, s, return_indices=True), x)
          for s in (1, 2, (5, 1, 9)) for x in (volume, ties, volume[0].double())),
        *((lambda x, s=s: F.adaptive_max_pool2d(x, s, return_indices=True), ties[:, 0])
          for s in (3, (None, 2))),
        (lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True), torch.zeros(0, 3, 4, 4)),
        (lambda x: F.adaptive_max_pool1d(x, 4, return_indices=True), ties[0, 0]),
    ])  # fmt: skip


def test_distinct_elements_of_none():
    check([
        (lambda x: torch.unique(x, return_inverse=True, return_counts=True), NOTHING),
        (lambda x: torch.unique(x, return_inverse=True), torch.zeros(3, 0, 2)),
    ])  # fmt: skip


def test_a_shuffle_of_no_pixels():
    check([(lambda x: F.pixel_shuffle(x, 2), torch.zeros(2, 4, 0, 3))])
