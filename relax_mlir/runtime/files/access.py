"""Reading files into aligned memory without copying them."""

import contextlib
import mmap
import os
import threading
import weakref
import zlib
from pathlib import Path

import numpy as np

ALIGN = 64
# Checksums are of pieces, so that several threads share the check of one large array.
PIECE = 8 << 20
_FOR_A_THREAD = 1 << 20
_MAX_THREADS = 8


class _Mapping(mmap.mmap):
    """A mapped file, which is also open for reading."""

    descriptor: int


def pad(size: int) -> int:
    """Return how many bytes are missing to the next multiple of the alignment."""
    return -size % ALIGN


def _aligned_buffer(size: int) -> np.ndarray:
    raw = np.empty(size + ALIGN, np.uint8)
    start = -raw.ctypes.data % ALIGN
    return raw[start : start + size]


def aligned_copy(data: bytes) -> np.ndarray:
    """Return the bytes in aligned memory."""
    buffer = _aligned_buffer(len(data))
    buffer[:] = np.frombuffer(data, np.uint8)
    return buffer


def read_aligned(path: str | os.PathLike[str]) -> np.ndarray:
    """Return a file's bytes in aligned memory of the process; OSError when it cannot be read."""
    with Path(path).open("rb") as file:
        buffer = _aligned_buffer(os.fstat(file.fileno()).st_size)
        view, done = buffer.data, 0
        while done < len(view):
            got = file.readinto(view[done:])
            if not got:
                break
            done += got
    return buffer[:done]


def map_file(path: str | os.PathLike[str]) -> np.ndarray:
    """Return a file's bytes, page-aligned and read from disk when they are looked at.

    What is written to the memory stays in this process. A file that cannot be mapped is read.
    Linux is asked for huge pages, in which weights are read up to twice as fast: a page table walk
    takes as long as a few lines, and longer in a virtual machine.

    Raises:
        OSError: the file cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        memory = _Mapping(descriptor, 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):
        os.close(descriptor)
        return read_aligned(path)
    _advise_huge(memory)
    memory.descriptor = descriptor
    weakref.finalize(memory, os.close, descriptor)
    return np.frombuffer(memory, np.uint8)


def _advise_huge(memory: mmap.mmap) -> None:
    """Ask for huge pages where the system and the file's file system have them."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)


def flat_bytes(array: np.ndarray) -> np.ndarray:
    """Return the bytes of a C-contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)


def checksums(*arrays: np.ndarray) -> list[list[int]]:
    """Return the CRC-32 of each piece of the bytes of arrays; several threads work on much.

    What is mapped is mapped once more, piece by piece: pages that nothing else looks at, such as
    rows of a table that no input asks for, stay out of this process's memory.
    """
    pieces = [[data[i : i + PIECE] for i in range(0, len(data), PIECE)] for data in arrays]
    flat = [piece for each in pieces for piece in each]
    # A pool of threads takes longer to import than a hundred megabytes to check.
    todo, sums = iter(enumerate(flat)), [0] * len(flat)
    failures: list[OSError] = []

    def work() -> None:
        try:
            while (entry := next(todo, None)) is not None:
                sums[entry[0]] = _checksum(entry[1])
        except OSError as error:
            failures.append(error)

    count = min(_MAX_THREADS, os.cpu_count() or 1, sum(map(len, flat)) // _FOR_A_THREAD)
    threads = [threading.Thread(target=work) for _ in range(count - 1)]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    results = iter(sums)
    return [[next(results) for _ in each] for each in pieces]


def _checksum(data: np.ndarray) -> int:
    source, whole = data, data
    while isinstance(source, np.ndarray):
        source, whole = source.base, source
    mapping = source.obj if isinstance(source, memoryview) else source
    if not isinstance(mapping, _Mapping):
        return zlib.crc32(data.data)
    start = data.ctypes.data - whole.ctypes.data
    lead = start % mmap.ALLOCATIONGRANULARITY
    try:
        again = mmap.mmap(
            mapping.descriptor, lead + len(data), access=mmap.ACCESS_READ, offset=start - lead
        )
    except ValueError:  # the file has been cut
        return -1
    # Reading through such a mapping also has the file cached in huge pages.
    _advise_huge(again)
    with again, memoryview(again) as view, view[lead:] as piece:
        return zlib.crc32(piece)
