"""Where a tool's result goes: a file, or standard output."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from relax_mlir.errors import RelaxMLIRError


def write(path: str | None, data: bytes) -> None:
    """Write to a file, or to standard output for `-` and None.

    Raises:
        RelaxMLIRError: it cannot be written.
        OSError: there is no standard output.
    """
    if path is not None and path != "-":
        with told(f"write output file '{path}'"):
            Path(path).write_bytes(data)
        return
    if sys.stdout is None:
        raise OSError("standard output is closed")
    with told("write to standard output"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """Make an error of the system a line that says what could not be done."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RelaxMLIRError(f"cannot {what}: {error.strerror or error}") from None
