"""Programs of integers: quantized by pt2e, greatest common divisors, bits as of another dtype."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
from torch.ao.quantization.fx import _decomposed  # noqa: F401, registers the operators
from torch.export import Dim, export

import relax_mlir
from relax_mlir.transform import PassContext

DECOMPOSED = torch.ops.quantized_decomposed
SCALES, ZEROS = torch.tensor([0.02, 0.03, 0.01, 0.5]), torch.tensor([3, -2, 0, 1])


class Each(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def check(function, *inputs, sizes=(3, 1, 0), exact=True):
    """Compare with eager torch; the first dimension of the first input is dynamic."""
    model = function if isinstance(function, torch.nn.Module) else Each(function)
    names = [{0: Dim.DYNAMIC}, *[None] * (len(inputs) - 1)]
    dims = names if isinstance(function, torch.nn.Module) else (tuple(names),)
    program = export(model, inputs, dynamic_shapes=tuple(dims))
    with PassContext(opt_level=0):
        main = relax_mlir.compile(program)
    for size in (len(inputs[0]), *sizes):
        given = (inputs[0][:size], *inputs[1:])
        expected, results = model(*given), main(*given)
        if isinstance(expected, torch.Tensor):
            expected, results = [expected], [results]
        for result, wanted in zip(results, expected, strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            torch.testing.assert_close(
                result, wanted, rtol=0 if exact else 1e-5, atol=1e-6, equal_nan=True
            )


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_quantized_by_a_scale(dtype):
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max

    def function(x):
        y = DECOMPOSED.quantize_per_tensor(x, 0.05, 7, low, high - 1, dtype)
        return y, DECOMPOSED.dequantize_per_tensor(y, 0.05, 7, low, high - 1, dtype)

    check(function, torch.cat([torch.randn(4, 5) * 9, torch.arange(5)[None] / 40]))


def test_quantized_by_channels():
    def function(x):
        y = DECOMPOSED.quantize_per_channel(x, SCALES, ZEROS, 1, -127, 127, torch.int8)
        plain = DECOMPOSED.dequantize_per_channel(y, SCALES, None, 1, -127, 127, torch.int8)
        return (
            y,
            plain,
            DECOMPOSED.dequantize_per_channel(y, SCALES, ZEROS, 1, -127, 127, torch.int8),
        )

    check(function, torch.randn(5, 4, 3))


def test_quantized_by_its_range():
    def function(x):
        scale, zero = DECOMPOSED.choose_qparams(x, 0, 255, 1e-9, torch.uint8)
        y = DECOMPOSED.quantize_per_tensor.tensor(x, scale, zero, 0, 255, torch.uint8)
        even = DECOMPOSED.choose_qparams_symmetric(x, -127, 127, 1e-9, torch.int8)
        back = DECOMPOSED.dequantize_per_tensor.tensor(y, scale, zero, 0, 255, torch.uint8)
        return scale, zero, y, back, *even

    check(function, torch.randn(5, 4), sizes=(3, 1), exact=False)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_a_model_of_pt2e(is_dynamic):
    pt2e = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e")
    x86 = pytest.importorskip("torchao.quantization.pt2e.quantizer.x86_inductor_quantizer")
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    x = torch.randn(6, 8)
    graph = export(model.eval(), (x,), dynamic_shapes=({0: Dim.DYNAMIC},)).module()
    settings = x86.get_default_x86_inductor_quantization_config(is_dynamic=is_dynamic)
    prepared = pt2e.prepare_pt2e(graph, x86.X86InductorQuantizer().set_global(settings))
    prepared(x)
    with torch.no_grad():
        check(pt2e.convert_pt2e(prepared), x, sizes=(3, 1))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64])
def test_divisors(dtype):
    rng = np.random.default_rng(0)
    x, y = (torch.from_numpy(rng.integers(-100, 100, size)).to(dtype) for size in ((6, 4), 4))
    y[0] = 0
    check(lambda x, y: (torch.gcd(x, y), torch.lcm(x, y)), x, y)


def test_divisors_that_take_most_steps():
    x = torch.tensor([[7540113804746346429, -(2**63)], [1, 0]])
    check(torch.gcd, x, torch.tensor([4660046610375530309, 3]), sizes=())


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        (torch.float32, torch.int32), (torch.int32, torch.float32), (torch.float32, torch.uint8),
        (torch.uint8, torch.int32), (torch.float16, torch.int16), (torch.bool, torch.int8),
        (torch.bfloat16, torch.int16),
    ],
)  # fmt: skip
def test_bits_of_another_dtype(source, dtype):
    x = (torch.randn(5, 8) * 20).to(source)
    check(lambda x: (x.view(dtype), x.clone().view(dtype)), x)
