"""One attempt to match patterns: what each of them stands for, with backtracking."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.relax.expr import Call, ExternFunc, GlobalVar, MatchCast, Op, Tuple, Var
from relax_mlir.relax.expr.places import canonical, defining_op
from relax_mlir.relax.expr.types import (
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)
from relax_mlir.relax.expr.views import view_op

Lookup = Callable[[Var], Any]


def emitted_value(var: Var) -> Any:
    """Return what the binding of a variable of a module computes, None for a parameter."""
    if var.mlir_value is None:
        return None
    op = defining_op(canonical(var.mlir_value))
    return None if op is None or op.name == "relax.match_cast" else view_op(op, var._keep)


def identity(expr: Any) -> Any:
    """Return what a variable and the value that it is bound to have in common."""
    value = expr.mlir_value
    if value is not None:
        return canonical(value)
    mine = expr._identity()
    return id(expr) if mine is None else mine


def elements_of(value: Any) -> Any:
    """Return an attribute so that equal ones compare equal, however they are written."""
    if isinstance(value, (list, tuple)):
        return tuple(map(elements_of, value))
    if isinstance(value, SymExpr) or not hasattr(value, "__index__"):
        number = getattr(value, "value", None)
        return number if isinstance(number, (int, float, str)) else value
    return int(value)


class Pattern(Protocol):
    """What a matcher needs of a `DFPattern`."""

    _parts: ClassVar[tuple[str, ...]]

    def candidates(self, matcher: "Matcher", expr: Any, value: Any) -> Iterator[None]:
        """Yield once for each way in which this matches."""
        ...


class Matcher:
    """Patterns and what they stand for.

    Attributes:
        bound: what each pattern that has matched stands for: the value where a variable is bound.
        symbols: the dimensions that symbols of types in patterns stand for.
    """

    def __init__(self, lookup: Lookup | None = None) -> None:
        self._lookup = lookup
        self.bound: dict[Any, Any] = {}
        self.symbols: dict[str, SymExpr] = {}

    def within(self, body: Any) -> "Matcher":
        """Return this for the inside of a function, whose variables' values are known there."""
        made = Matcher(self._lookup)
        made.bound, made.symbols = self.bound, self.symbols
        if made._lookup is None and getattr(body, "mlir_block", None) is not None:
            made._lookup = emitted_value
        return made

    def value_of(self, expr: Any) -> Any:
        """Return what an expression stands for: a variable's value where it is known."""
        while isinstance(expr, Var) and self._lookup is not None:
            value = self._lookup(expr)
            if value is None or isinstance(value, MatchCast):
                break
            expr = value
        return expr

    def solve(self, pattern: Pattern, expr: Any) -> Iterator[None]:
        """Yield for each way in which a pattern matches; it and its parts are bound meanwhile."""
        value = self.value_of(expr)
        known = self.bound.get(pattern)
        if known is not None:
            if known is value or identity(known) == identity(value):
                yield
            return
        for _ in pattern.candidates(self, expr, value):
            # A pattern of parts that are used twice may have bound itself by now.
            self.bound[pattern] = value
            yield
            self.bound.pop(pattern, None)

    def solve_all(self, patterns: Sequence[Pattern], exprs: Sequence[Any]) -> Iterator[None]:
        """Yield for each way in which all patterns match; further expressions match anything."""
        if not patterns:
            yield
            return
        for _ in self.solve(patterns[0], exprs[0]):
            yield from self.solve_all(patterns[1:], exprs[1:])

    @contextmanager
    def tentative(self) -> Iterator[None]:
        """Forget at the end the symbols that were bound meanwhile."""
        before = dict(self.symbols)
        yield
        self.symbols.clear()
        self.symbols.update(before)

    def unify_types(self, wanted: Type, given: Type) -> bool:
        """Whether a type says all that a wanted one does; binds the wanted one's symbols."""
        if isinstance(wanted, ObjectType):
            return True
        if type(wanted) is not type(given):
            return False
        if isinstance(wanted, TupleType) and isinstance(given, TupleType):
            return len(wanted.fields) == len(given.fields) and all(
                map(self.unify_types, wanted.fields, given.fields)
            )
        if isinstance(wanted, (TensorType, ShapeType)) and isinstance(given, type(wanted)):
            dtype = getattr(wanted, "dtype", "")
            return (
                dtype in ("", getattr(given, "dtype", ""))
                and wanted.ndim in (-1, given.ndim)
                and (wanted.dims is None or self._unify_dims(wanted.dims, given.dims))
            )
        if isinstance(wanted, FuncType):
            return wanted.params is None or wanted == given
        return not isinstance(wanted, PrimType) or wanted.value is None or wanted == given

    def _unify_dims(self, wanted: Sequence[SymExpr], given: Sequence[SymExpr] | None) -> bool:
        if given is None or len(given) != len(wanted):
            return False
        for mine, other in zip(wanted, given, strict=True):
            if mine.name is not None and mine.name not in self.symbols:
                self.symbols[mine.name] = other
            elif mine.substitute(self.symbols) != other:
                return False
        return True


def operands(expr: Any) -> list[Any]:
    """Return what an expression uses, with the fields of tuples that are made in place."""
    if isinstance(expr, Call):
        parts = [] if isinstance(expr.op, Op) else [expr.op]
        waiting = [*parts, *expr.args][::-1]
    elif isinstance(expr, Tuple):
        waiting = list(expr.fields)[::-1]
    else:
        inner = getattr(expr, "tuple_value", None)
        waiting = [] if inner is None else [inner]
        waiting += [expr] if isinstance(expr, Var) else []
    result = []
    while waiting:
        top = waiting.pop()
        if isinstance(top, Tuple):
            waiting += list(top.fields)[::-1]
        elif not isinstance(top, (ExternFunc, GlobalVar)):
            result.append(top)
    return result
