"""The plan of a prim func: the kernel class of each nest."""

from collections.abc import Iterator

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import (
    BRANCH,
    BY_HAND_REASON,
    QUOTIENTS,
    REMAINDERS,
    WITHOUT_BLOCKS,
    BlockInfo,
    declared_class,
    iter_types,
    kind_of,
    top_level,
    unchanged,
)
from relax_mlir.lowering.tir_to_vector.attention.kernel import ATTENTION
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.contraction.prologue import COMPUTED_OPERANDS
from relax_mlir.lowering.tir_to_vector.contraction.tall_skinny_gemm import CONTRACTION, GEMM
from relax_mlir.lowering.tir_to_vector.convolution.kernel import CONVOLUTION, PACKED_CONVOLUTION
from relax_mlir.lowering.tir_to_vector.data_movement.index_map_writer import BRANCHES, INDEX_MAP
from relax_mlir.lowering.tir_to_vector.data_movement.transposed import TRANSPOSE
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_kernel import NCHW_WINDOW
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nhwc_kernel import NHWC_WINDOW
from relax_mlir.lowering.tir_to_vector.init import split_data_inits
from relax_mlir.lowering.tir_to_vector.kernel_class import Final, KernelClass, Nests, Plan, Problem
from relax_mlir.lowering.tir_to_vector.reductions.indexed import INDEXED_REDUCTION
from relax_mlir.lowering.tir_to_vector.reductions.rewrites import (
    WIDENING,
    combine_bytes,
    split_quotients,
)
from relax_mlir.lowering.tir_to_vector.reductions.scan import SCAN
from relax_mlir.lowering.tir_to_vector.reductions.variadic import VARIADIC_REDUCTION
from relax_mlir.lowering.tir_to_vector.row_fusion.fusion import ROW_FUSION
from relax_mlir.lowering.tir_to_vector.row_fusion.row_parts import ROW_PARTS
from relax_mlir.lowering.tir_to_vector.scheduled.merged_loops import merge_loops
from relax_mlir.lowering.tir_to_vector.scheduled.products import regain_products
from relax_mlir.lowering.tir_to_vector.scheduled.program import is_scheduled
from relax_mlir.lowering.tir_to_vector.vector_nest import STRIDED_REDUCTION
from relax_mlir.lowering.tir_to_vector.window import split_paddings
from relax_mlir.lowering.tir_to_vector.winograd.kernel import WINOGRAD
from relax_mlir.lowering.walk import INNER_FIRST, named, names_below

# The most special first: the first class that matches plans the nests, and if none does, the reason
# of the last one is reported.
KERNEL_CLASSES = (
    ATTENTION,
    NCHW_WINDOW,
    NHWC_WINDOW,
    WINOGRAD,
    PACKED_CONVOLUTION,
    ROW_PARTS,
    INDEXED_REDUCTION,
    BRANCHES,
    SCAN,
    VARIADIC_REDUCTION,
    GEMM,
    COMPUTED_OPERANDS,
    CONVOLUTION,
    CONTRACTION,
    ROW_FUSION,
    TRANSPOSE,
    STRIDED_REDUCTION,
    INDEX_MAP,
)


def plan_function(func: ir.OpView, machine: Machine) -> list[Plan]:
    """Return the plans of a prim func's nests, in order."""
    with unchanged():
        plans: list[Plan] = []
        tops = list(top_level(func))
        while tops:
            plan = _plan(Nests(tops, machine))
            tops = tops[len(plan.tops) :]
            if not (plans and _joined(plans[-1], plan)):
                plans.append(plan)
        return plans


def prepare(func: ir.OpView, machine: Machine) -> None:
    """Rewrite nests to forms that kernel classes match: loops, inits, padding, quotients."""

    def is_fast(op: ir.Operation) -> bool:
        return _match_one(op, machine) is not None

    def is_product(op: ir.Operation) -> bool:
        problem = _match_one(op, machine)
        return problem is not None and isinstance(problem.form, Contraction)

    regain_products(func, is_fast, is_product)
    merge_loops(func, is_fast)
    split_data_inits(func)
    # Matching every nest takes longer than to see that there is nothing to rewrite.
    there = names_below(func.operation)
    if BRANCH in there:
        split_paddings(func)
    if not there.isdisjoint((*QUOTIENTS, *REMAINDERS)):
        split_quotients(func)
    if WIDENING in there:
        combine_bytes(func)


def matches(nests: Nests, one_nest: bool = False) -> Iterator[tuple[KernelClass, Problem | str]]:
    """Yield what each class says of some nests, up to a reason that holds for all later ones.

    With `one_nest` only classes of single nests are asked.
    """
    for kernel_class in KERNEL_CLASSES:
        if one_nest and not kernel_class.one_nest:
            continue
        result = kernel_class.match(nests)
        yield kernel_class, result
        if isinstance(result, Final):
            return


def _plan(nests: Nests) -> Plan:
    """Return the plan of the first nests."""
    top, reason = nests.tops[0], ""
    for kernel_class, result in matches(nests):
        if isinstance(result, Problem):
            tops = [nest.top for nest in result.nests]
            return Plan(tops, result.blocks, nests, kernel_class, result)
        reason = result
    nest = nests.opened if isinstance(nests.first, str) else nests.first
    if not isinstance(nest, str):
        blocks = [BlockInfo(nest.name, kind_of(nest), False, reason)]
    elif is_scheduled(top):
        blocks = [_slow(block, BY_HAND_REASON) for block in _blocks_in(top)]
    else:
        blocks = [_slow(block, reason) for block in _blocks_in(top)] or [WITHOUT_BLOCKS]
    return Plan([top], blocks, nests)


def _joined(before: Plan, plan: Plan) -> bool:
    """Join a plan to the one before, if their class can; returns whether it did."""
    kernel_class = before.kernel_class
    if kernel_class is None or kernel_class is not plan.kernel_class or kernel_class.join is None:
        return False
    problem = kernel_class.join(before.problem, plan.problem)
    if problem is None:
        return False
    before.tops += plan.tops
    before.blocks += plan.blocks
    before.problem = problem
    return True


def _match_one(op: ir.Operation, machine: Machine) -> Problem | None:
    """Return what the first class for single nests matches, None if no class does."""
    said = (result for _, result in matches(Nests([op], machine), one_nest=True))
    return next((result for result in said if isinstance(result, Problem)), None)


def _blocks_in(op: ir.Operation) -> list[ir.Operation]:
    """Return the blocks in an operation, inner ones first."""
    return named(op, ("tir.block",), INNER_FIRST)


def _slow(block: ir.Operation, reason: str) -> BlockInfo:
    kernel_class = declared_class(block)
    if kernel_class is not None:
        return BlockInfo(ir.StringAttr(block.attributes["block_name"]).value, kernel_class, True)
    kind = "reduction" if "reduction" in iter_types(block) else "opaque"
    return BlockInfo(ir.StringAttr(block.attributes["block_name"]).value, kind, False, reason)
