"""Patterns of dataflow graphs: what an expression and what it uses have to be."""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.relax.dpl.context import PatternContext
from relax_mlir.relax.dpl.matcher import Matcher, elements_of
from relax_mlir.relax.expr import (
    BaseFunc,
    Call,
    Constant,
    DataflowVar,
    Expr,
    ExternFunc,
    GlobalVar,
    Op,
    ShapeExpr,
    Type,
    Var,
    as_type,
    convert,
)
from relax_mlir.relax.expr.dims import as_dim, as_dtype
from relax_mlir.relax.expr.types import ShapeType, TensorType

# Operations whose arguments match in either order.
_COMMUTATIVE = ("relax.add", "relax.multiply")


class DFPattern:
    """A pattern; equal to itself only, so that using one twice says that both are one value."""

    # Attributes that hold patterns, or sequences of them.
    _parts: ClassVar[tuple[str, ...]] = ()

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield once for each way in which this matches, with its parts bound in the matcher.

        Args:
            matcher: what is bound so far.
            expr: the expression.
            value: what it stands for: the value of a variable's binding where that is known.
        """
        raise NotImplementedError(type(self).__name__)

    def match(self, expr: Any, var2val: Mapping[Var, Any] | None = None) -> bool:
        """Whether an expression matches.

        Args:
            expr: the expression.
            var2val: values of variables, as `analysis.get_var2val` gives them; without it variables
                are only themselves.
        """
        return self.extract_matched_expr(expr, var2val) is not None

    def extract_matched_expr(
        self, expr: Any, var2val: Mapping[Var, Any] | None = None
    ) -> "dict[DFPattern, Any] | None":
        """Return what each pattern in this one stands for, None when it does not match."""
        matcher = Matcher(None if var2val is None else var2val.get)
        for _ in matcher.solve(self, convert(expr)):
            return dict(matcher.bound)
        return None

    def __call__(
        self, *args: "DFPattern", varg_default_wildcard: bool = False, add_constraint: bool = True
    ) -> "CallPattern":
        """Return the pattern of a call of this."""
        made = CallPattern(self, args, varg_default_wildcard)
        if add_constraint:
            current = PatternContext.current()
            if current is not None:
                current.add_call(made)
        return made

    def __or__(self, other: "DFPattern") -> "OrPattern":
        return OrPattern(self, other)

    def __and__(self, other: "DFPattern") -> "AndPattern":
        return AndPattern(self, other)

    def __invert__(self) -> "NotPattern":
        return NotPattern(self)

    def has_attr(self, attrs: Mapping[str, Any]) -> "AttrPattern":
        """Return this with attributes: of the call, or of the function."""
        return AttrPattern(self, attrs)

    def has_ty(self, ty: Any) -> "TypePattern":
        """Return this of a type; symbols in it stand for dimensions, one for each name."""
        return TypePattern(self, ty)

    def has_struct_info(self, struct_info: Any) -> "TypePattern":
        """Return `has_ty(struct_info)`, as TVM 0.10 to 0.22 call it."""
        return self.has_ty(struct_info)

    def has_dtype(self, dtype: str) -> "DataTypePattern":
        """Return this of a dtype."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> "ShapePattern":
        """Return this of a shape."""
        return ShapePattern(self, shape)

    def optional(self, option: Any) -> "OrPattern":
        """Return this alone or as `option(this)`, such as an activation that may be missing."""
        return OrPattern(option(self), self)

    def used_by(self, other: Any, index: int = -1) -> Any:
        """Say, in the current PatternContext, that the other uses this; as `this ^ other`.

        Args:
            other: what uses it, or a sequence that begins with that.
            index: which of its arguments this is, -1 for any.
        """
        return extension("relax.PatternSeq")([self]).used_by(other, index)

    def only_used_by(self, other: Any, index: int = -1) -> Any:
        """Say that the other uses this and nothing else does; as `this >> other`."""
        return extension("relax.PatternSeq")([self]).only_used_by(other, index)

    def __xor__(self, other: Any) -> Any:
        return self.used_by(other)

    def __rshift__(self, other: Any) -> Any:
        return self.only_used_by(other)

    def fork_to(self, *args: Any) -> None:
        """Say that each of these uses this."""
        for each in args:
            self.used_by(each)

    def same_shape_as(self, *args: "DFPattern") -> "SameShapeConstraint":
        """Say, in the current PatternContext, that all of these are of this one's shape."""
        return SameShapeConstraint(self, *args)

    def dup(self) -> Any:
        """Return a pattern like this for another value; parts used twice in it stay one."""
        return _dup(self, {})


def _dup(pattern: DFPattern, done: dict[DFPattern, DFPattern]) -> DFPattern:
    result = done.get(pattern)
    if result is None:
        result = done[pattern] = copy.copy(pattern)
        for name in pattern._parts:
            part = getattr(pattern, name)
            if isinstance(part, DFPattern):
                setattr(result, name, _dup(part, done))
            elif part is not None:
                setattr(result, name, tuple(_dup(each, done) for each in part))
    return result


class WildcardPattern(DFPattern):
    """Anything."""

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield once."""
        yield


class _Test(DFPattern):
    """A pattern that looks at one expression and has no parts."""

    def test(self, expr: Any, value: Any) -> bool:
        """Whether the expression, or what it stands for, is what the pattern says."""
        raise NotImplementedError(type(self).__name__)

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield once where the test holds."""
        if self.test(expr, value):
            yield


class ExprPattern(_Test):
    """One expression: an operation, a variable, or a constant of the same elements."""

    def __init__(self, expr: Any) -> None:
        self.expr: Any = convert(expr)

    def test(self, expr: Any, value: Any) -> bool:
        """Whether it is that expression."""
        mine = self.expr
        if isinstance(mine, Constant) and isinstance(value, Constant):
            return mine.ty == value.ty and mine.data.tobytes() == value.data.tobytes()
        return mine.same_as(expr) or mine.same_as(value)


class _Named(_Test):
    _CLASS: ClassVar[type[Any]]

    def __init__(self, name_hint: str = "") -> None:
        self.name: str = name_hint

    @property
    def name_hint(self) -> str:
        """The name, `""` for any."""
        return self.name

    def test(self, expr: Any, value: Any) -> bool:
        """Whether it is of the class and has the name."""
        return isinstance(expr, self._CLASS) and self.name in ("", expr.name_hint)


class VarPattern(_Named):
    """A variable, of a name where one is given."""

    _CLASS = Var


class DataflowVarPattern(VarPattern):
    """A variable that is visible in its dataflow block only."""

    _CLASS = DataflowVar


class GlobalVarPattern(_Named):
    """The name of a function of the module."""

    _CLASS = GlobalVar


class ExternFuncPattern(_Named):
    """The name of a packed function."""

    _CLASS = ExternFunc

    @property
    def global_symbol(self) -> str:
        """The name, `""` for any."""
        return self.name


class ConstantPattern(_Test):
    """A constant."""

    def test(self, expr: Any, value: Any) -> bool:
        """Whether it is one."""
        return isinstance(value, Constant)


class PrimArrPattern(_Test):
    """A shape as a value, of these integers."""

    def __init__(self, shape: Sequence[Any]) -> None:
        self.fields: tuple[SymExpr, ...] = tuple(as_dim(each) for each in shape)

    def __getitem__(self, index: int) -> SymExpr:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def test(self, expr: Any, value: Any) -> bool:
        """Whether it is that shape."""
        return isinstance(value, ShapeExpr) and self.fields == value.values


class CallPattern(DFPattern):
    """A call; arguments of additions and multiplications match in either order.

    Attributes that are arguments in TVM match the patterns that follow those of the operands.
    """

    _parts = ("op", "args")

    def __init__(
        self, op: DFPattern, args: Iterable[DFPattern], varg_default_wildcard: bool = False
    ) -> None:
        self.op: DFPattern = op
        self.args: tuple[DFPattern, ...] = as_patterns(args)
        self.varg_default_wildcard: bool = varg_default_wildcard

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield for each way in which callee and arguments match."""
        if not isinstance(value, Call):
            return
        callee = value.op
        for _ in matcher.solve(self.op, callee):
            args = list(value.args)
            if len(args) < len(self.args):
                args += _attribute_arguments(value)[: len(self.args) - len(args)]
            if len(args) == len(self.args) or (
                self.varg_default_wildcard and len(args) > len(self.args)
            ):
                yield from matcher.solve_all(self.args, args)
                if len(args) == 2 and getattr(callee, "name", "") in _COMMUTATIVE:
                    yield from matcher.solve_all(self.args, args[::-1])


def _attribute_arguments(call: Call) -> list[Any]:
    name = getattr(call.op, "mlir_name", "").removeprefix("relax.")
    cls = COMPUTE_OPS.get(name)
    attrs = call.attrs
    values = [] if cls is None else [attrs.get(p.name) for p in cls.PARAMS if not p.is_operand]
    return [convert(value) for value in values if value is not None]


class OrPattern(DFPattern):
    """One of two, the left one first."""

    _parts = ("left", "right")

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left: DFPattern = left
        self.right: DFPattern = right

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield for each way in which either matches."""
        yield from matcher.solve(self.left, expr)
        yield from matcher.solve(self.right, expr)


class AndPattern(DFPattern):
    """Both of two."""

    _parts = ("left", "right")

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left: DFPattern = left
        self.right: DFPattern = right

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield for each way in which both match."""
        yield from matcher.solve_all((self.left, self.right), (expr, expr))


class NotPattern(DFPattern):
    """What the other does not match."""

    _parts = ("reject",)

    def __init__(self, to_reject: DFPattern) -> None:
        self.reject: DFPattern = to_reject

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield once where there is no way to match."""
        for _ in matcher.solve(self.reject, expr):
            return
        yield


class _Restricted(DFPattern):
    """Another pattern, and a condition on the expression."""

    _parts = ("pattern",)
    pattern: DFPattern

    def holds(self, matcher: Matcher, expr: Any, value: Any) -> bool:
        """Whether the condition holds."""
        raise NotImplementedError(type(self).__name__)

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield for each way in which the other matches, where the condition holds."""
        with matcher.tentative():
            if self.holds(matcher, expr, value):
                yield from matcher.solve(self.pattern, expr)


class TypePattern(_Restricted):
    """A pattern of a type; what the type leaves open may be anything."""

    def __init__(self, pattern: DFPattern, ty: Any) -> None:
        self.pattern: DFPattern = pattern
        self.ty: Type = as_type(ty)

    @property
    def struct_info(self) -> Type:
        """The type, as TVM 0.10 to 0.22 call it."""
        return self.ty

    def holds(self, matcher: Matcher, expr: Any, value: Any) -> bool:
        """Whether the type is at least as precise, with one value for each symbol."""
        return matcher.unify_types(self.ty, expr.ty)


class DataTypePattern(_Restricted):
    """A pattern of a dtype."""

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        self.pattern: DFPattern = pattern
        self.dtype: str = as_dtype(dtype)

    def holds(self, matcher: Matcher, expr: Any, value: Any) -> bool:
        """Whether the dtype is that one."""
        return getattr(expr.ty, "dtype", "") == self.dtype


class ShapePattern(_Restricted):
    """A pattern of a shape."""

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]) -> None:
        self.pattern: DFPattern = pattern
        self.shape: tuple[SymExpr, ...] = tuple(as_dim(each) for each in shape)

    def holds(self, matcher: Matcher, expr: Any, value: Any) -> bool:
        """Whether the shape is known to be that one."""
        type_ = expr.ty
        return isinstance(type_, (TensorType, ShapeType)) and type_.dims == self.shape


class AttrPattern(_Restricted):
    """A pattern with attributes: those of a call or a function; others may be anything."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        self.pattern: DFPattern = pattern
        self.attrs: dict[str, Any] = dict(attrs)

    def holds(self, matcher: Matcher, expr: Any, value: Any) -> bool:
        """Whether the attributes are there and equal."""
        if not isinstance(value, (Call, BaseFunc)):
            return not self.attrs
        given = value.attrs
        return all(
            name in given and elements_of(given[name]) == elements_of(wanted)
            for name, wanted in self.attrs.items()
        )


class DFConstraint:
    """Something said of several patterns of a PatternContext."""

    def holds(self, bound: Mapping[DFPattern, Any]) -> bool:
        """Whether it is so for what the patterns stand for."""
        raise NotImplementedError(type(self).__name__)


class SameShapeConstraint(DFConstraint):
    """All of these are known to be of one shape."""

    def __init__(self, *args: DFPattern) -> None:
        self.args: tuple[DFPattern, ...] = args
        current = PatternContext.current()
        if current is not None:
            current.add_constraint(self)

    def holds(self, bound: Mapping[DFPattern, Any]) -> bool:
        """Whether the shapes are known and equal."""
        shapes = [getattr(bound[each].ty, "dims", None) for each in self.args if each in bound]
        return all(shape is not None and shape == shapes[0] for shape in shapes)


def as_patterns(parts: Iterable[Any]) -> tuple[DFPattern, ...]:
    """Return patterns as a tuple.

    Raises:
        ExprTypeError: one is none.
    """
    result = tuple(parts)
    for each in result:
        if not isinstance(each, DFPattern):
            hint = "; is_expr(x) is the pattern of x" if isinstance(each, Expr) else ""
            raise ExprTypeError(f"expected a pattern, got {each!r}{hint}")
    return result


def op_pattern(op_name: str) -> ExprPattern:
    """Return the pattern of an operation by name.

    Raises:
        ExprError: there is none.
    """
    return ExprPattern(Op.get(op_name))
