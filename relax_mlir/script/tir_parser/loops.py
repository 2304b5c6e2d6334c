"""Loops: kinds, bounds, steps, threads, annotations."""

import ast
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.errors import did_you_mean
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.dims import captured_value
from relax_mlir.script.parser.literals import literal
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser.part import StatementPart
from relax_mlir.script.tir_parser.threads import check_thread
from relax_mlir.script.tir_parser.unsupported import unsupported_reason

_LOOPS = {
    "serial": "serial", "parallel": "parallel", "vectorized": "vectorized", "unroll": "unrolled",
    "unrolled": "unrolled",
}  # fmt: skip
_ARGUMENTS = ("start", "stop", "step", "annotations")


class LoopParser(StatementPart):
    """Parses one `for` statement."""

    def parse(self, node: Node) -> None:
        """Parse a loop and what is in it.

        Raises:
            ScriptError: it is no loop of the language, or its bounds are wrong.
        """
        if node.orelse:
            self.scope.fail(node.orelse[0], "'for' has no 'else' here")
        call = node.iter
        path = self.scope.path(call.func) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            path = path or ("T.serial" if call.func.id == "range" else None)
        kind = (path or "")[2:]
        if kind == "grid":
            self._grid(node, call)
        elif kind == "thread_binding":
            self._thread(node, call)
        elif kind in _LOOPS:
            self._loop(node, call, _LOOPS[kind])
        else:
            near = did_you_mean(kind, [*_LOOPS, "grid"]) if kind else ""
            why = unsupported_reason(path)
            if why is not None:
                self.scope.fail(call, why)
            self.scope.fail(
                call,
                f"expected range, T.serial, T.parallel, T.vectorized, T.unroll or T.grid{near}",
            )

    def _grid(self, node: Node, call: Node) -> None:
        extents = [extent for arg in call.args for extent in self._extents(arg)]
        if isinstance(node.target, ast.Name) and len(extents) > 1:
            # All variables under one name, which T.axis.remap takes.
            names = [f"{node.target.id}_{i}" for i in range(len(extents))]
        else:
            names = self.stmts.names(node.target, len(extents), call)
        with self._open(node, "serial", len(names)) as stack:
            for name, extent in zip(names, extents, strict=True):
                self.stmts.open(stack, name, self.stmts.extent(extent), 0, "serial")
            if isinstance(node.target, ast.Name) and len(extents) > 1:
                self.scope.bind(node.target.id, tuple(names))
            self.stmts.exits.turn(node.body)

    def _extents(self, node: Node) -> list[Node]:
        """Return an extent, or those that `*A.shape` or a starred Python sequence stands for."""
        if not isinstance(node, ast.Starred):
            return [node]
        inner = node.value
        if isinstance(inner, (ast.Tuple, ast.List)):
            return list(inner.elts)
        sizes: Any = captured_value(self.scope, inner)
        if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            buffer: Any = self.scope.values.get(inner.value.id)
            sizes = buffer.dims if isinstance(buffer, Buffer) and inner.attr == "shape" else sizes
        if not isinstance(sizes, (tuple, list)):
            self.scope.fail(node, "'*' takes the shape of a buffer, or a Python sequence")
        return [
            ast.copy_location(ast.Subscript(inner, ast.Constant(i), ast.Load()), node)
            for i in range(len(sizes))
        ]

    @contextmanager
    def _open(self, node: Node, kind: str, count: int = 1) -> Iterator[ExitStack]:
        with self.stmts.exits.loop(node, kind, count), self.stmts.scoped(), ExitStack() as stack:
            yield stack

    def _loop(self, node: Node, call: Node, kind: str) -> None:
        name = self._variable(node)
        bounds, step, notes = self._bounds(call)
        start, extent = 0, self.stmts.extent(bounds[-1])
        if len(bounds) == 2:
            start = self.stmts.extent(bounds[0])
            extent = self.expr.binary("sub", extent, start, call)
        with self._open(node, kind) as stack:
            if step == 1:
                self.stmts.open(stack, name, extent, self._start(start), kind, notes)
            else:
                last = self.expr.binary("add", extent, step - 1, call)
                count = self.expr.binary("floordiv", last, step, call)
                turn = self.stmts.open(stack, name, count, 0, kind, notes)
                value = self.expr.binary("mul", turn, step, call)
                if type(start) is not int or start != 0:
                    value = self.expr.binary("add", value, start, call)
                self.scope.bind(name, value)
                self.stmts.extents[name] = None
            self.stmts.exits.turn(node.body)

    def _thread(self, node: Node, call: Node) -> None:
        """Parse a loop over threads of a GPU: blocks run in parallel, their threads in order."""
        given = arguments(self.scope, call, ("start", "stop", "thread", "annotations"), 1)
        thread = given.get("thread") or given.get("stop")
        title = getattr(thread, "value", None)
        if not isinstance(title, str):
            self.scope.fail(call, 'T.thread_binding needs thread="threadIdx.x"')
        check_thread(self.scope, thread, title)
        bounds = [given[key] for key in ("start", "stop") if given.get(key) not in (None, thread)]
        start, extent = 0, self.stmts.extent(bounds[-1])
        if len(bounds) == 2:
            start = self.stmts.extent(bounds[0])
            extent = self.expr.binary("sub", extent, start, call)
        name, notes = self._variable(node), annotations(self.scope, given.get("annotations"))
        kind = "parallel" if title.startswith("blockIdx") else "serial"
        with self._open(node, kind) as stack:
            variable = self.stmts.open(stack, name, extent, self._start(start), kind, notes)
            variable.value.owner.owner.attributes["thread"] = ir.StringAttr.get(title)
            self.stmts.exits.turn(node.body)

    def _variable(self, node: Node) -> str:
        if not isinstance(node.target, ast.Name):
            self.scope.fail(node.target, "this loop has one variable")
        return node.target.id

    def _start(self, start: Any) -> Any:
        return start if isinstance(start, (int, Scalar)) else self.builder.size(start)

    def _bounds(self, call: Node) -> tuple[list[Node], int, ir.Attribute | None]:
        """Return a loop's bounds, its step, and its annotations."""
        if len(call.args) > 3:
            self.scope.fail(call, f"a loop takes one or two bounds, got {len(call.args)}")
        given = arguments(self.scope, call, _ARGUMENTS, 0)
        bounds = [given[key] for key in ("start", "stop") if key in given]
        if not bounds:
            self.scope.fail(call, "a loop takes one or two bounds, got 0")
        notes = annotations(self.scope, given.get("annotations"))
        if "step" not in given:
            return bounds, 1, notes
        step = self.stmts.extent(given["step"])
        step = step.value if isinstance(step, SymExpr) else step
        if type(step) is not int or step < 1:
            self.scope.fail(given["step"], "the step of a loop must be a positive integer literal")
        return bounds, step, notes


def annotations(scope: Scope, node: Node | None) -> ir.Attribute | None:
    """Return the dictionary of `annotations={...}` or of `T.block_attr({...})`.

    Raises:
        ScriptError: it is none, or a value is no number, string, list or dictionary of such.
    """
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    given = node.args[0] if isinstance(node, ast.Call) else node
    if not isinstance(given, ast.Dict):
        scope.fail(given, "annotations are a dictionary")
    result: dict[str, ir.Attribute] = {}
    for key, value in zip(given.keys, given.values, strict=True):
        name = getattr(key, "value", None)
        if not isinstance(name, str) or not name.isprintable() or not name:
            scope.fail(key or given, "the names of annotations are strings")
        raw = literal(scope, value)
        if not _is_plain(raw):
            scope.fail(value, "an annotation is a number, a string, or a list of such")
        result[name] = python_attribute(raw)
    return ir.DictAttr.get(result) if result else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return isinstance(value, (bool, float, str))
