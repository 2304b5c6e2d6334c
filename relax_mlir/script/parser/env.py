"""Name lookup: namespaces of scripts, and captured Python values."""

import ast
import types
from collections.abc import Mapping
from typing import Any

from relax_mlir.script.markers import Marker
from relax_mlir.script.parser.source import Node

MISSING = object()
_MODULES = {
    "relax_mlir.script.relax": "R",
    "relax_mlir.script.tir": "T",
    "relax_mlir.script.ir": "I",
}
# What an import of TVM's, which is only read and never executed, calls our namespaces.
_TVM_NAMES = {"relax": "R", "tir": "T", "tirx": "T", "ir": "I", "s_tir": "T"}
# Names the design documents use without importing them.
_CONVENTION = {
    "R": "R", "T": "T", "I": "I", "ty": "T", "Tensor": "R.Tensor", "Shape": "R.Shape",
    "relax": "R", "tir": "T",
}  # fmt: skip


class Env:
    """Names of the Python program around the script.

    Args:
        variables: captured values.
        tree: the module whose imports name the namespaces, for text that is not executed.
    """

    def __init__(self, variables: Mapping[str, Any], tree: ast.Module | None = None) -> None:
        self._variables = variables
        self._aliases = _imports(tree) if tree is not None else {}

    def lookup(self, name: str) -> Any:
        """Return a captured Python value, MISSING when there is none."""
        value = self._variables.get(name, MISSING)
        return MISSING if _namespace(value) else value

    def path(self, node: Node) -> str | None:
        """Return `R.nn.relu` for a name of the script language, None for anything else."""
        if isinstance(node, ast.Attribute):
            base = self.path(node.value)
            return f"{base}.{node.attr}" if base else None
        if not isinstance(node, ast.Name):
            return None
        if node.id in self._variables:
            return _namespace(self._variables[node.id])
        return self._aliases.get(node.id) or _CONVENTION.get(node.id)


def _namespace(value: Any) -> str | None:
    if isinstance(value, types.ModuleType):
        return _MODULES.get(value.__name__)
    return value.script_path if isinstance(value, Marker) else None


def _imports(tree: ast.Module) -> dict[str, str]:
    aliases = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in ("tvm.script", "relax_mlir.script"):
            for name in node.names:
                if name.name in _TVM_NAMES:
                    aliases[name.asname or name.name] = _TVM_NAMES[name.name]
    return aliases


def decorator_kind(env: Env, node: Node) -> str | None:
    """Return `"module"`, `"relax"`, `"tir"`, or `"python"` of `I.pyfunc`, for a decorator."""
    node = node.func if isinstance(node, ast.Call) else node
    last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    if last == "ir_module":
        return "module"
    path = env.path(node) or ""
    if path in ("R.function", "R.func"):
        return "relax"
    if path in ("T.prim_func", "T.func"):
        return "tir"
    if path == "I.pyfunc":
        return "python"
    return "tir" if last == "prim_func" and not path else None
