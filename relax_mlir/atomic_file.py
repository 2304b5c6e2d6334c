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

    All pieces are one write where the system can: Linux caches what is written at once in pages of
    2 MB, and maps them as such (large folios, https://docs.kernel.org/mm/transhuge.html).
    """
    with replacing(path) as file:
        if not hasattr(os, "writev"):
            file.writelines(parts)
            return
        views = [memoryview(part).cast("B") for part in parts if memoryview(part).nbytes]
        first = 0
        while first < len(views):
            wrote = os.writev(file.fileno(), views[first : first + _MOST_PIECES])
            while first < len(views) and wrote >= len(views[first]):
                wrote -= len(views[first])
                first += 1
            if wrote:
                views[first] = views[first][wrote:]
