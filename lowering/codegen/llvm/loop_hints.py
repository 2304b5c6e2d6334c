"""Loop metadata for LLVM: which loops it may unroll and vectorise."""

from collections.abc import Mapping
from typing import NamedTuple

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.codegen.llvm.optimize import KEPT_LOOPS, LEFT_LOOPS

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

    Functions none of whose loops may be unrolled are marked: `KEPT_LOOPS`, or `LEFT_LOOPS` where
    all are to stay as they are.

    Args:
        by_name: the operations of a module, rewritten in place.
        hide_counters: whether the target keeps 64-bit integers in registers.

    Returns:
        Whether all loops have annotations.
    """
    complete = by_name.keys().isdisjoint(_STRUCTURED)
    unrolled: set[ir.Operation] = set()
    changed: set[ir.Operation] = set()
    for loops in _loops(by_name):
        for loop in loops:
            attributes = loop.branch.attributes
            if _ON_FOR not in attributes:
                complete = complete and _ON_BRANCH in attributes
                unrolled.add(_function_of(loop.branch))
                continue
            hints = str(attributes[_ON_FOR])
            if _AS_IT_IS not in hints:
                group = changed if _NOT_UNROLLED in hints else unrolled
                group.add(_function_of(loop.branch))
            attributes[_ON_BRANCH] = attributes[_ON_FOR]
            del attributes[_ON_FOR]
            is_outer = any(
                loop.first <= each.first and each.last <= loop.last
                for each in loops
                if each is not loop
            )
            if hide_counters and (_AS_IT_IS in hints or (is_outer and _NOT_UNROLLED in hints)):
                _hide_counter(loop.branch)
    for function in by_name.get("llvm.func", ()):
        if function not in unrolled:
            _note(function, KEPT_LOOPS if function in changed else LEFT_LOOPS)
    return complete


def _function_of(op: ir.Operation) -> ir.Operation:
    while op.name != "llvm.func":
        op = op.parent.operation
    return op


def _note(function: ir.Operation, name: str) -> None:
    known = function.attributes.get("passthrough", [])
    with function.context:
        notes = ir.ArrayAttr.get([*known, ir.StringAttr.get(name)])
    function.attributes["passthrough"] = notes


def _loops(by_name: Mapping[str, list[ir.Operation]]) -> list[list[_Loop]]:
    """Return the loops of each body: the branches to a block through which the branch is reached.

    A branch to a block that was written before is not always one: where two ends of a function
    are the same, MLIR keeps the first of them.
    """
    bodies: dict[ir.Operation, None] = {}
    for branch in (op for name in _BRANCHES for op in by_name.get(name, ())):
        bodies.setdefault(branch.parent.operation)
    result = [_loops_of(region) for body in bodies for region in body.regions]
    return [loops for loops in result if loops]


def _loops_of(region: ir.Region) -> list[_Loop]:
    blocks = list(region.blocks)
    numbers = {block: number for number, block in enumerate(blocks)}
    loops: list[_Loop] = []
    # Depth first; `path` has the blocks on the way from the entry, each with what is left to visit.
    entered, path = {0}, [(0, _successors(blocks[0], numbers))]
    on_path = {0}
    while path:
        here, left = path[-1]
        if not left:
            on_path.remove(here)
            path.pop()
            continue
        there, branch = left.pop()
        if there in on_path:
            loops.append(_Loop(there, here, branch))
        elif there not in entered:
            entered.add(there)
            on_path.add(there)
            path.append((there, _successors(blocks[there], numbers)))
    return loops


def _successors(block: ir.Block, numbers: Mapping[ir.Block, int]) -> list[tuple[int, ir.Operation]]:
    last = block.operations[len(block.operations) - 1].operation
    return [(numbers[successor], last) for successor in last.successors]


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
