"""bfloat16 for the library: computed in float32, rounded once at the end."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.values.convert import BFLOAT16, DTYPES, numpy_dtype

_SINGLE = np.dtype("float32")


def through_single(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the library that takes bfloat16 arrays too.

    Its floating-point results are bfloat16 then, unless an attribute says what they are.

    Raises (the result):
        ArgumentTypeError: there are float32 arrays as well, and no attribute says what to make.
    """

    def call(*args: Any) -> Any:
        dtypes = {x.dtype.name for x in _arrays(args)}
        if BFLOAT16 not in dtypes:
            return compute(*args)
        result = compute(*map(_widened, args))
        named = [x for x in args if isinstance(x, str) and x in (*DTYPES, BFLOAT16)]
        # An integer is what indices become, as those of `topk`, or the only result.
        if any("float" in name for name in named):
            return result
        if "float32" in dtypes and not named:
            raise ArgumentTypeError("operands must have one dtype, got float32 and bfloat16")
        return tuple(map(_narrowed, result)) if isinstance(result, tuple) else _narrowed(result)

    return call


def _arrays(values: Sequence[Any]) -> list[np.ndarray]:
    result = [x for x in values if isinstance(x, np.ndarray)]
    return result + [each for x in values if isinstance(x, tuple) for each in _arrays(x)]


def _widened(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_widened, value))
    is_bfloat = isinstance(value, np.ndarray) and value.dtype.name == BFLOAT16
    return value.astype(_SINGLE) if is_bfloat else value


def _narrowed(value: Any) -> Any:
    is_single = getattr(value, "dtype", None) == _SINGLE
    return np.asarray(value).astype(numpy_dtype(BFLOAT16)) if is_single else value
