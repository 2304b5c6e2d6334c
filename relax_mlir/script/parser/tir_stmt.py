"""Statements of a prim func: loops, blocks, stores."""

import ast
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.dialects.tir.scalar import DtypeError, Scalar
from relax_mlir.errors import did_you_mean
from relax_mlir.script.parser import macros, tir_calls, tir_memory
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.source import Node
from relax_mlir.script.parser.tir_effects import STATEMENTS, forgotten
from relax_mlir.script.parser.tir_expr import Number, TirExprParser
from relax_mlir.script.parser.tir_lanes import store_vector

if TYPE_CHECKING:
    from relax_mlir.script.parser.module import ModuleParser


class TirStmtParser:
    """Turns statements into operations at the current insertion point."""

    def __init__(self, expr: TirExprParser, module: "ModuleParser") -> None:
        self.expr = expr
        self.module = module
        self.scope = expr.scope
        self.builder = expr.builder
        # Extents of the open loops by variable, for T.axis.remap.
        self.extents: dict[str, Any] = {}
        # Threads that T.env_thread has named.
        self.threads: dict[str, str] = {}

    def body(self, statements: Sequence[Node]) -> None:
        """Parse statements.

        Raises:
            ScriptError: one is wrong.
        """
        for statement in statements:
            self.statement(statement)

    def statement(self, node: Node) -> None:
        """Parse one statement."""
        with self.scope.guarded(node), self.scope.location(node):
            method = getattr(self, f"_{type(node).__name__.lower()}", None)
            if method is None:
                self.scope.fail(node, "this Python statement has no meaning in a prim func")
            try:
                method(node)
            except DtypeError as error:
                self.scope.fail(node, str(error))

    def _pass(self, node: Node) -> None:
        """Nothing to do."""

    def _return(self, node: Node) -> None:
        self.scope.fail(node, "a prim func returns nothing; it writes its last buffers")

    def _expr(self, node: Node) -> None:
        call = node.value
        if isinstance(call, ast.Constant):
            return
        path = self.scope.path(call.func) if isinstance(call, ast.Call) else None
        if path in ("T.reads", "T.writes", "T.block_attr", "T.sblock_attr"):
            self.scope.fail(node, f"{path} belongs inside a block, not deeper")
        if path == "T.evaluate":
            self.expr.count(call, 1)
            inner = call.args[0]
            path = self.scope.path(inner.func) if isinstance(inner, ast.Call) else None
            if path in STATEMENTS:
                STATEMENTS[path](self, inner)
            else:
                with forgotten():
                    self.expr.evaluate(inner)
            return
        if path in STATEMENTS:
            STATEMENTS[path](self, call)
            return
        if path == "T.Assert":
            self.require(call)
            return
        if path in ("T.where", "T.init"):
            self.scope.fail(node, f"{path} belongs at the beginning of a block")
        if path == "T.func_attr":
            self.scope.fail(node, "T.func_attr belongs at the beginning of the function")
        macro = macros.captured_macro(self.scope, call.func) if isinstance(call, ast.Call) else None
        if macro is not None:
            with macros.expanded(self.scope, macro, call, self.expr.evaluate) as definition:
                self.body(definition.body)
            return
        callee = self.module.find(self.scope, call.func) if isinstance(call, ast.Call) else None
        if callee is not None:
            tir_calls.call(self.expr, self.module, callee, call)
            return
        called: Node = getattr(call, "func", None)
        if isinstance(called, ast.Attribute) and self.module.is_module(self.scope, called.value):
            near = did_you_mean(called.attr, self.module.names)
            self.scope.fail(called, f"undefined function '{ast.unparse(called)}'{near}")
        self.scope.fail(node, "this statement has no effect")

    def _assign(self, node: Node) -> None:
        if len(node.targets) != 1:
            self.scope.fail(node.targets[1], "bind one variable at a time")
        self._bind(node.targets[0], node.value, node)

    def _annassign(self, node: Node) -> None:
        if node.value is None:
            self.scope.fail(node, "a binding needs a value")
        self._bind(node.target, node.value, node)

    def _bind(self, target: Node, value: Node, node: Node) -> None:
        if isinstance(target, ast.Subscript):
            buffer = self.expr.buffer(target.value)
            if store_vector(self, buffer, target, value):
                return
            self._store(buffer, target, self.expr.evaluate(value), value)
            return
        if not isinstance(target, ast.Name):
            self.scope.fail(target, "only variables and elements of buffers can be bound")
        if self.module.is_module(self.scope, value):
            self.scope.modules.add(target.id)
            return
        if self.scope.is_outer(target.id):
            self.scope.fail(
                target,
                f"'{target.id}' of the outer scope cannot change here; use a buffer of one "
                "element, T.alloc_buffer((1,), ...)",
            )
        path = self.scope.path(value.func) if isinstance(value, ast.Call) else None
        if path in ("T.alloc_buffer", "T.sblock_alloc_buffer"):
            self.scope.bind(target.id, tir_memory.alloc(self.expr, target.id, value))
            return
        if path in ("T.decl_buffer", "T.Buffer"):
            self.scope.bind(target.id, tir_memory.view(self.expr, target.id, value))
            return
        if path == "T.allocate":
            self.scope.bind(target.id, tir_memory.allocate(self.expr, target.id, value))
            return
        if path == "T.allocate_const":
            self.scope.bind(target.id, tir_memory.allocate_const(self.expr, target.id, value))
            return
        if path == "T.env_thread":
            self.expr.count(value, 1)
            name = getattr(value.args[0], "value", None)
            if not isinstance(name, str):
                self.scope.fail(value.args[0], 'T.env_thread takes a thread, "threadIdx.x"')
            self.threads[target.id] = name
            return
        if path == "T.match_buffer":
            self.scope.bind(target.id, tir_memory.region(self.expr, target.id, value))
            return
        if path and not value.args and not value.keywords and self.expr.is_dtype(path[2:]):
            # `x = T.float32()`: a variable that a T.LetStmt gives its value.
            return
        if path and path.startswith("T.axis"):
            self.scope.fail(value, "T.axis belongs at the beginning of a block")
        if isinstance(self.scope.values.get(target.id), Buffer):
            self.scope.fail(target, f"'{target.id}' is a buffer; store to its elements")
        raw = self.expr.evaluate(value)
        if isinstance(raw, Scalar) and not isinstance(raw.value.owner, ir.Block):
            op = raw.value.owner.operation
            if not isinstance(op.location, ir.NameLoc):
                op.location = self.scope.location(node, target.id)
        self.scope.bind(target.id, raw)

    def _store(self, buffer: Buffer, target: Node, raw: Any, value: Node) -> None:
        self.store(buffer, target, self.expr.indices(target, buffer), raw, value)

    def store(
        self, buffer: Buffer, target: Node, indices: tuple[Scalar, ...], raw: Any, value: Node
    ) -> None:
        """Store what `evaluate` gave to an element."""
        if len(indices) != len(buffer.dims):
            self.scope.fail(
                target,
                f"buffer '{buffer.name}' has {len(buffer.dims)} dimensions, indexed with "
                f"{len(indices)}",
            )
        if isinstance(raw, SymExpr) and raw.is_const:
            raw = raw.value
        try:
            buffer.store(self.expr.settle(raw, value, buffer.dtype), indices)
        except DtypeError as error:
            self.scope.fail(value, str(error))

    def _augassign(self, node: Node) -> None:
        from relax_mlir.script.parser.tir_tables import OPERATORS

        if not isinstance(node.target, ast.Subscript):
            self.scope.fail(node.target, "only elements of buffers can be updated")
        kind = OPERATORS.get(type(node.op))
        if kind is None:
            self.scope.fail(node, "this operator is not part of the TIR language")
        buffer = self.expr.buffer(node.target.value)
        old = self.expr.evaluate(node.target)
        raw = self.expr.binary(kind, old, self.expr.evaluate(node.value), node)
        self._store(buffer, node.target, raw, node.value)

    def _with(self, node: Node) -> None:
        from relax_mlir.script.parser.tir_block import BlockParser

        BlockParser(self).parse(node)

    def _if(self, node: Node) -> None:
        condition = self.expr.condition(node.test)
        op = ir.Operation.create("scf.if", operands=[condition.value], regions=2)
        for region, body in zip(op.regions, (node.body, node.orelse), strict=True):
            if not body:
                continue
            with self.scoped(), ir.InsertionPoint(region.blocks.append()):
                self.body(body)
                ir.Operation.create("scf.yield")

    def scoped(self) -> AbstractContextManager[set[str]]:
        """Open a scope whose variables end with it."""
        return self.scope.nested("block")

    def _while(self, node: Node) -> None:
        if node.orelse:
            self.scope.fail(node.orelse[0], "'while' has no 'else' here")
        op = ir.Operation.create("scf.while", regions=2)
        with self.scoped(), ir.InsertionPoint(op.regions[0].blocks.append()):
            if isinstance(node.test, ast.Constant) and node.test.value is True:
                self.scope.fail(node.test, "this loop never ends: there is no 'break' here")
            condition = self.expr.condition(node.test)
            ir.Operation.create("scf.condition", operands=[condition.value])
        with self.scoped(), ir.InsertionPoint(op.regions[1].blocks.append()):
            self.body(node.body)
            ir.Operation.create("scf.yield")

    def _break(self, node: Node) -> None:
        self.scope.fail(
            node, "'break' and 'continue' are not part of the TIR language; use 'while' or 'if'"
        )

    _continue = _break

    def _assert(self, node: Node) -> None:
        self._require(node.test, node.msg)

    def require(self, call: Node) -> None:
        """Parse `T.Assert(condition, message)`."""
        given = arguments(self.scope, call, ("condition", "message"), 1)
        self._require(given["condition"], given.get("message"))

    def _require(self, condition: Node, message: Node | None) -> None:
        text = ast.unparse(condition)
        if isinstance(message, ast.Name):
            text = self.scope.env.lookup(message.id)
        elif message is not None:
            text = getattr(message, "value", None)
        if not isinstance(text, str):
            self.scope.fail(message or condition, "the message of an assertion must be a string")
        if not text.isprintable():
            self.scope.fail(message or condition, "the message of an assertion must be printable")
        holds = self.expr.condition(condition).value
        attributes = {"message": ir.StringAttr.get(text)}
        ir.Operation.create("tir.assert", operands=[holds], attributes=attributes)

    def _for(self, node: Node) -> None:
        from relax_mlir.script.parser.tir_loops import LoopParser

        LoopParser(self).parse(node)

    def extent(self, node: Node) -> Any:
        """Return an integer expression for a loop's or an iterator's extent."""
        raw = self.expr.evaluate(node)
        if isinstance(raw, Number) and raw.index is not None:
            return raw.index
        if isinstance(raw, Scalar) and "float" not in raw.dtype:
            return raw
        if isinstance(raw, SymExpr) or type(raw) is int:
            return raw
        self.scope.fail(node, "the extent of a loop must be an integer")

    def open(
        self, stack: ExitStack, name: str, extent: Any, start: Any, kind: str,
        notes: ir.Attribute | None = None,
    ) -> Scalar:  # fmt: skip
        """Open a loop and bind its variable."""
        loop = self.builder.loop(extent, start=start, kind=kind, name=name, annotations=notes)
        variable = stack.enter_context(loop)
        self.scope.bind(name, variable)
        self.extents[name] = extent if type(start) is int and start == 0 else None
        return variable

    def names(self, target: Node, count: int, at: Node) -> list[str]:
        """Return the names of `count` variables that a loop or a block binds."""
        nodes = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        names = [node.id for node in nodes if isinstance(node, ast.Name)]
        if len(names) != count or len(nodes) != count:
            self.scope.fail(target or at, f"{count} extents need {count} variables")
        return names
