"""Arguments that local functions do not use are not passed.

A buffer is passed as its descriptor: two pointers, an offset, sizes and strides, most of them
constants or unused. A program's native function has the weights of all layers as arguments, some
two thousand values, which LLVM took a third of its time to pass on. LLVM's own pass for it
(`deadargelim`) needs callers and callees in one module, and programs are cut into parts.
"""

from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.lowering.walk import named

llvm: ModuleType = submodule("dialects.llvm")

_FUNCTION, _CALL, _ADDRESS = "llvm.func", "llvm.call", "llvm.mlir.addressof"
# What has no use but to make an argument.
_PURE = ("llvm.extractvalue", "llvm.insertvalue", "llvm.mlir.poison", "llvm.mlir.undef",
         "llvm.mlir.constant", _ADDRESS)  # fmt: skip


def drop_unused_arguments(
    module: ir.Operation, kept: dict[str, list[int]] | None = None
) -> dict[str, list[int]]:
    """Change local functions and their calls in place; those whose address is taken stay.

    Args:
        module: functions of the LLVM dialect.
        kept: the places of the arguments that functions have left which it declares, by their
            names.

    Returns:
        The places that its own have left.
    """
    declared = kept or {}
    result: dict[str, list[int]] = {}
    calls: dict[str, list[ir.Operation]] = {}
    taken: set[str] = set()
    for op in named(module, (_CALL, _ADDRESS)):
        if op.name == _ADDRESS:
            taken.add(ir.FlatSymbolRefAttr(op.attributes["global_name"]).value)
        elif "callee" in op.attributes:
            calls.setdefault(_callee(op), []).append(op)
    local: dict[str, ir.Operation] = {}
    for view in module.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == _FUNCTION and (_name(op) in declared or "internal" in _linkage(op)):
            local[_name(op)] = op
    waiting = [name for name in local if name not in taken]
    while waiting:
        name = waiting.pop(0)
        left = _drop(local[name], declared.get(name))
        if left is None:
            continue
        result[name] = left
        # What their arguments were may now be unused in the callers.
        for call in calls.pop(name, ()):
            changed = _shorten(call, left)
            calls.setdefault(name, []).append(changed)
            caller = _name(_function_of(changed))
            if caller in local and caller not in (*taken, *waiting):
                waiting.append(caller)
    return result


def _drop(function: ir.Operation, kept: list[int] | None) -> list[int] | None:
    """Drop parameters, the unused ones where no others are said; return the places of the rest.

    None is for all.
    """
    type_ = ir.TypeAttr(function.attributes["function_type"]).value
    inputs = list(type_.inputs)
    count = len(inputs)
    entry = next(iter(function.regions[0].blocks), None)
    if kept is None:
        arguments = [] if entry is None else entry.arguments
        kept = [i for i, each in enumerate(arguments) if next(iter(each.uses), None) is not None]
    if len(kept) == count:
        return None
    with function.context:
        changed = llvm.FunctionType.get(type_.return_type, [inputs[i] for i in kept])
        function.attributes["function_type"] = ir.TypeAttr.get(changed)
        if "arg_attrs" in function.attributes:
            attrs = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
            function.attributes["arg_attrs"] = ir.ArrayAttr.get([attrs[i] for i in kept])
    if entry is not None:
        for index in sorted({*range(count)} - {*kept}, reverse=True):
            entry.erase_argument(index)
    return kept


def _shorten(call: ir.Operation, kept: list[int]) -> ir.Operation:
    """Replace a call by one with the arguments of some places; return it."""
    operands = list(call.operands)
    attributes = dict(call.attributes.items())
    with call.location, ir.InsertionPoint(call):
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([len(kept), 0])
        made = ir.Operation.create(
            _CALL,
            results=[each.type for each in call.results],
            operands=[operands[i] for i in kept],
            attributes=attributes,
        )
    for old, new in zip(call.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    call.erase()
    for value in {*operands}.difference(made.operands):
        _erase_unused(value)
    return made


def _erase_unused(value: ir.Value) -> None:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value.owner, ir.Block) or next(iter(value.uses), None) is not None:
            continue
        op = value.owner.operation
        if op.name in _PURE:
            waiting += {*op.operands}
            op.erase()


def _function_of(op: ir.Operation) -> ir.Operation:
    while op.name != _FUNCTION:
        op = op.parent.operation
    return op


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _callee(op: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(op.attributes["callee"]).value


def _linkage(op: ir.Operation) -> str:
    return str(op.attributes["linkage"])
