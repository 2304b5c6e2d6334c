"""Where LLVM's OpenMP runtime is, for those who compile parallel kernels and those who run them."""

import ctypes.util
import functools
import importlib.metadata
import sys
from pathlib import Path

# Files of PyPI's intel-openmp, then the names under which systems carry LLVM's runtime. GCC's
# libgomp lacks the entry points that LLVM's code calls.
_FILES = ("lib/libiomp5.so", "lib/libiomp5.dylib", "Library/bin/libiomp5md.dll")
_NAMES = ("iomp5", "omp", "omp5")


@functools.lru_cache(maxsize=1)
def found_runtimes() -> tuple[str, ...]:
    """Return the files and names that the OpenMP runtime can be loaded by, the best first."""
    paths = [str(path) for file in _FILES if (path := Path(sys.prefix) / file).exists()]
    # In an environment that sees the packages of another one, the files lie in that one.
    try:
        files = importlib.metadata.files("intel-openmp") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    known = {Path(file).name for file in _FILES}
    paths += [str(Path(str(f.locate())).resolve()) for f in files if f.name in known]
    names = [name for name in map(ctypes.util.find_library, _NAMES) if name]
    return tuple(dict.fromkeys([*paths, *names]))
