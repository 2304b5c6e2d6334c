"""Blocks, in TVM's form and in the short forms."""

import ast
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.errors import did_you_mean
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser.expr.parser import Number
from relax_mlir.script.tir_parser.loops import annotations
from relax_mlir.script.tir_parser.part import StatementPart
from relax_mlir.script.tir_parser.regions import read_regions
from relax_mlir.script.tir_parser.unsupported import unsupported_reason
from relax_mlir.script.tir_parser.with_statements import WITH

_AXES = {
    "spatial": "spatial", "S": "spatial", "reduce": "reduction", "R": "reduction", "scan": "scan",
    "opaque": "opaque",
}  # fmt: skip
_REMAP = {"S": "spatial", "R": "reduction", "C": "scan"}
_BLOCKS = ("T.block", "T.sblock")


class BlockParser(StatementPart):
    """Parses one `with` statement."""

    def parse(self, node: Node) -> None:
        """Parse a block, a loop nest in the short form, or a grid.

        Raises:
            ScriptError: it is none of them, or something in it is wrong.
        """
        item = node.items[0]
        call = item.context_expr
        path = self.scope.path(call.func) if isinstance(call, ast.Call) else None
        extents = list(call.args) if isinstance(call, ast.Call) else []
        target: Node = item.optional_vars
        # `with T.block(n, m) as i, j:` is two items to Python: the second is a bare name.
        for extra in node.items[1:]:
            if not isinstance(extra.context_expr, ast.Name) or not isinstance(target, ast.AST):
                self.scope.fail(extra.context_expr, "expected one T.grid or T.block")
            elements: list[Node] = target.elts if isinstance(target, ast.Tuple) else [target]
            target = ast.copy_location(
                ast.Tuple([*elements, extra.context_expr], ast.Store()), item.context_expr
            )
        if len(extents) == 1 and isinstance(extents[0], (ast.List, ast.Tuple)):
            extents = list(extents[0].elts)
        if path == "T.grid":
            self._with_grid(node, call, extents, target)
        elif path in _BLOCKS and target is not None:
            names = self.stmts.names(target, len(extents), call)
            self._loops_and_block(node, names, extents, ["spatial"] * len(names))
        elif path in _BLOCKS:
            self._with_block(node, call)
        elif path in WITH:
            WITH[path](self.stmts, node, call, item.optional_vars)
        elif path == "T.init":
            self.scope.fail(call, "T.init belongs inside a block, before what it initialises")
        else:
            why = unsupported_reason(path or self.scope.path(call))
            if why is not None:
                self.scope.fail(call, why)
            near = did_you_mean(path or "", ["T.block", "T.grid", "T.init", *WITH])
            self.scope.fail(call, f"expected T.block, T.grid or T.init{near}")

    def _with_grid(self, node: Node, call: Node, extents: list[Node], target: Node) -> None:
        names = self.stmts.names(target, len(extents), call)
        inner = (n for statement in node.body for n in ast.walk(statement))
        nested = any(
            isinstance(n, ast.With)
            and isinstance(n.items[0].context_expr, ast.Call)
            and self.scope.path(n.items[0].context_expr.func) in (*_BLOCKS, "T.grid")
            for n in inner
        )
        if not nested:
            written = _store_indices(node.body)
            kinds = ["spatial" if name in written else "reduction" for name in names]
            self._loops_and_block(node, names, extents, kinds)
            return
        with self.stmts.scoped(), ExitStack() as stack:
            for name, extent in zip(names, extents, strict=True):
                self.stmts.open(stack, name, self.stmts.extent(extent), 0, "serial")
            self.stmts.body(node.body)

    def _loops_and_block(
        self, node: Node, names: list[str], extents: list[Node], kinds: list[str]
    ) -> None:
        """Parse the design document's short form: loops with one block right inside."""
        with self.stmts.scoped(), ExitStack() as stack:
            sizes = [self.stmts.extent(extent) for extent in extents]
            variables = [
                self.stmts.open(stack, name, size, 0, "serial")
                for name, size in zip(names, sizes, strict=True)
            ]
            iters = list(zip(kinds, variables, sizes, strict=True))
            title = _first_stored(node.body) or "block"
            self._block(node, title, iters, names, [f"v{name}" for name in names], node.body)

    def _with_block(self, node: Node, call: Node) -> None:
        title = call.args[0] if call.args else None
        if title is not None and not isinstance(getattr(title, "value", None), str):
            self.scope.fail(title, "the name of a block is a string; extents need 'as i, j'")
        iters: list[tuple[str, Any, Any]] = []
        names: list[str] = []
        firsts: dict[str, int] = {}
        # T.where, T.reads and T.writes may stand before the axes.
        notes: list[Node] = []
        rest = list(node.body)
        with self.stmts.scoped():
            while rest:
                axes = self._axis(rest[0])
                if axes is None and not self._is_annotation(rest[0]):
                    break
                statement = rest.pop(0)
                if axes is None:
                    notes.append(statement)
                    continue
                for name, iterator, first in axes:
                    if name in names:
                        self.scope.fail(statement, f"there is already an iterator '{name}'")
                    names.append(name)
                    iters.append(iterator)
                    firsts[name] = first
            self._block(
                node, title.value if title is not None else "block", iters, names, names,
                [*notes, *rest], firsts,
            )  # fmt: skip

    def _is_annotation(self, node: Node) -> bool:
        call = node.value if isinstance(node, ast.Expr) else None
        path = self._annotation_of(call) if isinstance(call, ast.Call) else None
        return path in ("T.where", "T.reads", "T.writes", "T.block_attr")

    def _block(
        self, node: Node, title: str, iters: list[Any], names: list[str], labels: list[str],
        body: Sequence[Node], firsts: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        """Create a block; the body calls its iterators `names`, the block itself `labels`.

        An iterator counts from 0; `firsts` has what the script's begin with.
        """
        firsts = firsts or {}
        guard, body = self._taken(body, "T.where")
        notes, body = self._notes(body)
        predicate = None
        if guard is not None:
            # A number stays one, as it is where the printed script is read.
            values = [
                value if type(value) is int else self.expr.to_scalar(value, guard, "index")
                for _, value, _ in iters
            ]
            predicate = self._predicate(guard, dict(zip(names, values, strict=True)), firsts)
        note = annotations(self.scope, notes.pop("T.block_attr", None))
        with self.builder.block(
            title, iters, labels, predicate=predicate, annotations=note
        ) as block:
            for name, scalar in zip(names, block.iters, strict=True):
                first = firsts.get(name, 0)
                self.scope.bind(name, scalar + first if first else scalar)
            init = [s for s in body if self._is_init(s)]
            if len(init) > 1:
                self.scope.fail(init[1], "a block has one T.init")
            if init:
                with block.init() as scalars, self.stmts.scoped():
                    for name, scalar in zip(names, scalars, strict=True):
                        first = firsts.get(name, 0)
                        self.scope.bind(name, scalar + first if first else scalar)
                    self.stmts.body(init[0].body)
            nested = any(isinstance(s, (ast.For, ast.With)) and not self._is_init(s) for s in body)
            for path, call in notes.items():
                regions = read_regions(self.expr, call, names, firsts, nested)
                if regions is not None:
                    self.builder.declare(f"tir.{path[2:]}", regions)
            self.stmts.body([s for s in body if not self._is_init(s)])

    def _taken(self, body: Sequence[Node], wanted: str) -> tuple[Node, Sequence[Node]]:
        """Take `T.where(condition)` or its like out of a block's statements."""
        result, rest = None, []
        for statement in body:
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and self._annotation_of(call) == wanted:
                if wanted in ("T.where", "T.block_attr"):
                    self.expr.count(call, 1)
                if result is not None:
                    more = "; join the conditions by 'and'" if wanted == "T.where" else ""
                    self.scope.fail(call, f"a block has one {wanted}{more}")
                result = call.args[0] if wanted == "T.where" else call
            else:
                rest.append(statement)
        return result, rest

    def _notes(self, body: Sequence[Node]) -> tuple[dict[str, Node], Sequence[Node]]:
        """Take what is said of a block out of its statements."""
        result: dict[str, Node] = {}
        for wanted in ("T.reads", "T.writes", "T.block_attr"):
            call, body = self._taken(body, wanted)
            if call is not None:
                result[wanted] = call
        return result, body

    def _annotation_of(self, call: Node) -> str | None:
        path = self.scope.path(call.func)
        return "T.block_attr" if path == "T.sblock_attr" else path

    def _predicate(
        self, node: Node, values: Mapping[str, Scalar | int], firsts: Mapping[str, int]
    ) -> Scalar:
        """Evaluate a block's condition in front of it, where its iterators are what they get."""
        with self.stmts.scoped():
            for name, value in values.items():
                self.scope.bind(name, value + firsts[name] if firsts.get(name) else value)
            result = None
            # Bounds are all evaluated: a branch for each would hide them from schedules.
            for part in _conjuncts(node):
                condition = self.expr.condition(part)
                result = condition if result is None else S.binary("and", result, condition)
        assert result is not None
        return result

    def _is_init(self, node: Node) -> bool:
        if not isinstance(node, ast.With):
            return False
        call = node.items[0].context_expr
        return isinstance(call, ast.Call) and self.scope.path(call.func) == "T.init"

    def _axis(self, node: Node) -> list[tuple[str, tuple[str, Any, Any], int]] | None:
        """Parse `vi = T.axis.spatial(n, i)` or `vi, vj = T.axis.remap("SS", [i, j])`.

        `vi, vj = T.axis.S(n, i), T.axis.S(m, j)` is two of the first kind. Each variable comes with
        its iterator, and with what it is where the iterator is 0.
        """
        target = getattr(node, "target", None) or (getattr(node, "targets", None) or [None])[0]
        call = getattr(node, "value", None)
        if isinstance(node, ast.Assign) and isinstance(call, ast.Tuple):
            return self._axes(target, call)
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not isinstance(call, ast.Call):
            return None
        path = self.scope.path(call.func) or ""
        if not path.startswith("T.axis."):
            return None
        kind = path.removeprefix("T.axis.")
        if kind == "remap":
            return self._remap(target, call)
        if kind not in _AXES:
            near = did_you_mean(kind, [*_AXES, "remap"])
            self.scope.fail(call.func, f"there is no {path}{near}")
        if not isinstance(target, ast.Name) or len(call.args) != 2:
            self.scope.fail(call, f"{path} takes an extent and a value, and binds one variable")
        extent, value = call.args
        if isinstance(extent, ast.Tuple):
            first = getattr(extent.elts[0], "value", None)
            if len(extent.elts) != 2 or type(first) is not int or first < 0:
                self.scope.fail(extent, "the domain of an iterator is (first, end)")
            size = self.expr.binary("sub", self.stmts.extent(extent.elts[1]), first, extent)
            turn = self._value(value)
            turn = self.expr.binary("sub", turn, first, value) if first else turn
            return [(target.id, (_AXES[kind], turn, size), first)]
        return [(target.id, (_AXES[kind], self._value(value), self.stmts.extent(extent)), 0)]

    def _axes(
        self, target: Node, value: Node
    ) -> list[tuple[str, tuple[str, Any, Any], int]] | None:
        calls = [each for each in value.elts if isinstance(each, ast.Call)]
        if not calls or not (self.scope.path(calls[0].func) or "").startswith("T.axis."):
            return None
        targets = list(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else []
        if len(targets) != len(value.elts):
            self.scope.fail(value, f"{len(value.elts)} iterators for {len(targets)} names")
        result = []
        for name, each in zip(targets, value.elts, strict=True):
            axis = self._axis(ast.copy_location(ast.Assign([name], each), each))
            if axis is None:
                self.scope.fail(each, "expected T.axis.S(extent, value) or the like")
            result += axis
        return result

    def _value(self, node: Node) -> Any:
        raw = self.expr.evaluate(node)
        if isinstance(raw, Number) and raw.index is not None:
            return raw.index
        return self.builder.symbol(raw) if isinstance(raw, SymExpr) else raw

    def _remap(self, target: Node, call: Node) -> list[tuple[str, tuple[str, Any, Any], int]]:
        kinds = getattr(call.args[0], "value", None) if call.args else None
        loops = call.args[1] if len(call.args) == 2 else None
        grid: Any = self.scope.values.get(loops.id) if isinstance(loops, ast.Name) else None
        if isinstance(grid, tuple):
            names: list[Any] = [ast.copy_location(ast.Name(n, ast.Load()), call) for n in grid]
            loops = ast.copy_location(ast.Tuple(names, ast.Load()), call)
        if not isinstance(kinds, str) or not isinstance(loops, (ast.List, ast.Tuple)):
            self.scope.fail(call, 'T.axis.remap takes a string such as "SR" and a list of loops')
        if len(kinds) != len(loops.elts) or set(kinds) - set(_REMAP):
            self.scope.fail(
                call.args[0],
                f"T.axis.remap takes one letter of S, R, or C for each loop, got '{kinds}' for "
                f"{len(loops.elts)}",
            )
        names = self.stmts.names(target, len(kinds), call)
        result = []
        for name, kind, loop in zip(names, kinds, loops.elts, strict=True):
            if not isinstance(loop, ast.Name) or loop.id not in self.stmts.extents:
                self.scope.fail(loop, "T.axis.remap takes variables of loops")
            extent = self.stmts.extents[loop.id]
            if extent is None:
                self.scope.fail(loop, f"'{loop.id}' does not begin at 0; use T.axis.spatial")
            result.append((name, (_REMAP[kind], self.expr.scalar(loop), extent), 0))
        return result


def _conjuncts(node: Node) -> list[Node]:
    """Return the operands of 'and' where evaluating one does not hang on those before it."""
    if not isinstance(node, ast.BoolOp) or not isinstance(node.op, ast.And):
        return [node]
    if any(isinstance(inner, (ast.Subscript, ast.Call)) for inner in ast.walk(node)):
        return [node]
    return [part for value in node.values for part in _conjuncts(value)]


def _store_indices(body: Sequence[Node]) -> set[str]:
    """Return the names that occur in the indices of stores."""
    names: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if not isinstance(node, (ast.Assign, ast.AugAssign)):
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Subscript):
                names |= {n.id for n in ast.walk(target.slice) if isinstance(n, ast.Name)}
    return names


def _first_stored(body: Sequence[Node]) -> str:
    """Return the name of the first buffer that is written."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    return target.value.id
    return ""
