"""Legalization: bfloat16 arithmetic, selects of loads."""

from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.walk import collect
from relax_mlir.tir.transform.functions import each_prim_func

arith: ModuleType = submodule("dialects.arith")
scf: ModuleType = submodule("dialects.scf")

# A conversion rounds once; by way of float32 an integer would be rounded twice.
_KEPT = (
    "arith.constant", "arith.extf", "arith.truncf", "arith.bitcast", "arith.select",
    "arith.sitofp", "arith.uitofp",
)  # fmt: skip
_MOVES = ("arith.", "math.", "memref.load")


def bf16_compute_legalize(op: ir.Operation) -> None:
    """Compute what is of bfloat16 in float32; buffers keep their elements.

    Args:
        op: the module, changed in place.
    """
    each_prim_func(op, _widen)


def _widen(func: ir.OpView, _: Emitter) -> None:
    for op in collect(func.operation, lambda op: op.name.startswith(("arith.", "math."))):
        types = [value.type for value in (*op.operands, *op.results)]
        if op.name in _KEPT or not any(isinstance(each, ir.BF16Type) for each in types):
            continue
        with op.location, ir.InsertionPoint(op):
            wide = ir.F32Type.get()
            operands = [
                arith.extf(wide, each) if isinstance(each.type, ir.BF16Type) else each
                for each in op.operands
            ]
            results = [
                wide if isinstance(each.type, ir.BF16Type) else each.type for each in op.results
            ]
            attributes = {name: op.attributes[name] for name in op.attributes}
            made = ir.Operation.create(
                op.name, operands=operands, results=results, attributes=attributes
            )
            for old, new in zip(op.results, made.results, strict=True):
                value = new if new.type == old.type else arith.truncf(old.type, new)
                old.replace_all_uses_with(value)
        op.erase()


def rewrite_unsafe_select(op: ir.Operation) -> None:
    """Let a `T.Select` of what is loaded evaluate only the value that it gives.

    Args:
        op: the module, changed in place.
    """
    each_prim_func(op, _guard)


def _guard(func: ir.OpView, _: Emitter) -> None:
    for op in collect(func.operation, lambda op: op.name == "arith.select"):
        if str(op.operands[0].type) != "i1":
            continue
        branches = [_own(value, op) for value in list(op.operands)[1:]]
        if not any(inner.name == "memref.load" for branch in branches for inner in branch):
            continue
        with op.location, ir.InsertionPoint(op):
            choice = scf.IfOp(op.operands[0], [op.results[0].type], has_else=True)
        blocks = (choice.then_block, choice.else_block)
        for block, value, own in zip(blocks, list(op.operands)[1:], branches, strict=True):
            with op.location, ir.InsertionPoint(block):
                end = scf.YieldOp([value])
            for inner in own:
                inner.move_before(end.operation)
        op.results[0].replace_all_uses_with(choice.results[0])
        op.erase()


def _own(value: ir.Value, user: ir.Operation) -> list[ir.Operation]:
    """Return the operations in a block that only one value is computed by, in their order."""
    results: set[ir.Operation] = set()
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        users = {use.owner.operation for result in op.results for use in result.uses}
        plain = op.name.startswith(_MOVES) and op.name != "arith.constant" and not op.regions
        if op.block != user.block or not plain or not users <= {user, *results} or op in results:
            continue
        results.add(op)
        waiting += list(op.operands)
    return [view.operation for view in user.block.operations if view.operation in results]
