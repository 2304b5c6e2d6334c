"""Discrete Fourier transforms and window functions."""

import math
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.conversion import as_expr, cast
from relax_mlir.tir.scalar.dtypes import checked
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.support import same, shape_of, tensor

_COS, _SIN = functions.UNARY["cos"], functions.UNARY["sin"]


def hamming_window(
    window_size: Any, periodic: Any = True, alpha: float = 0.54, beta: float = 0.46,
    dtype: str = "float32",
) -> Tensor:  # fmt: skip
    """Return `alpha - beta * cos(2 * pi * n / N)`, where `N` is one less without `periodic`.

    Raises:
        ExprError: the size is no number greater than 1.
    """
    if not isinstance(window_size, int) or window_size < 1:
        raise ExprError(f"topi.hamming_window needs a positive size, got {window_size!r}")
    steps = window_size if periodic else max(window_size - 1, 1)
    turn = 2 * math.pi / steps
    kind = checked(dtype)
    if window_size == 1:
        return compute((1,), lambda i: as_expr(1.0, kind), name="T_hamming_window")
    return compute(
        (window_size,),
        lambda i: cast(alpha - beta * _COS(cast(i, "float64") * turn), kind),
        name="T_hamming_window",
    )


def dft(re_data: Tensor, im_data: Tensor, inverse: Any = False) -> tuple[Tensor, Tensor]:
    """Return the discrete Fourier transform along the last axis, by its definition.

    Args:
        re_data: real parts.
        im_data: imaginary parts.
        inverse: the inverse transform, divided by the length.

    Raises:
        ExprError: the shapes differ.
    """
    n = _last(re_data, im_data)
    sign, dtype = (1.0 if inverse else -1.0), re_data.dtype
    k = te.reduce_axis((0, n), "k")

    def parts(*i: Any) -> tuple[PrimExpr, PrimExpr]:
        # The product is reduced first: large angles have few digits.
        turn = cast(i[-1] * k % n, "float64") * (sign * 2 * math.pi) / cast(n, "float64")
        c, s = cast(_COS(turn), dtype), cast(_SIN(turn), dtype)
        a, b = re_data[(*i[:-1], k)], im_data[(*i[:-1], k)]
        return a * c - b * s, a * s + b * c

    result = [
        compute(
            re_data.shape, lambda *i, which=which: te.sum(parts(*i)[which], axis=k),
            name=f"T_dft_{name}",
        )
        for which, name in enumerate(("re", "im"))
    ]  # fmt: skip
    if inverse:
        count = cast(as_expr(n, "int64"), dtype)
        result = [compute(x.shape, lambda *i, x=x: x[i] / count, name="T_idft") for x in result]
    return result[0], result[1]


def _last(a: Tensor, b: Tensor) -> Any:
    shapes = tensor(a, "dft").shape, tensor(b, "dft").shape
    if len(shapes[0]) != len(shapes[1]) or not all(map(same, *shapes)) or not shapes[0]:
        raise ExprError(f"topi.dft takes parts of one shape, got {a} and {b}")
    return shapes[0][-1]


def stft(
    data: Tensor, n_fft: int, hop_length: int, win_length: int, window: Tensor, normalized: Any,
    onesided: Any, output_shape: Any,
) -> Tensor:  # fmt: skip
    """Return the Fourier transforms of windows of signals.

    Args:
        data: signals, a row for each.
        n_fft: the length of a transform.
        hop_length: the distance of windows.
        win_length: the length of `window`, at most `n_fft`.
        window: what the middle of each part of the signal is multiplied by.
        normalized: whether results are divided by the root of `n_fft`.
        onesided: as in TVM; `output_shape` says how many frequencies there are.
        output_shape: (row, frequency, window, 2): real and imaginary parts.

    Raises:
        ExprError: the shapes or lengths do not fit.
    """
    shape = shape_of(output_shape, "stft")
    if tensor(data, "stft").ndim != 2 or len(shape) != 4 or tensor(window, "stft").ndim != 1:
        raise ExprError(f"topi.stft takes rows and a vector, got {data} and {window}")
    if not 0 < win_length <= n_fft or hop_length < 1:
        raise ExprError(f"topi.stft: n_fft {n_fft}, hop_length {hop_length}, win_length "
                        f"{win_length}")  # fmt: skip
    offset, dtype = (n_fft - win_length) // 2, data.dtype
    k = te.reduce_axis((0, win_length), "k")
    scale = 1 / math.sqrt(n_fft) if normalized else 1.0

    def element(row: Any, frequency: Any, hop: Any, part: Any) -> PrimExpr:
        turn = cast(frequency * (k + offset) % n_fft, "float64") * (2 * math.pi / n_fft)
        wave = functions.if_then_else(part == 0, _COS(turn), -_SIN(turn))
        value = data[row, hop * hop_length + k + offset] * window[k]
        return te.sum(value * cast(wave * scale, dtype), axis=k)

    return compute(shape, element, name="T_stft")
