"""Type stubs of the packages that load names on first use, from what they give at run time."""

import ast
import importlib
import inspect
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGES = (
    "relax_mlir", "relax_mlir.frontend", "relax_mlir.frontend.mlir",
    "relax_mlir.frontend.nn", "relax_mlir.frontend.onnx", "relax_mlir.ir",
    "relax_mlir.relax", "relax_mlir.relax.op",
    "relax_mlir.relax.op.builtin", "relax_mlir.relax.op.ccl", "relax_mlir.relax.op.grad",
    "relax_mlir.relax.op.image",
    "relax_mlir.relax.op.inspect", "relax_mlir.relax.op.memory", "relax_mlir.relax.op.nn",
    "relax_mlir.relax.op.random",
    "relax_mlir.relax.op.vision", "relax_mlir.relax.op.vm",
    "relax_mlir.runtime", "relax_mlir.te", "relax_mlir.testing", "relax_mlir.tir",
    "relax_mlir.tir.transform",
    "relax_mlir.topi", "relax_mlir.topi.image", "relax_mlir.topi.nn", "relax_mlir.topi.vision",
    "relax_mlir.transform",
)  # fmt: skip
MADE = "# Made by .ci/stubs, do not edit."
HEADER = f'"""{{doc}}"""\n\n{MADE}\n'
OPERATIONS = "relax_mlir.relax.op"
# Parameters of operations by their kind; see relax_mlir.dialects.relax.ops.params.
KINDS = {
    "any": "Expr",
    "bool": "bool",
    "device": "object",
    "dim": "IntLike",
    "dims": "Sequence[IntLike]",
    "dtype": "str",
    "float": "float",
    "floats": "float | Sequence[float]",
    "index_map": "object",
    "int": "int",
    "int_or_ints": "int | Sequence[int]",
    "ints": "int | Sequence[int]",
    "number": "IntLike | float",
    "prim": "Expr | IntLike",
    "shape": "Expr | IntLike | Sequence[IntLike]",
    "str": "str",
    "tensor": "TensorLike",
    "tensors": "Expr | Sequence[TensorLike]",
}


class Stub:
    """The text of a stub and the imports that it needs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.imports: set[str] = set()
        self.exported: list[str] = []
        self.lines: list[str] = []

    def text(self, doc: str) -> str:
        """Return the whole file."""
        doc = f"{doc}\n" if "\n" in doc else doc
        exported = f"__all__ = {sorted(self.exported)}"
        parts = [HEADER.format(doc=doc), *sorted(self.imports), exported, "", *self.lines]
        return "\n".join(parts) + "\n"

    def export(self, name: str, value: Any) -> None:
        """Add a name: an import from where it is defined, or what is known of it."""
        self.exported.append(name)
        found = _home(self.name, name, value)
        if found is not None:
            alias = "" if name == found[1] else f" as {name}"
            self.imports.add(f"from {found[0]} import {found[1]}{alias}")
        elif callable(value):
            self.function(name, value)
        else:
            kind = "tuple[str, ...]" if isinstance(value, tuple) else self.annotation(type(value))
            self.lines.append(f"{name}: {kind}")

    def function(self, name: str, value: Callable[..., Any]) -> None:
        """Add a function that a table made."""
        params = operation_params(value)
        signature = inspect.signature(value)
        written = []
        for parameter in signature.parameters.values():
            text = params.get(parameter.name) or self.annotation(parameter.annotation)
            default = parameter.default
            if default is not inspect.Parameter.empty:
                if default is None and "None" not in text and text != "Any":
                    text += " | None"
                if isinstance(default, str) and text not in ("Any", "str", "str | None"):
                    text += " | str"
                shown = "..." if default == float("-inf") else repr(default)
                text += f" = {'None' if default is None else shown}"
            star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
            written.append((parameter.kind.name, f"{star}{parameter.name}: {text}"))
        if params:
            self.imports.add("from relax_mlir.relax.op._arguments import IntLike, TensorLike")
            self.imports.add("from collections.abc import Sequence")
            self.imports.add("from relax_mlir.relax.expr import Expr")
        kinds = [kind for kind, _ in written]
        arguments = [text for _, text in written]
        if "KEYWORD_ONLY" in kinds and "VAR_POSITIONAL" not in kinds:
            arguments.insert(kinds.index("KEYWORD_ONLY"), "*")
        returns = self.annotation(signature.return_annotation)
        self.lines.append(f"def {name}({', '.join(arguments)}) -> {returns}:")
        self.lines.append(f"    {docstring(value)}" if value.__doc__ else "    ...")

    def annotation(self, given: Any) -> str:
        """Return an annotation as text, with its imports."""
        if given is None or given is type(None) or given == "None":
            return "None"
        if isinstance(given, str):
            given = {"Pass": _load("relax_mlir.pass_infra.passes", "Pass")}.get(given, Any)
        arguments = getattr(given, "__args__", ())
        if isinstance(given, types.UnionType):
            return " | ".join(self.annotation(each) for each in arguments)
        origin = getattr(given, "__origin__", given)
        if not isinstance(origin, type) or origin is inspect.Parameter.empty:
            self.imports.add("from typing import Any")
            return "Any"
        if origin.__module__ != "builtins":
            self.imports.add(f"from {origin.__module__} import {origin.__qualname__}")
        inner = ", ".join("..." if each is ... else self.annotation(each) for each in arguments)
        return f"{origin.__qualname__}[{inner}]" if inner else origin.__qualname__


def _load(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def operation_params(value: Callable[..., Any]) -> dict[str, str]:
    """Return the types of an operation's parameters, nothing for other functions."""
    if value.__module__ != OPERATIONS:
        return {}
    operations = _load("relax_mlir.dialects.relax.ops.base", "COMPUTE_OPS")
    params = operations[value.__name__].PARAMS
    return {p.name: KINDS[p.kind] + " | None" * p.optional for p in params}


def docstring(value: Any) -> str:
    """Return a docstring as it stands in a stub."""
    first, *rest = inspect.cleandoc(value.__doc__).replace("\\", "\\\\").splitlines()
    lines = [first, *(line and f"    {line}" for line in rest), *(["    "] if rest else [])]
    return '"""' + "\n".join(lines) + '"""'


def _home(package: str, name: str, value: Any) -> tuple[str, str] | None:
    """Return the module and the name that a value is imported by; None where a table has it."""
    if isinstance(value, types.ModuleType):
        parent, _, module = value.__name__.rpartition(".")
        return parent, module
    value = inspect.unwrap(value) if callable(value) else value
    if getattr(value, "__module__", None) == OPERATIONS and package != OPERATIONS:
        return OPERATIONS, value.__name__
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module in (None, package) or "." in qualified:
        return None
    owner = vars(importlib.import_module(module))
    return (module, qualified) if inspect.unwrap(owner.get(qualified, _home)) is value else None


def stub(name: str) -> str:
    """Return the stub of a package."""
    module = importlib.import_module(name)
    made = Stub(name)
    for export in public_names(module):
        made.export(export, getattr(module, export))
    if name == "relax_mlir":
        made.lines.append("__version__: str")
        made.exported.append("__version__")
    return made.text(inspect.cleandoc(module.__doc__ or ""))


def public_names(module: types.ModuleType) -> list[str]:
    """Return what a package offers, without what its own module imports for itself."""
    imported = {
        alias.asname or alias.name
        for node in ast.parse(Path(str(module.__file__)).read_text()).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    internal = imported - set(getattr(module, "__all__", ()))
    # A module that something imported is not offered for that.
    offered = {*vars(module).get("_MODULES", ()), *vars(module).get("GROUPS", ())}
    return [
        name
        for name in sorted({*dir(module), *filter(str.isupper, vars(module))})
        if not name.startswith("_")
        and name not in internal
        and (
            name not in vars(module)
            or not isinstance(vars(module)[name], types.ModuleType)
            or name in offered
        )
    ]


def files() -> dict[Path, str]:
    """Return the text of every stub by its path in the checkout."""
    found = {}
    for name in PACKAGES:
        path = Path(str(importlib.import_module(name).__file__))
        found[path.with_suffix(".pyi").relative_to(Path.cwd())] = stub(name)
    return found
