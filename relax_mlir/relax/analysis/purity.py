"""What may have side effects, and what can be computed before the program runs."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.calls import functions_of
from relax_mlir.dialects.relax.ops.core import impurity
from relax_mlir.dialects.relax.well_formed import argument_attributes, type_dims
from relax_mlir.relax.analysis.scopes import (
    Scope,
    Values,
    block_operations,
    enclosing_module,
    function_op,
    scopes_of,
)
from relax_mlir.relax.expr import Var

# Scopes, whose contents decide; and an allocation, whose effect is not observable.
_HARMLESS = frozenset(
    ("relax.if", "relax.while", "relax.for", "relax.dataflow", "relax.alloc_tensor", "relax.lambda")
)
_CALLS = ("relax.call", "relax.make_closure")


def contains_impure_call(node: Any, own_name: Any = None) -> bool:
    """Whether a part of a program calls what may have visible side effects.

    What a lambda contains counts only when it is called, or when it is the node itself. Functions
    of the module count by what they do; calls among functions that call each other do not count by
    themselves.

    Args:
        node: IRModule, function, block or expression.
        own_name: the function's own name, a GlobalVar or string, whose calls do not count.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    own = getattr(own_name, "name_hint", own_name)
    seen: set[str] = set() if own is None else {own}
    pending = scopes_of(node)
    functions: dict[str, ir.Operation] | None = None
    while pending:
        scope = pending.pop()
        for op in _called_here(scope):
            if op.name == "relax.call" and "pure" not in op.attributes:
                callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
                if callee in seen:
                    continue
                seen.add(callee)
                if functions is None:
                    functions = _functions(op)
                func = functions.get(callee)
                if func is None:
                    return True
                if not _is_marked_pure(func):
                    pending += scopes_of(func)
            elif op.name not in _HARMLESS and op.name.startswith("relax.") and impurity(op):
                return True
    return False


def computable_at_compile_time(func: Any) -> list[Var]:
    """Return the variables of a function that depend only on what is known before it runs.

    The attribute `num_input` says how many parameters are given at run time; all after them are
    weights. Without it nothing is known, and the list is empty.

    Args:
        func: a Relax function.

    Raises:
        ExprTypeError: it is no function.
    """
    op = function_op(func)
    number = op.attributes.get("relax.num_input", op.attributes.get("num_input"))
    if not isinstance(number, ir.IntegerAttr):
        return []
    (scope,) = scopes_of(func)
    values = Values(scope.keep)
    known = set(scope.params[number.value :])
    symbols = {dim.name for value in known for dim in type_dims(value.type) if dim.name}
    for attributes in argument_attributes(op)[number.value :]:
        symbols |= {dim.name for dim in getattr(attributes.get("relax.value"), "dims", ())}
    results = [values.var(value) for value in scope.params[number.value :]]
    for each in _called_here(scope):
        if not values.is_binding(each) or not len(each.results) or len(each.regions):
            continue
        if impurity(each) or not all(value in known for value in values.operands(each)):
            continue
        dims = [dim for result in each.results for dim in type_dims(result.type)]
        if each.name == "relax.match_cast":
            symbols |= {dim.name for dim in dims if dim.name}
        if all(dim.symbols <= symbols for dim in dims):
            known |= set(each.results)
            results += [values.var(result) for result in each.results]
    return results


def _called_here(scope: Scope) -> Any:
    """Yield the operations of a scope except those inside of lambdas, other than itself."""
    pending = scope.operations[::-1]
    if scope.expression and pending[0].name == "relax.lambda":
        pending = block_operations(pending[0].regions[0].blocks[0])[::-1]
    while pending:
        op = pending.pop()
        yield op
        if len(op.regions) and op.name != "relax.lambda":
            pending += [
                view.operation
                for region in op.regions
                for block in region.blocks
                for view in block.operations
            ][::-1]


def _functions(op: ir.Operation) -> dict[str, ir.Operation]:
    module = enclosing_module(op)
    return {} if module is None else functions_of(module)


def _is_marked_pure(func: ir.Operation) -> bool:
    attribute = func.attributes.get("relax.pure")
    return attribute is not None and bool(getattr(attribute, "value", True))
