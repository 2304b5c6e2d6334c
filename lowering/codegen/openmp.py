"""Whether there is an OpenMP runtime; without one, parallel kernels are compiled serially."""

from relax_mlir.openmp_files import found_runtimes


def runtime_library() -> str | None:
    """Return the file or name to load LLVM's OpenMP runtime by, None where there is none."""
    return next(iter(found_runtimes()), None)
