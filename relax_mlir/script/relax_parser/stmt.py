"""Statements of a Relax function: bindings, dataflow blocks, branches, return."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.dialects.relax.ops.base import is_absent
from relax_mlir.dialects.relax.ops.core import impurity
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.relax.type_lattice import meet
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.extension_points import extension
from relax_mlir.ir.attribute_value import attribute_key, python_attribute
from relax_mlir.ir.global_info import GlobalInfo
from relax_mlir.script.parser import flow, interfaces, macros
from relax_mlir.script.parser.dims import captured_value
from relax_mlir.script.parser.interfaces import NullValue
from relax_mlir.script.parser.literals import literal, scalar_literal
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser import closures
from relax_mlir.script.relax_parser.calls import match_cast
from relax_mlir.script.relax_parser.control import ControlParser
from relax_mlir.script.relax_parser.expr import ExprParser, Hint
from relax_mlir.script.relax_parser.memory import is_effect

_META = ("I.meta_var", "T.meta_var")
_SYMBOL_CALLS = ("T.int64", "T.int32", "T.var", "T.Var", "tir.Var")


@dataclass
class _Position:
    """Where parsing is in a list of statements; `next` is the first that comes later."""

    statements: Sequence[Node]
    last_reads: dict[str, int]
    turns: bool
    next: int = 0


class StmtParser(interfaces.StmtParser):
    """Turns statements into operations at the current insertion point.

    Attributes:
        expr: parses the expressions in them.
        func_attrs: what `R.func_attr` said.
        control: parses the branches and loops among them.
    """

    def __init__(self, expr: ExprParser) -> None:
        self.expr = expr
        self.scope: Scope = expr.scope
        self.func_attrs: dict[str, Any] = {}
        self.control: ControlParser = ControlParser(self)
        # Statements that run after the current one, innermost last.
        self._later: list[_Position] = []

    def body(self, statements: Sequence[Node]) -> ir.Value:
        """Parse a function's statements; the value it returns.

        Raises:
            ScriptError: a statement is wrong, or the function does not return.
        """
        statements = _without_inner_return(self.scope, statements)
        with self.within(statements) as position:
            for i, statement in enumerate(statements):
                position.next = i + 1
                if isinstance(statement, ast.Return):
                    if i + 1 < len(statements):
                        self.scope.fail(statements[i + 1], "nothing can follow 'return'")
                    if statement.value is None:
                        self.scope.fail(statement, "a Relax function returns a value")
                    with self.scope.guarded(statement):
                        return self.expr.value(statement.value)
                if flow.find([statement], (ast.Return,), (ast.If,)) is not None:
                    # What follows is parsed as part of a branch.
                    position.next = len(statements)
                    with self.scope.guarded(statement):
                        return self.control.returning(statement, statements[i + 1 :])
                self.statement(statement)
        self.scope.fail(statements[-1], "a Relax function must end with 'return'")

    def sequence(self, statements: Sequence[Node]) -> None:
        """Parse statements that do not return.

        Raises:
            ScriptError: one of them is wrong.
        """
        with self.within(statements) as position:
            for i, statement in enumerate(statements):
                position.next = i + 1
                self.statement(statement)

    @contextmanager
    def within(self, statements: Sequence[Node], turns: bool = False) -> Iterator[_Position]:
        """Note that statements run after those parsed inside, from the yielded position on.

        Args:
            statements: in order.
            turns: whether they are the next turn of a loop, which there may not be.
        """
        position = _Position(statements, flow.last_reads(statements), turns)
        self._later.append(position)
        yield position
        self._later.pop()

    def is_read_later(self, name: str) -> bool:
        """Whether a statement after the current one may read a variable before it is bound."""
        if not any(each.last_reads.get(name, -1) >= each.next for each in self._later):
            return False
        for each in reversed(self._later):
            use = flow.first_use(name, each.statements, each.next)
            if use == flow.READ:
                return True
            if use == flow.BOUND and not each.turns:
                return False
        return False

    def statement(self, node: Node) -> None:
        """Parse one statement.

        Raises:
            ScriptError: it is wrong.
        """
        with self.scope.guarded(node):
            self._statement(node)

    def _statement(self, node: Node) -> None:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            return self._assign(node)
        if isinstance(node, ast.With):
            return self._with(node)
        if isinstance(node, ast.AugAssign):
            return self._augmented(node)
        if isinstance(node, ast.If):
            return self.control.branch(node)
        if isinstance(node, (ast.For, ast.While)):
            return self.control.loop(node)
        if isinstance(node, ast.FunctionDef):
            return closures.define(self, node)
        if isinstance(node, ast.Expr):
            return self._expression(node.value)
        # Names from around a script are read as they are, declared or not.
        if isinstance(node, (ast.Pass, ast.Nonlocal, ast.Global)):
            return None
        if isinstance(node, ast.Return):
            self.scope.fail(node, "'return' can only be the last statement of the function")
        if isinstance(node, (ast.Break, ast.Continue)):
            self.scope.fail(node, "'break' and 'continue' are not part of the Relax language")
        says = "; relax.BlockBuilder takes any Python code"
        hint = (
            "; R.assert_op(condition) checks at run time" if isinstance(node, ast.Assert) else says
        )
        self.scope.fail(node, f"this Python statement has no meaning in a Relax function{hint}")

    def write_attributes(self, op: ir.Operation) -> None:
        """Give a function the attributes that `R.func_attr` said."""
        for name, value in self.func_attrs.items():
            if name != "global_symbol":
                op.attributes[attribute_key(name)] = python_attribute(value)

    def _expression(self, node: Node) -> None:
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, str):
                self.scope.fail(node, "this statement has no effect")
            return
        if isinstance(node, ast.Call):
            path = self.scope.path(node.func)
            if path == "R.func_attr":
                self.func_attrs.update(func_attrs(self.scope, node))
                return
            if path in ("R.output", "R.outputs"):
                self.scope.fail(node, f"{path} belongs at the end of a 'with R.dataflow()' block")
            raw = self.expr.evaluate(node)
            if isinstance(raw, ir.Value) and is_absent(raw) and is_effect(node, path):
                raw.owner.erase()
                return
            if raw is None and (
                is_effect(node, path) or macros.captured_macro(self.scope, node.func)
            ):
                return
            if not isinstance(raw, ir.Value):
                self.scope.fail(node, "this statement has no effect")
            checks = path in ("R.match_cast", "R.match_shape")
            if not checks and macros.captured_macro(self.scope, node.func) is None:
                owner = None if isinstance(raw.owner, ir.Block) else raw.owner.operation
                if owner is None or not impurity(owner):
                    what = "this has no effect but its result; bind that to a variable"
                    self.scope.fail(node, what)
            return
        self.scope.fail(node, "this statement has no effect")

    def _augmented(self, node: ast.AugAssign) -> None:
        """Parse `x += y` as `x = x + y`."""
        if not isinstance(node.target, ast.Name):
            self.scope.fail(
                node.target, "only variables can be bound; tensors are not changed in place"
            )
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        self._assign(ast.copy_location(ast.Assign([node.target], value), node))

    def _assign(self, node: Node) -> None:
        if isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                self.scope.fail(node.targets[1], "bind one variable at a time")
            target, annotation = node.targets[0], None
        else:
            target, annotation = node.target, node.annotation
            if node.value is None:
                self.scope.fail(node, "a binding needs a value")
        # TVM begins the bodies that it prints with `cls = Module`.
        if isinstance(target, ast.Name) and self.expr.module.is_module(self.scope, node.value):
            self.scope.modules.add(target.id)
            return
        if isinstance(target, (ast.Tuple, ast.List)):
            if not self._symbols(target, node.value):
                self._unpack(target, node.value)
            return
        if not isinstance(target, ast.Name):
            self.scope.fail(target, "only variables can be bound; tensors are not changed in place")
        if self._symbol(target.id, node.value) or self._meta(target.id, node.value):
            return
        hint = Hint(self.scope, annotation)
        raw = self.expr.evaluate(node.value, target.id, hint)
        if raw is None and is_effect(
            node.value, self.scope.path(getattr(node.value, "func", None))
        ):
            return
        if isinstance(raw, (extension("script.ExternFunc"), NullValue)):
            self.scope.bind(target.id, raw)
            return
        value = self._declared(raw, target.id, hint, node)
        if hint.node is not None:
            closures.record_signature(self.scope, value, hint.get())
        self.scope.bind(target.id, value)

    def _declared(self, raw: Any, name: str, hint: Hint, node: Node) -> Any:
        """Bring a value and the annotation of its variable together."""
        symbolic = isinstance(raw, (int, SymExpr)) and not isinstance(raw, bool)
        declared = hint.get()
        if declared is None:
            if isinstance(raw, (tuple, list)) or symbolic:
                return self.expr.materialize(raw, node.value, name)
            return (
                raw if isinstance(raw, ir.Value) else self.expr.materialize(raw, node.value, name)
            )
        if isinstance(declared.type, Shape):
            value = self.expr.shape(raw, node.value, name)
        elif isinstance(raw, (int, float)) and T.is_tensor(declared.type):
            dtype = T.tensor_dtype(declared.type)
            value = self.expr.constant(raw, node.value, name, dtype)
        elif isinstance(raw, (int, float)) and T.is_scalar(declared.type):
            value = self.expr.number(raw, T.dtype_of_element(declared.type), node.value, name)
        else:
            value = self.expr.materialize(raw, node.value, name)
        return self.refine(value, declared.type, hint.node, node.value, name)

    def refine(
        self, value: ir.Value, declared: ir.Type, at: Node, node: Node, name: str | None
    ) -> ir.Value:
        """Return the value with a declared type, asserting what is not known to hold.

        Raises:
            ScriptError: it certainly does not hold.
        """
        if not compatible(declared, value.type):
            if not self.expr.module.checked:
                return self.expr.emit("relax.match_cast", [value], declared, node, name)
            self.scope.fail(
                at, f"declared {describe(declared)}, but the value is {describe(value.type)}"
            )
        target = meet(declared, value.type)
        if target == value.type:
            return value
        return match_cast(self.expr, value, target, node, name)

    def _symbol(self, name: str, node: Node) -> bool:
        """Parse `n = T.int64()` or `n = T.var("n")`: a symbol that a type binds later."""
        if not isinstance(node, ast.Call) or self.scope.path(node.func) not in _SYMBOL_CALLS:
            return False
        text = node.args[0] if node.args else None
        symbol = getattr(text, "value", None) if text is not None else name
        if not isinstance(symbol, str):
            return False
        if self.scope.path(node.func) == "T.int32":
            self.scope.fail(node, "a symbol of shapes is an int64: T.int64()")
        self.scope.symbols.setdefault(symbol, False)
        if symbol != name:
            self.scope.bind(name, SymExpr.var(symbol))
        return True

    def _symbols(self, target: Node, node: Node) -> bool:
        """Parse `n, m = T.int64(), T.int64()`."""
        if not isinstance(node, (ast.Tuple, ast.List)) or len(node.elts) != len(target.elts):
            return False
        if not all(
            isinstance(item, ast.Name)
            and isinstance(value, ast.Call)
            and self.scope.path(value.func) in (*_SYMBOL_CALLS, *_META)
            for item, value in zip(target.elts, node.elts, strict=True)
        ):
            return False
        result = [
            self._symbol(item.id, value) or self._meta(item.id, value)
            for item, value in zip(target.elts, node.elts, strict=True)
        ]
        return all(result)

    def _meta(self, name: str, node: Node) -> bool:
        """Parse `n = I.meta_var(4)` and `d = ir.VDevice("llvm")`: names that are no variables."""
        info = captured_value(self.scope, node.func) if isinstance(node, ast.Call) else None
        if isinstance(info, type) and issubclass(info, GlobalInfo):
            self.scope.bind(name, macros.call_python(self.scope, info, node, self.expr.evaluate))
            return True
        if not isinstance(node, ast.Call) or self.scope.path(node.func) not in _META:
            return False
        if len(node.args) != 1:
            self.scope.fail(node, f"{ast.unparse(node.func)} takes what the name stands for")
        scalar = scalar_literal(self.scope, node.args[0])
        self.scope.bind(name, self.expr.evaluate(node.args[0]) if scalar is None else scalar)
        return True

    def _unpack(self, target: Node, node: Node) -> str:
        """Bind the variables of `a, (b, c) = value`; return the name of the last one."""
        raw = self.expr.evaluate(node)
        value: Any = raw if isinstance(raw, (tuple, list)) else self.expr.materialize(raw, node)
        # Everything on the right is read before anything on the left is bound.
        result = self._fields(target, value)
        for name, item in result:
            self.scope.bind(name, item)
        return result[-1][0]

    def _fields(self, target: Node, value: Any) -> list[tuple[str, ir.Value]]:
        if isinstance(value, ir.Value) and not isinstance(value.type, ir.TupleType):
            self.scope.fail(target, f"only tuples can be unpacked, this is {describe(value.type)}")
        if not isinstance(value, (ir.Value, tuple, list)):
            self.scope.fail(target, f"only tuples can be unpacked, this is {value!r}")
        count = value.type.num_types if isinstance(value, ir.Value) else len(value)
        if count != len(target.elts) or not count:
            self.scope.fail(target, f"the tuple has {count} fields, {len(target.elts)} are named")
        result: list[tuple[str, ir.Value]] = []
        for i, element in enumerate(target.elts):
            name = element.id if isinstance(element, ast.Name) else None
            if name is None and not isinstance(element, (ast.Tuple, ast.List)):
                self.scope.fail(element, "only variables can be bound")
            if isinstance(value, ir.Value):
                item = self.expr.field(value, i, element, name)
            else:
                item = value[i]
            if name is None:
                result += self._fields(element, item)
            else:
                result.append((name, self.expr.materialize(item, element, name)))
        return result

    def _with(self, node: Node) -> None:
        item = node.items[0]
        call = item.context_expr
        path = self.scope.path(call.func) if isinstance(call, ast.Call) else self.scope.path(call)
        if path != "R.dataflow" or len(node.items) != 1 or item.optional_vars is not None:
            self.scope.fail(call, "expected 'with R.dataflow():'")
        if not isinstance(call, ast.Call):
            self.scope.fail(call, "write R.dataflow() with parentheses")
        if self.expr.in_dataflow:
            self.scope.fail(call, "a dataflow block cannot stand inside another")
        self._dataflow(node)

    def _dataflow(self, node: Node) -> None:
        loc = self.scope.location(node)
        holder = ir.Operation.create("relax.dataflow", regions=1, loc=loc)
        block = holder.regions[0].blocks.append()
        outputs: list[Node] = []
        values: list[ir.Value] = []
        self.expr.in_dataflow = True
        try:
            with self.scope.nested("dataflow") as names, ir.InsertionPoint(block):
                for i, statement in enumerate(node.body):
                    if _is_output(self.scope, statement):
                        if i + 1 < len(node.body):
                            self.scope.fail(node.body[i + 1], "nothing can follow R.output(...)")
                        outputs = self._outputs(statement.value)
                    else:
                        self.statement(statement)
                values = [self._escaping(name, names) for name in outputs]
                operands = values
                if len(values) > 1:
                    operands = [make_tuple(values, loc)]
                ir.Operation.create("relax.output", operands=operands, loc=loc)
        finally:
            self.expr.in_dataflow = False
        types = [operand.type for operand in operands]
        if len(outputs) == 1:
            loc = self.scope.location(node, outputs[0].id)
        final = ir.Operation.create(
            "relax.dataflow", results=types, regions=1, loc=loc, ip=ir.InsertionPoint(holder)
        )
        block.append_to(final.regions[0])
        holder.erase()
        for i, name in enumerate(outputs):
            result = final.results[0]
            if len(outputs) > 1:
                result = self.expr.field(result, i, name, name.id)
            expr = self.scope.integer_of(values[i])
            if expr is not None:
                self.scope.integers.append((result, expr))
            signature = closures.signature_of(self.scope, values[i])
            if signature is not None:
                self.scope.functions.append((result, signature))
            self.scope.bind(name.id, result)

    def _outputs(self, call: Node) -> list[Node]:
        nodes = call.args
        if len(nodes) == 1 and isinstance(nodes[0], (ast.Tuple, ast.List)):
            nodes = nodes[0].elts
        for node in [*nodes, *call.keywords]:
            if not isinstance(node, ast.Name):
                self.scope.fail(node, "R.output takes variables of its block")
        names = [node.id for node in nodes]
        for i, node in enumerate(nodes):
            if node.id in names[:i]:
                self.scope.fail(node, f"'{node.id}' is named twice in R.output")
        return list(nodes)

    def _escaping(self, node: Node, names: set[str]) -> ir.Value:
        if node.id not in names:
            if node.id in self.scope.values:
                self.scope.fail(node, f"'{node.id}' is bound outside this dataflow block")
            self.scope.undefined(node, node.id)
        return self.expr.materialize(self.scope.values[node.id], node)


def _without_inner_return(scope: Scope, statements: Sequence[Node]) -> Sequence[Node]:
    """Return statements whose last, a dataflow block that returns, gives that as its output."""
    last = statements[-1] if statements else None
    if not isinstance(last, ast.With) or not isinstance(last.body[-1], ast.Return):
        return statements
    call = last.items[0].context_expr
    value = last.body[-1].value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return statements
    if scope.path(call.func) != "R.dataflow" or value is None:
        return statements
    result, body = value, list(last.body[:-1])
    if not isinstance(value, ast.Name):
        result = ast.copy_location(ast.Name("returned", ast.Load()), value)
        body.append(ast.copy_location(ast.Assign([result], value), value))
    output = ast.Attribute(call.func.value, "output", ast.Load())
    given = ast.copy_location(ast.Call(ast.copy_location(output, value), [result], []), value)
    body.append(ast.copy_location(ast.Expr(given), value))
    block = ast.copy_location(ast.With(last.items, body), last)
    return [*statements[:-1], block, ast.copy_location(ast.Return(result), last.body[-1])]


def _is_output(scope: Scope, node: Node) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and scope.path(call.func) in ("R.output", "R.outputs")


def func_attrs(scope: Scope, node: Node) -> dict[str, Any]:
    """Return the dictionary of `func_attr({...})`."""
    given = node.args[0] if len(node.args) == 1 else None
    if not isinstance(given, ast.Dict):
        scope.fail(node, "func_attr takes one dictionary")
    attrs = {}
    for key, value in zip(given.keys, given.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            scope.fail(key or given, "the names of attributes are strings")
        attrs[key.value] = literal(scope, value)
        if isinstance(attrs[key.value], int) and not -(2**63) <= attrs[key.value] < 2**63:
            scope.fail(value, "an integer attribute has 64 bits")
    return attrs
