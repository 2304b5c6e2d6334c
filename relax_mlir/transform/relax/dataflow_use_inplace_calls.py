"""The pass `dataflow-use-inplace-calls`: elementwise results take the place of dead operands."""

from collections.abc import Iterator

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.elementwise import BinaryOp, UnaryOp
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, sources
from relax_mlir.dialects.relax.tuples import call_arguments, is_make_tuple
from relax_mlir.lowering.relax_to_tir.legalize_ops import LEGALIZE
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.walk import named
from relax_mlir.transform.kernels.calls import erase_call, match_call
from relax_mlir.transform.kernels.copies import KernelCopies, parameter_attributes, sign_kernel
from relax_mlir.transform.kernels.elementwise import overwritable

# A build may make views of them, whatever they are now.
_VIEWS = frozenset(
    f"relax.{name}"
    for name in (
        "batch_flatten", "expand_dims", "flatten", "memory_ensure_zero_offset", "memory_view",
        "permute_dims", "reshape", "squeeze",
    )
)  # fmt: skip
_CALL = "relax.call_tir"


def dataflow_use_inplace_calls(module: ir.Operation) -> None:
    """Make `call_tir_inplace` of elementwise operations and kernels, in dataflow blocks.

    The result is written over an operand of its shape and dtype that the block has computed, and
    that neither the block nor its results need any more, the last of them if there are several. No
    other operand may share its memory. Operations become kernels for it, `add_inplace`. A build
    shares memory without this pass, also between tensors of different shapes, but keeps the
    operands of one kernel, but not its result.
    """
    legalizer = Legalizer(module)
    for op in _in_dataflow(module):
        if op.name != _CALL and _candidates(op):
            _legalize(legalizer, op)
    kernels = KernelCopies(module)
    made: dict[tuple[str, int], str] = {}
    for op in _in_dataflow(module):
        places = _candidates(op) if op.name == _CALL else []
        matched = match_call(op, kernels.symbols) if places else None
        if matched is not None:
            place = next((i for i in places if overwritable(matched, i)), None)
            if place is not None:
                _write_over(op, place, kernels, made)
    kernels.remove_uncalled()


def _in_dataflow(module: ir.Operation) -> list[ir.Operation]:
    return [
        view.operation
        for func in functions_to_optimize(module)
        for dataflow in named(func, ("relax.dataflow",))
        for view in dataflow.regions[0].blocks[0].operations
    ]


def _candidates(op: ir.Operation) -> list[int]:
    """Return which operands end here and fit the result, from the last."""
    if op.name != _CALL:
        cls = COMPUTE_OPS.get(op.name.removeprefix("relax."))
        if cls is None or not issubclass(cls, (BinaryOp, UnaryOp)):
            return []
    result = op.results[0].type
    if not T.is_tensor(result) or T.tensor_dims(result) is None:
        return []
    given = call_arguments(op) if op.name == _CALL else list(op.operands)
    roots = [_root(value) for value in given]
    return [
        i
        for i in reversed(range(len(given)))
        if T.is_tensor(given[i].type)
        and T.tensor_dims(given[i].type) == T.tensor_dims(result)
        and T.tensor_dtype(given[i].type) == T.tensor_dtype(result)
        and roots.count(roots[i]) == 1
        and _ends_at(op, roots[i])
    ]


def _root(value: ir.Value) -> ir.Value:
    """Return the tensor whose memory a view shows."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _VIEWS:
        value = value.owner.operation.operands[0]
    return value


def _ends_at(op: ir.Operation, root: ir.Value) -> bool:
    """Whether a tensor was computed in the block of an operation, and is not needed after it."""
    if isinstance(root.owner, ir.Block):
        return False
    owner = root.owner.operation
    computed = owner.name.removeprefix("relax.") in COMPUTE_OPS or owner.name.startswith(_CALL)
    if not computed or owner.block != op.block or sources(root):
        return False
    return all(user == op or user.is_before_in_block(op) for user in _users(root, op.block))


def _users(root: ir.Value, block: ir.Block) -> Iterator[ir.Operation]:
    """Yield the operations of a block that use a tensor, or what may share its memory."""
    pending, seen = [root], {root}
    while pending:
        value = pending.pop()
        for use in value.uses:
            user = use.owner.operation
            while user.block != block:
                user = user.parent.operation
            if not is_make_tuple(user):
                yield user
            for result in user.results:
                if result not in seen and (user.name in _VIEWS or value in sources(result)):
                    seen.add(result)
                    pending.append(result)


def _legalize(legalizer: Legalizer, op: ir.Operation) -> None:
    with op.location:
        value = LEGALIZE[op.name.removeprefix("relax.")](legalizer, op)
    if value is not None:
        op.results[0].replace_all_uses_with(value)
        op.erase()


def _write_over(
    call: ir.Operation, place: int, kernels: KernelCopies, made: dict[tuple[str, int], str]
) -> None:
    """Put a call that overwrites an argument in the place of a call."""
    callee = call.attributes["callee"].value
    if (callee, place) not in made:
        copy = kernels.add(callee, f"{callee}_inplace")
        block, out = copy.regions[0].blocks[0], len(call_arguments(call))
        block.arguments[out].replace_all_uses_with(block.arguments[place])
        block.erase_argument(out)
        attributes = parameter_attributes(copy)
        sign_kernel(copy, attributes[:out] + attributes[out + 1 :])
        made[callee, place] = ir.StringAttr(copy.attributes["sym_name"]).value
    attributes = dict(call.attributes.items())
    attributes["callee"] = ir.FlatSymbolRefAttr.get(made[callee, place])
    attributes["inplace_indices"] = ir.DenseI64ArrayAttr.get([place])
    with ir.InsertionPoint(call), call.location:
        result = ir.Operation.create(
            "relax.call_tir_inplace", results=[call.results[0].type],
            operands=list(call.operands), attributes=attributes,
        ).result  # fmt: skip
    call.results[0].replace_all_uses_with(result)
    erase_call(call)
