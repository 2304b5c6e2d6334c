"""Listings: versions, passes, dialects."""

import importlib.metadata

from relax_mlir.pass_infra import registry
from relax_mlir.pass_infra.upstream import NAMES


def version(tool: str = "relax-opt") -> str:
    """Return a tool's version, which is this project's, and the bindings'."""
    from relax_mlir.dialects.bindings import PACKAGE

    lines = [f"{tool} {_version('relax-mlir')}"]
    lines.append(f"MLIR bindings: {PACKAGE} {_version(PACKAGE.replace('_', '-'))}")
    return "\n".join(lines)


def list_passes() -> str:
    """Return the passes of relax_mlir with their options, then the names of upstream's."""
    lines = ["passes of relax-mlir:"]
    for entry in registry.entries():
        lines.append(f"  --{entry.flag:<30} {entry.summary} ({entry.name})")
        for option in entry.options:
            lines.append(
                f"      {option.name}=<{option.type.__name__}>: {option.doc} "
                f"(default: {option.default})"
            )
    lines += ["", "passes of upstream MLIR (https://mlir.llvm.org/docs/Passes):"]
    lines += [f"  --{name}" for name in NAMES]
    return "\n".join(lines)


def show_dialects() -> str:
    """Return the dialects that the tools read, in the form of mlir-opt."""
    from relax_mlir.dialects.context import make_context
    from relax_mlir.tools.common.hints import available_dialects

    return f"Available Dialects: {', '.join(available_dialects(make_context()))}"


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
