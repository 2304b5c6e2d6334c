"""Expressions: scalar arithmetic, intrinsics, loads."""

import ast
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, DtypeError, Scalar
from relax_mlir.errors import did_you_mean
from relax_mlir.extension_points import extension
from relax_mlir.script.parser import interfaces
from relax_mlir.script.parser.dims import captured_value
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser.bounds import beyond, conditional
from relax_mlir.script.tir_parser.expr.lanes import slice_index
from relax_mlir.script.tir_parser.expr.tables import (
    COMPARISONS,
    OPERATORS,
    SYMBOLIC,
    WHOLE,
)
from relax_mlir.script.tir_parser.expr.values import MutableScalar, Number, bare, whole
from relax_mlir.script.tir_parser.unsupported import unsupported_reason

scf: ModuleType = submodule("dialects.scf")
# The largest power of a number that is computed while the script is read.
_BITS = 64


class TirExprParser(interfaces.TirExprParser):
    """Turns expressions into scalars at the current insertion point.

    An expression is a `Scalar`, a symbolic integer that no load or loop variable has entered yet, a
    `Number`, or a Python number, which takes the dtype of what it meets.
    """

    def __init__(self, scope: Scope, builder: PrimFuncBuilder) -> None:
        self.scope = scope
        self.builder = builder
        # Which lane of a vector expression is being read, None in any other.
        self.lane: int | None = None

    @contextmanager
    def on_lane(self, lane: int) -> Iterator[None]:
        """Read one lane of vector expressions."""
        outer, self.lane = self.lane, lane
        yield
        self.lane = outer

    def scalar(self, node: Node, dtype: str = "") -> Scalar:
        """Return an expression as a scalar; a bare number takes `dtype`.

        Raises:
            ScriptError: the expression is wrong.
        """
        return self.to_scalar(self.evaluate(node), node, dtype)

    def to_scalar(self, raw: Any, node: Node, dtype: str = "") -> Scalar:
        """Return a scalar for what `evaluate` gave."""
        if isinstance(raw, SymExpr):
            return self.builder.symbol(raw)
        if isinstance(raw, Scalar):
            return raw
        if isinstance(raw, Number):
            return S.const(raw.value, raw.dtype)
        if isinstance(raw, Buffer):
            self.scope.fail(node, f"'{raw.name}' is a buffer; index it")
        if isinstance(raw, bool):
            return S.const(raw, dtype or "bool")
        if isinstance(raw, (int, float)):
            wanted = dtype or ("float32" if isinstance(raw, float) else "int32")
            if isinstance(raw, float) and not S.is_float(wanted):
                self.scope.fail(node, f"{raw} is not an integer, {wanted} is needed")
            return S.const(raw, wanted)
        self.scope.fail(node, "this has no meaning as a scalar")

    def evaluate(self, node: Node) -> Any:
        """Return the value of an expression.

        Raises:
            ScriptError: the expression is wrong.
        """
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            self.scope.fail(node, "this Python expression means nothing in a prim func")
        try:
            with self.scope.location(node):
                return method(node)
        except DtypeError as error:
            self.scope.fail(node, str(error))
        except ZeroDivisionError as error:
            self.scope.fail(node, str(error))

    def binary(self, kind: str, left: Any, right: Any, node: Node) -> Any:
        """Apply a binary operation to what `evaluate` gave."""
        known = whole(left, right)
        if known is not None and kind in WHOLE:
            dtype, *numbers = known
            number = WHOLE[kind](*numbers)
            return Number(number, dtype) if dtype else number
        left, right = bare(left, right), bare(right, left)
        symbolic = [isinstance(x, SymExpr) or type(x) is int for x in (left, right)]
        if all(symbolic) and kind in SYMBOLIC:
            sides = SymExpr.of(left), SymExpr.of(right)
            if kind not in ("max", "min") or not self._may_be_negative(*sides):
                return SYMBOLIC[kind](*sides)
        left, right = self.operands(left, right, node)
        dtype = next(x.dtype for x in (left, right) if isinstance(x, Scalar))
        if kind == "div" and not S.is_float(dtype):
            self.scope.fail(node, "'/' needs floating-point operands; use // or T.truncdiv")
        return S.binary(kind, left, right)

    def _may_be_negative(self, *exprs: SymExpr) -> bool:
        """Whether integers other than sizes of buffers occur: extrema are not folded by signs."""
        return any(expr.symbols & self.builder.integers.keys() for expr in exprs)

    def operands(self, left: Any, right: Any, node: Node) -> tuple[Any, Any]:
        """Return two operands; a number with a scalar stays one, as division treats it better."""
        left, right = bare(left, right), bare(right, left)
        for number, other in ((left, right), (right, left)):
            if not isinstance(other, Scalar) or other.dtype == "bool":
                continue
            if type(number) is int or (type(number) is float and S.is_float(other.dtype)):
                return left, right
        return self.pair(left, right, node)

    def pair(self, left: Any, right: Any, node: Node) -> tuple[Scalar, Scalar]:
        """Return two operands as scalars of one dtype, converted as TVM does it."""
        left, right = bare(left, right), bare(right, left)
        if isinstance(right, SymExpr):
            # A number in front takes the dtype of a size, as one behind it does.
            right = self.to_scalar(right, node)
        if not isinstance(left, Scalar):
            left = self.to_scalar(left, node, right.dtype if isinstance(right, Scalar) else "")
        if not isinstance(right, Scalar):
            right = self.to_scalar(right, node, left.dtype)
        dtype = _common(left.dtype, right.dtype)
        return S.cast(left, dtype), S.cast(right, dtype)

    def indices(self, node: Node, buffer: Buffer) -> tuple[Scalar, ...]:
        """Return the indices of a load or a store.

        Raises:
            ScriptError: one is no integer, or is certainly outside the buffer.
        """
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for item in items:
            if isinstance(item, ast.Slice) and self.lane is None:
                self.scope.fail(item, "a buffer is read and written one element at a time")
        # A wrong number of indices is the buffer's own complaint.
        dims = buffer.dims if len(buffer.dims) == len(items) else [None] * len(items)
        return tuple(self._index(*pair) for pair in zip(items, dims, strict=True))

    def _index(self, node: Node, dim: SymExpr | None) -> Scalar:
        if isinstance(node, ast.Slice):
            first = self.evaluate(slice_index(self, node))
            raw = self.binary("add", first, self.lane, node)
        else:
            raw = self.evaluate(node)
        if isinstance(raw, Number) and raw.index is not None:
            raw = raw.index
        if isinstance(raw, (int, SymExpr)):
            index = SymExpr.of(int(raw) if isinstance(raw, bool) else raw)
            # In a branch not taken, and over a dimension without elements, no index is used.
            sure = not conditional(ir.InsertionPoint.current.block)
            if sure and index.value is not None and index.value < 0:
                self.scope.fail(
                    node, f"index {index} is outside the buffer: indices do not count from the end"
                )
            past = (index - dim).value if dim is not None and dim.value != 0 else None
            if sure and past is not None and past >= 0:
                self.scope.fail(node, f"index {index} is outside a dimension of {dim}")
        scalar = self.to_scalar(raw, node, INDEX)
        if S.is_float(scalar.dtype):
            self.scope.fail(node, f"an index must be an integer, got {scalar.dtype}")
        if dim is not None:
            self._check_range(node, scalar, dim)
        return scalar

    def _check_range(self, node: Node, index: Scalar, dim: SymExpr) -> None:
        bounds = beyond(index.value, dim, ir.InsertionPoint.current.block)
        if bounds is not None:
            self.scope.fail(
                node,
                f"this index goes from {bounds[0]} to {bounds[1]}, outside a dimension of {dim}; "
                "guard it by an if or T.if_then_else, or change the loop",
            )

    def buffer(self, node: Node) -> Buffer:
        """Return the buffer that a node names.

        Raises:
            ScriptError: it names none.
        """
        if isinstance(node, ast.Name):
            value = self.scope.lookup_or(node, MISSING)
            if isinstance(value, Buffer):
                return value
            names = [n for n, v in self.scope.values.items() if isinstance(v, Buffer)]
            if value is MISSING:
                near = did_you_mean(node.id, names)
                self.scope.fail(node, f"undefined buffer '{node.id}'{near}")
            self.scope.fail(node, f"'{node.id}' is not a buffer")
        several = isinstance(node, ast.Subscript)
        hint = "; a buffer takes all its indices at once: A[i, j], not A[i][j]" if several else ""
        self.scope.fail(node, f"only buffers can be indexed{hint}")

    def _constant(self, node: Node) -> Any:
        if isinstance(node.value, (bool, int, float)):
            return node.value
        self.scope.fail(node, f"{node.value!r} has no meaning as a scalar")

    def _name(self, node: Node) -> Any:
        value = self.scope.lookup_or(node, MISSING)
        if value is MISSING:
            self.scope.undefined(node, node.id)
        if isinstance(value, MutableScalar):
            return value.buffer[()]
        if isinstance(value, SymExpr):
            for name in sorted(value.symbols):
                if not self.scope.symbols[name]:
                    self.scope.fail(
                        node, f"symbol '{name}' has no value: no buffer has it as a dimension"
                    )
        return self.python_value(value, node)

    def python_value(self, value: Any, node: Node) -> Any:
        """Return a value of the Python program around the script as `evaluate` gives it.

        Raises:
            ScriptError: it is no number.
        """
        if isinstance(value, (Scalar, SymExpr, Number, Buffer, bool, int, float)):
            return value
        if hasattr(value, "__index__"):
            return int(value)
        if hasattr(value, "__float__"):
            return float(value)
        self.scope.fail(node, f"'{node.id}' has no meaning as a scalar")

    def _attribute(self, node: Node) -> Any:
        value = captured_value(self.scope, node)
        if isinstance(value, (bool, int, float)):
            return value
        why = unsupported_reason(self.scope.path(node))
        self.scope.fail(node, why or f"'{ast.unparse(node)}' has no meaning as a scalar")

    def _subscript(self, node: Node) -> Any:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            dims = self.buffer(node.value.value).dims
            try:
                return dims[ast.literal_eval(node.slice)]
            except (ValueError, TypeError, IndexError):
                self.scope.fail(node.slice, f"expected a dimension below {len(dims)}")
        if not isinstance(node.value, ast.Name) or node.value.id not in self.scope.values:
            value = captured_value(self.scope, node)
            if isinstance(value, (bool, int, float)):
                return value
        buffer = self.buffer(node.value)
        return buffer[self.indices(node, buffer)]

    def _unaryop(self, node: Node) -> Any:
        raw = self.evaluate(node.operand)
        if isinstance(node.op, ast.USub):
            if isinstance(raw, Buffer):
                return self.to_scalar(raw, node.operand)
            return Number(-raw.value, raw.dtype) if isinstance(raw, Number) else -raw
        if isinstance(node.op, ast.Not):
            return S.compare("eq", self._condition(raw, node.operand), S.const(False, "bool"))
        if isinstance(node.op, ast.Invert):
            return self.invert(raw, node)
        return raw

    def invert(self, raw: Any, node: Node) -> Any:
        """Return an integer or a bool with all of its bits the other way."""
        if type(raw) is int:
            return ~raw
        scalar = self.to_scalar(raw, node)
        if S.is_float(scalar.dtype):
            self.scope.fail(node, f"'~' needs an integer or a bool, got {scalar.dtype}")
        ones = True if scalar.dtype == "bool" else -1
        if S.is_unsigned(scalar.dtype) and scalar.dtype != "bool":
            ones = 2 ** (8 * T.dtype_size(scalar.dtype)) - 1
        return S.binary("xor", scalar, ones)

    def _binop(self, node: Node) -> Any:
        kind = OPERATORS.get(type(node.op))
        if kind is None:
            self.scope.fail(node, "this operator is not part of the TIR language")
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if kind == "pow" and type(left) is type(right) is int and 0 <= right <= _BITS:
            return left**right
        return self.binary(kind, left, right, node)

    def _compare(self, node: Node) -> Any:
        operands = [node.left, *node.comparators]
        values = [self.evaluate(item) for item in operands]
        result = None
        for i, op in enumerate(node.ops):
            kind = COMPARISONS.get(type(op))
            if kind is None:
                self.scope.fail(node, "this comparison is not part of the TIR language")
            left, right = self.pair(values[i], values[i + 1], node)
            step = S.compare(kind, left, right)
            result = step if result is None else S.binary("and", result, step)
        return result

    def _boolop(self, node: Node) -> Any:
        return self._lazy(isinstance(node.op, ast.And), node.values, node)

    def _lazy(self, conjunction: bool, nodes: list[Node], node: Node) -> Scalar:
        """Evaluate the second operand only where the first does not decide, as Python does."""
        first = self.condition(nodes[0])
        if len(nodes) == 1:
            return first

        def rest() -> Scalar:
            return self._lazy(conjunction, nodes[1:], node)

        def decided() -> Scalar:
            return S.const(not conjunction, "bool")

        return self.choose(first, *((rest, decided) if conjunction else (decided, rest)), node)

    def _ifexp(self, node: Node) -> Any:
        return self.if_then_else(node.test, node.body, node.orelse, node)

    def condition(self, node: Node) -> Scalar:
        """Return an expression that must be a bool."""
        return self._condition(self.evaluate(node), node)

    def _condition(self, raw: Any, node: Node) -> Scalar:
        scalar = self.to_scalar(raw, node)
        if scalar.dtype != "bool":
            self.scope.fail(node, f"the condition must be a bool, got {scalar.dtype}")
        return scalar

    def choose(
        self, condition: Scalar, then: Callable[[], Any], other: Callable[[], Any], node: Node
    ) -> Scalar:
        """Evaluate one of two expressions, so that the other one's loads do not happen."""
        loc = self.scope.location(node)
        holder = ir.Operation.create("scf.if", operands=[condition.value], regions=2, loc=loc)
        blocks, raws = [], []
        for region, build in zip(holder.regions, (then, other), strict=True):
            blocks.append(region.blocks.append())
            with ir.InsertionPoint(blocks[-1]):
                raws.append(build())
        # A bare number takes the dtype of the other value.
        raws = [bare(raw, other) for raw, other in zip(raws, raws[::-1], strict=True)]
        raws = [raw.value if isinstance(raw, SymExpr) and raw.is_const else raw for raw in raws]
        dtypes = [raw.dtype if isinstance(raw, (Scalar, Number)) else INDEX for raw in raws
                  if isinstance(raw, (Scalar, SymExpr, Number))]  # fmt: skip
        floats = any(isinstance(raw, float) for raw in raws)
        dtype = functools.reduce(_common, dtypes) if dtypes else "float32" if floats else ""
        values = []
        for block, raw in zip(blocks, raws, strict=True):
            with ir.InsertionPoint(block):
                value = self.to_scalar(raw, node, dtype)
                values.append(S.cast(value, dtype) if dtype else value)
                scf.YieldOp([values[-1].value])
        final = ir.Operation.create(
            "scf.if", operands=[condition.value], results=[values[0].value.type], regions=2,
            loc=loc, ip=ir.InsertionPoint(holder),
        )  # fmt: skip
        for i, block in enumerate(blocks):
            block.append_to(final.regions[i])
        holder.erase()
        return Scalar(final.results[0], values[0].dtype)

    def if_then_else(self, test: Node, then: Node, other: Node, node: Node) -> Scalar:
        """Return one of two expressions, of which only that one is evaluated."""
        return self.choose(
            self.condition(test), lambda: self.evaluate(then), lambda: self.evaluate(other), node
        )

    def _call(self, node: Node) -> Any:
        # Intrinsics are made of expressions.
        return extension("script.tir_call")(self, node)

    def count(self, node: Node, count: int) -> None:
        """Check how many arguments an intrinsic gets."""
        if len(node.args) != count or node.keywords:
            more = "".join(f" and {each.arg}=" for each in node.keywords)
            plural = "" if count == 1 else "s"
            self.scope.fail(
                node,
                f"{ast.unparse(node.func)} takes {count} argument{plural}, got "
                f"{len(node.args)}{more}",
            )

    def is_dtype(self, name: str) -> bool:
        """Whether a name of the TIR language is a dtype."""
        try:
            return bool(T.normalize_dtype(name))
        except ValueError:
            return False

    def convert(self, raw: Any, dtype: str, node: Node) -> Any:
        """Return what `evaluate` gave in a dtype; numbers stay numbers."""
        if isinstance(raw, SymExpr) and raw.is_const:
            raw = raw.value
        if isinstance(raw, Number) and raw.index is not None and dtype != "bool":
            raw = raw.index
        if isinstance(raw, (int, float)) and not isinstance(raw, Scalar):
            try:
                return Number(raw if S.is_float(dtype) else int(raw), dtype)
            except (ValueError, OverflowError):
                self.scope.fail(node, f"{raw} has no value in {dtype}")
        return S.cast(self.to_scalar(raw, node), dtype)


def _common(a: str, b: str) -> str:
    """Return the dtype that operands are converted to: sizes meet integers, else TVM's rules."""
    if INDEX in (a, b) and not S.is_float(a + b):
        return b if a == INDEX else a
    return S.promoted(*["int64" if each == INDEX else each for each in (a, b)])
