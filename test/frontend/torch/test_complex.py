"""Complex numbers inside of models: as two real tensors, and Fourier transforms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
from torch.export import Dim, export

import relax_mlir
from relax_mlir.errors import ExprError, RelaxMLIRError


def of(x: Any) -> Any:
    """Return a complex tensor whose imaginary parts are another row's real ones."""
    return torch.complex(x, x.flip(0) * 0.5 - 1)


# Of a tensor of shape (n, 6), real results; n is dynamic.
ROWS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: torch.view_as_real(of(x) + x),
    "sub_number": lambda x: torch.view_as_real(of(x) - (1 + 2j)),
    "subtracted": lambda x: torch.view_as_real(2 - of(x)),
    "mul": lambda x: torch.view_as_real(of(x) * of(x + 1)),
    "mul_real": lambda x: torch.view_as_real(x * of(x)),
    "mul_number": lambda x: torch.view_as_real(of(x) * 2j),
    "broadcast": lambda x: torch.view_as_real(of(x)[:, :1] * x + of(x)[:1]),
    "div": lambda x: torch.view_as_real(of(x) / of(x * 3 + 1)),
    "div_real": lambda x: torch.view_as_real(of(x) / (x.abs() + 1)),
    "reciprocal": lambda x: torch.view_as_real(of(x).reciprocal()),
    "matmul": lambda x: torch.view_as_real(of(x) @ of(x).conj().T),
    "abs": lambda x: of(x).abs(),
    "abs_large": lambda x: of(x * 1e30).abs(),
    "angle": lambda x: of(x).angle(),
    "exp": lambda x: torch.view_as_real(of(x).exp()),
    "log": lambda x: torch.view_as_real(of(x).log()),
    "polar": lambda x: torch.view_as_real(torch.polar(x.abs(), x)),
    "conj": lambda x: torch.view_as_real(of(x).conj().resolve_conj()),
    "parts": lambda x: of(x).real - of(x).imag,
    "moved": lambda x: torch.view_as_real(of(x).reshape(-1, 2, 3).permute(2, 0, 1).flip(1)),
    "joined": lambda x: torch.view_as_real(torch.cat([of(x), x.to(torch.complex64)], 1)),
    "stacked": lambda x: torch.view_as_real(torch.stack([of(x), of(-x)])),
    "split": lambda x: torch.view_as_real(of(x).split(4, dim=1)[1]),
    "sum": lambda x: torch.view_as_real(of(x).sum(0)),
    "where": lambda x: torch.view_as_real(torch.where(x > 0, of(x), x.to(torch.complex64))),
    "index": lambda x: torch.view_as_real(of(x)[:, [3, 0]]),
    "rotary": lambda x: torch.view_as_real(
        torch.view_as_complex(x.reshape(-1, 3, 2)) * torch.polar(torch.ones(3), torch.arange(3.0))
    ).flatten(1),
    "fft": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "fft_of_rows": lambda x: torch.view_as_real(torch.fft.fft(of(x), dim=0, norm="ortho")),
    "fft_cut": lambda x: torch.view_as_real(torch.fft.fft(x, n=5)),
    "fft_padded": lambda x: torch.view_as_real(torch.fft.fft(x, n=8, norm="forward")),
    "ifft": lambda x: torch.view_as_real(torch.fft.ifft(of(x))),
    "fft2": lambda x: torch.view_as_real(torch.fft.fft2(x)),
    "rfft": lambda x: torch.view_as_real(torch.fft.rfft(x)),
    "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, n=6),
    "irfft_odd": lambda x: torch.fft.irfft(of(x), n=7, norm="ortho"),
    "irfft2": lambda x: torch.fft.irfft2(torch.fft.rfft2(x), s=x.shape),
    "hfft": lambda x: torch.fft.hfft(of(x)),
}


class Rows(torch.nn.Module):
    """All rows at once, as tuples."""

    def forward(self, x: Any) -> Any:
        return tuple(row(x) for row in ROWS.values())


def test_rows() -> None:
    torch.manual_seed(0)
    program = export(Rows(), (torch.randn(5, 6),), dynamic_shapes=({0: Dim.DYNAMIC},))
    compiled = relax_mlir.compile(program)
    for count in (5, 2, 7, 31):
        x = torch.randn(count, 6)
        for name, got, wanted in zip(ROWS, compiled(x), Rows()(x), strict=True):
            got = np.asarray(got)
            assert (got.dtype, got.shape) == (np.float32, tuple(wanted.shape)), name
            atol = 2e-5 * float(wanted.abs().max())
            np.testing.assert_allclose(got, wanted.numpy(), rtol=2e-5, atol=atol, err_msg=name)


class Spectrogram(torch.nn.Module):
    """Frames into frequencies, and back."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(32, dtype=torch.float64))

    def forward(self, x: Any) -> Any:
        y = torch.stft(x, 32, 8, window=self.window, return_complex=True)
        return y.abs().square(), torch.istft(y, 32, 8, window=self.window)


def test_short_time_transforms_in_float64() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 100, dtype=torch.float64)
    compiled = relax_mlir.compile(Spectrogram(), inputs=(x,))
    for got, wanted in zip(compiled(x), Spectrogram()(x), strict=True):
        np.testing.assert_allclose(np.asarray(got), wanted.numpy(), rtol=1e-12, atol=1e-12)


class Rotary(torch.nn.Module):
    """Rotations that are a buffer of complex numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("turns", torch.polar(torch.ones(16, 4), torch.randn(16, 4)))

    def forward(self, x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns[: x.shape[1]]).flatten(-2)


def test_buffers() -> None:
    torch.manual_seed(0)
    model = Rotary()
    dims = ({0: Dim.DYNAMIC, 1: Dim("s", max=16)},)
    compiled = relax_mlir.compile(model, inputs=(torch.randn(2, 5, 8),), dynamic_shapes=dims)
    for shape in ((2, 5, 8), (1, 1, 8), (3, 16, 8)):
        x = torch.randn(shape)
        np.testing.assert_allclose(np.asarray(compiled(x)), model(x).numpy(), rtol=1e-5, atol=1e-6)


def test_torch_compile() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 6)
    compiled = torch.compile(lambda x: torch.fft.rfft(x).abs(), backend="relax_mlir")
    torch.testing.assert_close(compiled(x), torch.fft.rfft(x).abs())


class Given(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (of, "a result is of complex numbers.*return torch.view_as_real"),
        (lambda x: of(x).cos().abs(), "aten.cos.default cannot be imported for complex numbers"),
    ],
)
def test_what_is_refused(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ExprError, match=message):
        relax_mlir.compile(Given(function), inputs=(torch.randn(3, 6),))
    with pytest.raises(RelaxMLIRError, match="complex64"):
        relax_mlir.compile(Given(torch.abs), inputs=(of(torch.randn(3, 6)),))
