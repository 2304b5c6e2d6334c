"""Symbols of shapes: which a function defines, which it uses, which are never negative."""

from collections.abc import Iterable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.well_formed import argument_attributes, type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import lower_bound
from relax_mlir.relax.analysis.scopes import Scope, Values, region_arguments, scopes_of
from relax_mlir.relax.expr import (
    Expr,
    FuncType,
    PrimType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    as_type,
)

# Operations that give symbols their values.
_BINDERS = frozenset(("relax.match_cast", "relax.match_prim"))


def tir_vars_in_type(type_: Any) -> list[SymExpr]:
    """Return the symbols in a type, in order, each once.

    Raises:
        ExprTypeError: it is no type.
    """
    return _symbols(dim for dims in _all_dims(type_) for dim in dims)


def definable_tir_vars_in_type(type_: Any) -> list[SymExpr]:
    """Return the symbols that a value of the type binds: those that are dimensions by themselves.

    Raises:
        ExprTypeError: it is no type.
    """
    return _symbols(dim for dims in _all_dims(type_) for dim in dims if dim.name)


def collect_non_negative_expressions(type_: Any) -> list[SymExpr]:
    """Return the dimensions in a type, which no run makes negative, constants left out.

    Raises:
        ExprTypeError: it is no type.
    """
    result: dict[SymExpr, None] = {}
    for dims in _all_dims(type_, sizes_only=True):
        result.update(dict.fromkeys(dim for dim in dims if not dim.is_const))
    return list(result)


def collect_non_negative(node: Any) -> list[SymExpr]:
    """Return what a program's types say is not negative and arithmetic alone does not know.

    Args:
        node: IRModule, function or less.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    result: dict[SymExpr, None] = {}
    for scope in scopes_of(node):
        for type_ in _types(scope):
            for dim in type_dims(type_):
                if not dim.is_const:
                    result[dim] = None
    return [dim for dim in result if dim.name or (lower_bound(dim) or -1) < 0]


def defined_symbolic_vars(node: Any) -> list[SymExpr]:
    """Return the symbols that a function's parameters and its match_casts bind, in order.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    return _symbols(dim for scope in scopes_of(node) for dim in _Symbols(scope).defined)


def free_symbolic_vars(node: Any) -> list[SymExpr]:
    """Return the symbols that a function uses and does not bind, in order.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    result: dict[SymExpr, None] = {}
    for scope in scopes_of(node):
        symbols = _Symbols(scope)
        defined = set(_symbols(symbols.defined))
        result.update(dict.fromkeys(s for s in _symbols(symbols.used) if s not in defined))
    return list(result)


class _Symbols:
    """What one function binds and uses, as expressions in the order in which they stand."""

    def __init__(self, scope: Scope) -> None:
        self.defined: dict[SymExpr, None] = {}
        self.used: dict[SymExpr, None] = {}
        params = [dim for value in scope.params for dim in type_dims(value.type)]
        if scope.func is not None and scope.params:
            for attributes in argument_attributes(scope.func):
                value = attributes.get("relax.value")
                if isinstance(value, Dims):
                    params += value.dims
        self._bind(params)
        seen: set[ir.Type] = set()
        for op in _operations(scope):
            for result in op.results:
                if op.name in _BINDERS:
                    self._bind(list(type_dims(result.type)))
                elif result.type not in seen:
                    seen.add(result.type)
                    self._use(type_dims(result.type))
            for attribute in op.attributes.values():
                if isinstance(attribute, Dims):
                    (self._bind if op.name in _BINDERS else self._use)(attribute.dims)
            for argument in region_arguments(op):
                self._bind(list(type_dims(argument.type)))
        if scope.func is not None:
            for type_ in result_types(scope.func):
                self._use(type_dims(type_))

    def _use(self, dims: Iterable[SymExpr]) -> None:
        self.used.update(dict.fromkeys(dims))

    def _bind(self, dims: list[SymExpr]) -> None:
        self._use(dims)
        # Only what these dimensions mention: there may be as many symbols as bindings.
        symbols = _symbols(dims)
        known = {str(symbol) for symbol in symbols if symbol in self.defined}
        bound = bound_symbols(dims, known) - known
        self.defined.update(dict.fromkeys(s for s in symbols if str(s) in bound))


def symbols_in(op: ir.Operation) -> list[str]:
    """Return the symbols that an operation's results and attributes mention, in order."""
    dims = [dim for result in op.results for dim in type_dims(result.type)]
    for attribute in op.attributes.values():
        if isinstance(attribute, Dims):
            dims += attribute.dims
    return list(dict.fromkeys(name for dim in dims for name in sorted(dim.symbols)))


def binders(block: ir.Block) -> dict[str, ir.Operation]:
    """Return the operations of a block that give symbols their values, by symbol."""
    ops = [view.operation for view in block.operations]
    result: dict[str, ir.Operation] = {}
    if not any(op.name in _BINDERS for op in ops):
        return result
    known = _known_before(block)
    for op in ops:
        if op.name in _BINDERS:
            bound = bound_symbols(_matched(op), known) - known
            result.update(dict.fromkeys(bound, op))
            known |= bound
    return result


def _matched(op: ir.Operation) -> list[SymExpr]:
    value = op.attributes.get("value")
    return value.dims if isinstance(value, Dims) else list(type_dims(op.results[0].type))


def _known_before(block: ir.Block) -> set[str]:
    """Return the symbols that have values where a block begins."""
    known: set[str] = set()
    owner = block.owner.operation
    if owner.name != "func.func" and owner.block is not None:
        known = _known_before(owner.block)
        for view in owner.block.operations:
            if view.operation == owner:
                break
            if view.operation.name in _BINDERS:
                known |= bound_symbols(_matched(view.operation), known)
            elif view.operation.name == "relax.dataflow":
                known |= set(binders(view.operation.regions[0].blocks[0]))
    return known | bound_symbols(dim for each in block.arguments for dim in type_dims(each.type))


def result_types(func: ir.Operation) -> list[ir.Type]:
    """Return the types of a function's results."""
    return list(ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results)


def _operations(scope: Scope) -> Iterable[ir.Operation]:
    """Yield all operations of a scope, constants and shapes in expressions too."""
    pending = scope.operations[::-1]
    while pending:
        op = pending.pop()
        yield op
        if len(op.regions):
            pending += [
                view.operation
                for region in op.regions
                for block in region.blocks
                for view in block.operations
            ][::-1]


def _types(scope: Scope) -> Iterable[ir.Type]:
    seen: dict[ir.Type, None] = dict.fromkeys(value.type for value in scope.params)
    for op in Values(scope.keep).walk(scope):
        seen.update(dict.fromkeys(result.type for result in op.results))
    return seen


def _all_dims(type_: Any, sizes_only: bool = False) -> Iterable[Iterable[SymExpr]]:
    stack: list[Type] = [type_.ty if isinstance(type_, Expr) else as_type(type_)]
    while stack:
        part = stack.pop()
        if isinstance(part, (TensorType, ShapeType)):
            yield part.dims or ()
        elif isinstance(part, PrimType) and not sizes_only and part.value is not None:
            yield (part.value,)
        elif isinstance(part, TupleType):
            stack += reversed(part.fields)
        elif isinstance(part, FuncType):
            stack += [part.ret, *reversed(part.params or ())]


def _symbols(dims: Iterable[SymExpr]) -> list[SymExpr]:
    names: dict[str, None] = {}
    for dim in dims:
        names.update(dict.fromkeys(sorted(dim.symbols)))
    return [SymExpr.var(name) for name in names]
