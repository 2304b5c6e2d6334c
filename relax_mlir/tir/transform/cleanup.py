"""Dead code, no-op and common subexpression elimination."""

from relax_mlir.dialects.bindings import ir, passmanager
from relax_mlir.lowering.tir_to_vector.scheduled.index import integer_of, linear
from relax_mlir.lowering.walk import collect
from relax_mlir.tir.transform.functions import each_prim_func, prim_funcs

_PURE = ("arith.", "math.", "vector.broadcast", "vector.step", "vector.create_mask", "tir.symbol",
         "memref.dim")  # fmt: skip
# Operations that do nothing where nothing is in them.
_HOLLOW = ("tir.for", "tir.block", "scf.if")
_TELL = ("tir.reads", "tir.writes", "tir.where", "tir.yield", "scf.yield")


def remove_no_op(op: ir.Operation) -> None:
    """Remove what has no effect.

    That is loops without steps, loops, blocks and branches with nothing in them, branches never
    taken, stores of what a place holds, buffers that are only written, and unused values.

    Args:
        op: the module, changed in place.
    """
    each_prim_func(op, lambda func, _: remove_zero_trip(func))


def remove_zero_trip(func: ir.OpView) -> None:
    """Remove what has no effect from one function."""
    while any([_sweep(op) for op in reversed(collect(func.operation, lambda op: op != func))]):
        pass


def _sweep(op: ir.Operation) -> bool:
    """Remove an operation if it has no effect; returns whether it did."""
    if any(len(list(result.uses)) for result in op.results) and op.name != "memref.alloc":
        return False
    if op.name == "scf.if":
        _drop_dead_branch(op)
    idle = (
        ((len(op.results) > 0 and op.name.startswith(_PURE)) or op.name == "memref.load")
        or (op.name == "tir.for" and _has_no_step(op))
        or (op.name in _HOLLOW and not len(op.results) and _is_hollow(op))
        or (op.name == "memref.store" and _keeps(op))
        or (op.name == "memref.alloc" and _is_never_read(op))
    )
    if not idle:
        return False
    if op.name == "memref.alloc":
        for use in list(op.results[0].uses):
            use.owner.operation.erase()
    op.erase()
    return True


def _drop_dead_branch(op: ir.Operation) -> None:
    condition = integer_of(op.operands[0])
    if not isinstance(condition, int) or len(op.results):
        return
    for region, dead in zip(op.regions, (condition == 0, condition != 0), strict=True):
        for block in region.blocks if dead else ():
            for view in reversed(list(block.operations)):
                if view.operation.name != "scf.yield":
                    view.operation.erase()


def _has_no_step(op: ir.Operation) -> bool:
    extent = integer_of(op.operands[1])
    return isinstance(extent, int) and extent <= 0


def _is_hollow(op: ir.Operation) -> bool:
    return all(
        view.operation.name in _TELL
        for region in op.regions
        for block in region.blocks
        for view in block.operations
    )


def _keeps(store: ir.Operation) -> bool:
    """Whether a store writes what was loaded from there, with nothing between the two."""
    owner = store.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation.name != "memref.load":
        return False
    load = owner.operation
    if load.operands[0] != store.operands[1] or load.block != store.block:
        return False
    pairs = zip(list(load.operands)[1:], list(store.operands)[2:], strict=True)
    if not all(linear(a) == linear(b) for a, b in pairs):
        return False
    between, inside = [], False
    for view in store.block.operations:
        if view.operation == store:
            break
        if inside:
            between.append(view.operation)
        inside = inside or view.operation == load
    return all(each.name.startswith(_PURE) or each.name == "memref.load" for each in between)


def _is_never_read(alloc: ir.Operation) -> bool:
    return all(
        (use.owner.operation.name == "memref.store" and use.operand_number == 1)
        or use.owner.operation.name in ("tir.writes", "memref.dealloc")
        for use in alloc.results[0].uses
    )


def common_subexpr_elim_tir(op: ir.Operation) -> None:
    """Compute equal expressions of a prim func once.

    Args:
        op: the module, changed in place.
    """
    with op.context:
        manager = passmanager.PassManager.parse("func.func(cse)")
        for func in prim_funcs(op):
            manager.run(func.operation)


common_subexpr_elim = common_subexpr_elim_tir
