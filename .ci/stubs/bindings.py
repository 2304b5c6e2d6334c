"""Type stubs of the MLIR bindings, which ship none: dialects/_mlir_*.pyi."""

import ast
import re
from pathlib import Path

from nanobind.stubgen import StubGen

from relax_mlir.dialects.bindings import submodule

MODULES = ("ir", "passmanager", "rewrite")
# The bindings return the most derived class at run time, the signatures name the base class: its
# members complete in an editor, and those of derived classes pass.
DERIVED = ("AffineExpr", "Attribute", "Location", "OpView", "Type", "Value")
MEMBERS = """
def __getattr__(self, name: str) -> Any: ...
def __getitem__(self, key: Any, /) -> Any: ...
def __iter__(self) -> Iterator[Any]: ...
def __len__(self) -> int: ...
"""
# What may be None or a block seldom is, and `func.FuncOp.name` is an attribute.
RETURNS = {"OpView | Block": "OpView | Any", "object": "Any", "list[object]": "list[Any]"}
HEADER = '"""Types of the MLIR bindings\' `{module}`; made by .ci/stubs, do not edit."""\n\n'
# Where the names of the stubs come from; what Python 3.10 lacks is in typing_extensions.
IMPORTS = {
    "collections.abc": ("Callable", "Iterator", "Mapping", "Sequence"),
    "typing": ("Any", "ClassVar", "Generic", "TypeAlias", "overload"),
    "typing_extensions": ("Buffer", "CapsuleType", "Self", "TypeVar"),
}
# Generics without arguments, and the elements of lists: our dictionaries and lists have values of
# any kind.
REPLACED = {
    "Callable": "Callable[..., Any]",
    "Sequence": "Sequence[Any]",
    "dict": "dict[str, Any]",
    "list": "list[Any]",
    "tuple": "tuple[Any, ...]",
}
ELLIPSIS = ast.Expr(ast.Constant(...))
HASH = ast.parse("def __hash__(self) -> int: ...").body[0]


class _Complete(ast.NodeTransformer):
    """Fills in what nanobind leaves out, and keeps the first paragraph of docstrings."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [item for item in node.body if not _dropped(item)] or [ELLIPSIS]
        self.generic_visit(node)
        defined = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        if "__eq__" in defined and "__hash__" not in defined:
            node.body.append(HASH)
        if node.name in DERIVED:
            # Only attributes are containers.
            node.body += ast.parse(MEMBERS).body[: 4 if node.name == "Attribute" else 1]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg) and argument.arg not in ("self", "cls"):
                argument.annotation = argument.annotation or ast.Name("Any")
        returns = "None" if node.returns is None else ast.unparse(node.returns)
        returns = (
            "Any" if (node.name, returns) == ("name", "str") else RETURNS.get(returns, returns)
        )
        node.returns = ast.parse(returns.replace(" | None", " | Any"), mode="eval").body
        self.generic_visit(node)
        text = ast.get_docstring(node)
        if text is not None:
            paragraph = " ".join(text.split("\n\n")[0].split())
            node.body = [ast.Expr(ast.Constant(paragraph))]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        generic = ast.unparse(node.value)
        if generic == "Final":  # subclasses have their own
            node.value, inner = ast.Name("ClassVar"), ast.unparse(node.slice)
            node.slice = ast.parse(inner.replace(" | None", " | Any"), mode="eval").body
        if generic in ("Sequence", "list") and ast.unparse(node.slice) in (
            "BlockArgument",
            "OpResult",
        ):
            node.slice = ast.Name("Value")
        if ast.unparse(node) == "dict[str, Attribute]":
            node.value = ast.Name("Mapping")
        if generic != "Callable":
            node.slice = self.visit(node.slice)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(REPLACED[node.id], mode="eval").body if node.id in REPLACED else node


def _dropped(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        # Those of Sequence have types.
        return node.name in ("__add__", "__getitem__", "__len__") and node.returns is None
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _text(module: str) -> str:
    generator = StubGen(submodule(f"_mlir_libs._mlir.{module}"), include_private=True)
    generator.put(generator.module)
    text = re.sub(r"\b(?:torch_)?_?mlir(?:\._mlir_libs\._mlir)?\.ir\.", "ir.", generator.get())
    return re.sub(r"\bir\.", "", text) if module == "ir" else text


def stub(module: str) -> str:
    """Return the stub of one module of the bindings."""
    tree = _Complete().visit(ast.parse(_text(module)))
    tree.body = [
        node
        for node in tree.body[1:]
        if not isinstance(node, (ast.Import, ast.ImportFrom)) and "_T" not in _targets(node)
    ]
    if module == "ir":
        tree.body.insert(0, ast.parse('_T = TypeVar("_T", default=Type)').body[0])
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    head = [HEADER.format(module=module), "import enum\n"]
    for source, names in IMPORTS.items():
        if found := sorted(used.intersection(names)):
            head.append(f"from {source} import {', '.join(found)}\n")
    if module != "ir":
        head.append("\nfrom relax_mlir.dialects import _mlir_ir as ir\n")
    return "".join(head) + ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _targets(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def files() -> dict[Path, str]:
    """Return the text of every stub by its path in the checkout."""
    # torch-mlir puts a subclass in the place of the class that nanobind knows.
    native = submodule("_mlir_libs._mlir.ir")
    derived, native.Context = native.Context, native._Context
    try:
        return {Path("dialects") / f"_mlir_{module}.pyi": stub(module) for module in MODULES}
    finally:
        native.Context = derived
