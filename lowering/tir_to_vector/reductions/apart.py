"""Lanes whose elements lie apart: every so manieth, backwards, or one by one."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# With a larger step most of a vector is not wanted: elements are loaded one by one.
_MOST_STEP = 4


def apart_iter(
    flat: FlatNest, stores: Sequence[ir.Operation] = (), *, results: bool = False
) -> int | None:
    """Return the iterator whose steps become lanes of a reduction, though it reads them apart.

    Args:
        flat: the reduction.
        stores: what it stores, where that is more than one value.
        results: whether lanes have to be results.
    """
    written = [flat.accesses[op] for op in stores or [flat.store]]
    loads = [flat.accesses[op] for op in flat.slice if op in flat.accesses]
    found: list[tuple[bool, bool, int]] = []
    for position, it in enumerate(flat.iters):
        if not it.reduction and any(access.strides[position] != 1 for access in written):
            continue
        if it.reduction and not any(access.strides[position] != 0 for access in loads):
            continue
        near = all(_is_near(access, position) for access in loads)
        # Results whose elements lie in rows far apart evict each other's lines.
        if results and (it.reduction or not near):
            continue
        found.append((near, not it.reduction, position))
    return max(found)[2] if found else None


def _is_near(access: FlatAccess, position: int) -> bool:
    return access.strides[position].value in range(-1, _MOST_STEP + 1)


def load_apart(
    emit: Emitter, base: ir.Value, place: Index, stride: SymExpr, lanes: int, width: int
) -> ir.Value:
    """Load elements that lie apart.

    Args:
        emit: where to write.
        base: the buffer, of one dimension.
        place: of the first element.
        stride: from each element to the next, neither 0 nor 1.
        lanes: how many.
        width: how many of them a register holds.
    """
    step = stride.value
    type_ = ir.VectorType.get([min(lanes, width)], base.type.element_type)
    parts: list[ir.Value] = []
    for first in range(0, lanes, width):
        here = emit.add(place, emit.mul(emit.size(stride), first))
        if step == -1:
            parts.append(_backwards(emit, base, here, type_))
        elif step is not None and 1 < step <= _MOST_STEP:
            parts.append(load_stepped(emit, base, here, type_, step))
        else:
            parts.append(_one_by_one(emit, base, here, type_, emit.size(stride)))
    return _joined(emit, parts)


def _backwards(emit: Emitter, base: ir.Value, place: Index, type_: ir.VectorType) -> ir.Value:
    lanes = type_.shape[0]
    read = emit.vector_load(base, [emit.sub(place, lanes - 1)], type_)
    return emit.shuffle(read, read, list(reversed(range(lanes))))


def load_stepped(
    emit: Emitter, base: ir.Value, place: Index, type_: ir.VectorType, step: int
) -> ir.Value:
    """Load every so manieth element: whole vectors, of the last what is surely there."""
    lanes = type_.shape[0]
    result = None
    for number in range(step):
        here = range(number * lanes, (number + 1) * lanes)
        last = number == step - 1
        mask = emit.mask(lanes - (step - 1), lanes) if last else None
        part = emit.vector_load(base, [emit.add(place, number * lanes)], type_, mask)
        if result is None:
            result = emit.shuffle(part, part, [min(i * step, lanes - 1) for i in range(lanes)])
            continue
        picks = [lanes + i * step - here.start if i * step in here else i for i in range(lanes)]
        result = emit.shuffle(result, part, picks)
    assert result is not None
    return result


def _one_by_one(
    emit: Emitter, base: ir.Value, place: Index, type_: ir.VectorType, stride: Index
) -> ir.Value:
    result = emit.constant(type_, 0)
    for lane in range(type_.shape[0]):
        single = emit.load(base, [emit.add(place, emit.mul(stride, lane))])
        result = emit.insert(single, result, lane)
    return result


def _joined(emit: Emitter, parts: list[ir.Value]) -> ir.Value:
    """Return vectors of one length, a power of two of them, as one."""
    while len(parts) > 1:
        lanes = list(range(2 * parts[0].type.shape[0]))
        parts = [emit.shuffle(a, b, lanes) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]
