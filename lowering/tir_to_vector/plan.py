"""The plan of a prim func: the kernel class of each nest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector.analysis import (
    BY_HAND_REASON,
    WITHOUT_BLOCKS,
    BlockInfo,
    Nest,
    declared_class,
    is_adjacent,
    kind_of,
    match_nest,
    top_level,
    unchanged,
)
from relax_mlir.lowering.tir_to_vector.attention.kernel import emit_attention
from relax_mlir.lowering.tir_to_vector.attention.pattern import Attention, match_attention
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import Fused, take_epilogue
from relax_mlir.lowering.tir_to_vector.contraction.matrix_product import (
    is_matrix_product,
    is_sum_of_products,
)
from relax_mlir.lowering.tir_to_vector.contraction.packed_operands import match_packed_contraction
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.contraction.prologue import (
    Prologue,
    emit_prologue,
    match_prologue,
)
from relax_mlir.lowering.tir_to_vector.contraction.tall_skinny_gemm import emit_product
from relax_mlir.lowering.tir_to_vector.convolution.input_packing import (
    PackedConvolution,
    find_packed_convolution,
)
from relax_mlir.lowering.tir_to_vector.convolution.kernel import emit_convolution
from relax_mlir.lowering.tir_to_vector.convolution.pattern import (
    Convolution,
    find_convolution,
    match_convolution,
)
from relax_mlir.lowering.tir_to_vector.data_movement.gather import (
    Gather,
    GatherWriter,
    match_gather,
)
from relax_mlir.lowering.tir_to_vector.data_movement.index_map import (
    IndexMap,
    match_branches,
    match_index_map,
)
from relax_mlir.lowering.tir_to_vector.data_movement.index_map_writer import emit_index_map
from relax_mlir.lowering.tir_to_vector.data_movement.transposed import (
    TransposeWriter,
    transposed_iters,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_kernel import emit_nchw
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_pattern import (
    DepthwisePool,
    find_depthwise_pool,
    match_nchw,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nhwc_pattern import (
    NhwcDepthwisePool,
    match_nhwc,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nhwc_separable import emit_nhwc
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.padding import split_paddings
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest, NotFlat, collapse, flatten_nest
from relax_mlir.lowering.tir_to_vector.reductions.bool_reductions import combine_bytes
from relax_mlir.lowering.tir_to_vector.reductions.data_init import split_data_inits
from relax_mlir.lowering.tir_to_vector.reductions.scan import Scan, emit_scan, match_scan
from relax_mlir.lowering.tir_to_vector.reductions.split_quotients import split_quotients
from relax_mlir.lowering.tir_to_vector.reductions.strided import (
    StridedReduction,
    emit_strided,
    strided_iter,
)
from relax_mlir.lowering.tir_to_vector.reductions.variadic import VariadicReduction, match_variadic
from relax_mlir.lowering.tir_to_vector.reductions.variadic_writer import emit_variadic
from relax_mlir.lowering.tir_to_vector.row_fusion.fusion import emit_fused, shared_loops
from relax_mlir.lowering.tir_to_vector.row_fusion.row_parts import (
    RowParts,
    emit_row_parts,
    find_row_parts,
)
from relax_mlir.lowering.tir_to_vector.scheduled.merged_loops import merge_loops
from relax_mlir.lowering.tir_to_vector.scheduled.products import regain_products
from relax_mlir.lowering.tir_to_vector.scheduled.program import is_scheduled
from relax_mlir.lowering.tir_to_vector.vector_nest import vector_iter
from relax_mlir.lowering.tir_to_vector.winograd.kernel import emit_winograd
from relax_mlir.lowering.tir_to_vector.winograd.pattern import Winograd, find_winograd

Writer = Callable[[Emitter, Machine], None]


@dataclass
class Plan:
    """The plan of some adjacent operations.

    Attributes:
        tops: the operations that it replaces.
        blocks: the report on their blocks.
        write: writes the fast path; None for the generic lowering.
        form: the matched form, for `describe`.
    """

    tops: list[ir.Operation]
    blocks: list[BlockInfo]
    write: Writer | None = None
    form: "Form | None" = None


@dataclass
class Transpose:
    """A nest that reads along one iterator and writes along another."""

    flat: FlatNest
    along: tuple[int, int]


Single = Transpose | Scan | Gather | IndexMap | StridedReduction | VariadicReduction
Window = DepthwisePool | Winograd | Convolution
Form = RowParts | Window | Contraction | Attention | Single | list[FlatNest]


def plan_function(func: ir.OpView, machine: Machine) -> list[Plan]:
    """Return the plans of a prim func's nests, in order."""
    with unchanged():
        return _plans(func, machine)


def _plans(func: ir.OpView, machine: Machine) -> list[Plan]:
    plans: list[Plan] = []
    group: list[tuple[Nest, FlatNest]] = []
    tops = list(top_level(func))
    taken = 0
    for position, op in enumerate(tops):
        if position < taken:
            continue
        joint = _match_several_nests(tops[position:], machine)
        if joint is not None:
            if group:
                plans.append(_fused(group))
                group = []
            plans.append(joint)
            taken = position + len(joint.tops)
            continue
        nest = match_nest(op)
        if isinstance(nest, str):
            nest = _nest_with_branches(op) or nest
            form = nest if isinstance(nest, str) else match_branches(nest)
        else:
            form = _fast_form(nest, machine)
        if isinstance(nest, Nest) and isinstance(form, FlatNest):
            if group and not (
                is_adjacent(group[-1][0].top, op)
                and shared_loops([flat for _, flat in group] + [form])
            ):
                plans.append(_fused(group))
                group = []
            group.append((nest, form))
            continue
        if group:
            plans.append(_fused(group))
            group = []
        if isinstance(nest, str):
            reason = BY_HAND_REASON if is_scheduled(op) else nest
            plans.append(Plan([op], [_slow(block, reason) for block in _blocks_in(op)]))
            if not plans[-1].blocks and not is_scheduled(op):
                plans[-1].blocks.append(WITHOUT_BLOCKS)
        elif isinstance(form, Convolution):
            window, followers = find_convolution(nest, tops[position + 1 :], machine) or (form, [])
            plans.append(_convolution([nest, *followers], window))
            taken = position + 1 + len(followers)
        elif isinstance(form, Contraction):
            fused = take_epilogue(nest, tops[position + 1 :], machine)
            plans.append(_contraction(nest, form, fused))
            taken = position + 1 + (0 if fused is None else len(fused.followers))
        elif isinstance(form, Prologue):
            plans.append(_prologue(nest, form))
        elif isinstance(form, Transpose):
            plans.append(_transpose(nest, form))
        elif isinstance(form, Gather):
            plans.append(_gather(nest, form))
        elif isinstance(form, (StridedReduction, VariadicReduction)):
            plans.append(_strided(nest, form))
        elif isinstance(form, (Scan, IndexMap)):
            kind = "scatter" if isinstance(form, IndexMap) and form.ordered else kind_of(nest)
            info = BlockInfo(nest.name, kind, True)
            write = emit_scan(form) if isinstance(form, Scan) else emit_index_map(form)
            plans.append(Plan([nest.top], [info], write, form))
        elif isinstance(form, str):
            plans.append(Plan([op], [BlockInfo(nest.name, kind_of(nest), False, form)]))
    if group:
        plans.append(_fused(group))
    return plans


def prepare(func: ir.OpView, machine: Machine) -> None:
    """Rewrite nests to forms that kernel classes match: loops, inits, padding, quotients."""
    regain_products(func, lambda op: _is_fast(op, machine), lambda op: _is_product(op, machine))
    merge_loops(func, lambda op: _is_fast(op, machine))
    split_data_inits(func)
    split_paddings(func)
    split_quotients(func)
    combine_bytes(func)


def _is_fast(op: ir.Operation, machine: Machine) -> bool:
    nest = match_nest(op)
    if isinstance(nest, Nest):
        return not isinstance(_fast_form(nest, machine), str)
    branches = _nest_with_branches(op)
    return branches is not None and not isinstance(match_branches(branches), str)


def _is_product(op: ir.Operation, machine: Machine) -> bool:
    nest = match_nest(op)
    return isinstance(nest, Nest) and isinstance(_fast_form(nest, machine), Contraction)


def classify(func: ir.OpView, target: str | Target = "") -> list[BlockInfo]:
    """Return the class of each block of a prim func, and whether it has a fast path.

    Args:
        func: the prim func.
        target: what for; by default the current one.
    """
    machine = Machine.of(Target(target) if target else Target.default())
    # A copy: `prepare` rewrites it.
    copy = func.operation.clone(ip=False).operation.opview
    prepare(copy, machine)
    plans = plan_function(copy, machine)
    return [info for plan in plans for info in plan.blocks]


def _match_several_nests(tops: Sequence[ir.Operation], machine: Machine) -> Plan | None:
    """Return the plan of a class that takes several nests together, None if there is none."""
    attention = match_attention(tops, machine)
    if attention is not None:
        return _attention(attention)
    window = find_depthwise_pool(tops, machine, (match_nchw, match_nhwc))
    if window is not None:
        return _depthwise_pool(window)
    winograd = find_winograd(tops)
    if winograd is not None and winograd.note is not None:
        return _winograd(winograd, machine)
    copied = find_packed_convolution(tops, machine)
    if copied is not None:
        return _packed_convolution(copied)
    parts = find_row_parts(tops)
    return None if parts is None else _row_parts(parts)


def _fast_form(
    nest: Nest, machine: Machine
) -> "Convolution | Contraction | Prologue | FlatNest | Single | str":
    if "scan" in nest.types:
        return match_scan(nest)
    if len(nest.stores) > 1 and "reduction" in nest.types:
        return match_variadic(nest)
    try:
        flat = flatten_nest(nest)
    except NotFlat as why:
        gather = match_gather(nest)
        if isinstance(gather, Gather):
            return gather
        form = match_index_map(nest)
        return form if isinstance(form, IndexMap) else str(why)
    merged = collapse(flat)
    form = match_packed_contraction(merged, machine)
    if isinstance(form, Contraction) and (
        is_matrix_product(form, machine) or is_sum_of_products(form, machine)
    ):
        return form
    if isinstance(form, str):
        computed = match_prologue(merged, machine)
        if computed is not None:
            return computed
    window = match_convolution(merged, machine)
    if isinstance(window, Convolution):
        return window
    if isinstance(form, Contraction) and machine.lanes(form.element) is not None:
        return form
    if not isinstance(vector_iter(merged), str):
        return flat
    along = transposed_iters(merged)
    if not isinstance(along, str):
        return Transpose(merged, along)
    if merged.total is not None:
        vector = strided_iter(merged)
        return along if vector is None else StridedReduction(merged, vector)
    mapped = match_index_map(nest)
    return mapped if isinstance(mapped, IndexMap) else along


def _nest_with_branches(op: ir.Operation) -> Nest | None:
    """Return a nest whose block has branches with a vector form."""
    nest = match_nest(op, branches=True)
    return None if isinstance(nest, str) else nest


def _fused(group: list[tuple[Nest, FlatNest]]) -> Plan:
    flats = [flat for _, flat in group]
    count = shared_loops(flats) if len(flats) > 1 else 0
    return Plan(
        [nest.top for nest, _ in group],
        [BlockInfo(nest.name, kind_of(nest), True) for nest, _ in group],
        lambda emit, machine: emit_fused(flats, count, emit, machine),
        flats,
    )


def _contraction(nest: Nest, form: Contraction, fused: Fused | None) -> Plan:
    """Plan a contraction with its epilogue."""
    epilogue = None
    nests = [nest]
    if fused is not None:
        form, epilogue = fused.contraction, fused.epilogue
        nests += fused.followers
    kinds = ["contraction", *(kind_of(follower) for follower in nests[1:])]
    return Plan(
        [each.top for each in nests],
        [BlockInfo(each.name, kind, True) for each, kind in zip(nests, kinds, strict=True)],
        lambda emit, machine: emit_product(form, emit, machine, epilogue),
        form,
    )


def _prologue(nest: Nest, form: Prologue) -> Plan:
    return Plan(
        [nest.top],
        [BlockInfo(nest.name, "contraction", True)],
        lambda emit, machine: emit_prologue(form, emit, machine),
        form.product,
    )


def _attention(form: Attention) -> Plan:
    return Plan(
        [nest.top for nest in form.nests],
        [BlockInfo(nest.name, "attention", True) for nest in form.nests],
        lambda emit, machine: emit_attention(form, emit, machine),
        form,
    )


def _row_parts(form: RowParts) -> Plan:
    infos = [BlockInfo(nest.name, kind_of(nest), True) for nest in form.nests]
    return Plan([nest.top for nest in form.nests], infos, emit_row_parts(form), form)


def _convolution(nests: list[Nest], form: Convolution) -> Plan:
    return _window(nests, form, lambda emit, machine: emit_convolution(form, emit, machine))


def _depthwise_pool(form: DepthwisePool) -> Plan:
    def write(emit: Emitter, machine: Machine) -> None:
        if isinstance(form, NhwcDepthwisePool):
            emit_nhwc(form, emit, machine)
        else:
            emit_nchw(form, emit, machine)

    return _window(form.nests, form, write)


def _packed_convolution(copied: PackedConvolution) -> Plan:
    form = copied.conv

    def write(emit: Emitter, machine: Machine) -> None:
        emit_convolution(form, emit, machine, copied)

    return _window(copied.nests, form, write)


def _winograd(form: Winograd, machine: Machine) -> Plan | None:
    """Plan a convolution with transformed weights; None if it is none."""
    tops = [nest.top for nest in form.nests]
    copied = find_packed_convolution(tops, machine)
    if copied is not None:
        direct, nests = copied.conv, copied.nests
    else:
        window = find_convolution(form.flat.nest, tops[1:], machine)
        if window is None:
            return None
        direct, nests = window[0], [form.flat.nest, *window[1]]
    if [nest.top for nest in nests] != tops:
        return None

    def sums(emit: Emitter, machine: Machine) -> None:
        emit_convolution(direct, emit, machine, copied, is_cold=True)

    def write(emit: Emitter, machine: Machine) -> None:
        emit_winograd(form, emit, machine, sums)

    return _window(form.nests, form, write)


def _window(nests: list[Nest], form: Window, write: Writer) -> Plan:
    main = form.flat.nest
    infos = [
        BlockInfo(nest.name, "window" if nest is main else kind_of(nest), True) for nest in nests
    ]
    return Plan([nest.top for nest in nests], infos, write, form)


def _transpose(nest: Nest, form: Transpose) -> Plan:
    return Plan(
        [nest.top],
        [BlockInfo(nest.name, kind_of(nest), True)],
        lambda emit, machine: TransposeWriter(form.flat, form.along, emit, machine).write([]),
        form,
    )


def _gather(nest: Nest, form: Gather) -> Plan:
    return Plan(
        [nest.top],
        [BlockInfo(nest.name, kind_of(nest), True)],
        lambda emit, machine: GatherWriter(form, emit, machine).write([]),
        form,
    )


def _strided(nest: Nest, form: StridedReduction | VariadicReduction) -> Plan:
    def write(emit: Emitter, machine: Machine) -> None:
        if isinstance(form, VariadicReduction):
            emit_variadic(form, emit, machine)
        else:
            emit_strided(form, emit, machine)

    return Plan([nest.top], [BlockInfo(nest.name, kind_of(nest), True)], write, form)


def _blocks_in(op: ir.Operation) -> list[ir.Operation]:
    blocks: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == "tir.block":
            blocks.append(inner)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return blocks


def _slow(block: ir.Operation, reason: str) -> BlockInfo:
    kernel_class = declared_class(block)
    if kernel_class is not None:
        return BlockInfo(ir.StringAttr(block.attributes["block_name"]).value, kernel_class, True)
    types = [ir.StringAttr(kind).value for kind in block.attributes["iter_types"]]
    kind = "reduction" if "reduction" in types else "opaque"
    return BlockInfo(ir.StringAttr(block.attributes["block_name"]).value, kind, False, reason)
