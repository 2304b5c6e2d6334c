"""Whether parallel kernels have an OpenMP runtime to call; without one they are compiled serial."""

from relax_mlir.openmp_files import found_runtimes


def runtime_library() -> str | None:
    """Return the file or name to load LLVM's OpenMP runtime by, None where there is none."""
    return next(iter(found_runtimes()), None)
