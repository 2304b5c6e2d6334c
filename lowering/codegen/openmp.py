"""Where the OpenMP runtime is that parallel kernels call; without one they are compiled serial."""

import ctypes.util
import functools
import importlib.metadata
import sys
from pathlib import Path

# Files of PyPI's intel-openmp, then the names under which systems carry LLVM's runtime. GCC's
# libgomp lacks the entry points that LLVM's code calls.
_FILES = ("lib/libiomp5.so", "lib/libiomp5.dylib", "Library/bin/libiomp5md.dll")
_NAMES = ("omp", "omp5", "iomp5")


@functools.lru_cache(maxsize=1)
def runtime_library() -> str | None:
    """Return the file or name to load LLVM's OpenMP runtime by, None where there is none."""
    for file in _FILES:
        path = Path(sys.prefix) / file
        if path.exists():
            return str(path)
    # In an environment that sees the packages of another one, the files lie in that one.
    try:
        files = importlib.metadata.files("intel-openmp") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if any(file.name == Path(known).name for known in _FILES):
            return str(Path(str(file.locate())).resolve())
    return next(filter(None, map(ctypes.util.find_library, _NAMES)), None)
