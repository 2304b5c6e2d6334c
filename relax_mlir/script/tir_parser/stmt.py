"""Statements: loops, blocks, stores."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.dialects.tir.layout import INT4
from relax_mlir.dialects.tir.scalar import DtypeError, Scalar
from relax_mlir.errors import did_you_mean
from relax_mlir.script.parser import interfaces, macros
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.dims import captured_value
from relax_mlir.script.parser.interfaces import ModuleParser
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser import memory, outlined_calls
from relax_mlir.script.tir_parser.block import BlockParser
from relax_mlir.script.tir_parser.effects import STATEMENTS, forgotten
from relax_mlir.script.tir_parser.exits import Exits, changing_names
from relax_mlir.script.tir_parser.expr.lanes import is_access, store_of, store_vector
from relax_mlir.script.tir_parser.expr.parser import Number, TirExprParser
from relax_mlir.script.tir_parser.expr.values import MutableScalar, dtype_of
from relax_mlir.script.tir_parser.loops import LoopParser
from relax_mlir.script.tir_parser.unsupported import unsupported_reason
from relax_mlir.script.tir_parser.with_statements import OPENING


class TirStmtParser(interfaces.TirStmtParser):
    """Turns statements into operations at the current insertion point."""

    def __init__(self, expr: TirExprParser, module: ModuleParser) -> None:
        self.expr = expr
        self.module = module
        self.scope = expr.scope
        self.builder = expr.builder
        # Extents of the open loops by variable, for T.axis.remap.
        self.extents: dict[str, Any] = {}
        # Threads that T.env_thread has named.
        self.threads: dict[str, str] = {}
        self.exits: Exits = Exits(self)
        # Variables that are memory, as statements change them.
        self.changing: set[str] = set()

    def function(self, statements: Sequence[Node], result: Buffer | None) -> None:
        """Parse the body of a function, which returns what is in `result`, if anything.

        Raises:
            ScriptError: a statement is wrong.
        """
        self.exits.result = result
        self.changing = changing_names(statements)
        self.body(statements, tail=True)

    def body(self, statements: Sequence[Node], tail: bool = False) -> None:
        """Parse statements; `tail`: nothing of the function, or of a loop's turn, follows.

        Raises:
            ScriptError: one is wrong.
        """
        for position, statement in enumerate(statements):
            kind, rest = self.exits.kind(statement), statements[position + 1 :]
            opened = self._opened(statement, rest)
            if opened is not None:
                statement, rest = opened, []
            if kind:
                with self.scope.guarded(statement), self.scope.location(statement):
                    self.exits.leave(statement, kind, tail and not self.in_loop(kind))
                return
            exits = self.exits.inside(statement)
            if not exits:
                self.statement(statement)
                if opened is not None:
                    return
                continue
            if isinstance(statement, ast.If) and self._one_goes_on(statement):
                # What follows belongs to the branch that goes on: no flag has to be asked.
                self._if(_with_rest(self.exits, statement, rest), tail)
                return
            if isinstance(statement, ast.If):
                self._if(statement, tail and not rest)
            else:
                self.statement(statement)
            condition = self.exits.going(exits) if rest else None
            if condition is not None:
                with self.branch(condition):
                    self.body(rest, tail)
                return
            if opened is not None:
                return

    def _opened(self, node: Node, rest: Sequence[Node]) -> ast.With | None:
        """Return `with T.launch_thread("threadIdx.x", 4) as x:` for `x = T.launch_thread(..)`.

        Threads and attributes that stand as statements hold what follows them.
        """
        call, target = getattr(node, "value", None), None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif not isinstance(node, ast.Expr):
            return None
        if not isinstance(call, ast.Call) or self.scope.path(call.func) not in OPENING:
            return None
        held = ast.With([ast.withitem(call, target)], list(rest))
        return ast.copy_location(held, node)

    def _one_goes_on(self, node: Node) -> bool:
        """Whether a branch of an `if` ends by a way out, and no other way out is in it."""
        plain = [all(not self.exits.inside(s) for s in body[:-1])
                 for body in (node.body, node.orelse)]  # fmt: skip
        leaves = [bool(body) and bool(self.exits.kind(body[-1]))
                  for body in (node.body, node.orelse)]  # fmt: skip
        return any(leaves) and all(plain) and all(
            leaf or not body or not self.exits.inside(body[-1])
            for leaf, body in zip(leaves, (node.body, node.orelse), strict=True)
        )  # fmt: skip

    def in_loop(self, kind: str) -> bool:
        """Whether a `return` stands in a loop, whose further turns it must end."""
        return kind == "return" and self.exits.in_loop

    @contextmanager
    def branch(self, condition: Scalar) -> Iterator[None]:
        """Open the part of the program that runs under a condition."""
        op = ir.Operation.create("scf.if", operands=[condition.value], regions=2)
        with self.scoped(), ir.InsertionPoint(op.regions[0].blocks.append()):
            yield
            ir.Operation.create("scf.yield")

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

    def _functiondef(self, node: Node) -> None:
        """Name statements that are read where they are called, with what is known there."""
        macro = macros.of_text(self.scope.source, self.scope.env, node, {})
        if macro is None:
            self.scope.fail(node, f"'{node.name}' needs @T.macro: prim funcs hold no functions")
        macro.hygienic, macro.variables = False, self.scope.env
        self.scope.bind(node.name, macro)

    def _pass(self, node: Node) -> None:
        """Nothing to do."""

    def _expr(self, node: Node) -> None:
        call = node.value
        if isinstance(call, ast.Constant):
            return
        if is_access(call, "vstore"):
            self._assign(store_of(self.expr, call))
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
            outlined_calls.call(self.expr, self.module, callee, call)
            return
        called: Node = getattr(call, "func", None)
        if isinstance(called, ast.Attribute) and self.module.is_module(self.scope, called.value):
            near = did_you_mean(called.attr, self.module.names)
            self.scope.fail(called, f"undefined function '{ast.unparse(called)}'{near}")
        why = unsupported_reason(self.scope.path(called) if called is not None else None)
        name = called.id if isinstance(called, ast.Name) else ""
        if name == "print":
            why = (
                "a prim func runs as machine code: T.call_packed calls a registered function, "
                "which may print"
            )
        self.scope.fail(node if why is None else called, why or "this statement has no effect")

    def _assign(self, node: Node) -> None:
        if len(node.targets) != 1:
            self.scope.fail(node.targets[1], "bind one variable at a time")
        self._bind(node.targets[0], node.value, node)

    def _annassign(self, node: Node) -> None:
        path = self.scope.path(node.annotation) or ""
        dtype = T.normalize_dtype(path[2:]) if self.expr.is_dtype(path[2:]) else ""
        if node.value is not None:
            self._bind(node.target, node.value, node, dtype)
        elif dtype and isinstance(node.target, ast.Name):
            self._store_scalar(self._scalar_variable(node.target.id, dtype), 0, node)
        else:
            self.scope.fail(node, "a binding needs a value")

    def _scalar_variable(self, name: str, dtype: str) -> MutableScalar:
        """Return a variable that statements change: a buffer of one element."""
        cell = MutableScalar(self.builder.alloc(name, [], dtype))
        self.scope.bind(name, cell)
        return cell

    def _store_scalar(self, cell: MutableScalar, raw: Any, value: Node) -> None:
        if isinstance(raw, (SymExpr, Number)) and not isinstance(raw.value, float):
            raw = raw.value if raw.value is not None else raw
        cell.buffer.store(self.expr.to_scalar(raw, value, cell.buffer.dtype), ())

    def _bind(self, target: Node, value: Node, node: Node, dtype: str = "") -> None:
        if isinstance(target, ast.Subscript):
            buffer = self.expr.buffer(target.value)
            if store_vector(self, buffer, target, value):
                return
            self._store(buffer, target, self.expr.evaluate(value), value)
            return
        pair = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        if pair and len(target.elts) == len(value.elts) and all(map(self._is_variable, value.elts)):
            # `s0, s1 = T.int32(), T.int32()`: the strides of a T.match_buffer.
            return
        path = self.scope.path(value.func) if isinstance(value, ast.Call) else None
        if isinstance(value, ast.Call) and path == "T.mulsi_extended":
            self.expr.count(value, 2)
            left, right = (self.expr.evaluate(factor) for factor in value.args)
            halves = S.multiply_extended(*self.expr.pair(left, right, value))
            for name, half in zip(self.names(target, 2, node), halves, strict=True):
                self.scope.bind(name, half)
            return
        if not isinstance(target, ast.Name):
            self.scope.fail(
                target,
                "only variables and elements of buffers can be bound, one in a statement: write "
                "'a = x' and 'b = y' for 'a, b = x, y'",
            )
        if self.module.is_module(self.scope, value):
            self.scope.modules.add(target.id)
            return
        known = self.scope.values.get(target.id)
        if isinstance(known, MutableScalar) and path not in memory.MAKERS:
            self._store_scalar(known, self.expr.evaluate(value), value)
            return
        if self.scope.is_outer(target.id):
            self.scope.fail(
                target,
                f"'{target.id}' of the outer scope cannot change here; use a buffer of one "
                "element, T.alloc_buffer((1,), ...)",
            )
        if path in memory.MAKERS:
            self.scope.bind(target.id, memory.MAKERS[path](self.expr, target.id, value))
            return
        if path == "T.env_thread" and isinstance(value, ast.Call):
            self.expr.count(value, 1)
            name = getattr(value.args[0], "value", None)
            if not isinstance(name, str):
                self.scope.fail(value.args[0], 'T.env_thread takes a thread, "threadIdx.x"')
            self.threads[target.id] = name
            return
        if self._is_variable(value):
            # `x = T.float32()`: a variable that a T.LetStmt gives its value.
            return
        if path and path.startswith("T.axis"):
            self.scope.fail(value, "T.axis belongs at the beginning of a block")
        if isinstance(self.scope.values.get(target.id), Buffer):
            self.scope.fail(target, f"'{target.id}' is a buffer; store to its elements")
        raw = self.expr.evaluate(value)
        if target.id in self.changing and not isinstance(raw, Buffer):
            self._store_scalar(self._scalar_variable(target.id, dtype or dtype_of(raw)), raw, value)
            return
        if dtype and isinstance(raw, (int, float)):
            raw = self.expr.convert(raw, dtype, value)
        if isinstance(raw, Scalar) and not isinstance(raw.value.owner, ir.Block):
            op = raw.value.owner.operation
            if not isinstance(op.location, ir.NameLoc):
                op.location = self.scope.location(node, target.id)
        self.scope.bind(target.id, raw)

    def _is_variable(self, value: Node) -> bool:
        """Whether an expression is `T.int32()`, a variable without a value."""
        if not isinstance(value, ast.Call) or value.args or value.keywords:
            return False
        path = self.scope.path(value.func)
        return bool(path) and self.expr.is_dtype(path[2:])

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
            wanted = INT4.get(buffer.dtype, buffer.dtype)
            buffer.store(self.expr.to_scalar(raw, value, wanted), indices)
        except DtypeError as error:
            self.scope.fail(value, str(error))

    def _augassign(self, node: Node) -> None:
        from relax_mlir.script.tir_parser.expr.tables import OPERATORS

        kind = OPERATORS.get(type(node.op))
        if kind is None:
            self.scope.fail(node, "this operator is not part of the TIR language")
        if isinstance(node.target, ast.Name):
            name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            sum_ = ast.copy_location(ast.BinOp(name, node.op, node.value), node)
            self._bind(node.target, sum_, node)
            return
        if not isinstance(node.target, ast.Subscript):
            self.scope.fail(node.target, "only variables and elements of buffers can be updated")
        buffer = self.expr.buffer(node.target.value)
        old = self.expr.evaluate(node.target)
        raw = self.expr.binary(kind, old, self.expr.evaluate(node.value), node)
        self._store(buffer, node.target, raw, node.value)

    def _with(self, node: Node) -> None:
        BlockParser(self).parse(node)

    def _if(self, node: Node, tail: bool = False) -> None:
        known = captured_value(self.scope, node.test)
        if isinstance(known, bool):
            # What Python knows chooses while the script is read.
            self.body(node.body if known else node.orelse, tail)
            return
        condition = self.expr.condition(node.test)
        op = ir.Operation.create("scf.if", operands=[condition.value], regions=2)
        bodies = [node.body, node.orelse] if node.orelse else [node.body]
        for region, body in zip(op.regions, bodies, strict=False):
            with self.scoped(), ir.InsertionPoint(region.blocks.append()):
                self.body(body, tail)
                ir.Operation.create("scf.yield")

    def scoped(self) -> AbstractContextManager[set[str]]:
        """Open a scope whose variables end with it."""
        return self.scope.nested("block")

    def _while(self, node: Node) -> None:
        if node.orelse:
            self.scope.fail(node.orelse[0], "'while' has no 'else' here")
        with self.exits.loop(node):
            op = ir.Operation.create("scf.while", regions=2)
            with self.scoped(), ir.InsertionPoint(op.regions[0].blocks.append()):
                running = self.exits.running()
                endless = isinstance(node.test, ast.Constant) and node.test.value is True
                if endless and running is None:
                    self.scope.fail(node.test, "this loop never ends: there is no 'break' in it")
                if running is None or endless:
                    condition = running or self.expr.condition(node.test)
                else:
                    condition = self.expr.choose(
                        running, lambda: self.expr.condition(node.test),
                        lambda: S.const(False, "bool"), node.test,
                    )  # fmt: skip
                ir.Operation.create("scf.condition", operands=[condition.value])
            with self.scoped(), ir.InsertionPoint(op.regions[1].blocks.append()):
                self.exits.turn(node.body, guarded=False)
                ir.Operation.create("scf.yield")

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
            self.scope.fail(
                target or at, f"{count} extents need {count} variables, got {len(nodes)}"
            )
        return names


def _with_rest(exits: Exits, node: Node, rest: Sequence[Node]) -> Node:
    """Return an `if` with what follows it at the end of the branches that go on."""
    bodies = [
        list(body) if body and exits.kind(body[-1]) else [*body, *rest]
        for body in (node.body, node.orelse)
    ]
    return ast.copy_location(ast.If(node.test, *bodies), node)
