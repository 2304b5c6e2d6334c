"""What LLVM may do to the loops of a module in the LLVM dialect."""

from collections.abc import Mapping
from typing import NamedTuple

from relax_mlir.dialects.bindings import ir

_ON_FOR = "llvm.loop_annotation"
_ON_BRANCH = _ON_FOR.removeprefix("llvm.")
_BRANCHES = ("llvm.br", "llvm.cond_br", "llvm.switch")
_STRUCTURED = ("omp.wsloop", "omp.loop_nest", "omp.simd")
_AS_IT_IS = "disableNonforced = true"
_NOT_UNROLLED = "unroll = <disable = true>"


class _Loop(NamedTuple):
    """A loop: its first block, and the branch back to that one from its last."""

    first: int
    last: int
    branch: ir.Operation


def prepare_loops(by_name: Mapping[str, list[ir.Operation]], *, hide_counters: bool) -> bool:
    """Put loop annotations where the translation looks for them, hide counters from LLVM.

    Annotations come from `scf.for`, on which only attributes with a dialect's prefix may stand, and
    keep that name on the branch that closes the loop.

    LLVM follows counters through all nested loops and rewrites every address in them (strength
    reduction), which was up to a third of a compilation's time. Only innermost loops gain from it,
    and of these not those that are to stay as they are; the counters of others pass through an
    empty piece of assembly code, which costs nothing and keeps LLVM from seeing that they count.

    Args:
        by_name: the operations of a module, rewritten in place.
        hide_counters: whether the target keeps 64-bit integers in registers.

    Returns:
        Whether all loops have annotations.
    """
    complete = by_name.keys().isdisjoint(_STRUCTURED)
    for loops in _loops(by_name):
        for loop in loops:
            attributes = loop.branch.attributes
            if _ON_FOR not in attributes:
                complete = complete and _ON_BRANCH in attributes
                continue
            hints = str(attributes[_ON_FOR])
            attributes[_ON_BRANCH] = attributes[_ON_FOR]
            del attributes[_ON_FOR]
            is_outer = any(
                loop.first <= each.first and each.last <= loop.last
                for each in loops
                if each is not loop
            )
            if hide_counters and (_AS_IT_IS in hints or (is_outer and _NOT_UNROLLED in hints)):
                _hide_counter(loop.branch)
    return complete


def _loops(by_name: Mapping[str, list[ir.Operation]]) -> list[list[_Loop]]:
    """Return the loops of each body; a loop has a branch to the same block or one before."""
    numbers: dict[ir.Operation, dict[ir.Block, int]] = {}
    found: dict[ir.Operation, list[_Loop]] = {}
    for branch in (op for name in _BRANCHES for op in by_name.get(name, ())):
        owner = branch.parent.operation
        if owner not in numbers:
            blocks = [block for region in owner.regions for block in region.blocks]
            numbers[owner] = {block: number for number, block in enumerate(blocks)}
        here = numbers[owner][branch.block]
        for successor in branch.successors:
            there = numbers[owner][successor]
            if there <= here:
                found.setdefault(owner, []).append(_Loop(there, here, branch))
    return list(found.values())


def _hide_counter(branch: ir.Operation) -> None:
    if branch.name != "llvm.br" or not len(branch.operands):
        return
    counter, following = branch.successors[0].arguments[0], branch.operands[0]
    if isinstance(following.owner, ir.Block) or str(counter.type) != "i64":
        return
    add = following.owner.operation
    if add.name != "llvm.add" or add.operands[0] != counter:
        return
    with branch.location, ir.InsertionPoint(branch):
        hidden = ir.Operation.create(
            "llvm.inline_asm",
            results=[following.type],
            operands=[following],
            attributes={
                "asm_string": ir.StringAttr.get(""),
                "constraints": ir.StringAttr.get("=r,0"),
            },
        )
    branch.operands[0] = hidden.results[0]
