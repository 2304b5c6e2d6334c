"""Writing files in one step: the old contents stay until the new ones are complete."""

import errno
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

# Of one call: IOV_MAX of Linux and macOS.
_MOST_PIECES = 1024
# Bytes from which on most of a piece is whole pages of 2 MB.
_LARGE = 4 << 20


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when the block is left without an error.

    Programs that have the old file mapped keep its contents. A symbolic link stays: what it points
    to is replaced. What is no regular file (a device, a pipe) cannot be replaced: it is written to.

    Raises:
        OSError: no such folder, or the file cannot be written.
    """
    path = Path(path)
    # Said here of the path itself; the system would name the temporary file.
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a file cannot replace a folder", str(path))
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", str(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(path: str | os.PathLike[str], parts: Iterable[Any]) -> None:
    """Replace a file by these pieces; the old one stays until the new one is complete.

    Small pieces are written together where the system can, large ones alone. What one call writes
    Linux caches in pages of up to 2 MB and maps as such (large folios,
    https://docs.kernel.org/mm/transhuge.html): small pieces have no such page of their own, and
    large ones share none with what a program does not look at.
    """
    with replacing(path) as file:
        if not hasattr(os, "writev"):
            file.writelines(parts)
            return
        views = [memoryview(part).cast("B") for part in parts if memoryview(part).nbytes]
        for group in _calls(views):
            while group:
                wrote = os.writev(file.fileno(), group)
                while group and wrote >= len(group[0]):
                    wrote -= len(group.pop(0))
                if wrote:
                    group[0] = group[0][wrote:]


def _calls(views: Iterable[memoryview]) -> Iterator[list[memoryview]]:
    """Yield what goes into one call each."""
    group: list[memoryview] = []
    for view in views:
        is_large = len(view) >= _LARGE
        if group and (is_large or len(group) == _MOST_PIECES):
            yield group
            group = []
        group.append(view)
        if is_large:
            yield group
            group = []
    if group:
        yield group
