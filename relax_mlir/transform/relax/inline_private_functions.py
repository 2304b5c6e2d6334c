"""The pass `inline-private-functions`: inlines calls of private functions."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.relax.tuples import call_arguments
from relax_mlir.errors import ExprTypeError
from relax_mlir.lowering.walk import INNER_FIRST, named
from relax_mlir.relax.dpl.matcher import Matcher
from relax_mlir.relax.expr.places import DATAFLOW
from relax_mlir.relax.expr.types import from_mlir
from relax_mlir.relax.expr_functor.edit import erase
from relax_mlir.transform.relax.dead_code_elimination import remove_unreachable
from relax_mlir.transform.relax.infer_type import infer_type
from relax_mlir.transform.relax.inline_function import inline_body
from relax_mlir.transform.relax.rebuild import bound_by_arguments, symbols_of


def inline_private_functions(module: ir.Operation) -> None:
    """Put the bodies of private functions in the place of their calls, and remove the functions.

    A recursive function stays, one that branches or loops stays where a dataflow block calls it,
    and one that binds symbols of its own stays, as do calls whose arguments say less than the
    parameters.
    """
    symbols = ir.SymbolTable(module)
    private = {
        name: func
        for func in functions_to_optimize(module)
        if "sym_visibility" in func.attributes
        and (name := ir.StringAttr(func.attributes["sym_name"]).value)
    }
    private = {name: func for name, func in private.items() if not reaches(name, name, symbols)}
    changed = False
    for func in _callees_first(functions_to_optimize(module), private):
        for call in _calls(func):
            if not _can_inline(private, call):
                continue
            changed |= inline_call(call, private[_callee(call)])
    if changed:
        infer_type(module)
    remove_unreachable(module)


def inline_call(call: ir.Operation, callee: ir.Operation) -> bool:
    """Put the body of a function in the place of a call of it.

    Returns:
        Whether its type is another.

    Raises:
        ExprTypeError: the arguments say less than the parameters.
    """
    arguments = call_arguments(call)
    bound = _bound(callee, arguments)
    if bound is None:
        raise ExprTypeError(
            f"the arguments of '{_callee(call)}' do not have the types of its parameters"
        )
    with call.location:
        value = inline_body(callee, arguments, ir.InsertionPoint(call), bound.symbols)
    changed = bool(value.type != call.results[0].type)
    call.results[0].replace_all_uses_with(value)
    erase(call)
    return changed


def _callees_first(
    funcs: list[ir.Operation], private: dict[str, ir.Operation]
) -> list[ir.Operation]:
    """Return functions so that what is inlined has no more calls that can be."""
    order: dict[ir.Operation, None] = {}
    waiting = [(func, False) for func in funcs]
    while waiting:
        func, is_ready = waiting.pop()
        if is_ready:
            order[func] = None
        elif func not in order:
            waiting.append((func, True))
            names = dict.fromkeys(map(_callee, _calls(func)))
            waiting += [(private[name], False) for name in names if name in private]
    return list(order)


def _bound(callee: ir.Operation, arguments: list[ir.Value]) -> Matcher | None:
    matcher = Matcher()
    for param, argument in zip(callee.regions[0].blocks[0].arguments, arguments, strict=True):
        if not matcher.unify_types(from_mlir(param.type), from_mlir(argument.type)):
            return None
    return matcher


def _can_inline(private: dict[str, ir.Operation], call: ir.Operation) -> bool:
    callee = private.get(_callee(call))
    if callee is None or _bound(callee, call_arguments(call)) is None:
        return False
    block = callee.regions[0].blocks[0]
    inner: set[str] = set()
    branches = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal branches
        inner.update(symbols_of(op))
        branches |= len(op.regions) > 0 and op.name != DATAFLOW
        return ir.WalkResult.ADVANCE

    for view in block.operations:
        view.operation.walk(visit)
    in_dataflow = call.parent is not None and call.parent.operation.name == DATAFLOW
    return inner <= bound_by_arguments(block) and not (in_dataflow and branches)


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def _calls(func: ir.Operation) -> list[ir.Operation]:
    return named(func, ("relax.call",), INNER_FIRST)


def reaches(start: str, wanted: str, symbols: ir.SymbolTable) -> bool:
    """Whether a function calls another one, or what it calls does."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in symbols:
            continue
        for call in _calls(symbols[name].operation):
            callee = _callee(call)
            if callee == wanted:
                return True
            if callee not in seen:
                seen.add(callee)
                waiting.append(callee)
    return False
