"""Pass `annotate-invariant-loads`: mark functions whose loops load what no iteration changes."""

from collections.abc import Set

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import named

# The mark of a function.
INVARIANT_LOADS = "relax.invariant_loads"
_LOADS = ("memref.load", "vector.load", "vector.maskedload", "vector.transfer_read")
_LOOPS = ("scf.for", "scf.while", "scf.parallel", "omp.loop_nest")
_LOADS_AND_LOOPS = frozenset((*_LOADS, *_LOOPS))


def annotate_invariant_loads(op: ir.Operation) -> None:
    """Mark functions for whose loops it pays to ask what may be moved out of them.

    What computes from registers only has been moved out already, by `loop-invariant-code-motion`;
    a load may be moved where nothing in the loop writes to its place, which LLVM finds out. That
    takes it long, so it is asked only where something follows from such a load alone, like the
    quotient of a row's sum: the load itself costs no more in a loop than a register does.
    """
    for view in op.regions[0].blocks[0].operations:
        function = view.operation
        if function.name != "func.func":
            continue
        ops = named(function, _LOADS_AND_LOOPS)
        loops = [each for each in ops if each.name in _LOOPS]
        outer = {around for around in map(_loop_around, loops) if around is not None}
        innermost = set(loops) - outer
        loads = (each for each in ops if each.name in _LOADS)
        if any(_is_worth_moving(load, innermost) for load in loads):
            function.attributes[INVARIANT_LOADS] = ir.UnitAttr.get(function.context)


def _is_worth_moving(load: ir.Operation, innermost: Set[ir.Operation]) -> bool:
    loop = _loop_around(load)
    if loop is None or loop not in innermost or _varies(load, loop):
        return False
    return any(not _varies(use.owner.operation, loop, (load,)) for use in load.results[0].uses)


def _loop_around(op: ir.Operation) -> ir.Operation | None:
    parent = op.parent.operation
    while parent.name != "func.func":
        if parent.name in _LOOPS:
            return parent
        parent = parent.parent.operation
    return None


def _varies(
    op: ir.Operation, loop: ir.Operation, apart_from: tuple[ir.Operation, ...] = ()
) -> bool:
    """Whether an operation of a loop has operands of that loop, or no result."""
    return not op.results or any(
        owner not in apart_from and _is_in(owner, loop) for owner in map(_owner, op.operands)
    )


def _owner(value: ir.Value) -> ir.Operation | ir.Block:
    return value.owner if isinstance(value.owner, ir.Block) else value.owner.operation


def _is_in(owner: ir.Operation | ir.Block, loop: ir.Operation) -> bool:
    op = owner.owner.operation if isinstance(owner, ir.Block) else owner.parent.operation
    while op.name != "func.func":
        if op == loop:
            return True
        op = op.parent.operation
    return False
