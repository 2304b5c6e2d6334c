"""Calls that stand as statements of a prim func."""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from relax_mlir.dialects.bindings import ir
from relax_mlir.script.parser.source import Node
from relax_mlir.script.parser.tir_lanes import store_vector

_PURE = ("arith.", "math.", "memref.load")

if TYPE_CHECKING:
    from relax_mlir.script.parser.tir_stmt import TirStmtParser


def _buffer_store(stmts: "TirStmtParser", call: Node) -> None:
    """Parse `T.buffer_store(B, value, [i, j])`."""
    stmts.expr.count(call, 3)
    buffer, value, indices = call.args
    if not isinstance(indices, (ast.List, ast.Tuple)):
        stmts.scope.fail(indices, "T.buffer_store takes a list of indices")
    place = ast.copy_location(ast.Tuple(indices.elts, ast.Load()), indices)
    target = ast.copy_location(ast.Subscript(buffer, place, ast.Store()), indices)
    found = stmts.expr.buffer(buffer)
    if not store_vector(stmts, found, target, value):
        stmts.store(
            found, target, stmts.expr.indices(target, found), stmts.expr.evaluate(value), value
        )


def _assume(stmts: "TirStmtParser", call: Node) -> None:
    """Parse `T.assume(condition)`, which is checked for sense and promises nothing here."""
    stmts.expr.count(call, 1)
    with forgotten():
        stmts.expr.condition(call.args[0])


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


def _evaluate(stmts: "TirStmtParser", call: Node) -> None:
    stmts.expr.evaluate(call)


STATEMENTS: dict[str, Callable[["TirStmtParser", Node], None]] = {
    "T.buffer_store": _buffer_store,
    "T.assume": _assume,
    "T.call_extern": _evaluate,
    "T.call_pure_extern": _evaluate,
    **dict.fromkeys(
        (f"T.{name}" for name in (
            "call_packed", "call_cpacked", "tvm_call_packed", "call_llvm_intrin", "ret",
            "call_llvm_pure_intrin", "tvm_storage_sync", "tvm_thread_allreduce", "ptx_mma",
        )),
        _evaluate,
    ),
}  # fmt: skip
