"""The plan of each nest of a prim func, as text for `--report`."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.pattern import Attention
from relax_mlir.lowering.tir_to_vector.contraction.matrix_product import product_tile
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import VECTORS
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.contraction.tall_skinny_gemm import is_tall_skinny
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution
from relax_mlir.lowering.tir_to_vector.convolution.tiles import tiles_of
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.plan import Plan, Transpose
from relax_mlir.lowering.tir_to_vector.slow_kernels import is_small
from relax_mlir.lowering.tir_to_vector.winograd.pattern import Winograd
from relax_mlir.lowering.tir_to_vector.winograd.sizes import block_sizes


@dataclass(frozen=True)
class NestPlan:
    """The plan of blocks that are lowered together.

    Attributes:
        blocks: their names.
        kinds: their classes, as `BlockInfo` has them.
        tile: elements in registers at a time, such as `12x32` (rows by columns), and the Winograd
            tile, if any.
        vector: the vector type, such as `16 x f32`; empty for plain loops.
        reason: why there is no fast path; empty if there is one, or next to nothing to do.
    """

    blocks: tuple[str, ...]
    kinds: tuple[str, ...]
    tile: str = ""
    vector: str = ""
    reason: str = ""


def describe(plan: Plan, machine: Machine) -> NestPlan:
    """Return the description of a plan."""
    names = tuple(info.name for info in plan.blocks)
    # What is fast is a map, also where it writes only a part: padding, a copy into a whole.
    kinds = tuple(
        dict.fromkeys(
            "injective" if info.fast and info.kind == "opaque" else info.kind
            for info in plan.blocks
        )
    )
    reason = "; ".join(dict.fromkeys(info.reason for info in plan.blocks if info.reason))
    if plan.write is None or plan.form is None:
        return NestPlan(names, kinds, reason="" if is_small(plan) else reason)
    element = _element(plan)
    lanes = machine.lanes(element)
    if lanes is None:
        return NestPlan(names, kinds, reason=reason)
    tile = "x".join(map(str, _tile(plan, machine, lanes)))
    if isinstance(plan.form, Winograd) and plan.form.note is not None:
        outputs, *_ = plan.form.note
        tile = f"{tile} of Winograd {outputs}x{outputs}"
    return NestPlan(names, kinds, tile, f"{lanes} x {element}", reason)


def _element(plan: Plan) -> ir.Type:
    form = plan.form
    if isinstance(form, Transpose):
        return form.flat.accesses[form.flat.store].buffer.type.element_type
    if isinstance(form, list):
        return form[-1].accesses[form[-1].store].buffer.type.element_type
    assert form is not None
    return form.element


def _tile(plan: Plan, machine: Machine, lanes: int) -> tuple[int, ...]:
    form, most = plan.form, machine.row_tiles[0]
    if isinstance(form, Contraction):
        if is_tall_skinny(form, machine):
            return (1, lanes)
        rows = 1 if form.m is None else _known(form.flat, form.m)
        tile = product_tile(form, machine)
        return (tile.rows if rows is None else min(tile.rows, rows), tile.vectors * lanes)
    if isinstance(form, Attention):
        rows = form.rows.value
        return (most if rows is None else max(1, min(most, rows)), VECTORS * lanes)
    if isinstance(form, Convolution):
        sizes = tiles_of(form, machine)
        return (sizes.rows[0] * sizes.cols[0], sizes.blocks[0] * lanes)
    if isinstance(form, Winograd) and form.note is not None:
        outputs, panel, _ = form.note
        return (block_sizes(form, machine, outputs, panel).rows, panel)
    if isinstance(form, Transpose):
        return (lanes, lanes)
    return (lanes,)


def _known(flat: FlatNest, position: int) -> int | None:
    extent: SymExpr = flat.iters[position].extent
    return extent.value
