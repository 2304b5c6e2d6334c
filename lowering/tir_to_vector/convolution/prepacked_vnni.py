"""Weights that a pass has packed in VNNI layout for a convolution.

The nest stays as it is. An annotation of its block describes the layout, and the packed buffer is
among the buffers that the block reads. A kernel that needs another layout ignores them.
"""

from collections.abc import Sequence

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import is_signed
from relax_mlir.lowering.tir_to_vector.convolution.input_packing import VnniGroups
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution
from relax_mlir.lowering.tir_to_vector.winograd.pattern import read_besides

# A block's annotation: how the groups lie, see `note_of`.
VNNI_WEIGHTS = "tir.kernel_groups"
_HEADER = 6


def group_order(conv: Convolution, grouped: VnniGroups) -> list[int]:
    """Return the reductions in the order of the packed weights, the grouped one last."""
    order = [i for i in (*conv.reductions, conv.k, conv.taps) if i is not None]
    return [*(i for i in order if i != grouped.position), grouped.position]


def note_of(conv: Convolution, grouped: VnniGroups, lanes: int) -> list[int] | None:
    """Return the layout of a convolution's packed weights, None if it has none.

    It has the lanes of a vector, the elements of a group and their bits, whether the image's sign
    bits are flipped, whether weights are the instruction's second operand, and whether they are
    signed; then extents and strides in the weights: of blocks of output channels, of channels of a
    block, of reductions.
    """
    block = conv.blocks[-1] if conv.unit is None and conv.blocks else None
    order, dot = group_order(conv, grouped), grouped.dot
    walked = [block, conv.lane, *order]
    strides = conv.weight.strides
    others = [i for i in range(len(strides)) if i not in walked]
    if conv.weight.offset != 0 or any(strides[i] != 0 for i in others):
        return None
    note = [lanes, dot.group, dot.part.width, dot.flips_signs, dot.b_first, is_signed(dot.widen[0])]
    for i in walked:
        extent, stride = (1, 0) if i is None else (conv.iter(i).extent.value, strides[i].value)
        if extent is None or stride is None:
            return None
        note += [extent, stride]
    return [int(number) for number in note]


def packed_shape(note: Sequence[int]) -> tuple[int, int, int]:
    """Return the shape of packed weights: blocks, steps and a correction of signs, lanes."""
    lanes, group, _, flips_signs, *_ = note
    blocks, channels, *steps, last = note[_HEADER::2]
    rows = int(np.prod(steps, dtype=np.int64)) * -(-last // group)
    return -(-blocks * channels // lanes), rows + flips_signs, lanes


def packed_weights(weights: np.ndarray, note: Sequence[int]) -> np.ndarray:
    """Return constant weights in groups of 32 bits, zeros after the last channels.

    If the image's sign bits are flipped, a block ends with the correction that its sums start from.
    """
    lanes, group, bits, flips_signs, second, _ = note[:_HEADER]
    extents, strides = note[_HEADER::2], note[_HEADER + 1 :: 2]
    flat = np.ascontiguousarray(weights).reshape(-1)
    width = flat.itemsize
    view = np.lib.stride_tricks.as_strided(
        flat, extents, [width * stride for stride in strides], writeable=False
    )
    steps, last = int(np.prod(extents[2:-1], dtype=np.int64)), extents[-1]
    matrix = view.reshape(extents[0] * extents[1], steps, last)
    if width * 8 != bits:
        matrix = matrix.astype(f"int{bits}")
    whole = np.pad(
        matrix.view(f"int{bits}"),
        ((0, -len(matrix) % lanes), (0, 0), (0, -last % group)),
    )
    split = whole.reshape(-1, lanes, steps, whole.shape[2] // group, group)
    packed = np.ascontiguousarray(split.transpose(0, 2, 3, 1, 4)).view("int32")
    packed = packed.reshape(len(split), -1, lanes)
    if not flips_signs:
        return packed
    sums = matrix.sum((1, 2), dtype=np.int64) << (bits - 1)
    starts = np.pad(-sums if second else sums, (0, -len(matrix) % lanes))
    return np.concatenate([packed, starts.astype("int32").reshape(-1, 1, lanes)], 1)


def prepacked_weights(conv: Convolution, grouped: VnniGroups, lanes: int) -> ir.Value | None:
    """Return the buffer of a convolution's packed weights, None if there is none in this layout.

    Args:
        conv: the convolution.
        grouped: the layout that the kernel needs.
        lanes: groups of a vector.
    """
    block = conv.flat.nest.block
    if "annotations" not in block.attributes:
        return None
    noted = {each.name: each.attr for each in ir.DictAttr(block.attributes["annotations"])}
    note = note_of(conv, grouped, lanes) if VNNI_WEIGHTS in noted else None
    if note is None or list(ir.DenseI64ArrayAttr(noted[VNNI_WEIGHTS])) != note:
        return None
    buffer = read_besides(conv.flat.nest)
    if buffer is None or str(buffer.type.element_type) != "i32":
        return None
    return buffer if tuple(buffer.type.shape) == packed_shape(note) else None
