"""Delta debugging of MLIR modules.

Every step is tried on a copy and kept if the copy still verifies and is still interesting. The
steps go from coarse to fine: functions, what the clean-up passes remove, what a function returns,
ranges of bindings from halves down to one, parameters. They start over until none is left to take.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra import registry
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.execution.program_hash import fingerprint
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.passes import mlir
from relax_mlir.relax.expr.places import operations_within

IsInteresting = Callable[[IRModule], bool]
_CLEAN_UPS = ("ToNonDataflow", "DeadCodeElimination", "symbol-dce", "canonicalize", "cse")
# A function's value of so many places is tried as its result, spread evenly, in one round.
_MAX_RETURNS = 24


@dataclass(frozen=True)
class Edit:
    """One step: what it is called, and how a copy of the module is changed."""

    what: str
    apply: Callable[[IRModule], None]


class CannotApply(RelaxMLIRError):
    """An edit does not fit this module."""


def reduce_module(
    mod: IRModule,
    is_interesting: IsInteresting,
    *,
    max_tests: int = 2000,
    log: Callable[[str], None] = lambda line: None,
) -> IRModule:
    """Return a smaller module of which the predicate is still true.

    Args:
        mod: a module of which it is true; it stays as it was.
        is_interesting: the predicate; it gets modules that verify.
        max_tests: how often it is asked at most.
        log: called with every step that was taken.

    Raises:
        ValueError: the predicate is not true of `mod`.
    """
    if not is_interesting(mod):
        raise ValueError("the module does not fail to begin with")
    current, tests = mod, 1
    seen = {fingerprint(mod.mlir_module)}
    progress = True
    while progress:
        progress = False
        for edits in (_functions, _clean_ups, _returns, _ranges, _parameters):
            # An edit that was taken changes what the next ones are about: they are made again, from
            # the place where the last one stood.
            position = 0
            while tests < max_tests:
                left = list(edits(current))[position:]
                taken = None
                for edit in left:
                    position += 1
                    candidate = _attempt(current, edit)
                    if candidate is None or fingerprint(candidate.mlir_module) in seen:
                        continue
                    seen.add(fingerprint(candidate.mlir_module))
                    tests += 1
                    if is_interesting(candidate):
                        taken = edit, candidate
                        break
                    if tests >= max_tests:
                        break
                if taken is None:
                    break
                current, progress = taken[1], True
                position -= 1
                log(f"{taken[0].what}: {size(current)} operations left")
        if tests >= max_tests:
            log(f"gave up after {tests} tests")
            break
    return current


def size(mod: IRModule) -> int:
    """Return the number of operations in a module, itself left out."""
    return len(operations_within(mod.mlir_module.operation)) - 1


def _attempt(mod: IRModule, edit: Edit) -> IRModule | None:
    candidate = mod.clone()
    try:
        with candidate.context, ir.Location.unknown():
            edit.apply(candidate)
        candidate.verify()
    except (RelaxMLIRError, ir.MLIRError):
        return None
    return candidate


def _functions(mod: IRModule) -> Iterator[Edit]:
    """Remove functions: all that nobody refers to by name need, one after the other."""
    for index in reversed(range(len(mod.mlir_module.body.operations))):
        yield Edit("a function", lambda copy, i=index: _erase_top(copy, i))


def _erase_top(mod: IRModule, index: int) -> None:
    mod.mlir_module.body.operations[index].operation.erase()


def _clean_ups(mod: IRModule) -> Iterator[Edit]:
    """Run passes that leave less."""
    for name in _CLEAN_UPS:
        cleaner: AnyPass = registry.get_pass(name) if registry.find(name) else mlir(name)
        yield Edit(name, lambda copy, run=cleaner: _run(run, copy))


def _run(cleaner: AnyPass, mod: IRModule) -> None:
    # Not under the caller's context: its instruments are none of this.
    with PassContext() as ctx:
        cleaner.run_in_place(mod, ctx)


def _returns(mod: IRModule) -> Iterator[Edit]:
    """Return an earlier value, so that what comes after it is not needed."""
    for number, function in enumerate(_with_bodies(mod)):
        block = function.regions[0].blocks[0]
        count = len(block.operations) - 1
        step = max(1, count // _MAX_RETURNS)
        yield Edit("the result", lambda copy, n=number: _return_value(copy, n, -1))
        for index in range(0, count, step):
            yield Edit("the result", lambda copy, n=number, i=index: _return_value(copy, n, i))


def _return_value(mod: IRModule, number: int, index: int) -> None:
    """Return the index-th operation's value; -1 is the first parameter."""
    function = _with_bodies(mod)[number]
    _forbid_callers(mod, function)
    block = function.regions[0].blocks[0]
    operations = list(block.operations)
    terminator = operations[-1].operation
    if terminator.name != "func.return" or len(terminator.operands) != 1:
        raise CannotApply("does not return one value")
    values = block.arguments if index < 0 else operations[index].operation.results
    if not len(values) or values[0] == terminator.operands[0]:
        raise CannotApply("no other value there")
    terminator.operands[0] = values[0]
    for view in reversed(operations[index + 1 : -1]):
        if any(True for result in view.operation.results for _ in result.uses):
            raise CannotApply("still used")
        view.operation.erase()
    _set_type(function)


def _ranges(mod: IRModule) -> Iterator[Edit]:
    """Remove bindings: the uses of a removed one take an equal-typed value from before it."""
    count = len(_removable(mod.mlir_module.operation))
    length = count
    while length >= 1:
        for start in reversed(range(0, count, length)):
            span = (start, min(start + length, count))
            what = "a binding" if length == 1 else f"{span[1] - span[0]} bindings"
            yield Edit(what, lambda copy, s=span: _erase_range(copy, s, as_parameter=False))
            if length == 1:
                yield Edit(
                    "a binding, now a parameter",
                    lambda copy, s=span: _erase_range(copy, s, as_parameter=True),
                )
        length //= 2


def _erase_range(mod: IRModule, span: tuple[int, int], *, as_parameter: bool) -> None:
    for operation in reversed(_removable(mod.mlir_module.operation)[slice(*span)]):
        for result in operation.results:
            if any(True for _ in result.uses):
                result.replace_all_uses_with(
                    _placeholder(mod, operation, result.type, as_parameter)
                )
        operation.erase()


def _placeholder(
    mod: IRModule, operation: ir.Operation, type_: ir.Type, as_parameter: bool
) -> ir.Value:
    function = _function_around(operation)
    if as_parameter:
        _forbid_callers(mod, function)
        block = function.regions[0].blocks[0]
        count = len(block.arguments)
        argument = block.add_argument(type_, operation.location)
        if "arg_attrs" in function.attributes:
            del function.attributes["arg_attrs"]
        if "relax.params" in function.attributes:
            names = list(ir.ArrayAttr(function.attributes["relax.params"]))
            taken = {ir.StringAttr(name).value for name in names}
            fresh = next(f"p{n}" for n in itertools.count(count) if f"p{n}" not in taken)
            names.append(ir.StringAttr.get(fresh))
            function.attributes["relax.params"] = ir.ArrayAttr.get(names)
        _set_type(function)
        return argument
    block = operation.block
    for operand in operation.operands:
        if operand.type == type_:
            return operand
    before: list[ir.Value] = []
    for view in block.operations:
        if view.operation == operation:
            break
        before += view.operation.results
    for value in (*reversed(before), *block.arguments, *function.regions[0].blocks[0].arguments):
        if value.type == type_:
            return value
    raise CannotApply("no value of that type")


def _parameters(mod: IRModule) -> Iterator[Edit]:
    """Remove parameters that are not used."""
    for number, function in enumerate(_with_bodies(mod)):
        for index in reversed(range(len(function.regions[0].blocks[0].arguments))):
            yield Edit("a parameter", lambda copy, n=number, i=index: _drop_parameter(copy, n, i))


def _drop_parameter(mod: IRModule, number: int, index: int) -> None:
    function = _with_bodies(mod)[number]
    block = function.regions[0].blocks[0]
    if any(True for _ in block.arguments[index].uses):
        raise CannotApply("the parameter is used")
    _forbid_callers(mod, function)
    block.erase_argument(index)
    for name in ("arg_attrs", "relax.params"):
        if name in function.attributes:
            attributes = list(ir.ArrayAttr(function.attributes[name]))
            del attributes[index : index + 1]
            function.attributes[name] = ir.ArrayAttr.get(attributes)
    _set_type(function)


def _set_type(function: ir.Operation) -> None:
    """Make the declared type what the parameters and the returned values are."""
    block = function.regions[0].blocks[0]
    terminator = block.operations[len(block.operations) - 1].operation
    inputs = [argument.type for argument in block.arguments]
    results = [operand.type for operand in terminator.operands]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _forbid_callers(mod: IRModule, function: ir.Operation) -> None:
    name = f"@{function.attributes['sym_name'].value}"
    for operation in operations_within(mod.mlir_module.operation):
        for attribute in operation.attributes.values():
            if isinstance(attribute, ir.FlatSymbolRefAttr) and str(attribute) == name:
                raise CannotApply("somebody calls it")


def _function_around(operation: ir.Operation) -> ir.Operation:
    while operation.name != "func.func":
        parent = operation.parent
        if parent is None:
            raise CannotApply("outside of a function")
        operation = parent.operation
    return operation


def _with_bodies(mod: IRModule) -> list[ir.Operation]:
    return [
        view.operation
        for view in mod.mlir_module.body.operations
        if view.operation.name == "func.func" and len(view.operation.regions[0].blocks)
    ]


def _removable(root: ir.Operation) -> list[ir.Operation]:
    """Return every operation inside functions that does not end a block, in textual order."""
    return [
        operation
        for operation in operations_within(root)
        if operation.name not in ("builtin.module", "func.func") and not _ends_block(operation)
    ]


def _ends_block(operation: ir.Operation) -> bool:
    operations = operation.block.operations
    return operations[len(operations) - 1].operation == operation
