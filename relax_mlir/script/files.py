"""Scripts in files, with their large constants in a safetensors file next to them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relax_mlir.atomic_file import write_file
from relax_mlir.errors import ScriptError
from relax_mlir.runtime.files.safetensors import load_file, save_file

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule

# What a printed script calls its large constants: metadata[CONSTANTS][0].
CONSTANTS = "relax.expr.Constant"
_SUFFIX = ".safetensors"


def save_script(module: "IRModule", path: str | os.PathLike[str]) -> None:
    """Write a module as TVMScript that `load_script` and the tools read back.

    Constants of more than 64 elements go to a safetensors file of the same name next to it, under
    the names `c0`, `c1` and so on; without such constants there is none.

    Args:
        module: the module, or a function.
        path: the file to write, `model.py`.

    Raises:
        OSError: a file cannot be written.
    """
    from relax_mlir.ir.module import module_of
    from relax_mlir.script.printer.module import print_module

    text, metadata = print_module(module_of(module))
    weights = Path(path).with_suffix(_SUFFIX)
    arrays = metadata.get(CONSTANTS, [])
    if arrays:
        save_file({f"c{i}": array for i, array in enumerate(arrays)}, weights)
    else:
        weights.unlink(missing_ok=True)
    write_file(path, [text.encode()])


def load_script(path: str | os.PathLike[str]) -> "IRModule":
    """Read a script from a file, its large constants from the safetensors file next to it.

    Raises:
        ScriptError: the text is wrong, or mentions a constant that is not in the file.
        ExecutableFormatError: the file next to it is no safetensors file.
        OSError: the file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScriptError(f"this is no text: {error}", filename=os.fspath(path)) from error
    return parse_file(text, os.fspath(path))


def parse_file(text: str, filename: str) -> "IRModule":
    """Parse the text of a file; as `load_script`, for text that has been read."""
    from relax_mlir.script.parser.module import parse_text

    weights = Path(filename).with_suffix(_SUFFIX)
    metadata: dict[str, Any] = {}
    if "metadata[" in text and weights.is_file():
        arrays = load_file(weights)
        constants = []
        while f"c{len(constants)}" in arrays:
            constants.append(arrays[f"c{len(constants)}"])
        metadata = {"metadata": {CONSTANTS: constants}}
    return parse_text(text, metadata, filename)
