"""`FuseOpsByPattern`: what patterns match becomes functions, for libraries to compute."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.errors import ExprTypeError, FunctionKeyError, did_you_mean
from relax_mlir.ir.attribute_value import attribute_key, python_attribute
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import named
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.relax.dpl import CallPattern, DFPattern, TupleGetItemPattern
from relax_mlir.relax.dpl.matcher import Matcher, emitted_value
from relax_mlir.relax.expr import Call, var, view_op
from relax_mlir.relax.expr.places import DATAFLOW, defining_op
from relax_mlir.transform.grouping.grouped_functions import (
    COMPOSITE,
    PRIMITIVE,
    Group,
    GroupedFunctions,
    bindings_of,
)
from relax_mlir.transform.grouping.library_functions import annotate_codegen as _annotate


@dataclass
class PatternCheckContext:
    """What a check of a `FusionPattern` is given.

    Attributes:
        matched_expr: the call that the whole pattern matched.
        annotated_expr: what the annotation patterns stand for, by their names.
        matched_bindings: the values that become part of the function, by variable.
        var_usages: for each variable of the dataflow block those whose values use it.
        value_to_bound_var: the variables by their values.
    """

    matched_expr: Any
    annotated_expr: dict[str, Any]
    matched_bindings: dict[Any, Any]
    var_usages: dict[Any, list[Any]]
    value_to_bound_var: dict[Any, Any]


@dataclass
class FusionPattern:
    """A pattern whose matches become functions.

    Attributes:
        name: what the attribute `Composite` of the functions says; it begins with the name of the
            library, as in `numpy.matmul`.
        pattern: the pattern, of a call.
        annotation_patterns: parts of it by the names that the check knows them by.
        check: whether a match is taken, given a `PatternCheckContext`.
        attrs_getter: further attributes of the function, given what the annotation patterns stand
            for.
    """

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] | None = field(default_factory=dict)
    check: Callable[[PatternCheckContext], bool] | None = None
    attrs_getter: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.pattern, DFPattern):
            raise ExprTypeError(
                "a fusion pattern has a name and a pattern, got "
                f"{type(self.name).__name__} and {type(self.pattern).__name__}"
            )
        self.annotation_patterns = dict(self.annotation_patterns or {})


def FuseOpsByPattern(
    patterns: Sequence[Any],
    bind_constants: bool = True,
    annotate_codegen: bool = False,
    entry_functions: Sequence[str] | None = None,
) -> ModulePass:
    """Return the pass that makes a private function of each match of a pattern.

    A match lies in one dataflow block; the bindings that calls and fields of tuples in the pattern
    match become the function's. Patterns are tried in order, each at all calls; a match that takes
    a part of an earlier one is left out, one that takes all of it takes its place.

    Args:
        patterns: `FusionPattern`s, or tuples of their arguments.
        bind_constants: whether constants are in the functions; else they are parameters.
        annotate_codegen: whether each function is put into another one with the attribute
            `Codegen`, which `RunCodegen` hands to the library.
        entry_functions: names of the functions to look at; by default all.

    Raises:
        ExprTypeError: one of the patterns is none. The pass raises `FunctionKeyError` for a name
            that no function has.
    """
    wanted = [each if isinstance(each, FusionPattern) else _of_tuple(each) for each in patterns]

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        module = mod.mlir_module.operation
        with lock_of(mod.context), mod.context, ir.Location.unknown():
            for each in wanted:
                functions = GroupedFunctions(module, lift_constants=not bind_constants)
                for func in _functions(module, entry_functions):
                    for dataflow in named(func, (DATAFLOW,)):
                        functions.make(dataflow, _Partition(each, dataflow, mod).groups())
            if annotate_codegen:
                _annotate(module)
        return mod

    return ModulePass(run, PassInfo("FuseOpsByPattern"))


def _of_tuple(given: Any) -> FusionPattern:
    if not isinstance(given, tuple) or not 2 <= len(given) <= 5:
        raise ExprTypeError(
            "a pattern is a FusionPattern or a tuple of a name and a pattern, got "
            f"{type(given).__name__}"
        )
    return FusionPattern(*given)


def _functions(module: ir.Operation, entries: Sequence[str] | None) -> list[ir.Operation]:
    result = {
        ir.StringAttr(func.attributes["sym_name"]).value: func
        for func in functions_to_optimize(module)
        if PRIMITIVE not in func.attributes and COMPOSITE not in func.attributes
    }
    if entries is None or not entries:
        return list(result.values())
    for name in entries:
        if name not in result:
            near = did_you_mean(name, result) or f"; there are: {', '.join(result) or 'none'}"
            raise FunctionKeyError(f"FuseOpsByPattern: no function '{name}'{near}")
    return [result[name] for name in entries]


class _Partition:
    """The matches of one pattern in one dataflow block."""

    def __init__(self, pattern: FusionPattern, dataflow: ir.Operation, mod: IRModule) -> None:
        self._pattern, self._mod = pattern, mod
        self._ops = bindings_of(dataflow)
        self._place = {op: index for index, op in enumerate(self._ops)}
        self._views = {op: view_op(op, mod) for op in self._ops if len(op.results)}
        self._vars = {op: var(op.results[0], mod) for op in self._views}
        # The groups by the operation that the whole pattern matched, and in which one each is.
        self._groups: dict[ir.Operation, Group] = {}
        self._owner: dict[ir.Operation, ir.Operation] = {}

    def groups(self) -> list[Group]:
        """Return what becomes functions."""
        for op, expr in self._views.items():
            if isinstance(expr, Call):
                self._match(op, expr)
        return sorted(self._groups.values(), key=lambda group: self._place[group.ops[0]])

    def _match(self, root: ir.Operation, expr: Any) -> None:
        matcher = Matcher(emitted_value)
        for _ in matcher.solve(self._pattern.pattern, expr):
            ops = {root: expr}
            for pattern, value in matcher.bound.items():
                op = getattr(value, "mlir_op", None)
                if (
                    isinstance(pattern, (CallPattern, TupleGetItemPattern))
                    and op is not None
                    and op in self._place
                ):
                    ops[op] = value
            context = self._context(expr, matcher.bound, ops)
            if self._pattern.check is None or self._pattern.check(context):
                self._take(root, list(ops), context)
            return

    def _take(
        self, root: ir.Operation, ops: list[ir.Operation], context: PatternCheckContext
    ) -> None:
        """Make a group of operations, unless it would have a part of another one."""
        taken = {self._owner[op] for op in ops if op in self._owner}
        if any(not set(self._groups[owner].ops) <= set(ops) for owner in taken):
            return
        for owner in taken:
            del self._groups[owner]
        attributes: dict[str, ir.Attribute] = {COMPOSITE: ir.StringAttr.get(self._pattern.name)}
        if self._pattern.attrs_getter is not None:
            for name, value in self._pattern.attrs_getter(context.annotated_expr).items():
                attributes[attribute_key(name)] = python_attribute(value)
        ordered = sorted(ops, key=self._place.__getitem__)
        self._groups[root] = Group(ordered, attributes)
        self._owner.update(dict.fromkeys(ordered, root))

    def _context(
        self, expr: Any, bound: Mapping[Any, Any], ops: Mapping[ir.Operation, Any]
    ) -> PatternCheckContext:
        named_parts = (self._pattern.annotation_patterns or {}).items()
        usages: dict[Any, list[Any]] = {}
        for op, variable in self._vars.items():
            for value in op.operands:
                producer = defining_op(value)
                if producer is not None and producer in self._vars:
                    usages.setdefault(self._vars[producer], []).append(variable)
        return PatternCheckContext(
            expr,
            {name: bound[pattern] for name, pattern in named_parts if pattern in bound},
            {self._vars[op]: value for op, value in ops.items()},
            usages,
            {self._views[op]: variable for op, variable in self._vars.items()},
        )
