"""Expressions to MLIR operations at the insertion point, by an iterative walk."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_attribute
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, prim_number
from relax_mlir.dialects.relax.ops.params import given_attribute
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError
from relax_mlir.relax.builder.call_forms import make_call
from relax_mlir.relax.builder.frames import require_symbols, resolve
from relax_mlir.relax.builder.lambdas import make_lambda
from relax_mlir.relax.expr.blocks import SeqExpr
from relax_mlir.relax.expr.call import Call, Op
from relax_mlir.relax.expr.compound import If, TupleGetItem
from relax_mlir.relax.expr.functions import Function, PrimFunc
from relax_mlir.relax.expr.leaves import ExternFunc, GlobalVar, Var
from relax_mlir.relax.expr.values import (
    Constant,
    DataTypeImm,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
)

_NAMES = (Op, GlobalVar, ExternFunc)
_PACKED = tuple(map(Op.get, ("relax.call_pure_packed", "relax.call_inplace_packed")))
_DESTINATION = tuple(map(Op.get, ("relax.call_tir", "relax.call_tir_inplace")))
# Parts of an expression that become bindings of their own.
_BINDINGS = (Call, TupleGetItem, If)
# How many answers of inference rules and constants of one number a builder remembers.
_REMEMBERED = 4096


class Materializer:
    """Creates the operations of expressions for one builder."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        self._rules: dict[Any, tuple[ir.Type, dict[str, ir.Attribute]]] = {}
        self._numbers: dict[Any, ir.Attribute] = {}
        self._counts: dict[str, int] = {}
        self.last_name = ""

    def value(self, expr: Any, hint: str | None = None, loc: ir.Location | None = None) -> ir.Value:
        """Return the MLIR value of an expression, creating what has not been emitted.

        Args:
            expr: the expression.
            hint: what the variable is to be called, `""` for any name; None when it is part of
                something. `last_name` is what it is called then.
            loc: the source line, the caller's when None.

        Raises:
            BuilderError: a variable belongs to another scope.
            ExprError: no run could compute it.
        """
        if isinstance(expr, Var):
            return resolve(self._builder, expr)
        place = self._builder._places.here() if loc is None else loc
        if isinstance(expr, Call):
            # The usual case: everything that it uses is there already.
            args = expr.args
            if all(isinstance(arg, Var) for arg in args) and isinstance(expr.op, Op):
                operands = [resolve(self._builder, arg) for arg in args]
                return self._make(expr, operands, self._name(hint), place)
        done: dict[int, ir.Value] = {}
        # Expressions are kept: an `id` is one object's only while that lives.
        waiting: list[tuple[Any, list[Any] | None]] = [(expr, None)]
        kept: list[Any] = []
        while waiting:
            top, parts = waiting.pop()
            if id(top) in done:
                continue
            if isinstance(top, Var):
                done[id(top)] = resolve(self._builder, top)
                continue
            if parts is None:
                parts = _parts(top)
                kept.append((top, parts))
                waiting.append((top, parts))
                waiting += [(part, None) for part in reversed(parts) if id(part) not in done]
                continue
            operands = [done[id(part)] for part in parts]
            named = (top is expr and hint is not None) or isinstance(top, _BINDINGS)
            own = self._name(hint if top is expr else None) if named else None
            done[id(top)] = self._make(top, operands, own, place)
        return done[id(expr)]

    def _name(self, hint: str | None) -> str:
        frame = self._builder._frame()
        default = "lv" if frame.kind == "dataflow" else "gv"
        self.last_name: Any = frame.names.fresh(hint or default)
        return self.last_name

    def _make(
        self, expr: Any, operands: list[ir.Value], name: str | None, place: ir.Location
    ) -> ir.Value:
        loc = place if name is None else self._builder._places.named(name, place)
        make = _MAKERS.get(type(expr))
        if make is not None:
            return make(self, expr, operands, loc)
        if isinstance(expr, GlobalVar):
            with self._builder.unknown:
                callee = ir.FlatSymbolRefAttr.get(expr.name_hint)
                result = T.object_type()
            captured = self.part_tuple([], loc)
            return self.create("relax.make_closure", [captured], result, loc, callee=callee).result
        if isinstance(expr, (ExternFunc, Op)):
            raise ExprTypeError(f"{expr!r} is a function; call it")
        if expr.mlir_value is not None and getattr(expr, "mlir_op", None) is not None:
            return self._clone(expr, loc)
        raise ExprTypeError(f"{expr!r} cannot be a value of a Relax function")

    def _clone(self, expr: Any, loc: ir.Location) -> ir.Value:
        """Create again, with its regions, an operation of the function that is written into."""
        frame = self._builder._frame()
        block = expr.mlir_op.block
        if not any(block in each.blocks for each in self._builder._frames):
            raise BuilderError(f"{expr!r} belongs to another function")
        return expr.mlir_op.clone(ip=frame.ip).results[0]

    def create(
        self, name: str, operands: Sequence[ir.Value], result: ir.Type | None, loc: ir.Location,
        **attributes: ir.Attribute,
    ) -> ir.Operation:  # fmt: skip
        """Create one operation at the builder's place."""
        return ir.Operation.create(
            name,
            results=[] if result is None else [result],
            operands=operands,
            attributes=attributes,
            loc=loc,
            ip=self._builder._frame().ip,
        )

    def create_with_regions(
        self, name: str, operands: Sequence[ir.Value], result: ir.Type, loc: ir.Location,
        regions: int,
    ) -> ir.Operation:  # fmt: skip
        """Create one operation with empty regions at the builder's place."""
        return ir.Operation.create(
            name, results=[result], operands=operands, regions=regions, loc=loc,
            ip=self._builder._frame().ip,
        )  # fmt: skip

    def part_tuple(self, values: Sequence[ir.Value], loc: ir.Location) -> ir.Value:
        """Create a tuple that is part of an expression: it does not get the variable's name."""
        return self.tuple_of(values, nameless(loc))

    def tuple_of(self, values: Sequence[ir.Value], loc: ir.Location) -> ir.Value:
        """Create a tuple of values."""
        with self._builder._frame().ip, loc:
            return make_tuple(values, loc)

    def shape(self, dims: Any, loc: ir.Location) -> ir.Value:
        """Create a shape of known dimensions."""
        require_symbols(self._builder._frame(), dims)
        with self._builder.unknown:
            try:
                type_ = T.shape_type(dims)
            except ValueError as error:
                raise ExprError(str(error)) from error
        return self.create("relax.shape_expr", [], type_, loc).result

    def computation(
        self, name: str, operands: list[ir.Value], attrs: dict[str, Any], loc: ir.Location
    ) -> ir.Value:
        """Create an operation of the dialect's table; its rule is asked once per operand types."""
        cls = COMPUTE_OPS[name]
        if not cls.PURE:
            self._builder._require_effects(f"relax.op.{name}")
        wanted = self._counts.get(name)
        if wanted is None:
            wanted = self._counts[name] = sum(param.is_operand for param in cls.PARAMS)
        while len(operands) < wanted:
            operands.append(self.part_tuple([], loc))
        types = [operand.type for operand in operands]
        if any(map(T.is_scalar, types)):
            with self._builder._frame().ip, loc:
                return _built(name, operands, attrs, loc)
        key = (name, *types, *(_frozen(item) for item in attrs.items()))
        known = self._rules.get(key)
        if known is None:
            with loc:
                known = _rule(name, cls, types, attrs)
            if len(self._rules) >= _REMEMBERED:
                self._rules.clear()
            self._rules[key] = known
        result, attributes = known
        return ir.Operation.create(
            f"relax.{name}", results=[result], operands=operands, attributes=attributes, loc=loc,
            ip=self._builder._frame().ip,
        ).results[0]  # fmt: skip

    def constant(self, expr: Constant, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
        """Create a constant; those of one number are made once."""
        with self._builder.unknown:
            if expr.mlir_op is not None and expr.mlir_op.context == self._builder.context:
                attribute = expr.mlir_op.attributes["value"]
            else:
                data = expr.data
                key = (str(data.dtype), data.shape, data.tobytes()) if data.size <= 1 else None
                attribute = None if key is None else self._numbers.get(key)
                if attribute is None:
                    attribute = constant_attribute(data)
                    if key is not None and len(self._numbers) < _REMEMBERED:
                        self._numbers[key] = attribute
            type_ = attribute.type
        return self.create("relax.constant", [], type_, loc, value=attribute).result


def _built(
    name: str, operands: list[ir.Value], attrs: dict[str, Any], loc: ir.Location
) -> ir.Value:
    try:
        return build(name, operands, attrs, loc)
    except ValueError as error:
        raise ExprError(f"relax.op.{name}: {error}") from error


def _rule(
    name: str, cls: Any, types: list[ir.Type], attrs: dict[str, Any]
) -> tuple[ir.Type, dict[str, ir.Attribute]]:
    try:
        attributes, given = {}, {}
        for param in cls.PARAMS:
            if param.is_operand:
                continue
            attributes[param.name], given[param.name] = given_attribute(param, attrs)
        return cls.result_type(types, given), attributes
    except ValueError as error:
        raise ExprError(f"relax.op.{name}: {error}") from error


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _parts(expr: Any) -> list[Any]:
    """Return the expressions whose values an expression needs first."""
    if isinstance(expr, Call):
        callee = [] if isinstance(expr.op, _NAMES) else [expr.op]
        # Packed functions get functions as values; elsewhere they are what is called.
        packed = isinstance(expr.op, ExternFunc) or expr.op in _PACKED
        names = (Op, ExternFunc) if packed else _NAMES
        names = (*names, PrimFunc) if expr.op in _DESTINATION else names
        return callee + [arg for arg in expr.args if not isinstance(arg, names)]
    if isinstance(expr, Tuple):
        return list(expr.fields)
    if isinstance(expr, TupleGetItem):
        return [expr.tuple_value]
    return [expr.cond] if isinstance(expr, If) else []


def _tuple(m: Materializer, expr: Tuple, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    return m.tuple_of(operands, loc)


def _shape_expr(m: Materializer, expr: ShapeExpr, _: Any, loc: ir.Location) -> ir.Value:
    return m.shape(expr.values, loc)


def _prim_value(m: Materializer, expr: PrimValue, _: Any, loc: ir.Location) -> ir.Value:
    number = expr.value
    if not isinstance(number, SymExpr):
        with m._builder._frame().ip, m._builder.unknown:
            return prim_number(number.value, number.dtype, loc)
    require_symbols(m._builder._frame(), [expr.value])
    with m._builder.unknown:
        try:
            attribute = Dims.of([expr.value])
        except ValueError as error:
            raise ExprError(str(error)) from error
        type_ = ir.IntegerType.get_signless(64)
    return m.create("relax.prim_value", [], type_, loc, value=attribute).result


def _literal(m: Materializer, expr: Any, _: Any, loc: ir.Location) -> ir.Value:
    """Create a word as a value, for packed functions."""
    with m._builder.unknown:
        func, words = ir.StringAttr.get("vm.builtin.word"), ir.ArrayAttr.get([expr.to_mlir()])
        result = T.object_type()
    call = m.create(
        "relax.call_pure_packed", [m.part_tuple([], loc)], result, loc, func=func,
        static_args=words,
    )  # fmt: skip
    return call.result


def _get_item(
    m: Materializer, expr: TupleGetItem, operands: list[ir.Value], loc: ir.Location
) -> ir.Value:
    return m._builder._field(operands[0], expr.index, loc)


def _call(m: Materializer, expr: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    op = expr.op
    if isinstance(op, Op):
        short = op.mlir_name.removeprefix("relax.")
        if short in COMPUTE_OPS:
            return m.computation(short, operands, expr.attrs, loc)
    return make_call(m, expr, operands, loc)


def _if(m: Materializer, expr: If, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    if expr.mlir_op is not None:
        return m._clone(expr, loc)
    with m._builder._if(operands[0], loc) as scope:
        for branch, open_branch in zip(expr._branches, (scope.then_, scope.else_), strict=True):
            with open_branch():
                scope.yield_(m._builder._sequence(branch))
    return scope.value


def _lambda(m: Materializer, expr: Function, _: Any, loc: ir.Location) -> ir.Value:
    if expr.mlir_op is not None:
        return m._clone(expr, loc)
    return make_lambda(m._builder, expr, loc).results[0]


def _sequence(m: Materializer, expr: SeqExpr, _: Any, loc: ir.Location) -> ir.Value:
    return m.value(m._builder._sequence(expr), None, loc)


_MAKERS: dict[type[Any], Callable[..., ir.Value]] = {
    Call: _call,
    Constant: Materializer.constant,
    ShapeExpr: _shape_expr,
    Tuple: _tuple,
    TupleGetItem: _get_item,
    PrimValue: _prim_value,
    If: _if,
    Function: _lambda,
    SeqExpr: _sequence,
    StringImm: _literal,
    DataTypeImm: _literal,
}
