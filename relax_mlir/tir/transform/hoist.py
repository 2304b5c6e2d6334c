"""Loop-invariant code motion."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.scheduled.index import Copier, is_inside
from relax_mlir.lowering.walk import collect
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.tir_config import HOIST_IF_THEN_ELSE
from relax_mlir.tir.transform.functions import each_prim_func

_PURE = ("arith.", "tir.symbol", "memref.dim", "math.")
# Division by zero is undefined, and a loop with a trip count of 0 would not execute it.
_MAY_FAIL = (
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi",
    "arith.ceildivsi", "arith.ceildivui",
)  # fmt: skip


def hoist_if_then_else(op: ir.Operation) -> None:
    """Move conditions that do not change in a loop in front of it.

    A condition must be the loop's only statement, unless the config `tir.HoistIfThenElse` says
    otherwise. Those inside blocks stay.

    Args:
        op: the module, changed in place.
    """
    anywhere = PassContext.current().option(HOIST_IF_THEN_ELSE).support_block_scope_hosting
    each_prim_func(op, lambda func, emit: _hoist_branches(func, emit, anywhere))


def hoist_expression(op: ir.Operation) -> None:
    """Move conditions and arithmetic that do not change in a loop in front of it.

    Args:
        op: the module, changed in place.
    """

    def change(func: ir.OpView, emit: Emitter) -> None:
        _hoist_branches(func, emit, True)
        for loop in reversed(collect(func.operation, lambda op: op.name == "tir.for")):
            for view in list(loop.regions[0].blocks[0].operations):
                inner = view.operation
                if inner.name in _MAY_FAIL or not inner.name.startswith(_PURE):
                    continue
                if not any(is_inside(operand, loop) for operand in inner.operands):
                    inner.move_before(loop)

    each_prim_func(op, change)


def _hoist_branches(func: ir.OpView, emit: Emitter, anywhere: bool) -> None:
    """Move what can be moved, inner loops first, as long as there is something."""
    while True:
        loops = reversed(collect(func.operation, lambda op: op.name == "tir.for"))
        if not any(_hoist(loop, emit, anywhere) for loop in loops):
            return


def _hoist(loop: ir.Operation, emit: Emitter, anywhere: bool) -> bool:
    statements = [
        view.operation
        for view in loop.regions[0].blocks[0].operations
        if not view.operation.name.startswith(_PURE) and view.operation.name != "tir.yield"
    ]
    if len(statements) != 1 and not anywhere:
        return False
    for branch in statements:
        if branch.name != "scf.if" or len(branch.results):
            continue
        if _is_fixed(branch.operands[0], loop):
            _split(loop, branch, len(statements) > 1, emit)
            return True
    return False


def _is_fixed(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value is the same in all steps, and can be computed in front of them."""
    if not is_inside(value, loop):
        return True
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    if op.name in _MAY_FAIL or not op.name.startswith(_PURE):
        return False
    return all(_is_fixed(operand, loop) for operand in op.operands)


def _split(loop: ir.Operation, branch: ir.Operation, others: bool, emit: Emitter) -> None:
    """Write the condition in front of a loop, and for each of its answers a loop."""
    has_else = len(branch.regions[1].blocks) > 0
    with loop.location, ir.InsertionPoint(loop):
        condition = Copier(emit, {}).pull(branch.operands[0], loop)
        made = ir.Operation.create("scf.if", operands=[condition], regions=2)
        for region, truth in zip(made.regions, (1, 0), strict=True):
            if not truth and not has_else and not others:
                continue
            with ir.InsertionPoint(region.blocks.append()):
                copier = Copier(emit, {})
                copier.decide(branch, bool(truth))
                copier.op(loop)
                ir.Operation.create("scf.yield")
    loop.erase()
