"""Expressions of the Relax language: operators, calls of operations, constants, tuples."""

import ast
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_attribute, numpy_dtype
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build
from relax_mlir.dialects.relax.tuples import field_types, known_fields, make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.parse import OPERATORS
from relax_mlir.errors import RelaxMLIRError, did_you_mean, hint_of
from relax_mlir.extension_points import extension
from relax_mlir.script.parser import flow, interfaces, macros, tables
from relax_mlir.script.parser.annotations import Annotation, AnnotationParser
from relax_mlir.script.parser.dims import (
    DimParser,
    captured_value,
    check_size,
    constant_index,
)
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.functions import not_there
from relax_mlir.script.parser.interfaces import ModuleParser
from relax_mlir.script.parser.literals import TYPED_LITERALS, literal
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser import logic as relax_logic
from relax_mlir.script.relax_parser.integer_tensors import as_tensor
from relax_mlir.script.relax_parser.operations import method, operation
from relax_mlir.script.relax_parser.subscripts import part_of_tensor


class Hint:
    """The annotation of the variable being bound, read only when asked for.

    A match_cast binds the symbols that its own annotation mentions, so the value is read first.
    """

    node: Node

    def __init__(self, scope: Scope, node: Node) -> None:
        self._scope, self.node = scope, node

    def get(self) -> Annotation | None:
        """Return the annotation, None when there is none."""
        if self.node is None:
            return None
        return AnnotationParser(self._scope).parse(self.node)


class Int32(int):
    """A number that a script calls an int32: a scalar of that dtype where it stands as a value."""


class ExprParser(interfaces.ExprParser):
    """Turns expressions into values at the current insertion point.

    Attributes:
        scope: names of the function being parsed.
        module: functions of the module.
        in_dataflow: whether a dataflow block is open.
        impure: whether anything so far may have a side effect.
    """

    def __init__(self, scope: Scope, module: ModuleParser) -> None:
        self.scope = scope
        self.module = module
        self.in_dataflow = False
        self.impure = False

    def value(self, node: Node, name: str | None = None, hint: Hint | None = None) -> ir.Value:
        """Return the MLIR value of an expression.

        Raises:
            ScriptError: the expression is wrong.
        """
        return self.materialize(self.evaluate(node, name, hint), node, name)

    def evaluate(self, node: Node, name: str | None = None, hint: Hint | None = None) -> Any:
        """Return an expression: MLIR value, symbolic integer, Python value, or tuple of them."""
        hint = hint or Hint(self.scope, None)
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            self.scope.fail(node, "this Python expression means nothing in a Relax function")
        return method(node, name, hint)

    def emit(
        self, op: str, operands: Sequence[ir.Value], result: ir.Type, node: Node,
        name: str | None = None, **attributes: ir.Attribute,
    ) -> ir.Value:  # fmt: skip
        """Create an operation with one result."""
        return ir.Operation.create(
            op,
            results=[result],
            operands=list(operands),
            attributes=attributes,
            loc=self.scope.location(node, name),
        ).result

    def materialize(self, raw: Any, node: Node, name: str | None = None) -> ir.Value:
        """Return a value for what `evaluate` gave."""
        if isinstance(raw, ir.Value):
            return raw
        if isinstance(raw, (bool, float, np.ndarray, np.generic)):
            return self.constant(raw, node, name)
        if isinstance(raw, Int32):
            return self.number(raw, "int32", node, name)
        if isinstance(raw, (int, SymExpr)):
            expr = SymExpr.of(raw)
            DimParser(self.scope).check_bound(node, expr)
            i64 = ir.IntegerType.get_signless(64)
            try:
                attribute = Dims.of([expr])
            except ValueError as error:
                self.scope.fail(node, str(error))
            value = self.emit("relax.prim_value", [], i64, node, name, value=attribute)
            self.scope.integers.append((value, expr))
            return value
        if isinstance(raw, (tuple, list)):
            if raw and all(isinstance(item, (int, SymExpr)) for item in raw):
                return self.shape(raw, node, name)
            values = [self.materialize(item, node) for item in raw]
            return make_tuple(values, self.scope.location(node, name))
        if isinstance(raw, extension("script.Expr")):
            return self._emit(raw, node, name)
        if isinstance(raw, interfaces.NullValue):
            return extension("script.relax_calls").null_value(self, node, name)
        self.scope.fail(node, f"a Python {type(raw).__name__} has no meaning as a Relax value")

    def _emit(self, expr: Any, node: Node, name: str | None) -> ir.Value:
        """Create the operations of an expression that Python code made."""
        builder, place = self.module.builder, self.scope.location(node)
        try:
            with builder.here(self.in_dataflow):
                value = builder.create(expr, name, place)
        except RelaxMLIRError as error:
            self.scope.fail(node, str(error))
        self.impure = self.impure or builder.effects
        return value

    def call_python(self, function: Any, node: ast.Call) -> Any:
        """Call a Python function; values that are known at run time only are expressions to it."""
        builder = self.module.builder
        with builder.here(self.in_dataflow):
            return macros.call_python(self.scope, function, node, self.evaluate, builder.view)

    def shape(self, raw: Any, node: Node, name: str | None = None) -> ir.Value:
        """Return a shape value for a tuple of integers, or check that a value is one."""
        if isinstance(raw, (tuple, list)):
            raw = relax_logic.integers(self, raw, node)
            for item in raw:
                if isinstance(item, bool) or not isinstance(item, (int, SymExpr)):
                    self.scope.fail(node, "a shape is a tuple of integers and symbols")
            dims = [SymExpr.of(item) for item in raw]
            for dim in dims:
                DimParser(self.scope).check_bound(node, dim)
                check_size(self.scope, node, dim)
            try:
                type_ = T.shape_type(dims)
            except ValueError as error:
                self.scope.fail(node, str(error))
            return self.emit("relax.shape_expr", [], type_, node, name)
        if isinstance(raw, ir.Value) and isinstance(raw.type, Shape):
            return raw
        actual = describe(raw.type) if isinstance(raw, ir.Value) else f"a {type(raw).__name__}"
        self.scope.fail(node, f"expected a shape such as (n, 4), got {actual}")

    def constant(self, raw: Any, node: Node, name: str | None = None, dtype: str = "") -> ir.Value:
        """Return a constant tensor of a number, nested list or array."""
        try:
            if not dtype and not hasattr(raw, "dtype"):
                raw = np.asarray(raw)
                dtype = {"f": "float32", "i": "int32", "b": "bool"}.get(raw.dtype.kind, "")
            array = np.asarray(raw, dtype=numpy_dtype(T.normalize_dtype(dtype)) if dtype else None)
            _check_exact(np.asarray(raw), array)
            attribute = constant_attribute(array, name)
        except (TypeError, ValueError, OverflowError, ImportError) as error:
            self.scope.fail(node, f"not a constant of the Relax language: {error}")
        return self.emit("relax.constant", [], attribute.type, node, name, value=attribute)

    def number(self, raw: float, dtype: str, node: Node, name: str | None = None) -> ir.Value:
        """Return a scalar of a dtype."""
        if dtype == "int64":
            return self.materialize(raw, node, name)
        tensor = self.constant(raw, node, None, dtype)
        return build("tensor_to_scalar", [tensor], {}, self.scope.location(node, name))

    def fields(self, node: Node) -> list[ir.Value]:
        """Return the values of an argument list: `[x, y]`, `(x, y)`, `x`, or a tuple value."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.value(item) for item in node.elts]
        value = self.value(node)
        if not isinstance(value.type, ir.TupleType):
            return [value]
        known = known_fields(value)
        if known is not None:
            return known
        return [self.field(value, i, node) for i in range(value.type.num_types)]

    def field(self, value: ir.Value, index: int, node: Node, name: str | None = None) -> ir.Value:
        """Return one field of a tuple value.

        Raises:
            ScriptError: the value is no tuple or has fewer fields.
        """
        if not isinstance(value.type, ir.TupleType):
            self.scope.fail(node, f"only tuples can be indexed, this is {describe(value.type)}")
        types = field_types(value.type)
        if not -len(types) <= index < len(types):
            self.scope.fail(node, f"index {index} is out of range for {len(types)} fields")
        i64 = ir.IntegerType.get_signless(64)
        attribute = ir.IntegerAttr.get(i64, index % len(types))
        return self.emit(
            "relax.tuple_get_item", [value], types[index % len(types)], node, name, index=attribute
        )

    def compute(
        self, op: str, args: Sequence[tuple[Node, Any]], node: Node, name: str | None
    ) -> ir.Value:  # fmt: skip
        """Create an operation of the dialect's table; Python numbers become constants."""
        dtype = next(
            (T.tensor_dtype(raw.type) for _, raw in args
             if isinstance(raw, ir.Value) and T.is_tensor(raw.type)), "",
        )  # fmt: skip
        operands = []
        for place, raw in args:
            if isinstance(raw, SymExpr) and raw.is_const:
                raw = raw.value
            if isinstance(raw, (int, float)):
                # A dtype that only run time knows is for the operation to ask.
                operands.append(self.constant(raw, place, None, dtype) if dtype else raw)
            elif isinstance(raw, SymExpr) and dtype:
                operands.append(as_tensor(self, raw, dtype, place))
            else:
                operands.append(self.materialize(raw, place))
        try:
            return build(op, operands, {}, self.scope.location(node, name))
        except (ValueError, TypeError) as error:
            self.scope.fail(node, f"{_written(op, node)}: {error}")

    def _constant(self, node: Node, name: str | None, hint: Hint) -> Any:
        if node.value is None or node.value is Ellipsis:
            self.scope.fail(node, f"{node.value} has no meaning as a Relax value")
        return node.value

    def _joinedstr(self, node: Node, name: str | None, hint: Hint) -> Any:
        return literal(self.scope, node)

    def _name(self, node: Node, name: str | None, hint: Hint) -> Any:
        raw = self.scope.lookup_or(node, MISSING)
        if raw is MISSING:
            function = self.module.find(self.scope, node)
            if function is not None:
                closures = extension("script.closures")
                return closures.reference(self, function, node, name)
            if node.id in ("cls", self.module.class_name):
                self.scope.fail(node, f"'{node.id}' is the module; name a function of it")
            if (path := self.scope.path(node)) is not None:
                self.scope.fail(node, f"{path} is not a value")
            return self.scope.undefined(node, node.id)
        return raw

    def _tuple(self, node: Node, name: str | None, hint: Hint) -> Any:
        return tuple(self.evaluate(item) for item in node.elts)

    _list = _tuple

    def _attribute(self, node: Node, name: str | None, hint: Hint) -> Any:
        captured = captured_value(self.scope, node)
        if captured is not MISSING:
            return captured
        if self.scope.path(node) is None and node.attr == "shape":
            relax_calls = extension("script.relax_calls")
            return relax_calls.shape_of(self, self.value(node.value), node, name)
        function = self.module.find(self.scope, node)
        if function is not None:
            closures = extension("script.closures")
            return closures.reference(self, function, node, name)
        if self.scope.path(node) is None:
            self.value(node.value)
        self.scope.fail(node, f"'{ast.unparse(node)}' has no meaning as a Relax value")

    def _subscript(self, node: Node, name: str | None, hint: Hint) -> Any:
        captured = captured_value(self.scope, node)
        if captured is not MISSING:
            return captured
        base = self.evaluate(node.value)
        if isinstance(base, ir.Value) and T.is_tensor(base.type):
            return part_of_tensor(self, base, node, name)
        try:
            index = constant_index(self.scope, node.slice)
        except ValueError:
            index = None
        if type(index) is not int:
            self.scope.fail(
                node.slice,
                "the index of a tuple must be an integer literal, or the variable of an unrolled "
                "loop; relax.BlockBuilder takes any Python index",
            )
        if isinstance(base, (tuple, list)):
            if not -len(base) <= index < len(base):
                self.scope.fail(node, f"index {index} is out of range for {len(base)} fields")
            return base[index]
        value = self.materialize(base, node.value)
        if isinstance(value.type, Shape):
            dims = T.shape_dims(value.type)
            if dims is not None and -len(dims) <= index < len(dims):
                return dims[index]
            self.scope.fail(node, "this dimension is not known here; bind it by R.match_cast")
        return self.field(value, index, node, name)

    def _unaryop(self, node: Node, name: str | None, hint: Hint) -> Any:
        if isinstance(node.op, ast.Not):
            return relax_logic.negate(self, node, name)
        raw = relax_logic.integer(self, self.evaluate(node.operand), node.operand)
        if isinstance(node.op, ast.UAdd) and isinstance(raw, (int, float, SymExpr)):
            return raw
        if isinstance(node.op, ast.USub):
            if isinstance(raw, (int, float, SymExpr)):
                return -raw
            return self.compute("negative", [(node.operand, raw)], node, name)
        self.scope.fail(
            node,
            f"operator '{ast.unparse(node)[0]}' is not part of the Relax language: "
            "R.bitwise_not(x) inverts bits, R.logical_not(x) truth values",
        )

    def _binop(self, node: Node, name: str | None, hint: Hint) -> Any:
        left, right = (
            relax_logic.integer(self, self.evaluate(side), side) for side in (node.left, node.right)
        )
        if all(isinstance(side, (int, float, SymExpr)) for side in (left, right)):
            function = OPERATORS.get(type(node.op))
            try:
                if function is None:
                    self.scope.fail(node, "this operator is not defined for integers and symbols")
                return function(left, right)
            except (ZeroDivisionError, TypeError) as error:
                self.scope.fail(node, str(error))
        op = tables.OPERATORS.get(type(node.op))
        if op is None or op not in COMPUTE_OPS:
            self.scope.fail(node, "this operator is not defined for tensors")
        return self.compute(op, [(node.left, left), (node.right, right)], node, name)

    def _compare(self, node: Node, name: str | None, hint: Hint) -> Any:
        return relax_logic.compare(self, node, name)

    def _ifexp(self, node: Node, name: str | None, hint: Hint) -> Any:
        return extension("script.StmtParser")(self).control.choice(node, name)

    def _boolop(self, node: Node, name: str | None, hint: Hint) -> Any:
        return relax_logic.combine(self, node, name)

    def _macro(self, macro: Any, node: Node) -> Any:
        """Read the statements of a macro here; what it returns is what the call is."""
        with macros.expanded(self.scope, macro, node, self.evaluate) as definition:
            statements = extension("script.StmtParser")(self)
            if flow.always_returns(definition.body):
                return statements.body(definition.body)
            statements.sequence(definition.body)
        return None

    def _call(self, node: Node, name: str | None, hint: Hint) -> Any:
        relax_calls = extension("script.relax_calls")
        path = self.scope.path(node.func)
        if not path or not path.startswith("R."):
            path = _of_python_api(macros.python_function(self.scope, node.func)) or path
        if path and path.startswith("R."):
            # `relax.op.add(x, y)` of TVM's Python API is R.add(x, y).
            path = f"R.{path.removeprefix('R.').removeprefix('op.')}"
            special = relax_calls.SPECIAL.get(path[2:]) or _closures().get(path[2:])
            if special is not None:
                return special(self, node, name, hint)
            return operation(self, path[2:], node, name)
        if relax_calls.extern_func(self, node.func) is not None:
            return relax_calls.call_packed(self, node, node.func, node.args, name, hint)
        function = self.module.find(self.scope, node.func)
        if function is not None:
            return relax_calls.call_function(self, function, node, name)
        closures = extension("script.closures")
        value = closures.callee(self, node.func)
        if value is not None:
            return closures.call(self, value, node, name, hint)
        macro = macros.captured_macro(self.scope, node.func)
        if macro is not None:
            return self._macro(macro, node)
        python = macros.python_function(self.scope, node.func)
        if python is not None:
            return self.call_python(python, node)
        if len(node.args) == 1 and path in ("T.int64", "T.int32"):
            inner = self.evaluate(node.args[0])
            return Int32(inner) if path == "T.int32" and type(inner) in (int, bool) else inner
        if path in ("T.meta_var", "I.meta_var") and len(node.args) == 1:
            return self.evaluate(node.args[0])
        if path in TYPED_LITERALS and len(node.args) == 1:
            return self.number(literal(self.scope, node), path.removeprefix("T."), node, name)
        if path and path.startswith("T."):
            return DimParser(self.scope).dim(node)
        if isinstance(node.func, ast.Name) and node.func.id == "float":
            return literal(self.scope, node)
        if isinstance(node.func, ast.Name):
            near = did_you_mean(node.func.id, self.module.names)
            self.scope.fail(node.func, f"undefined function '{node.func.id}'{near}")
        if isinstance(node.func, ast.Attribute):
            value = method(self, node, name)
            if value is not None:
                return value
            own = self.module.is_module(self.scope, node.func.value)
            near = (not_there if own else hint_of)(node.func.attr, self.module.names)
            self.scope.fail(node.func, f"undefined function '{ast.unparse(node.func)}'{near}")
        self.scope.fail(node.func, "this cannot be called in a Relax function")


def _of_python_api(function: Any) -> str:
    """Return what a function of `relax.op` is called in scripts, "" for any other."""
    module = getattr(function, "__module__", None) or ""
    return f"R.{function.__name__}" if module.startswith("relax_mlir.relax.op") else ""


def _closures() -> dict[str, Any]:
    closures = extension("script.closures")
    return {
        "make_closure": closures.make_closure,
        "invoke_closure": closures.invoke_closure,
        "invoke_pure_closure": functools.partial(closures.invoke_closure, pure=True),
    }


def _check_exact(given: np.ndarray, array: np.ndarray) -> None:
    """Raise a ValueError when numbers were changed to fit an integer or bool, as numpy does."""
    if array.dtype.kind not in "iub" or given.dtype.kind not in "iuf":
        return
    if given.dtype == array.dtype:
        return
    changed = given != array
    if changed.any():
        raise ValueError(f"{given[changed].flat[0]} is not a number of dtype {array.dtype}")


def _written(op: str, node: Node) -> str:
    """Return an operation as the script calls it: `R.nn.softmax`, and `R.add` for `+`."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else f"R.{op}"
