"""Return types of calls, inferred from the callee with the caller's types."""

from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.well_formed import type_dims, type_symbols
from relax_mlir.dialects.symbolic.binding import solutions
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.relax.expr.places import operations_within
from relax_mlir.transform.relax.rebuild import substitute_type

# A callee that is larger is not looked into: it would be copied for every call of it.
_MAX_OPERATIONS = 512


def caller_symbols(
    parameters: Sequence[ir.Type], arguments: Sequence[ir.Type]
) -> dict[str, SymExpr]:
    """Return which expressions of the caller the symbols of a callee's parameters are."""
    inner: list[SymExpr] = []
    outer: list[SymExpr] = []
    for parameter, argument in zip(parameters, arguments, strict=False):
        own, passed = list(type_dims(parameter)), list(type_dims(argument))
        if len(own) == len(passed):
            inner += own
            outer += passed
    known: dict[str, SymExpr] = {}
    for solution in solutions(inner):
        value = outer[solution.index] - solution.rest.substitute(known)
        if value % solution.factor == 0:
            known[solution.symbol] = value // solution.factor
    return known


def type_of_call(
    callee: ir.Operation,
    arguments: Sequence[ir.Type],
    infer: Callable[[ir.Operation], None],
) -> ir.Type | None:
    """Return the type of a call's result by inferring through a copy of the callee.

    Args:
        callee: the function called.
        arguments: types of what it is given, in the caller's symbols.
        infer: infers the types of a function in place.
    """
    block = callee.regions[0].blocks[0]
    parameters = list(block.arguments)
    if len(parameters) != len(arguments) or len(operations_within(callee)) > _MAX_OPERATIONS:
        return None
    known = caller_symbols([value.type for value in parameters], arguments)
    passed = set().union(*map(type_symbols, arguments))
    with callee.location:
        scratch = ir.Module.create()
        with ir.InsertionPoint(scratch.body):
            copy = callee.clone().operation
    _rewrite(copy, known, passed)
    inside = copy.regions[0].blocks[0]
    for value, type_ in zip(inside.arguments, arguments, strict=True):
        value.set_type(type_)
    infer(copy)
    end = list(inside.operations)[-1].operation
    if end.name != "func.return" or len(end.operands) != 1:
        return None
    type_ = end.operands[0].type
    own = type_symbols(type_) - passed
    return None if own else type_


def _rewrite(copy: ir.Operation, known: dict[str, SymExpr], passed: set[str]) -> None:
    """Write a copy of a callee in the caller's symbols; its own get names that those have not."""
    values: dict[str, SymExpr] = dict(known)

    def renamed(dims: Sequence[SymExpr]) -> None:
        for dim in dims:
            for name in dim.symbols:
                if name not in values:
                    fresh = name
                    while fresh in passed:
                        fresh += "_"
                    values[name] = SymExpr.var(fresh)

    def visit(op: ir.Operation) -> ir.WalkResult:
        for result in op.results:
            renamed(list(type_dims(result.type)))
            result.set_type(substitute_type(result.type, values))
        for name, attribute in op.attributes.items():
            if isinstance(attribute, Dims):
                dims = attribute.dims
                renamed(dims)
                op.attributes[name] = Dims.of([dim.substitute(values) for dim in dims])
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    renamed(list(type_dims(argument.type)))
                    argument.set_type(substitute_type(argument.type, values))
        return ir.WalkResult.ADVANCE

    copy.walk(visit, ir.WalkOrder.PRE_ORDER)
