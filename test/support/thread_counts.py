"""Compiled functions with other numbers of threads than the runtime would take."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime import num_threads, set_num_threads


def bits(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Return the bytes of the array that a function gives."""
    return np.asarray(function(*arguments)).tobytes()


def check_bits(call: Callable[[], bytes], wanted: bytes) -> None:
    """Check that a call gives the same bytes with one thread, as with two, three and five."""
    before = num_threads()
    try:
        for count in (1, 2, 3, 5):
            set_num_threads(count)
            assert call() == wanted, count
    finally:
        set_num_threads(before)
