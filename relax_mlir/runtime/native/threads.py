"""The number of threads of kernels in this process."""

from relax_mlir.runtime.native.loader import limit_threads, thread_limit
from relax_mlir.runtime.native.thread_pool import MAX_THREADS


def num_threads() -> int:
    """Return the most threads that a kernel uses.

    It is what `set_num_threads` was given, else `OMP_NUM_THREADS`, else the number of CPUs that
    this process may use. The target that a kernel was compiled for may limit it further.
    """
    return thread_limit()


def set_num_threads(count: int) -> None:
    """Set the most threads that kernels of this process use, for all later calls.

    Args:
        count: with the caller's, 1 to 255.

    Raises:
        ValueError: another number.
    """
    if not 1 <= count <= MAX_THREADS:
        raise ValueError(f"kernels use 1 to {MAX_THREADS} threads, not {count}")
    limit_threads(count)
