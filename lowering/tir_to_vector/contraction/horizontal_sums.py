"""Horizontal sums of several vectors at once."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.fma import add

# Shuffles inside this many bits are faster than others.
_SHUFFLE_BITS = 128
# A lane: of which vector, and which of the lanes of that one.
_Lanes = list[tuple[int, int]]


def horizontal_sums(emit: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the horizontal sum of each of some vectors of one type.

    Two vectors become one of sums of halves, and so on: a quarter of the instructions of one vector
    after the other. The order of a sum is that of a single vector.
    """
    lanes = values[0].type.shape[0]
    most = 1 << (min(len(values), lanes).bit_length() - 1)
    made = _together(emit, values[:most])
    return made if most == len(values) else made + horizontal_sums(emit, values[most:])


def _together(emit: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the sums of a power of two of vectors, at most as many as lanes."""
    group = values[0].type.shape[0]
    block = max(1, _SHUFFLE_BITS // values[0].type.element_type.width)
    held: list[tuple[ir.Value, _Lanes]] = [
        (value, [(number, lane) for lane in range(group)]) for number, value in enumerate(values)
    ]
    while group > 1:
        if len(held) > 1:
            pairs = zip(held[::2], held[1::2], strict=True)
            held = [_halved(emit, x, y, group, block) for x, y in pairs]
        else:
            held = [_halved(emit, held[0], None, group, block)]
        group //= 2
    ((value, lanes),) = held
    places = {number: place for place, (number, _) in enumerate(lanes)}
    return [emit.extract(value, places[number]) for number in range(len(values))]


def _halved(
    emit: Emitter, x: tuple[ir.Value, _Lanes], y: tuple[ir.Value, _Lanes] | None, group: int,
    block: int,
) -> tuple[ir.Value, _Lanes]:  # fmt: skip
    """Add the second half of each partial sum to the first."""
    pair = [x] if y is None else [x, y]
    count = len(x[1])
    # Blocks of at most 128 bits interleave both vectors; larger ones follow each other.
    size = block if group <= block and y is not None else count
    halves: tuple[list[int], list[int]] = ([], [])
    lanes: _Lanes = []
    for start in range(0, count, size):
        for number, (_, held) in enumerate(pair):
            for place in range(start, start + size):
                which, lane = held[place]
                high = lane >= group // 2
                halves[high].append(number * count + place)
                if not high:
                    lanes.append((which, lane))
    first, second = (emit.shuffle(x[0], pair[-1][0], half) for half in halves)
    return add(emit, first, second), lanes
