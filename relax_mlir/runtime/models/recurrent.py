"""Recurrent layers of ONNX (RNN, GRU, LSTM), with their default activations."""

from collections.abc import Callable
from typing import Any

import numpy as np

_Array = np.ndarray
_Step = Callable[..., tuple[_Array, _Array]]


def _sigmoid(x: _Array) -> _Array:
    return 1 / (1 + np.exp(-x))


def _rnn(x: _Array, h: _Array, c: _Array, w: _Array, r: _Array, b: _Array, p: Any, _: bool) -> Any:
    size = h.shape[-1]
    return np.tanh(x @ w.T + h @ r.T + b[:size] + b[size:]), c


def _gru(
    x: _Array, h: _Array, c: _Array, w: _Array, r: _Array, b: _Array, p: Any, linear: bool
) -> Any:
    size = h.shape[-1]
    wb, rb = b[: 3 * size], b[3 * size :]
    from_x = x @ w.T + wb
    gates = from_x[:, : 2 * size] + h @ r[: 2 * size].T + rb[: 2 * size]
    z, reset = _sigmoid(gates[:, :size]), _sigmoid(gates[:, size:])
    hidden, bias = r[2 * size :].T, rb[2 * size :]
    recurrent = reset * (h @ hidden + bias) if linear else (reset * h) @ hidden + bias
    return (1 - z) * np.tanh(from_x[:, 2 * size :] + recurrent) + z * h, c


def _lstm(
    x: _Array, h: _Array, c: _Array, w: _Array, r: _Array, b: _Array, p: Any, coupled: bool
) -> Any:
    size = h.shape[-1]
    i, o, f, g = np.split(x @ w.T + h @ r.T + b[: 4 * size] + b[4 * size :], 4, -1)
    pi, po, pf = np.split(np.zeros(3 * size, x.dtype) if p is None else p, 3)
    i = _sigmoid(i + pi * c)
    f = 1 - i if coupled else _sigmoid(f + pf * c)
    c = f * c + i * np.tanh(g)
    return _sigmoid(o + po * c) * np.tanh(c), c


_STEPS: dict[str, tuple[_Step, int]] = {"RNN": (_rnn, 1), "GRU": (_gru, 3), "LSTM": (_lstm, 4)}


def _recurrent(
    x: _Array, w: _Array, r: _Array, b: Any, lengths: Any, h: Any, c: Any, p: Any,
    *, kind: str, direction: str, layout: int, variant: bool,
) -> Any:  # fmt: skip
    step, gates = _STEPS[kind]
    if layout:
        x = np.swapaxes(x, 0, 1)
        h, c = (each if each is None else np.swapaxes(each, 0, 1) for each in (h, c))
    time, batch, _ = x.shape
    directions, _, size = r.shape
    zeros = np.zeros((directions, batch, size), x.dtype)
    h, c = zeros if h is None else h, zeros if c is None else c
    b = np.zeros((directions, 2 * gates * size), x.dtype) if b is None else b
    ends = np.full(batch, time) if lengths is None else lengths
    y = np.zeros((time, directions, batch, size), x.dtype)
    last_h, last_c = h.copy(), c.copy()
    for d in range(directions):
        backwards = direction == "reverse" or d == 1
        for t in range(time)[:: -1 if backwards else 1]:
            peephole = None if p is None else p[d]
            new_h, new_c = step(x[t], last_h[d], last_c[d], w[d], r[d], b[d], peephole, variant)
            valid = (t < ends)[:, None]
            last_h[d] = np.where(valid, new_h, last_h[d])
            last_c[d] = np.where(valid, new_c, last_c[d])
            y[t, d] = np.where(valid, new_h, 0)
    if layout:
        y = np.transpose(y, (2, 0, 1, 3))
        last_h, last_c = np.swapaxes(last_h, 0, 1), np.swapaxes(last_c, 0, 1)
    return y, last_h, last_c


RECURRENT: dict[str, Callable[..., Any]] = {"recurrent": _recurrent}
