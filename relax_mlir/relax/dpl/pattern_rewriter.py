"""Rewriters as passes: of a pattern and a function, or of two functions of a module."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.tuples import get_item
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError, FunctionKeyError
from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import INNER_FIRST, collect
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import Pass
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.dpl.classes import (
    CallPattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    PrimArrPattern,
    TypePattern,
    WildcardPattern,
)
from relax_mlir.relax.dpl.compound import TupleGetItemPattern, TuplePattern
from relax_mlir.relax.dpl.function_rewriter import FunctionRewriter, relax_functions
from relax_mlir.relax.dpl.matcher import Matcher, emitted_value, identity
from relax_mlir.relax.dpl.rewrite import Matches, each_function, first_rewrite
from relax_mlir.relax.expr import (
    Call,
    ExternFunc,
    Function,
    GlobalVar,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    view,
)
from relax_mlir.relax.expr.places import canonical, defining_op, operations_within

# Takes an expression, how to look up variables, and the function under change.
Rule = Callable[[Any, Any, FunctionRewriter], Any]


class PatternMatchingRewriter(Pass):
    """A pass that replaces what patterns match, until nothing matches any more.

    `first | second` tries the second where the first does not match. It also takes a function.

    Args:
        rules: what replaces an expression.
    """

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = rules
        self.info: PassInfo = PassInfo("PatternMatchingRewriter")

    @staticmethod
    def from_pattern(
        pattern: DFPattern, func: Callable[[Any, Matches], Any]
    ) -> "PatternMatchingRewriter":
        """Return the rewriter that does what `rewrite_call(pattern, func, ...)` does."""

        def rule(expr: Any, lookup: Any, edit: FunctionRewriter) -> Any:
            return first_rewrite(pattern, func, expr, lookup)

        return PatternMatchingRewriter((rule,))

    @staticmethod
    def from_module(mod: IRModule) -> "PatternMatchingRewriter":
        """Return the rewriter of what the function `pattern` computes by `replacement`.

        Args:
            mod: these two, of one signature, and private functions that the replacement calls; they
                are added to the module where they are used.

        Raises:
            KeyError: one of the two is missing.
            TypeError: one of them is no Relax function.
            ValueError: their signatures differ, or another function is not private.
        """
        return PatternMatchingRewriter((_Replacement(mod),))

    def __call__(self, obj: Any, *args: Any, **options: Any) -> Any:
        """Return a module or function with what matches replaced; the argument stays."""
        if isinstance(obj, IRModule):
            return super().__call__(obj, *args, **options)
        if isinstance(obj, ir.Module):
            return super().__call__(obj, *args, **options)
        return each_function(obj, self._rewrite)

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Rewrite all Relax functions."""
        added: dict[Any, dict[str, str]] = {}
        for func in list(relax_functions(mod)):
            edit = FunctionRewriter(mod.mlir_module.operation, func)
            edit.added = added
            self._rewrite(edit)

    def _rewrite(self, edit: FunctionRewriter) -> None:
        def first(expr: Any, lookup: Any) -> Any:
            made = (rule(expr, lookup, edit) for rule in self._rules)
            return next((new for new in made if new is not None), None)

        rules = [rule for rule in self._rules if isinstance(rule, _Replacement)]
        edit.sweep(first)
        while any(rule.replace_fields(edit) for rule in rules):
            edit.sweep(first)

    def __or__(self, other: "PatternMatchingRewriter") -> "PatternMatchingRewriter":
        return PatternMatchingRewriter(self._rules + other._rules)


class _Replacement:
    """What `replacement` computes for what `pattern` does."""

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod.clone()
        ops = {name: self._mod[name].mlir_op for name in self._mod.function_names}
        for name in ("pattern", "replacement"):
            if name not in ops:
                raise FunctionKeyError(f"a rewriter's module has a function '{name}'")
            if "relax.function" not in ops[name].attributes:
                raise ExprTypeError(f"a rewriter's '{name}' is a Relax function")
        for name, op in ops.items():
            if name not in ("pattern", "replacement") and "sym_visibility" not in op.attributes:
                raise ExprError(f"'{name}' is publicly exposed; a rewriter adds private functions")
        pattern, replacement = (Function.of(ops[n], self._mod) for n in ("pattern", "replacement"))
        types = [[param.ty for param in func.params] for func in (pattern, replacement)]
        if types[0] != types[1]:
            raise ExprError(
                "a rewriter's pattern and replacement must have the same signature, got "
                f"{types[0]} and {types[1]}"
            )
        self._func = ops["replacement"]
        self._others = {n: op for n, op in ops.items() if n not in ("pattern", "replacement")}
        self._params: list[DFPattern] = [WildcardPattern() for _ in pattern.params]
        self._made: dict[Any, DFPattern] = {
            identity(param): wild.has_ty(param.ty)
            for wild, param in zip(self._params, pattern.params, strict=True)
        }
        self._pattern = self._pattern_of(pattern.body.body)

    def _pattern_of(self, expr: Any) -> DFPattern:
        if isinstance(expr, GlobalVar):
            return GlobalVarPattern(expr.name_hint)
        if isinstance(expr, ExternFunc):
            return ExternFuncPattern(expr.global_symbol)
        key = identity(expr)
        if key not in self._made:
            self._made[key] = self._new_pattern(expr)
        return self._made[key]

    def _new_pattern(self, expr: Any) -> DFPattern:
        if isinstance(expr, Var):
            value = emitted_value(expr)
            if value is None:
                raise ExprError(f"a rewriter's pattern cannot bind '{expr.name_hint}'")
            return self._new_pattern(value)
        if isinstance(expr, Call):
            args = [self._pattern_of(arg) for arg in expr.args]
            called = CallPattern(self._pattern_of(expr.op), args)
            return called.has_attr(expr.attrs) if expr.attrs else called
        if isinstance(expr, Tuple):
            return TuplePattern([self._pattern_of(field) for field in expr.fields])
        if isinstance(expr, TupleGetItem):
            return TupleGetItemPattern(self._pattern_of(expr.tuple_value), expr.index)
        return PrimArrPattern(expr.values) if isinstance(expr, ShapeExpr) else ExprPattern(expr)

    def __call__(self, expr: Any, lookup: Any, edit: FunctionRewriter) -> Any:
        if edit.func.context != self._func.context:
            raise BuilderError("the rewriter belongs to another MLIR context than the function")
        matcher = Matcher(lookup)
        for _ in matcher.solve(self._pattern, expr):
            return view(self._inline(matcher, edit), edit.func)
        return None

    def _inline(self, matcher: Matcher, edit: FunctionRewriter) -> ir.Value:
        values = [edit.value_of(matcher.bound[param], "") for param in self._params]
        func = self._func.clone(ip=False).operation
        self._rename(func, self._add_functions(edit))
        return extension("relax.inline_body")(
            func, values, edit.builder._frame().ip, matcher.symbols
        )

    def replace_fields(self, edit: FunctionRewriter) -> bool:
        """Replace values that are together what the pattern returns, of which no tuple is made.

        All that they are computed of must be there where the first of them is used.

        Returns:
            Whether there were such values.
        """
        fields = getattr(self._pattern, "fields", ())
        # A field that is a parameter matches everything, what the replacement makes included.
        if not fields or any(isinstance(field, TypePattern) for field in fields):
            return False
        for ops, matcher in _together(fields, edit):
            order = {view.operation: i for i, view in enumerate(ops[0].block.operations)}
            params = (matcher.bound[param].mlir_value for param in self._params)
            given = [defining_op(canonical(value)) for value in params if value is not None]
            behind = max((order.get(owner, -1) for owner in given if owner is not None), default=-1)
            start = max(behind + 1, min(order[op] for op in ops))
            uses = (use.owner.operation for op in ops for use in op.results[0].uses)
            if any(order.get(user, -1) < start for user in uses):
                continue
            first = next(op for op, place in order.items() if place == start)
            with edit.builder.insert_before(first):
                made = self._inline(matcher, edit)
            for index, op in enumerate(ops):
                with ir.InsertionPoint(op if order[op] > start else first), op.location:
                    edit.replace(op.results[0], get_item(made, index))
            edit.tidy()
            return True
        return False

    def _add_functions(self, edit: FunctionRewriter) -> dict[str, str]:
        """Put the functions that the replacement needs into the module, and return their names."""
        if edit.added.get(self) is None:
            names = Names()
            body = edit.module.regions[0].blocks[0]
            for each in body.operations:
                if "sym_name" in each.operation.attributes:
                    names.add(ir.StringAttr(each.operation.attributes["sym_name"]).value)
            added = {name: names.fresh(name) for name in self._needed()}
            for name, new in added.items():
                copy = self._others[name].clone(ip=ir.InsertionPoint(body)).operation
                copy.attributes["sym_name"] = ir.StringAttr.get(new)
                self._rename(copy, added)
            edit.added[self] = added
        return edit.added[self]

    def _needed(self) -> list[str]:
        result: dict[str, None] = {}
        waiting = [self._func]
        while waiting:
            for name in _references(waiting.pop()):
                if name in self._others and name not in result:
                    result[name] = None
                    waiting.append(self._others[name])
        return list(result)

    def _rename(self, func: ir.Operation, names: Mapping[str, str]) -> None:
        for op in operations_within(func) if names else ():
            for key, attribute in op.attributes.items():
                if isinstance(attribute, ir.FlatSymbolRefAttr) and attribute.value in names:
                    op.attributes[key] = ir.FlatSymbolRefAttr.get(names[attribute.value])


def _together(
    fields: Sequence[DFPattern],
    edit: FunctionRewriter,
    matcher: Matcher | None = None,
    ops: Sequence[ir.Operation] = (),
) -> Iterator[tuple[Sequence[ir.Operation], Matcher]]:
    """Yield operations that stand side by side and match patterns together, one for each."""
    if matcher is not None and len(ops) == len(fields):
        yield ops, matcher
        return
    for op in edit.operations():
        if op in ops or not len(list(op.results[0].uses)):
            continue
        if ops and not edit.side_by_side(ops[0], op):
            continue
        tried = matcher or Matcher(edit.lookup_at(op))
        for _ in tried.solve(fields[len(ops)], view(op.results[0], edit.func)):
            yield from _together(fields, edit, tried, [*ops, op])


def _references(func: ir.Operation) -> list[str]:
    return [
        attribute.value
        for op in collect(func, lambda _: True, INNER_FIRST)
        for attribute in op.attributes.values()
        if isinstance(attribute, ir.FlatSymbolRefAttr)
    ]
