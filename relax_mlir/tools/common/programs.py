"""What tools compile: scripts, MLIR of all dialects, files of models."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.frontend.loaders import KINDS, load_model
from relax_mlir.frontend.mlir.passes import load_dialects
from relax_mlir.frontend.mlir.program import program
from relax_mlir.ir.module import IRModule
from relax_mlir.tools.common import reading
from relax_mlir.tools.common.flags import UsageError
from relax_mlir.tools.common.streams import Source


def is_model(path: str) -> bool:
    """Whether a file is a model of another framework, by its suffix."""
    return any(PurePath(path).suffix in kind.suffixes for kind in KINDS if not kind.is_text)


def shapes_of(given: Iterable[str]) -> dict[str, list[int | str]]:
    """Return shapes by the name of the input: integers and names of symbols.

    Raises:
        UsageError: one is no `name=sizes`.
    """
    shapes = {}
    for text in given:
        name, equals, sizes = text.partition("=")
        dims = [size.strip() for size in sizes.split(",")] if sizes.strip() else []
        if not (name and equals) or not all(d.isdecimal() or d.isidentifier() for d in dims):
            raise UsageError(f"flag '--shape' wants name=1,3,n,n, got '{text}'")
        shapes[name] = [int(dim) if dim.isdecimal() else dim for dim in dims]
    return shapes


def program_of(source: Source, context: ir.Context, shapes: dict[str, Any]) -> IRModule | None:
    """Return the program that an input is, or None where MLIR has reported what is wrong with it.

    Args:
        source: the input.
        context: where MLIR is read.
        shapes: of inputs, instead of those that a model has.

    Raises:
        ModelError: it cannot be imported.
        ScriptError: it is a TVMScript, and wrong.
        UsageError: it is a program, whose shapes are its own.
    """
    options = {"shape_dict": shapes} if shapes else {}
    if is_model(source.name):
        made = load_model(source.name, **options)
        return made if isinstance(made, IRModule) else made.module()
    if source.name.endswith(reading.SCRIPT_SUFFIX) and source.text is not None:
        from relax_mlir.script.files import parse_file

        if shapes:
            raise UsageError("flag '--shape' is for models; a script has its own shapes")
        # A script's module lives in the default context.
        return parse_file(source.text, source.name)
    load_dialects(context)
    module, diagnostics = reading.parse(source, context)
    reading.report(source, diagnostics, context)
    return None if module is None else program(module, source.name, **options)
