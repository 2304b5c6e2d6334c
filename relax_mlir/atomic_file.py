"""Writing files in one step: the old contents stay until the new ones are complete."""

import errno
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


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
    """Replace a file by these pieces; the old one stays until the new one is complete."""
    with replacing(path) as file:
        file.writelines(parts)
