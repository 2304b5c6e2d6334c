"""A progress bar over the kernels of a build, on a terminal."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Set to `0` or `off`, no bar is shown.
ENVIRONMENT = "RELAX_MLIR_PROGRESS"
_OFF = ("", "0", "off", "false", "no")
# What is done sooner shows no bar.
_DELAY_SECONDS = 0.5


@contextmanager
def kernel_progress(total: int, *, shown: bool = True) -> Iterator[Callable[[int], object]]:
    """Show how many kernels are compiled; give a function that counts more, for any thread.

    There is a bar only where standard error is a terminal and tqdm is installed.

    Args:
        total: how many there are.
        shown: False for no bar.
    """
    tqdm = _tqdm() if shown and total > 1 else None
    if tqdm is None:
        yield lambda _: None
        return
    with tqdm(
        total=total, desc="compiling", unit="kernel", leave=False, delay=_DELAY_SECONDS
    ) as bar:
        yield bar.update


def _tqdm() -> Callable[..., Any] | None:
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if not terminal or os.environ.get(ENVIRONMENT, "1").lower() in _OFF:
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm
