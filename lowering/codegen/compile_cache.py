"""Compiled modules kept on disk, so that what was compiled once is not compiled again.

An entry is named by a digest of all that its code depends on: the kernels as they enter code
generation, the target, the versions of the libraries, and the sources of this compiler. Processes
may share a folder: entries appear in one step, and one that is damaged is as good as none.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Names the folder, or with one of `_OFF` says that there is none.
ENVIRONMENT = "RELAX_MLIR_CACHE"
_OFF = ("", "0", "off", "false", "no")
_MAGIC = b"relax-mlir object 1\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8
_SUFFIX = ".relaxobj"
_LIBRARIES = ("torch-mlir", "llvmlite", "relax-mlir")
DEFAULT_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class Entry:
    """What is kept of a compilation: the object file, its functions, and the LLVM IR it is from."""

    object: bytes
    names: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class CompileCache:
    """A folder of compiled modules; made when something is kept.

    Attributes:
        folder: where.
        most_bytes: what entries together may take; those used longest ago are deleted.
    """

    folder: Path
    most_bytes: int = DEFAULT_MOST_BYTES

    @staticmethod
    def find(setting: "str | os.PathLike[str] | bool" = True) -> "CompileCache | None":
        """Return the cache that a setting means: a folder, False for none, True for the user's.

        The user's is named by the environment variable `RELAX_MLIR_CACHE`, which may also be `0` or
        `off`; without it, it is `relax-mlir` in the folder where the system keeps caches.
        """
        if setting is False:
            return None
        if setting is not True:
            return CompileCache(Path(setting).expanduser())
        named = os.environ.get(ENVIRONMENT)
        if named is not None:
            return None if named.lower() in _OFF else CompileCache(Path(named).expanduser())
        try:
            caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        except RuntimeError:  # the user has no home
            return None
        return CompileCache(Path(caches) / "relax-mlir")

    def load(self, key: str) -> Entry | None:
        """Return an entry, None where there is none that is whole."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        entry = _decode(data)
        with contextlib.suppress(OSError):
            if entry is None:
                path.unlink()
            else:
                os.utime(path)  # used now
        return entry

    def store(self, key: str, entry: Entry) -> None:
        """Keep an entry; a folder that cannot be written to keeps nothing."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(_encode(entry))
                Path(temporary).replace(self._path(key))
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
            self._shrink()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _shrink(self) -> None:
        entries = []
        with os.scandir(self.folder) as found:
            for item in found:
                if item.name.endswith(_SUFFIX):
                    with contextlib.suppress(OSError):  # another process deleted it
                        status = item.stat()
                        entries.append((status.st_mtime_ns, status.st_size, item.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.most_bytes:
                return
            with contextlib.suppress(OSError):
                Path(path).unlink()
            total -= size


def key_of(program: str, settings: Mapping[str, object]) -> str:
    """Return the name of a compilation's entry.

    Args:
        program: the kernels' text.
        settings: what else the code depends on, such as the target.
    """
    digest = hashlib.sha256(_compiler())
    digest.update(json.dumps(dict(settings), sort_keys=True).encode())
    digest.update(b"\0")
    digest.update(program.encode())
    return digest.hexdigest()


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
        folder = Path(str(package.__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.digest()


def _encode(entry: Entry) -> bytes:
    source = zlib.compress(entry.source.encode(), 1)
    header = json.dumps({"names": entry.names, "object": len(entry.object)}).encode()
    body = b"".join((len(header).to_bytes(_LENGTH_BYTES, "little"), header, entry.object, source))
    return _MAGIC + hashlib.sha256(body).digest() + body


def _decode(data: bytes) -> Entry | None:
    start = len(_MAGIC) + _DIGEST_BYTES
    body = data[start:]
    if not data.startswith(_MAGIC) or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        return None
    # What has the right digest is as it was written.
    at = _LENGTH_BYTES + int.from_bytes(body[:_LENGTH_BYTES], "little")
    header = json.loads(body[_LENGTH_BYTES:at])
    end = at + header["object"]
    return Entry(body[at:end], tuple(header["names"]), zlib.decompress(body[end:]).decode())
