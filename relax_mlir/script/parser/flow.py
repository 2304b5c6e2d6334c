"""Names that statements bind and read, for the arguments of loops and branches."""

import ast
import re
from collections.abc import Iterable, Sequence

from relax_mlir.script.parser.source import Node

_NAME = re.compile(r"[^\W\d]\w*")


def assigned(statements: Sequence[Node]) -> list[str]:
    """Return the names that statements bind for what follows, in order of their last binding."""
    names: dict[str, None] = {}
    for statement in statements:
        for name in _bound(statement):
            names.pop(name, None)
            names[name] = None
    return list(names)


def _bound(node: Node) -> list[str]:
    if isinstance(node, ast.Assign):
        return [name for target in node.targets for name in _targets(target)]
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return _targets(node.target)
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.With):
        return _outputs(node)
    if isinstance(node, ast.If):
        return assigned([*node.body, *node.orelse])
    if isinstance(node, (ast.While, ast.For)):
        own = set(_targets(node.target)) if isinstance(node, ast.For) else set()
        return [name for name in assigned(node.body) if name not in own]
    return []


def _targets(node: Node) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, (ast.Tuple, ast.List)):
        return [name for item in node.elts for name in _targets(item)]
    return []


def _outputs(node: ast.With) -> list[str]:
    """Return what the `R.output(...)` at the end of a dataflow block names."""
    call = node.body[-1].value if isinstance(node.body[-1], ast.Expr) else None
    if not isinstance(call, ast.Call):
        return []
    return [name for argument in call.args for name in _targets(argument)]


def loaded(nodes: Iterable[Node]) -> set[str]:
    """Return the names that nodes read; a name in quoted text, such as a dimension, counts."""
    return set().union(*map(_loaded, nodes))


def _loaded(root: Node) -> set[str]:
    # Every branch asks about everything after it, so the answer stays with the node.
    names: set[str] | None = getattr(root, "loaded_names", None)
    if names is None:
        names = set()
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, ast.AugAssign):
                names.update(_targets(node.target))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.update(_NAME.findall(node.value))
        root.loaded_names = names
    return names


def last_reads(statements: Sequence[Node]) -> dict[str, int]:
    """Return the position of the last statement that reads each name."""
    return {name: i for i, statement in enumerate(statements) for name in _loaded(statement)}


READ, BOUND, NEITHER = "read", "bound", "neither"


def first_use(name: str, statements: Sequence[Node], start: int = 0) -> str:
    """Return what may happen to a name first: it is read, or bound on every path, or neither."""
    for position in range(start, len(statements)):
        result = _first_use(name, statements[position])
        if result != NEITHER:
            return result
    return NEITHER


def _first_use(name: str, node: Node) -> str:
    if isinstance(node, ast.If):
        if name in loaded([node.test]):
            return READ
        arms = [first_use(name, body) for body in (node.body, node.orelse)]
        return READ if READ in arms else BOUND if arms == [BOUND, BOUND] else NEITHER
    if isinstance(node, (ast.While, ast.For)):
        head = node.test if isinstance(node, ast.While) else node.iter
        if name in loaded([head]):
            return READ
        own = isinstance(node, ast.For) and name in _targets(node.target)
        return READ if not own and first_use(name, node.body) == READ else NEITHER
    if isinstance(node, ast.With):
        inner = first_use(name, node.body)
        return READ if inner == READ else BOUND if name in _outputs(node) else NEITHER
    if name in loaded([node]):
        return READ
    return BOUND if name in _bound(node) else NEITHER


def always_returns(statements: Sequence[Node]) -> bool:
    """Whether statements end with a `return` on every path."""
    last = statements[-1] if statements else None
    if isinstance(last, ast.If):
        return always_returns(last.body) and always_returns(last.orelse)
    return isinstance(last, ast.Return)


def find(statements: Iterable[Node], kinds: tuple[type, ...], inside: tuple[type, ...]) -> Node:
    """Return the first statement of some kinds, looking into compound ones only of `inside`."""
    for statement in statements:
        if isinstance(statement, kinds):
            return statement
        if isinstance(statement, inside):
            result = find([*statement.body, *getattr(statement, "orelse", [])], kinds, inside)
            if result is not None:
                return result
    return None
