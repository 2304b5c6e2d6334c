"""Statements of a prim func: loops, blocks, stores."""

import ast
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.dialects.tir.scalar import INDEX, DtypeError, Scalar, const
from relax_mlir.errors import did_you_mean
from relax_mlir.script.parser.annotations import AnnotationParser
from relax_mlir.script.parser.tir_expr import TirExprParser

_LOOPS = {
    "serial": "serial", "parallel": "parallel", "vectorized": "vectorized", "unroll": "unrolled",
    "unrolled": "unrolled",
}  # fmt: skip
_AXES = {
    "spatial": "spatial", "S": "spatial", "reduce": "reduction", "R": "reduction", "scan": "scan",
    "opaque": "opaque",
}  # fmt: skip
_REMAP = {"S": "spatial", "R": "reduction", "C": "scan"}
_BLOCKS = ("T.block", "T.sblock")


class TirStmtParser:
    """Turns statements into operations at the current insertion point."""

    def __init__(self, expr: TirExprParser) -> None:
        self.expr = expr
        self.scope = expr.scope
        self.builder = expr.builder
        # Extents of the open loops by variable, for T.axis.remap.
        self.extents: dict[str, Any] = {}

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Parse statements.

        Raises:
            ScriptError: one is wrong.
        """
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Parse one statement."""
        with self.scope.location(node):
            method = getattr(self, f"_{type(node).__name__.lower()}", None)
            if method is None:
                self.scope.fail(node, "this Python statement has no meaning in a prim func")
            try:
                method(node)
            except DtypeError as error:
                self.scope.fail(node, str(error))

    def _pass(self, node: ast.Pass) -> None:
        """Nothing to do."""

    def _return(self, node: ast.Return) -> None:
        self.scope.fail(node, "a prim func returns nothing; it writes its last buffers")

    def _expr(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Constant):
            return
        path = self.scope.path(call.func) if isinstance(call, ast.Call) else None
        if path in ("T.reads", "T.writes", "T.block_attr", "T.sblock_attr"):
            # Accesses are derived from the body.
            return
        if path == "T.evaluate":
            self.expr.evaluate(call.args[0])
            return
        if path in ("T.where", "T.init"):
            self.scope.fail(node, f"{path} belongs at the beginning of a block")
        if path == "T.func_attr":
            self.scope.fail(node, "T.func_attr belongs at the beginning of the function")
        self.scope.fail(node, "this statement has no effect")

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            self.scope.fail(node.targets[1], "bind one variable at a time")
        self._bind(node.targets[0], node.value, node)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.scope.fail(node, "a binding needs a value")
        self._bind(node.target, node.value, node)

    def _bind(self, target: ast.AST, value: ast.AST, node: ast.stmt) -> None:
        if isinstance(target, ast.Subscript):
            buffer = self.expr.buffer(target.value)
            self._store(buffer, target, self.expr.evaluate(value), value)
            return
        if not isinstance(target, ast.Name):
            self.scope.fail(target, "only variables and elements of buffers can be bound")
        path = self.scope.path(value.func) if isinstance(value, ast.Call) else None
        if path in ("T.alloc_buffer", "T.sblock_alloc_buffer"):
            self.scope.bind(target.id, self._alloc(target.id, value))
            return
        if path == "T.match_buffer":
            self.scope.fail(value, "T.match_buffer belongs at the beginning of the function")
        if path and path.startswith("T.axis"):
            self.scope.fail(value, "T.axis belongs at the beginning of a block")
        if isinstance(self.scope.values.get(target.id), Buffer):
            self.scope.fail(target, f"'{target.id}' is a buffer; store to its elements")
        self.scope.bind(target.id, self.expr.evaluate(value))

    def _store(self, buffer: Buffer, target: ast.Subscript, raw: Any, value: ast.AST) -> None:
        indices = self.expr.indices(target)
        if len(indices) != len(buffer.dims):
            self.scope.fail(
                target,
                f"buffer '{buffer.name}' has {len(buffer.dims)} dimensions, indexed with "
                f"{len(indices)}",
            )
        if isinstance(raw, SymExpr) and raw.is_const:
            raw = raw.value
        stored = self.expr.settle(raw, value, buffer.dtype)
        try:
            buffer.store(stored, indices)
        except DtypeError as error:
            self.scope.fail(value, str(error))

    def _augassign(self, node: ast.AugAssign) -> None:
        from relax_mlir.script.parser.tir_expr import OPERATORS

        if not isinstance(node.target, ast.Subscript):
            self.scope.fail(node.target, "only elements of buffers can be updated")
        kind = OPERATORS.get(type(node.op))
        if kind is None:
            self.scope.fail(node, "this operator is not part of the TIR language")
        buffer = self.expr.buffer(node.target.value)
        old = self.expr.evaluate(node.target)
        raw = self.expr.binary(kind, old, self.expr.evaluate(node.value), node)
        self._store(buffer, node.target, raw, node.value)

    def _alloc(self, name: str, node: ast.Call) -> Buffer:
        given = dict(zip(("shape", "dtype"), node.args, strict=False))
        given.update({str(k.arg): k.value for k in node.keywords})
        reader = AnnotationParser(self.scope)
        shape_node = given.get("shape")
        if shape_node is None:
            self.scope.fail(node, "T.alloc_buffer needs a shape")
        if isinstance(shape_node, (ast.Tuple, ast.List)):
            shape = reader.dims.dims(shape_node.elts)
        else:
            shape = [reader.dims.dim(shape_node)]
        return self.builder.alloc(name, shape, reader.dtype(given.get("dtype")) or "float32")

    def _if(self, node: ast.If) -> None:
        condition = self.expr.condition(node.test)
        op = ir.Operation.create("scf.if", operands=[condition.value], regions=2)
        for region, body in zip(op.regions, (node.body, node.orelse), strict=True):
            if not body:
                continue
            with self._scoped(), ir.InsertionPoint(region.blocks.append()):
                self.body(body)
                ir.Operation.create("scf.yield")

    def _scoped(self) -> Any:
        return self.scope.nested("block")

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            self.scope.fail(node.orelse[0], "'for' has no 'else' here")
        call = node.iter
        path = self.scope.path(call.func) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range":
            path = path or "T.serial"
        kind = (path or "")[2:]
        if kind == "grid":
            with self._scoped(), ExitStack() as stack:
                names = self._names(node.target, len(call.args), call)
                for name, extent in zip(names, call.args, strict=True):
                    self._open(stack, name, self._extent(extent), 0, "serial")
                self.body(node.body)
            return
        if kind not in _LOOPS:
            near = did_you_mean(kind, [*_LOOPS, "grid"]) if kind else ""
            self.scope.fail(
                call, f"expected range, T.serial, T.parallel, T.vectorized, T.unroll or T.grid{near}"
            )
        if not isinstance(node.target, ast.Name):
            self.scope.fail(node.target, "this loop has one variable")
        if len(call.args) not in (1, 2):
            self.scope.fail(call, f"a loop takes one or two bounds, got {len(call.args)}")
        start, extent = 0, self._extent(call.args[-1])
        if len(call.args) == 2:
            start = self._extent(call.args[0])
            extent = self.expr.binary("sub", extent, start, call)
            start = start if isinstance(start, (int, Scalar)) else self.builder.size(start)
        with self._scoped(), ExitStack() as stack:
            self._open(stack, node.target.id, extent, start, _LOOPS[kind])
            self.body(node.body)

    def _extent(self, node: ast.AST) -> Any:
        raw = self.expr.evaluate(node)
        if isinstance(raw, Scalar) and "float" not in raw.dtype:
            return raw
        if isinstance(raw, SymExpr) or type(raw) is int:
            return raw
        self.scope.fail(node, "the extent of a loop must be an integer")

    def _open(self, stack: ExitStack, name: str, extent: Any, start: Any, kind: str) -> Scalar:
        """Open a loop and bind its variable."""
        variable = stack.enter_context(
            self.builder.loop(extent, start=start, kind=kind, name=name)
        )
        self.scope.bind(name, variable)
        self.extents[name] = extent if type(start) is int and start == 0 else None
        return variable

    def _names(self, target: ast.AST | None, count: int, at: ast.AST) -> list[str]:
        nodes = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        names = [node.id for node in nodes if isinstance(node, ast.Name)]
        if len(names) != count or len(nodes) != count:
            self.scope.fail(target or at, f"{count} extents need {count} variables")
        return names

    def _with(self, node: ast.With) -> None:
        item = node.items[0]
        call = item.context_expr
        path = self.scope.path(call.func) if isinstance(call, ast.Call) else None
        extents = list(call.args) if isinstance(call, ast.Call) else []
        target = item.optional_vars
        # `with T.block(n, m) as i, j:` is two items to Python: the second is a bare name.
        for extra in node.items[1:]:
            if not isinstance(extra.context_expr, ast.Name) or not isinstance(target, ast.AST):
                self.scope.fail(extra.context_expr, "expected one T.grid or T.block")
            elements = target.elts if isinstance(target, ast.Tuple) else [target]
            target = ast.copy_location(
                ast.Tuple([*elements, extra.context_expr], ast.Store()), item.context_expr
            )
        if len(extents) == 1 and isinstance(extents[0], (ast.List, ast.Tuple)):
            extents = list(extents[0].elts)
        if path == "T.grid":
            self._with_grid(node, call, extents, target)
        elif path in _BLOCKS and target is not None:
            names = self._names(target, len(extents), call)
            self._loops_and_block(node, names, extents, ["spatial"] * len(names))
        elif path in _BLOCKS:
            self._with_block(node, call)
        elif path == "T.init":
            self.scope.fail(call, "T.init belongs inside a block, before what it initialises")
        else:
            near = did_you_mean(path or "", ["T.block", "T.grid", "T.init"])
            self.scope.fail(call, f"expected T.block, T.grid or T.init{near}")

    def _with_grid(
        self, node: ast.With, call: ast.Call, extents: list[ast.AST], target: ast.AST | None
    ) -> None:
        names = self._names(target, len(extents), call)
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
        with self._scoped(), ExitStack() as stack:
            for name, extent in zip(names, extents, strict=True):
                self._open(stack, name, self._extent(extent), 0, "serial")
            self.body(node.body)

    def _loops_and_block(
        self, node: ast.With, names: list[str], extents: list[ast.AST], kinds: list[str]
    ) -> None:
        """Parse the design document's short form: loops with one block right inside."""
        with self._scoped(), ExitStack() as stack:
            sizes = [self._extent(extent) for extent in extents]
            variables = [
                self._open(stack, name, size, 0, "serial")
                for name, size in zip(names, sizes, strict=True)
            ]
            iters = list(zip(kinds, variables, sizes, strict=True))
            title = _first_stored(node.body) or "block"
            self._block(node, title, iters, names, [f"v{name}" for name in names], node.body)

    def _with_block(self, node: ast.With, call: ast.Call) -> None:
        title = call.args[0] if call.args else None
        if title is not None and not isinstance(getattr(title, "value", None), str):
            self.scope.fail(title, "the name of a block is a string; extents need 'as i, j'")
        iters: list[tuple[str, Any, Any]] = []
        names: list[str] = []
        rest = 0
        with self._scoped():
            for statement in node.body:
                found = self._axis(statement)
                if found is None:
                    break
                for name, iterator in found:
                    names.append(name)
                    iters.append(iterator)
                rest += 1
            self._block(
                node, title.value if title is not None else "block", iters, names, names,
                node.body[rest:],
            )  # fmt: skip

    def _block(
        self, node: ast.With, title: str, iters: list[Any], names: list[str], labels: list[str],
        body: Sequence[ast.stmt],
    ) -> None:  # fmt: skip
        """Create a block; `names` are what the body calls its iterators, `labels` what we call them."""
        with self.builder.block(title, iters, labels) as block:
            for name, scalar in zip(names, block.iters, strict=True):
                self.scope.bind(name, scalar)
            guard, body = self._guard(body)
            init = [s for s in body if self._is_init(s)]
            if len(init) > 1:
                self.scope.fail(init[1], "a block has one T.init")
            if init:
                with block.init() as scalars, self._scoped():
                    for name, scalar in zip(names, scalars, strict=True):
                        self.scope.bind(name, scalar)
                    self._guarded(guard, init[0].body)
            self._guarded(guard, [s for s in body if not self._is_init(s)])

    def _guard(self, body: Sequence[ast.stmt]) -> tuple[ast.AST | None, Sequence[ast.stmt]]:
        """Take `T.where(condition)` out of a block's statements."""
        guard, rest = None, []
        for statement in body:
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and self.scope.path(call.func) == "T.where":
                guard = call.args[0] if call.args else None
            else:
                rest.append(statement)
        return guard, rest

    def _guarded(self, guard: ast.AST | None, body: Sequence[ast.stmt]) -> None:
        if guard is None:
            self.body(body)
            return
        condition = self.expr.condition(guard)
        op = ir.Operation.create("scf.if", operands=[condition.value], regions=2)
        with self._scoped(), ir.InsertionPoint(op.regions[0].blocks.append()):
            self.body(body)
            ir.Operation.create("scf.yield")

    def _is_init(self, node: ast.stmt) -> bool:
        if not isinstance(node, ast.With):
            return False
        call = node.items[0].context_expr
        return isinstance(call, ast.Call) and self.scope.path(call.func) == "T.init"

    def _axis(self, node: ast.stmt) -> list[tuple[str, tuple[str, Any, Any]]] | None:
        """Parse `vi = T.axis.spatial(n, i)` or `vi, vj = T.axis.remap("SS", [i, j])`."""
        if isinstance(node, ast.AnnAssign):
            target, call = node.target, node.value
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, call = node.targets[0], node.value
        else:
            return None
        path = (self.scope.path(call.func) if isinstance(call, ast.Call) else None) or ""
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
            if len(extent.elts) != 2 or getattr(extent.elts[0], "value", None) != 0:
                self.scope.fail(extent, "the domain of an iterator begins at 0")
            extent = extent.elts[1]
        return [(target.id, (_AXES[kind], self._value(value), self._extent(extent)))]

    def _value(self, node: ast.AST) -> Any:
        raw = self.expr.evaluate(node)
        if isinstance(raw, SymExpr):
            return const(raw.value, INDEX) if raw.is_const else self.builder.symbol(raw)
        return raw

    def _remap(self, target: ast.AST, call: ast.Call) -> list[tuple[str, tuple[str, Any, Any]]]:
        kinds = getattr(call.args[0], "value", None) if call.args else None
        loops = call.args[1] if len(call.args) == 2 else None
        if not isinstance(kinds, str) or not isinstance(loops, (ast.List, ast.Tuple)):
            self.scope.fail(call, 'T.axis.remap takes a string such as "SR" and a list of loops')
        if len(kinds) != len(loops.elts) or set(kinds) - set(_REMAP):
            self.scope.fail(call.args[0], "one letter of S, R or C for each loop")
        names = self._names(target, len(kinds), call)
        found = []
        for name, kind, loop in zip(names, kinds, loops.elts, strict=True):
            if not isinstance(loop, ast.Name) or loop.id not in self.extents:
                self.scope.fail(loop, "T.axis.remap takes variables of loops")
            extent = self.extents[loop.id]
            if extent is None:
                self.scope.fail(loop, f"'{loop.id}' does not begin at 0; use T.axis.spatial")
            found.append((name, (_REMAP[kind], self.expr.scalar(loop), extent)))
        return found


def _store_indices(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that occur in the indices of stores."""
    names: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            if isinstance(node, (ast.Assign, ast.AugAssign)) and isinstance(targets[0], ast.Subscript):
                names |= {n.id for n in ast.walk(targets[0].slice) if isinstance(n, ast.Name)}
    return names


def _first_stored(body: Sequence[ast.stmt]) -> str:
    """Return the name of the first buffer that is written."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    return target.value.id
    return ""
