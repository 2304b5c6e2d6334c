"""Shuffles of lanes: register transposes, horizontal sums, lanes picked from several vectors."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter, add
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Shuffles inside this many bits are fastest, and exist for all sizes of elements.
_LANE_BITS = 128
# Shorter vectors have few shuffles.
_MIN_OPAQUE_BITS = 256
# Lanes of partial sums: of which vector, and which of its lanes each is.
_Lanes = list[tuple[int, int]]
# Shuffles in sequence that LLVM may combine: its search doubles with each.
_SEEN = 2


def transpose_tile(emit: Emitter, vectors: list[ir.Value]) -> list[ir.Value]:
    """Return the transpose of a square of vectors.

    Squares in 128-bit lanes are transposed by interleaving; then larger blocks off the diagonal are
    swapped, size by size. Vectors that are longer by a factor are several squares side by side.
    """
    height, lanes = len(vectors), vectors[0].type.shape[0]
    element = vectors[0].type.element_type
    bits = 64 if isinstance(element, ir.IndexType) else element.width
    small = max(1, min(height, _LANE_BITS // bits, lanes))
    can_be_opaque = (
        emit.isa.assembly is not None and _MIN_OPAQUE_BITS <= lanes * bits <= emit.isa.vector_bits
    )
    width, seen = 1, 0
    while width < height:
        if can_be_opaque and seen == _SEEN:
            vectors, seen = [emit.opaque(value) for value in vectors], 0
        vectors = (
            _interleave(emit, vectors, small) if width < small else _swap(emit, vectors, width)
        )
        width, seen = 2 * width, seen + 1
    return vectors


def _interleave(emit: Emitter, vectors: list[ir.Value], group: int) -> list[ir.Value]:
    """Interleave the halves of a group, in each 128-bit piece; log2(group) times is a transpose."""
    lanes, half = vectors[0].type.shape[0], group // 2
    low = [
        i for at in range(0, lanes, group) for k in range(half) for i in (at + k, lanes + at + k)
    ]
    result = []
    for first in range(0, len(vectors), group):
        for i in range(first, first + half):
            pair = (vectors[i], vectors[i + half])
            result.append(emit.shuffle(*pair, low))
            result.append(emit.shuffle(*pair, [lane + half for lane in low]))
    return result


def _swap(emit: Emitter, vectors: list[ir.Value], width: int) -> list[ir.Value]:
    """Swap the blocks off the diagonal of squares of twice a width."""
    lanes = vectors[0].type.shape[0]
    low = [i if not i & width else lanes + i - width for i in range(lanes)]
    high = [i + width if not i & width else lanes + i for i in range(lanes)]
    result = list(vectors)
    for i in range(len(vectors)):
        if not i & width:
            pair = (vectors[i], vectors[i + width])
            result[i] = emit.shuffle(*pair, low)
            result[i + width] = emit.shuffle(*pair, high)
    return result


def join(emit: Emitter, vectors: list[ir.Value]) -> ir.Value:
    """Concatenate vectors; their number is a power of two."""
    while len(vectors) > 1:
        both = range(2 * vectors[0].type.shape[0])
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [emit.shuffle(*pair, both) for pair in pairs]
    return vectors[0]


def pick_lanes(
    emit: Emitter, vectors: Sequence[ir.Value], picks: Sequence[tuple[int, int] | None]
) -> ir.Value:
    """Return a vector of lanes of other vectors, which are of one type.

    `picks` are for each lane the vector's number and its lane, None for undefined lanes.
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
    """Return every n-th lane of the concatenation of n vectors."""
    step, lanes = len(vectors), vectors[0].type.shape[0]
    return pick_lanes(emit, vectors, [divmod(i * step + first, lanes) for i in range(lanes)])


def horizontal_sums(emit: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the horizontal sum of each of some vectors of one type.

    Two vectors become one of sums of halves, and so on: a quarter of the instructions of one vector
    after the other. The order of a sum is that of a single vector.
    """
    lanes = values[0].type.shape[0]
    most = 1 << (min(len(values), lanes).bit_length() - 1)
    value, places = sums_in_lanes(emit, values[:most])
    made = [emit.extract(value, place) for place in places]
    return made if most == len(values) else made + horizontal_sums(emit, values[most:])


def sums_in_lanes(emit: Emitter, values: Sequence[ir.Value]) -> tuple[ir.Value, list[int]]:
    """Return a vector of the horizontal sums of others, and the lane of each sum.

    The vectors are a power of two, at most as many as lanes.
    """
    group = values[0].type.shape[0]
    block = max(1, _LANE_BITS // values[0].type.element_type.width)
    held: list[tuple[ir.Value, _Lanes]] = [
        (value, [(number, lane) for lane in range(group)]) for number, value in enumerate(values)
    ]
    while group > 1:
        step = min(2, len(held))
        held = [_halved(emit, held[i : i + step], group, block) for i in range(0, len(held), step)]
        group //= 2
    ((value, lanes),) = held
    numbers = [number for number, _ in lanes]
    return value, [numbers.index(number) for number in range(len(values))]


def _halved(
    emit: Emitter, pair: Sequence[tuple[ir.Value, _Lanes]], group: int, block: int
) -> tuple[ir.Value, _Lanes]:
    """Add the second half of each partial sum of one vector or two to the first."""
    count = len(pair[0][1])
    # Blocks of at most 128 bits interleave both vectors; larger ones follow each other.
    size = block if group <= block and len(pair) > 1 else count
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
    first, second = (emit.shuffle(pair[0][0], pair[-1][0], half) for half in halves)
    return add(emit, first, second), lanes


# The maximal stride of whole vectors: with larger ones a gather, or single loads, are as good.
MAX_STEP = 4


def load_strided(
    emit: Emitter, base: ir.Value, place: Index, stride: Index, lanes: int, width: int
) -> ir.Value:
    """Load elements at a stride that is neither 0 nor 1; `width` are the lanes of a register."""
    type_ = ir.VectorType.get([min(lanes, width)], base.type.element_type)
    parts: list[ir.Value] = []
    for first in range(0, lanes, width):
        here = place + stride * first
        if stride == -1:
            parts.append(load_backwards(emit, base, here, type_))
        elif isinstance(stride, int) and 1 < stride <= MAX_STEP:
            parts.append(load_stepped(emit, base, here, type_, stride))
        else:
            parts.append(_one_by_one(emit, base, here, type_, stride))
    return join(emit, parts)


def load_backwards(
    emit: Emitter, base: ir.Value, place: Index, type_: ir.VectorType, mask: ir.Value | None = None
) -> ir.Value:
    """Load elements from a place downwards; masked-off lanes are not touched."""
    back = list(reversed(range(type_.shape[0])))
    if mask is not None:
        mask = emit.shuffle(mask, mask, back)
    read = emit.vector_load(base, [place - back[0]], type_, mask)
    return emit.shuffle(read, read, back)


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
