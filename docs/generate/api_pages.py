"""Pages of the API: for each public package a directive of mkdocstrings for each exported name."""

import ast
import functools
import importlib
import inspect
from types import ModuleType
from typing import Any

# In the order of the navigation. What is below them is not public.
PACKAGES = (
    "relax_mlir",
    "relax_mlir.relax",
    "relax_mlir.relax.analysis",
    "relax_mlir.script",
    "relax_mlir.ir",
    "relax_mlir.transform",
    "relax_mlir.instrument",
    "relax_mlir.te",
    "relax_mlir.topi",
    "relax_mlir.topi.nn",
    "relax_mlir.topi.image",
    "relax_mlir.topi.vision",
    "relax_mlir.tir",
    "relax_mlir.tir.analysis",
    "relax_mlir.tir.stmt_functor",
    "relax_mlir.arith",
    "relax_mlir.runtime",
    "relax_mlir.target",
    "relax_mlir.nd",
    "relax_mlir.testing",
    "relax_mlir.errors",
)


def pages() -> dict[str, str]:
    """Return path -> Markdown of one page for each public package."""
    exports = {name: exported(importlib.import_module(name)) for name in PACKAGES}
    homes: dict[str, str] = {}
    for package, objects in exports.items():
        for alias, value in objects.items():
            target = definition(value)
            if target is None or not target.endswith(f".{alias}"):
                continue
            if _closeness(package, target) > _closeness(homes.get(target), target):
                homes[target] = package
    return {path_of(name): _page(name, objects, homes) for name, objects in exports.items()}


def path_of(package: str) -> str:
    """Return where the page of a package is."""
    return f"reference/api/{package}.md"


def exported(package: ModuleType) -> dict[str, Any]:
    """Return name -> object of what a package exports, without modules and what it only imports."""
    listed = getattr(package, "__all__", None)
    names = listed or [name for name in dir(package) if not name.startswith("_")]
    objects = {name: getattr(package, name) for name in sorted(names)}
    lazy = hasattr(package, "__getattr__")
    return {
        name: value
        for name, value in objects.items()
        if not isinstance(value, ModuleType) and (listed or _is_own(value, package.__name__, lazy))
    }


def _is_own(value: Any, package: str, lazy: bool) -> bool:
    """Whether a package without `__all__` exports a value: what a lazy one has, it exports."""
    module = str(getattr(value, "__module__", ""))
    return module.startswith("relax_mlir.") if lazy else module == package


def _closeness(package: str | None, target: str) -> int:
    """Return how good a page a package is for a definition: the nearest enclosing one is best."""
    if package is None:
        return -1
    return len(package) if target.startswith(f"{package}.") else 0


def _page(name: str, objects: dict[str, Any], homes: dict[str, str]) -> str:
    package = importlib.import_module(name)
    lines, others = [f"# {name}", "", inspect.cleandoc(package.__doc__ or ""), ""], []
    for alias, value in objects.items():
        target = definition(value)
        home = homes.get(target or "")
        if home == name and target.endswith(f".{alias}"):
            lines += [f"::: {target}", ""]
        else:
            others.append(_row(alias, value, target if home else None))
    if others:
        lines += ["## Other names", "", "| name | |", "| --- | --- |", *others]
    return "\n".join([*lines, ""])


def definition(value: Any) -> str | None:
    """Return the dotted path of a class or function, None for one that no source text defines."""
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return None
    plain = inspect.unwrap(value)
    defined = plain.__qualname__ in _definitions(plain.__module__)
    return f"{plain.__module__}.{plain.__qualname__}" if defined else None


@functools.cache
def _definitions(module: str) -> frozenset[str]:
    """Return the names of the classes and functions at the top of a module's text."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    kinds = (ast.ClassDef, ast.FunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def _row(alias: str, value: Any, target: str | None) -> str:
    if target:
        own = target.rpartition(".")[2]
        return f"| `{alias}` | [`{own}`][{target}] |"
    text = (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|")
    signature = ""
    if inspect.isroutine(value):
        try:
            signature = str(inspect.signature(value))
        except (TypeError, ValueError):
            signature = "(...)"
    return f"| `{alias}{signature}` | {text} |"
