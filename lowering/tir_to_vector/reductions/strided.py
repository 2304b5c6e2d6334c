"""Strided reductions: lanes load every n-th element, backwards, or one by one."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.kernel_class import NestForm, Nests, one_nest
from relax_mlir.lowering.tir_to_vector.nest_elements import Lanes
from relax_mlir.lowering.tir_to_vector.shuffles import every_nth, join
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter

# With a larger stride elements are loaded one by one.
_MAX_STEP = 4


def strided_iter(
    flat: FlatNest, stores: Sequence[ir.Operation] = (), *, results: bool = False
) -> int | None:
    """Return the iterator whose steps become lanes of a reduction with strided loads.

    `stores` are those of a variadic reduction; with `results`, lanes have to be results.
    """
    written = [flat.accesses[op] for op in stores or [flat.store]]
    loads = [flat.accesses[op] for op in flat.slice if op in flat.accesses]
    reduction: list[tuple[bool, bool, int]] = []
    for position, it in enumerate(flat.iters):
        if not it.reduction and any(access.strides[position] != 1 for access in written):
            continue
        if it.reduction and not any(access.strides[position] != 0 for access in loads):
            continue
        near = all(_is_near(access, position) for access in loads)
        # Results in distant rows have cache set conflicts.
        if results and (it.reduction or not near):
            continue
        reduction.append((near, not it.reduction, position))
    return max(reduction)[2] if reduction else None


def _is_near(access: FlatAccess, position: int) -> bool:
    return access.strides[position].value in range(-1, _MAX_STEP + 1)


def load_strided(
    emit: Emitter, base: ir.Value, place: Index, stride: SymExpr, lanes: int, width: int
) -> ir.Value:
    """Load elements at a stride that is neither 0 nor 1; `width` are the lanes of a register."""
    step = stride.value
    type_ = ir.VectorType.get([min(lanes, width)], base.type.element_type)
    parts: list[ir.Value] = []
    for first in range(0, lanes, width):
        here = place + emit.size(stride) * first
        if step == -1:
            parts.append(_backwards(emit, base, here, type_))
        elif step is not None and 1 < step <= _MAX_STEP:
            parts.append(load_stepped(emit, base, here, type_, step))
        else:
            parts.append(_one_by_one(emit, base, here, type_, emit.size(stride)))
    return join(emit, parts)


def _backwards(emit: Emitter, base: ir.Value, place: Index, type_: ir.VectorType) -> ir.Value:
    lanes = type_.shape[0]
    read = emit.vector_load(base, [place - (lanes - 1)], type_)
    return emit.shuffle(read, read, list(reversed(range(lanes))))


def load_stepped(
    emit: Emitter, base: ir.Value, place: Index, type_: ir.VectorType, step: int
) -> ir.Value:
    """Load every n-th element: whole vectors, the last with a mask."""
    lanes = type_.shape[0]
    mask = emit.mask(lanes - (step - 1), lanes)
    parts = [
        emit.vector_load(
            base, [place + number * lanes], type_, mask if number == step - 1 else None
        )
        for number in range(step)
    ]
    return every_nth(emit, parts, 0)


def _one_by_one(
    emit: Emitter, base: ir.Value, place: Index, type_: ir.VectorType, stride: Index
) -> ir.Value:
    result = emit.constant(type_, 0)
    for lane in range(type_.shape[0]):
        single = emit.load(base, [place + stride * lane])
        result = emit.insert(single, result, lane)
    return result


class StridedWriter(NestWriter):
    """Writes a nest with strided lanes."""

    def __init__(self, flat: FlatNest, vector: int | None, emit: Emitter) -> None:
        super().__init__(flat, vector, emit)
        if vector is not None:
            loads = [flat.accesses[op] for op in flat.slice if op in flat.accesses]
            self.masked &= all(load.strides[vector] in (0, 1) for load in loads)

    def _address(self, op: ir.Operation, lanes: Lanes) -> tuple[Index, bool]:
        place, walks = super()._address(op, lanes)
        if walks or self.vector is None:
            return place, walks
        by = self.emit.size(self.flat.accesses[op].strides[self.vector])
        return place + lanes.at * by, False

    def _get(self, op: ir.Operation, lanes: Lanes) -> ir.Value:
        stride = None if self.vector is None else self.flat.accesses[op].strides[self.vector]
        if lanes.count == 1 or stride is None or stride in (0, 1):
            return super()._get(op, lanes)
        place, _ = self._address(op, lanes)
        return load_strided(self.emit, self.bases[op], place, stride, lanes.count, self.lanes)


def _match_first(nests: Nests) -> NestForm | str:
    flat = nests.merged
    if isinstance(flat, str) or flat.total is None:
        return flat if isinstance(flat, str) else "it reduces nothing"
    vector = strided_iter(flat)
    return "its loads have no iterator of lanes" if vector is None else NestForm(flat, vector)


STRIDED_REDUCTION = one_nest(
    "reduction of strided elements",
    _match_first,
    lambda form, emit: StridedWriter(form.flat, form.along, emit).write([]),
)
