"""Picking lanes of several vectors for one."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter


def pick_lanes(
    emit: Emitter, vectors: Sequence[ir.Value], picks: Sequence[tuple[int, int] | None]
) -> ir.Value:
    """Return a vector of elements of others.

    Args:
        emit: where to write.
        vectors: what is picked from, all of one type.
        picks: for each lane the vector's number and the lane there, None where anything will do.
    """
    lanes = vectors[0].type.shape[0]
    used = sorted({pick[0] for pick in picks if pick is not None})
    first = used[0] if used else 0
    result = vectors[first]
    # Where each lane is in the result so far.
    if len(used) <= 1:
        places = [lane if pick is None else pick[1] for lane, pick in enumerate(picks)]
        if places == list(range(lanes)):
            return result
        return emit.shuffle(result, result, places)
    done = [pick[1] if pick and pick[0] == first else None for pick in picks]
    for number in used[1:]:
        now: list[int] = []
        for lane, pick in enumerate(picks):
            if pick is not None and pick[0] == number:
                now.append(lanes + pick[1])
            else:
                before = done[lane]
                now.append(lane if before is None else before)
        result = emit.shuffle(result, vectors[number], now)
        done = list(range(lanes))
    return result


def every_nth(emit: Emitter, vectors: list[ir.Value], first: int) -> ir.Value:
    """Return one of every so many elements of vectors that lie one after the other."""
    step, lanes = len(vectors), vectors[0].type.shape[0]
    return pick_lanes(emit, vectors, [divmod(i * step + first, lanes) for i in range(lanes)])
