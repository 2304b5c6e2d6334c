"""Determinants, inverses and solutions of equations, by LAPACK as numpy has it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import VMError

_Array = np.ndarray


def _transposed(x: _Array) -> _Array:
    return np.swapaxes(x, -1, -2)


def _slogdet(x: _Array) -> Any:
    return tuple(np.linalg.slogdet(x))


def _logdet(x: _Array) -> Any:
    sign, size = np.linalg.slogdet(x)
    return np.where(sign < 0, np.nan, size).astype(x.dtype)


def _solve(a: _Array, b: _Array, *, left: bool = True) -> Any:
    """Return the solution of `a x = b`, or of `x a = b`; b may be a vector for each matrix."""
    is_vector = b.ndim == 1 or b.shape == a.shape[:-1]
    b = b[..., None] if is_vector else b
    x = (
        np.linalg.solve(a, b)
        if left
        else _transposed(np.linalg.solve(_transposed(a), _transposed(b)))
    )
    return x[..., 0] if is_vector else x


def _triangle(x: _Array, *, upper: bool, unit: bool = False) -> _Array:
    x = (np.triu if upper else np.tril)(x)
    return x * (1 - np.eye(x.shape[-1], dtype=x.dtype)) + np.eye(x.shape[-1]) if unit else x


def _solve_triangular(a: _Array, b: _Array, *, upper: bool, left: bool, unit: bool) -> Any:
    return _solve(_triangle(a, upper=upper, unit=unit).astype(b.dtype), b, left=left)


def _cholesky(x: _Array, *, upper: bool) -> Any:
    """Return the factor of the triangle that is asked for; the other triangle is not read."""
    return _transposed(np.linalg.cholesky(_transposed(x))) if upper else np.linalg.cholesky(x)


def _cholesky_solve(b: _Array, factor: _Array, *, upper: bool) -> Any:
    lower = _transposed(_triangle(factor, upper=True)) if upper else _triangle(factor, upper=False)
    return np.linalg.solve(_transposed(lower), np.linalg.solve(lower, b))


def _cholesky_inverse(factor: _Array, *, upper: bool) -> Any:
    return _cholesky_solve(np.eye(factor.shape[-1], dtype=factor.dtype), factor, upper=upper)


def _pinv(x: _Array) -> Any:
    return np.linalg.pinv(x, max(x.shape[-2:]) * np.finfo(x.dtype).eps)


def _checked(compute: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **config: Any) -> Any:
        try:
            return compute(*args, **config)
        except np.linalg.LinAlgError as error:
            raise VMError(f"{compute.__name__.strip('_')}: {error}") from None

    return call


MATRICES: dict[str, Callable[..., Any]] = {
    "det": np.linalg.det, "slogdet": _slogdet, "logdet": _logdet,
    "inverse": _checked(np.linalg.inv), "solve": _checked(_solve),
    "solve_triangular": _checked(_solve_triangular),
    "cholesky": _checked(_cholesky), "cholesky_solve": _checked(_cholesky_solve),
    "cholesky_inverse": _checked(_cholesky_inverse), "pinv": _checked(_pinv),
}  # fmt: skip
