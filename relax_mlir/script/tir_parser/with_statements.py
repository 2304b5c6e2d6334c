"""`with` statements other than blocks: variables, memory, branches, threads."""

import ast
from collections.abc import Callable
from contextlib import ExitStack

from relax_mlir.dialects.bindings import ir
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.interfaces import TirStmtParser
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser import memory
from relax_mlir.script.tir_parser.threads import check_thread

# What attributes of TVM may begin with: notes that change nothing.
_NOTES = ("pragma", "debug", "buffer_bind_scope", "auto_unroll", "storage_alignment")
# What holds the statements that follow it where it is one itself.
OPENING = ("T.attr", "T.launch_thread")


def _let(stmts: TirStmtParser, node: Node, call: Node, target: Node) -> None:
    """Parse `with T.LetStmt(value) as x:` and `with T.LetStmt(value, var=x):`."""
    given = arguments(stmts.scope, call, ("value", "type_annotation", "var"), 1)
    target = given.get("var", target)
    if not isinstance(target, ast.Name):
        stmts.scope.fail(call, "T.LetStmt gives a value to one variable, 'as x'")
    with stmts.scoped():
        stmts.scope.bind(target.id, stmts.expr.evaluate(given["value"]))
        stmts.body(node.body)


def _allocate(stmts: TirStmtParser, node: Node, call: Node, target: Node) -> None:
    """Parse `with T.allocate([16], "float32", "global") as data:`."""
    if not isinstance(target, ast.Name):
        stmts.scope.fail(call, "T.allocate gives memory to one variable, 'as data'")
    with stmts.scoped():
        stmts.scope.bind(target.id, memory.allocate(stmts.expr, target.id, call))
        stmts.body(node.body)


def _require(stmts: TirStmtParser, node: Node, call: Node, target: Node) -> None:
    stmts.require(call)
    with stmts.scoped():
        stmts.body(node.body)


def _if(stmts: TirStmtParser, node: Node, call: Node, target: Node) -> None:
    """Parse `with T.If(condition):` around `with T.Then():` and `with T.Else():`."""
    stmts.expr.count(call, 1)
    condition = stmts.expr.condition(call.args[0])
    bodies: dict[str, list[Node]] = {}
    for inner in node.body:
        part = inner.items[0].context_expr if isinstance(inner, ast.With) else None
        path = stmts.scope.path(part.func) if isinstance(part, ast.Call) else None
        if path not in ("T.Then", "T.Else") or path in bodies:
            stmts.scope.fail(inner, "T.If holds one 'with T.Then():' and one 'with T.Else():'")
        bodies[path] = inner.body
    op = ir.Operation.create("scf.if", operands=[condition.value], regions=2)
    for region, path in zip(op.regions, ("T.Then", "T.Else"), strict=True):
        if path == "T.Else" and path not in bodies:
            continue
        with stmts.scoped(), ir.InsertionPoint(region.blocks.append()):
            stmts.body(bodies.get(path, []))
            ir.Operation.create("scf.yield")


def _launch(stmts: TirStmtParser, node: Node, call: Node, target: Node) -> None:
    """Parse `with T.launch_thread("blockIdx.x", 4) as bx:`, a loop over threads."""
    stmts.expr.count(call, 2)
    first = call.args[0]
    title = getattr(first, "value", None)
    if isinstance(first, ast.Name):
        title, target = stmts.threads.get(first.id), first
    if not isinstance(title, str) or not isinstance(target, ast.Name):
        stmts.scope.fail(call, 'T.launch_thread takes a thread, "threadIdx.x", and an extent')
    check_thread(stmts.scope, first, title)
    kind = "parallel" if title.startswith("blockIdx") else "serial"
    with stmts.scoped(), ExitStack() as stack:
        extent = stmts.extent(call.args[1])
        variable = stmts.open(stack, target.id, extent, 0, kind)
        variable.value.owner.owner.attributes["thread"] = ir.StringAttr.get(title)
        stmts.body(node.body)


def _attr(stmts: TirStmtParser, node: Node, call: Node, target: Node) -> None:
    """Parse `with T.attr(x, "pragma_...", 1):`, a note for other compilers."""
    keys = call.args[1:2] if len(call.args) == 3 else []
    if len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
        keys = call.args[0].keys
    if not keys or not all(isinstance(getattr(key, "value", None), str) for key in keys):
        stmts.scope.fail(call, "T.attr takes what it is about, a key, and a value, or a dictionary")
    for key in keys:
        if not key.value.startswith(_NOTES):
            stmts.scope.fail(key, f"attribute '{key.value}' means something to TVM's passes only")
    with stmts.scoped():
        stmts.body(node.body)


def _hint(stmts: TirStmtParser, node: Node, call: Node, target: Node) -> None:
    """Parse `with T.hint("..."):`, a note for people."""
    with stmts.scoped():
        stmts.body(node.body)


WITH: dict[str, Callable[[TirStmtParser, Node, Node, Node], None]] = {
    "T.LetStmt": _let,
    "T.Let": _let,
    "T.allocate": _allocate,
    "T.Assert": _require,
    "T.If": _if,
    "T.launch_thread": _launch,
    "T.attr": _attr,
    "T.hint": _hint,
}
