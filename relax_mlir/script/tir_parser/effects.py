"""Calls used as statements."""

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.interfaces import TirStmtParser
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser.expr.lanes import store_vector

_COMPARE = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
            ast.Gt: operator.gt, ast.GtE: operator.ge}  # fmt: skip
_PURE = ("arith.", "math.", "memref.load")


def _buffer_store(stmts: TirStmtParser, call: Node) -> None:
    """Parse `T.buffer_store(B, value, [i, j])`."""
    stmts.expr.count(call, 3)
    buffer, value, indices = call.args
    if not isinstance(indices, (ast.List, ast.Tuple)):
        stmts.scope.fail(indices, "T.buffer_store takes a list of indices")
    place = ast.copy_location(ast.Tuple(indices.elts, ast.Load()), indices)
    target = ast.copy_location(ast.Subscript(buffer, place, ast.Store()), indices)
    destination = stmts.expr.buffer(buffer)
    if not store_vector(stmts, destination, target, value):
        stmts.store(
            destination,
            target,
            stmts.expr.indices(target, destination),
            stmts.expr.evaluate(value),
            value,
        )


def _assume(stmts: TirStmtParser, call: Node) -> None:
    """Parse `T.assume(condition)`, which is checked for sense and promises nothing here."""
    stmts.expr.count(call, 1)
    with stmts.builder.unrecorded(), forgotten():
        stmts.expr.condition(call.args[0])


def _static_assert(stmts: TirStmtParser, call: Node) -> None:
    """Parse `T.static_assert(n % 4 == 0, "message")`, of what is known while the script is read."""
    given = arguments(stmts.scope, call, ("x", "message"), 1)
    holds = _known(stmts, given["x"])
    if holds is None:
        stmts.scope.fail(
            call, "T.static_assert needs a condition known at compile time; use T.Assert"
        )
    if not holds:
        message = getattr(given.get("message"), "value", ast.unparse(given["x"]))
        stmts.scope.fail(call, f"T.static_assert does not hold: {message}")


def _known(stmts: TirStmtParser, node: Node) -> bool | None:
    """Return whether a condition of integers holds, None where that is not known yet."""
    if isinstance(node, ast.BoolOp):
        parts = [_known(stmts, each) for each in node.values]
        return None if None in parts else (all if isinstance(node.op, ast.And) else any)(parts)
    with forgotten():
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = (stmts.expr.evaluate(each) for each in (node.left, *node.comparators))
            difference = stmts.expr.binary("sub", left, right, node)
            value = getattr(difference, "value", difference)
            compare = _COMPARE.get(type(node.ops[0]))
            return compare(value, 0) if compare and type(value) is int else None
        value = stmts.expr.evaluate(node)
    return value if isinstance(value, bool) else None


def _bind(stmts: TirStmtParser, call: Node) -> None:
    """Parse `T.bind(value, var=x)`."""
    given = arguments(stmts.scope, call, ("value", "type_annotation", "var"), 1)
    target = given.get("var")
    if not isinstance(target, ast.Name):
        stmts.scope.fail(call, "T.bind gives a value to a variable, 'x = T.bind(value)'")
    stmts.scope.bind(target.id, stmts.expr.evaluate(given["value"]))


@contextmanager
def forgotten() -> Iterator[None]:
    """Erase what is computed inside and used by nothing."""
    block = ir.InsertionPoint.current.block
    before = [view.operation for view in block.operations]
    yield
    for op in reversed([view.operation for view in block.operations]):
        # An `scf.if` is an expression here: statements inside it have no value to begin with.
        pure = op.name.startswith(_PURE) or (op.name == "scf.if" and len(op.results))
        if pure and op not in before and not any(list(each.uses) for each in op.results):
            op.erase()


def _evaluate(stmts: TirStmtParser, call: Node) -> None:
    stmts.expr.evaluate(call)


STATEMENTS: dict[str, Callable[[TirStmtParser, Node], None]] = {
    "T.buffer_store": _buffer_store,
    "T.assume": _assume,
    "T.call_extern": _evaluate,
    "T.call_pure_extern": _evaluate,
    **dict.fromkeys(
        (f"T.{name}" for name in (
            "call_packed", "call_cpacked", "tvm_call_packed", "tvm_call_cpacked",
        )),
        _evaluate,
    ),
    "T.static_assert": _static_assert,
    **dict.fromkeys(("T.bind", "T.Bind"), _bind),
}  # fmt: skip
