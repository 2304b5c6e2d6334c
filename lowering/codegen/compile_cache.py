"""The cache of native objects on disk.

An entry is named by a digest of all that it depends on: the kernels as they enter code generation,
the target, the versions of the libraries, and the sources of this compiler. Processes may share a
folder: entries appear in one step, and one that is damaged is as good as none.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import logging
import os
import shutil
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.atomic_file import write_file

# Names the folder, or with one of `_OFF` says that there is none, with one of `_ON` the default.
ENVIRONMENT = "RELAX_MLIR_CACHE"
_OFF = ("", "0", "off", "false", "no")
_ON = ("1", "on", "true", "yes")
_MAGIC = b"relax-mlir cache 3\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8
_OBJECT = ".relaxobj"
_SUFFIX = ".relax"  # of all entries: what comes before `obj` and the like
_LIBRARIES = ("torch-mlir", "llvmlite", "relax-mlir")
# What entries may take: a share of the free space, as a model's weights may be gigabytes, or this.
_MAX_BYTES = 1 << 30
_SHARE = 10
# A folder is looked through again once this process has written such a share of its room: others
# write to it too, and a look takes 26 ms with 3,000 entries, several times an entry's own write.
_UNCHECKED_SHARE = 16
# Large constants are digested in pieces, by as many threads as there are cores.
_PIECE = 8 << 20
_LOGGER = logging.getLogger("relax_mlir.cache")
# What may be written to folders of a size limit before they are looked through again, in bytes.
_unchecked: dict[tuple[Path, int | None], int] = {}


@dataclass(frozen=True)
class Entry:
    """What is kept of a compilation.

    Attributes:
        objects: each object file, and the functions that it exports.
        source: the LLVM IR that they are from.
    """

    objects: tuple[tuple[bytes, tuple[str, ...]], ...]
    source: str


@dataclass(frozen=True)
class CompileCache:
    """A folder of what was compiled; made when something is kept.

    Attributes:
        folder: where.
        max_bytes: what entries together may take; those used longest ago are deleted. None is a
            tenth of the free space, at least 1 GiB.
    """

    folder: Path
    max_bytes: int | None = None

    @staticmethod
    def find(setting: "str | os.PathLike[str] | bool" = True) -> "CompileCache | None":
        """Return the cache that a setting means: a folder, False for none, True for the user's.

        The user's is named by the environment variable `RELAX_MLIR_CACHE`, which may also be `0` or
        `off`; without it, or where it is `1` or `on`, it is `relax-mlir` in the folder where the
        system keeps caches.
        """
        if setting is False:
            return None
        if setting is not True:
            return CompileCache(Path(setting).expanduser())
        named = os.environ.get(ENVIRONMENT, "on")
        if named.lower() in _OFF:
            return None
        if named.lower() not in _ON:
            return CompileCache(Path(named).expanduser())
        try:
            caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        except RuntimeError:  # the user has no home
            return None
        return CompileCache(Path(caches) / "relax-mlir")

    def load(self, key: str) -> Entry | None:
        """Return the code of a compilation, None where there is none that is whole."""
        path = self.find_file(f"{key}{_OBJECT}")
        if path is None:
            return None
        try:
            entry = _decode(path.read_bytes())
        except OSError:
            return None
        if entry is None:
            self.drop(path)
        return entry

    def store(self, key: str, entry: Entry) -> None:
        """Keep the code of a compilation; a folder that cannot be written to keeps nothing."""
        self.write(f"{key}{_OBJECT}", _encode(entry))

    def find_file(self, name: str) -> Path | None:
        """Return a file of the folder, which is used now; None where there is none."""
        path = self.folder / name
        try:
            os.utime(path)
        except OSError:
            _LOGGER.debug("no entry %s", path)
            return None
        _LOGGER.debug("entry %s", path)
        return path

    def drop(self, path: Path) -> None:
        """Delete a file of the folder that is not as it was written."""
        _LOGGER.info("%s is damaged; it is compiled again", path)
        with contextlib.suppress(OSError):
            path.unlink()

    def write(self, name: str, parts: Sequence[Any]) -> None:
        """Write a file, given as buffers; a folder that cannot be written to keeps nothing.

        What takes more than half of the folder's room is not kept.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            most = self.max_bytes
            if most is None:
                most = max(_MAX_BYTES, shutil.disk_usage(self.folder).free // _SHARE)
            size = sum(memoryview(part).nbytes for part in parts)
            if size <= most // 2:
                write_file(self.folder / name, parts)
                folder = self.folder, self.max_bytes
                _unchecked[folder] = _unchecked.get(folder, 0) - size
                if _unchecked[folder] < 0:
                    _unchecked[folder] = (most - self._shrink(most)) // _UNCHECKED_SHARE
        except OSError as error:
            _LOGGER.info("%s is not kept: %s", self.folder / name, error)

    def _shrink(self, most: int) -> int:
        """Delete what was used longest ago; returns the bytes that the folder has then."""
        entries = []
        with os.scandir(self.folder) as listing:
            for item in listing:
                if _SUFFIX in item.name:
                    with contextlib.suppress(OSError):  # another process deleted it
                        status = item.stat()
                        entries.append((status.st_mtime_ns, status.st_size, item.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= most:
                break
            with contextlib.suppress(OSError):
                Path(path).unlink()
            total -= size
        return total


def key_of(program: str, settings: Mapping[str, object], arrays: Iterable[np.ndarray] = ()) -> str:
    """Return the name of a compilation's entry.

    Args:
        program: its text.
        settings: what else the code depends on, such as the target.
        arrays: the program's constants, contiguous.
    """
    digest = hashlib.sha256(_compiler())
    digest.update(json.dumps(dict(settings), sort_keys=True).encode())
    digest.update(b"\0")
    digest.update(program.encode())
    for each in _digests(arrays):
        digest.update(each)
    return digest.hexdigest()


def _digests(arrays: Iterable[np.ndarray]) -> Iterable[bytes]:
    flat = [array.reshape(-1).view(np.uint8).data for array in arrays]
    pieces = [data[i : i + _PIECE] for data in flat for i in range(0, len(data), _PIECE)]
    if len(pieces) == 1 or sum(map(len, pieces)) < _PIECE:
        return map(_digest, pieces)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(_digest, pieces))


def _digest(piece: memoryview) -> bytes:
    return hashlib.sha256(piece).digest()


@functools.cache
def _compiler() -> bytes:
    """Return a digest of this compiler: versions, and sources, which may change without one."""
    digest = hashlib.sha256(_MAGIC)
    for name in _LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            digest.update(f"{name} {importlib.metadata.version(name)}\n".encode())
    import relax_mlir.dialects
    import relax_mlir.lowering

    for package in (relax_mlir.dialects, relax_mlir.lowering):
        add_sources(digest, Path(str(package.__file__)).parent)
    return digest.digest()


def add_sources(digest: Any, folder: Path) -> None:
    """Add the Python files of a folder to one of hashlib's digests."""
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())


def _encode(entry: Entry) -> list[bytes]:
    source = zlib.compress(entry.source.encode(), 1)
    header = json.dumps([[len(data), names] for data, names in entry.objects]).encode()
    images = [data for data, _ in entry.objects]
    body = [len(header).to_bytes(_LENGTH_BYTES, "little"), header, *images, source]
    return [_MAGIC, hashlib.sha256(b"".join(body)).digest(), *body]


def _decode(data: bytes) -> Entry | None:
    start = len(_MAGIC) + _DIGEST_BYTES
    body = data[start:]
    if not data.startswith(_MAGIC) or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        return None
    # What has the right digest is as it was written.
    at = _LENGTH_BYTES + int.from_bytes(body[:_LENGTH_BYTES], "little")
    objects = []
    for size, names in json.loads(body[_LENGTH_BYTES:at]):
        objects.append((body[at : at + size], tuple(names)))
        at += size
    return Entry(tuple(objects), zlib.decompress(body[at:]).decode())
