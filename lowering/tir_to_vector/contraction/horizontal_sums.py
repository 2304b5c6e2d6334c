"""Totals of the lanes of several vectors at once: each is added up halves first."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import add
from relax_mlir.lowering.tir_to_vector.emit import Emitter

# Lanes in so many bits of two vectors are exchanged in less time than others.
_SHUFFLE_BITS = 128
# A lane: of which vector, and which of the lanes of that one.
_Lanes = list[tuple[int, int]]


def horizontal_sums(emit: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the total of each of some vectors of one type.

    Two vectors become one of the sums of their halves, and so on: that takes a quarter of the
    instructions that vector after vector would. The order of a sum is that of one vector alone.
    """
    lanes = values[0].type.shape[0]
    most = 1 << (min(len(values), lanes).bit_length() - 1)
    made = _together(emit, values[:most])
    return made if most == len(values) else made + horizontal_sums(emit, values[most:])


def _together(emit: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the totals of a power of two of vectors, not more than each has lanes."""
    group = values[0].type.shape[0]
    near = max(1, _SHUFFLE_BITS // values[0].type.element_type.width)
    held: list[tuple[ir.Value, _Lanes]] = [
        (value, [(number, lane) for lane in range(group)]) for number, value in enumerate(values)
    ]
    while group > 1:
        if len(held) > 1:
            pairs = zip(held[::2], held[1::2], strict=True)
            held = [_halved(emit, x, y, group, near) for x, y in pairs]
        else:
            held = [_halved(emit, held[0], None, group, near)]
        group //= 2
    ((value, lanes),) = held
    places = {number: place for place, (number, _) in enumerate(lanes)}
    return [emit.extract(value, places[number]) for number in range(len(values))]


def _halved(
    emit: Emitter, x: tuple[ir.Value, _Lanes], y: tuple[ir.Value, _Lanes] | None, group: int,
    near: int,
) -> tuple[ir.Value, _Lanes]:  # fmt: skip
    """Add the second half of what is left of each total to the first."""
    sides = [x] if y is None else [x, y]
    count = len(x[1])
    # Blocks of lanes that are near take theirs from both vectors, larger ones one after the other.
    size = near if group <= near and y is not None else count
    halves: tuple[list[int], list[int]] = ([], [])
    lanes: _Lanes = []
    for start in range(0, count, size):
        for number, (_, held) in enumerate(sides):
            for place in range(start, start + size):
                which, lane = held[place]
                high = lane >= group // 2
                halves[high].append(number * count + place)
                if not high:
                    lanes.append((which, lane))
    first, second = (emit.shuffle(x[0], sides[-1][0], half) for half in halves)
    return add(emit, first, second), lanes
