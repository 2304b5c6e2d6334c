"""Compiled functions with other numbers of threads than the runtime would take."""

import ctypes
from collections.abc import Callable

from relax_mlir.runtime.native import load_openmp


def check_bits(call: Callable[[], bytes], wanted: bytes) -> None:
    """Check that a call gives the same bytes with one thread, as with two, three and five."""
    load_openmp()
    library = ctypes.CDLL(None)
    before = library.omp_get_max_threads()
    try:
        for count in (1, 2, 3, 5):
            library.omp_set_num_threads(count)
            assert call() == wanted, count
    finally:
        library.omp_set_num_threads(before)
