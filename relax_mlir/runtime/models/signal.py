"""Fourier transforms, and windows put back into images; semantics of ONNX, `_fourier` torch's."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_Array = np.ndarray


def _complex(x: _Array) -> _Array:
    return x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]


def _parts(x: _Array, dtype: np.dtype) -> _Array:
    return np.stack([np.real(x), np.imag(x)], -1).astype(dtype)


def _dft(x: _Array, length: Any, axis: Any, *, at: int, inverse: bool, onesided: bool) -> Any:
    at = int(axis.reshape(-1)[0]) if axis is not None else at
    at = at if at >= 0 else at + x.ndim
    values = _complex(x)
    count = None if length is None else int(length.reshape(-1)[0])
    if inverse and onesided:
        return np.fft.irfft(values, count, at)[..., None].astype(x.dtype)
    y = (np.fft.ifft if inverse else np.fft.fft)(values, count, at)
    if onesided:
        y = np.take(y, range(y.shape[at] // 2 + 1), at)
    return _parts(y, x.dtype)


def _fourier(
    real: _Array, imag: Any = None, last: Any = None,
    *, kind: str, axes: Sequence[int], norm: str,
) -> Any:  # fmt: skip
    """Transform real and imaginary parts over some axes, as torch's `_fft_r2c` and its like do.

    Sums are divided by nothing, by the number of elements along the axes, or by its root.
    """
    values = real if imag is None else real + 1j * imag
    sizes = [values.shape[axis] for axis in axes]
    if kind == "irfft":
        sizes[-1] = int(last.reshape(-1)[0])
    count = math.prod(sizes)
    scale = {"none": 1.0, "root": 1 / math.sqrt(count or 1), "count": 1 / (count or 1)}[norm]
    if kind in ("fft", "rfft"):
        y = (np.fft.rfftn if kind == "rfft" else np.fft.fftn)(values, axes=axes) * scale
    elif kind == "ifft":
        y = np.fft.ifftn(values, axes=axes, norm="forward") * scale
    else:
        y = np.fft.irfftn(values, sizes, axes, norm="forward") * scale
        return y.astype(real.dtype, copy=False)
    return tuple(part.astype(real.dtype, copy=False) for part in (np.real(y), np.imag(y)))


def _stft(x: _Array, step: _Array, window: Any, length: Any, *, onesided: bool) -> Any:
    size = int(length.reshape(-1)[0]) if length is not None else window.shape[0]
    hop = int(step.reshape(-1)[0])
    values = _complex(x)
    starts = range(0, values.shape[1] - size + 1, hop)
    frames = np.stack([values[:, start : start + size] for start in starts], 1)
    y = np.fft.fft(frames if window is None else frames * window, axis=-1)
    return _parts(y[..., : size // 2 + 1] if onesided else y, x.dtype)


def _col2im(
    x: _Array, image: _Array, block: _Array,
    *, dilations: Sequence[int], pads: Sequence[int], strides: Sequence[int],
) -> Any:  # fmt: skip
    sizes, kernel = [int(e) for e in image], [int(e) for e in block]
    rank = len(sizes)
    dilations, strides = dilations or [1] * rank, strides or [1] * rank
    pads = pads or [0] * (2 * rank)
    padded = [sizes[i] + pads[i] + pads[rank + i] for i in range(rank)]
    counts = [
        (padded[i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(rank)
    ]
    channels = x.shape[1] // int(np.prod(kernel))
    columns = x.reshape(x.shape[0], channels, int(np.prod(kernel)), *counts)
    y = np.zeros((x.shape[0], channels, *padded), x.dtype)
    for number, offsets in enumerate(itertools.product(*map(range, kernel))):
        places = tuple(
            slice(o * d, o * d + (n - 1) * s + 1, s)
            for o, d, n, s in zip(offsets, dilations, counts, strides, strict=True)
        )
        y[(slice(None), slice(None), *places)] += columns[:, :, number]
    inner = tuple(slice(pads[i], pads[i] + sizes[i]) for i in range(rank))
    return y[(slice(None), slice(None), *inner)]


SIGNAL: dict[str, Callable[..., Any]] = {
    "col2im": _col2im, "dft": _dft, "fourier": _fourier, "stft": _stft,
}  # fmt: skip
