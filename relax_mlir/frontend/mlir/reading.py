"""Reading MLIR: text, bytecode, portable artifacts of StableHLO, exports of JAX, files of these."""

import os
from pathlib import Path
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.context import make_context
from relax_mlir.errors import ModelError
from relax_mlir.frontend.loaders import is_text
from relax_mlir.frontend.mlir.passes import load_dialects
from relax_mlir.pass_infra.execution import trial_parse
from relax_mlir.pass_infra.execution.diagnostics import Diagnostic, captured

_BYTECODE = b"ML\xefR"
# What made the bytecode stands at its beginning; only these need StableHLO's own reader.
_ARTIFACT = b"StableHLO_v"
_MAX_FILE = 2**36


def read_module(model: Any) -> tuple[ir.Module, str]:
    """Return an MLIR module in a context of its own, and a name of it for messages.

    Args:
        model: MLIR text, bytes of text or bytecode, a portable artifact of StableHLO, the path of a
            file of these, a module of any MLIR bindings, or what `jax.export` and `lower` give.

    Raises:
        ModelError: it cannot be read; the message has MLIR's own with the line.
    """
    if hasattr(model, "mlir_module_serialized"):
        return _parse(bytes(model.mlir_module_serialized), "the JAX export")
    if hasattr(model, "compiler_ir"):
        return read_module(model.compiler_ir("stablehlo"))
    if hasattr(model, "operation") and hasattr(model, "body"):
        return _parse(model.operation.get_asm(enable_debug_info=True).encode(), "the module")
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _parse(bytes(model), "the module")
    if isinstance(model, str) and is_text(model):
        return _parse(model.encode(errors="surrogatepass"), "the module")
    if isinstance(model, (str, os.PathLike)):
        return _parse(_contents(model), os.fspath(model))
    raise ModelError(f"MLIR is text, bytes, a path or a module, got {type(model).__name__}")


def _contents(path: Any) -> bytes:
    try:
        size = Path(path).stat().st_size
        if size > _MAX_FILE:
            raise ModelError(f"{path} has {size} bytes, which is no MLIR module")
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        # A NUL character in a path is a ValueError.
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{os.fspath(path)!r} cannot be read: {reason}") from error


def _parse(data: bytes, name: str) -> tuple[ir.Module, str]:
    text = None
    if not data.startswith(_BYTECODE):
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise ModelError(f"{name} is neither MLIR bytecode nor UTF-8 text") from error
    context = make_context()
    load_dialects(context)

    def tried() -> list[Diagnostic]:
        module, diagnostics = _read(data, context)
        return [] if module is not None else diagnostics

    failure = trial_parse.failure(name, text, tried)
    if not failure:
        module, failure = _read(data, context)
        if module is not None:
            return module, name
    raise ModelError(_message(name, failure))


def _read(data: bytes, context: ir.Context) -> tuple[ir.Module | None, list[Diagnostic]]:
    with captured(context) as diagnostics:
        try:
            if data.startswith(_BYTECODE) and _ARTIFACT in data[:64]:
                return stablehlo().deserialize_portable_artifact(context, data), diagnostics
            return ir.Module.parse(data, context), diagnostics
        except (ir.MLIRError, RuntimeError, ValueError):
            pass
    return None, diagnostics or [Diagnostic("error", "it is not valid MLIR")]


def stablehlo() -> ModuleType:
    """Return the bindings of StableHLO."""
    return submodule("_mlir_libs._stablehlo")


def _message(name: str, diagnostics: list[Diagnostic]) -> str:
    first = next((each for each in diagnostics if each.severity == "error"), diagnostics[0])
    place = f":{first.line}:{first.column}" if first.line else ""
    return f"{name}{place}: {first.message.partition(chr(10))[0]}"
