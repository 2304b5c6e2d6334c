"""The pass `dead-code-elimination`: removes code without observable effect."""

from collections.abc import Collection, Iterable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops.control import LOOPS
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, is_pure, operations_in
from relax_mlir.dialects.relax.tuples import call_arguments, field_types, get_item, make_tuple
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.errors import FunctionKeyError, did_you_mean
from relax_mlir.lowering.walk import INNER_FIRST, collect, named
from relax_mlir.transform.relax.loop_dce import trim_branches, trim_loop
from relax_mlir.transform.relax.rebuild import keep_results, replace_output

_FUNCTIONS = ("relax.function", "tir.prim_func")


def dead_code_elimination(module: ir.Operation, entry_functions: Sequence[str] = ()) -> None:
    """Remove unused bindings, outputs of dataflow blocks, parameters and functions.

    So go values that a branch gives or a loop carries, when nothing depends on them.

    What has an effect stays, and so does a `match_cast` that asserts something or binds a symbol.

    Args:
        module: a `builtin.module`.
        entry_functions: names of private functions to keep with all they reach, as functions that
            are not private are kept.

    Raises:
        FunctionKeyError: there is none of such a name.
    """
    entries = set(entry_functions)
    known = [
        ir.StringAttr(op.attributes["sym_name"]).value
        for op in module.regions[0].blocks[0].operations
        if "sym_name" in op.attributes
    ]
    for name in entry_functions:
        if name not in known:
            near = did_you_mean(name, known) or f"; there are: {', '.join(known) or 'none'}"
            raise FunctionKeyError(f"no function '{name}' to keep{near}")
    remove_unreachable(module, entries)
    for func in functions_to_optimize(module):
        remove_unused(func)
    _remove_unused_parameters(module, entries)
    remove_unreachable(module, entries)


def remove_unused(func: ir.Operation) -> None:
    """Remove what a function computes and does not use, its effects excepted."""
    for block in func.regions[0].blocks:
        _sweep(block)


def _sweep(block: ir.Block) -> None:
    """Remove from the end, so that what only the removed ones used goes in the same sweep."""
    for view in reversed(list(block.operations)):
        op = view.operation
        used = _is_used(op)
        if not used and len(op.results) and (_has_no_effect(op) or is_pure(op)):
            op.erase()
            continue
        if not len(op.regions):
            continue
        name = op.name
        if name == "relax.dataflow":
            op = _trim_outputs(op)
        elif name == "relax.if" and len(op.results) and not used:
            op = _drop_result(op)
        elif name == "relax.if":
            op = trim_branches(op)
        elif name in LOOPS:
            op = trim_loop(op, _sweep)
        for region in op.regions:
            for inner in region.blocks:
                _sweep(inner)
        if name == "relax.dataflow" and len(list(operations_in(op))) == 1:
            inline_empty(op)


def inline_empty(op: ir.Operation) -> None:
    """Put what a dataflow block without bindings gives out in its place."""
    output = next(operations_in(op))
    for result, value in zip(op.results, output.operands, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def _is_used(op: ir.Operation) -> bool:
    for result in op.results:
        for _ in result.uses:
            return True
    return False


def _has_no_effect(op: ir.Operation) -> bool:
    return op.name == "relax.match_cast" and op.operands[0].type == op.results[0].type


def _drop_result(op: ir.Operation) -> ir.Operation:
    """Rebuild an `if` without its unused result."""
    for region in op.regions:
        replace_output(region.blocks[0], "relax.yield", [])
    return keep_results(op, [])


def _trim_outputs(op: ir.Operation) -> ir.Operation:
    """Rebuild a dataflow block with only the outputs that are used."""
    if not len(op.results):
        return op
    result, block = op.results[0], op.regions[0].blocks[0]
    uses = [use.owner.operation for use in result.uses]
    if not uses:
        replace_output(block, "relax.output", [])
        return keep_results(op, [])
    value = list(block.operations)[-1].operation.operands[0]
    if any(user.name != "relax.tuple_get_item" for user in uses):
        return op
    wanted = sorted({user.attributes["index"].value for user in uses})
    types = field_types(result.type)
    if len(wanted) == len(types):
        return op
    with ir.InsertionPoint(list(block.operations)[-1].operation), op.location:
        fields = [get_item(value, index) for index in wanted]
        new = fields[0] if len(fields) == 1 else make_tuple(fields)
    replace_output(block, "relax.output", [new])
    rebuilt = keep_results(op, [new.type])
    for user in uses:
        position = wanted.index(user.attributes["index"].value)
        if len(wanted) == 1:
            user.results[0].replace_all_uses_with(rebuilt.results[0])
            user.erase()
        else:
            user.operands[0] = rebuilt.results[0]
            user.attributes["index"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), position)
    return rebuilt


# Functions


def _name(op: ir.Operation) -> str:
    return op.attributes["sym_name"].value


def _functions(module: ir.Operation) -> dict[str, ir.Operation]:
    return {
        _name(view.operation): view.operation
        for view in module.regions[0].blocks[0].operations
        if "sym_name" in view.operation.attributes
    }


def _mentioned(op: ir.Operation, *, calls: bool = True) -> set[str]:
    """Return the functions that an operation or anything in it refers to, by `relax.call` or not.

    Args:
        op: the operation.
        calls: whether those count that only a `relax.call` refers to.
    """
    names: set[str] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        name = inner.name
        if name == "relax.call" and not calls:
            return ir.WalkResult.ADVANCE
        for key, attribute in inner.attributes.items():
            if isinstance(attribute, ir.FlatSymbolRefAttr):
                names.add(attribute.value)
            elif key == "func" and name.startswith(("relax.", "vm.")):
                # A packed function is looked up by name, in the executable too.
                names.add(ir.StringAttr(attribute).value)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return names


def _is_kept(op: ir.Operation, entries: Collection[str]) -> bool:
    if not any(marker in op.attributes for marker in _FUNCTIONS):
        return True
    return _name(op) in entries or not _is_private(op)


def _is_private(op: ir.Operation) -> bool:
    visibility = op.attributes.get("sym_visibility")
    return visibility is not None and ir.StringAttr(visibility).value == "private"


def remove_unused_parameters(module: ir.Operation) -> None:
    """Remove parameters of private functions that these do not use, and the arguments for them."""
    _remove_unused_parameters(module, set())


def remove_unreachable(module: ir.Operation, entries: Collection[str] = ()) -> None:
    """Remove private functions that neither the entry functions nor public ones reach."""
    functions = _functions(module)
    reached: set[str] = set()
    pending = [name for name, op in functions.items() if _is_kept(op, entries)]
    if len(pending) == len(functions):
        return
    while pending:
        name = pending.pop()
        if name in functions and name not in reached:
            reached.add(name)
            pending += _mentioned(functions[name])
    for name, op in functions.items():
        if name not in reached:
            op.erase()


def _remove_unused_parameters(module: ir.Operation, entries: set[str]) -> None:
    functions = _functions(module)
    if all(_is_kept(op, entries) for op in functions.values()):
        return
    calls = {name: _calls_in(op) for name, op in functions.items()}
    callers: dict[str, list[str]] = {}
    for name, sites in calls.items():
        for callee in sites:
            callers.setdefault(callee, []).append(name)
    others = _mentioned(module, calls=False)
    optimized = {_name(func): func for func in functions_to_optimize(module)}
    pending = [
        name
        for name, func in optimized.items()
        if name in callers and name not in others and not _is_kept(func, entries)
    ]
    candidates = set(pending)
    # Whose calls lost arguments, which may have been all that used a value.
    stale: dict[str, None] = {}

    def sweep(name: str) -> None:
        remove_unused(functions[name])
        # Pure calls may be gone, and must not be touched.
        calls[name] = _calls_in(functions[name])

    while pending:
        name = pending.pop()
        if name in stale:
            del stale[name]
            sweep(name)
        unused = _unused_parameters(optimized[name])
        if not unused:
            continue
        _drop_parameters(optimized[name], unused)
        for caller in callers[name]:
            for call in calls[caller].get(name, ()):
                _drop_arguments(call, unused)
            stale[caller] = None
            if caller in candidates:
                pending.append(caller)
    for name in stale:
        sweep(name)


def _calls_in(func: ir.Operation) -> dict[str, list[ir.Operation]]:
    calls: dict[str, list[ir.Operation]] = {}
    for op in named(func, ("relax.call",), INNER_FIRST):
        calls.setdefault(op.attributes["callee"].value, []).append(op)
    return calls


def _unused_parameters(func: ir.Operation) -> list[int]:
    """Return the positions of parameters without a use, also of the symbols that only they bind."""
    arguments = list(func.regions[0].blocks[0].arguments)
    unused = [i for i, a in enumerate(arguments) if next(iter(a.uses), None) is None]
    declared = [list(type_dims(a.type)) for a in arguments]
    for dims, details in zip(declared, func.attributes.get("arg_attrs", ()), strict=False):
        if "relax.value" in details:
            # R.Prim(value="n") gives n its value.
            dims += details["relax.value"].dims
    kept = [i for i in range(len(arguments)) if i not in unused]
    bound = bound_symbols(dim for i in kept for dim in declared[i])
    needed: set[str] = set()

    def note(types: Iterable[ir.Type]) -> None:
        for type_ in types:
            for dim in type_dims(type_):
                needed.update(dim.symbols)

    note(arguments[i].type for i in kept)
    note(ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results)
    for op in (each for top in operations_in(func) for each in collect(top, lambda _: True)):
        note(result.type for result in op.results)
        for attribute in op.attributes.values():
            for dim in getattr(attribute, "dims", ()):
                needed.update(dim.symbols)
    missing = needed - bound
    return [i for i in unused if not missing & {s for dim in declared[i] for s in dim.symbols}]


def _drop_parameters(func: ir.Operation, positions: list[int]) -> None:
    block = func.regions[0].blocks[0]
    for position in reversed(positions):
        block.erase_argument(position)
    signature = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    kept = [t for i, t in enumerate(signature.inputs) if i not in positions]
    func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kept, signature.results))
    for name in ("arg_attrs", "relax.params"):
        if name in func.attributes:
            items = [a for i, a in enumerate(func.attributes[name]) if i not in positions]
            func.attributes[name] = ir.ArrayAttr.get(items)


def _drop_arguments(call: ir.Operation, positions: list[int]) -> None:
    kept = [v for i, v in enumerate(call_arguments(call)) if i not in positions]
    with ir.InsertionPoint(call), call.location:
        call.operands[0] = make_tuple(kept)
