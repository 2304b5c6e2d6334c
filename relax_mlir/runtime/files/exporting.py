"""Export of executables as shared libraries for the TVM FFI."""

import io
import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from relax_mlir.atomic_file import replacing, write_file
from relax_mlir.errors import CompileError
from relax_mlir.runtime.files.serialize import dump
from relax_mlir.runtime.native.thread_pool import pool_object
from relax_mlir.runtime.program import Program

# The executable inside a shared library, and inside an archive.
IMAGE = "__relax_mlir_executable"
IMAGE_SIZE = f"{IMAGE}_size"
ARCHIVED = "executable.rxe"

_STAGE = "export_library"
_COMPILERS = ("cc", "gcc", "clang")
# Writable, so that nothing a program does to its arrays ends the process; pages are private.
_EMBED = f"""\
    .section .rxe,"aw",%progbits
    .globl {IMAGE}
    .globl {IMAGE_SIZE}
    .balign 64
{IMAGE}:
    .incbin "{ARCHIVED}"
.Lend:
    .balign 8
{IMAGE_SIZE}:
    .quad .Lend - {IMAGE}
    .section .note.GNU-stack,"",%progbits
"""


def export_library(
    executable: Program, path: str | os.PathLike[str], options: Sequence[str] = ()
) -> None:
    """Write an executable as a shared library, an archive (`.tar`) or an object file (`.o`).

    See `Executable.export_library`.
    """
    suffix = Path(path).suffix
    if suffix == ".tar":
        _write_archive(executable, path)
    elif suffix == ".o":
        if not executable.native:
            raise CompileError(
                _STAGE, "an object file holds native code, and the executable has none"
            )
        if any(obj.is_parallel for obj in executable.native):
            raise CompileError(
                _STAGE,
                "kernels for several threads need the thread pool, a second object file: export a "
                ".so or .tar, or build with -num-threads=1",
            )
        if len(executable.native) == 1:
            write_file(path, [executable.native[0].data])
        else:
            _link(_objects(executable), path, ["-r", "-nostdlib"])
    elif suffix in (".so", ".dylib", ".dll"):
        _link_library(executable, path, options)
    else:
        raise CompileError(
            _STAGE, f"'{os.fspath(path)}' does not end in .so (shared library), .tar or .o"
        )


def _write_archive(executable: Program, path: str | os.PathLike[str]) -> None:
    files = _objects(executable)
    files[ARCHIVED] = b"".join(dump(executable))
    with replacing(path) as out, tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def _objects(executable: Program) -> dict[str, bytes]:
    """Return the object files of a library by name: kernels, and the thread pool they call."""
    files = {f"kernels{i}.o": obj.data for i, obj in enumerate(executable.native)}
    parallel = [obj for obj in executable.native if obj.is_parallel]
    if parallel:
        files["thread_pool.o"] = pool_object(parallel[0].triple)
    return files


def _compiler() -> list[str]:
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    for name in _COMPILERS:
        result = shutil.which(name)
        if result:
            return [result]
    raise CompileError(
        _STAGE,
        "a library needs a C compiler, and none of "
        f"{', '.join(_COMPILERS)} is there: install one, name one in CC, or export a .tar",
    )


def _link_library(
    executable: Program, path: str | os.PathLike[str], options: Sequence[str]
) -> None:
    from relax_mlir.runtime.native.ffi import tvm_ffi

    folder = Path(tvm_ffi.libinfo.find_libtvm_ffi()).parent
    libraries = [f"-L{folder}", "-ltvm_ffi", "-lm"]
    files = {**_objects(executable), "embed.S": _EMBED.encode()}
    _link(files, path, ["-shared", *libraries, *options], executable)


def _link(
    files: Mapping[str, bytes],
    path: str | os.PathLike[str],
    options: Sequence[str],
    embedded: Program | None = None,
) -> None:
    """Link files by the C compiler into one; an assembly file may embed an executable's image."""
    compiler = _compiler()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, data in files.items():
            (folder / file).write_bytes(data)
        if embedded is not None:
            write_file(folder / ARCHIVED, dump(embedded))
        command = [*compiler, "-o", "linked", *files, *options]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except OSError as error:
            raise CompileError(_STAGE, f"cannot run {compiler[0]}: {error}") from error
        if done.returncode:
            raise CompileError(_STAGE, f"{shlex.join(command)} failed:\n{done.stderr.strip()}")
        with replacing(path) as out, (folder / "linked").open("rb") as made:
            shutil.copyfileobj(made, out)
