"""The pass `pack-conv-weights`: constant convolution weights in blocks of output channels.

Kernels compute a vector of output channels at a time. Weights in blocks of that many channels, in
the order of the loops, are read sequentially. FoldConstant packs them at compile time.
"""

import math

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.conv_geometry import SPATIAL, layout_axes, pads, per_axis
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, read_attributes
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.lowering.relax_to_tir.decompose import reshape
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.walk import INNER_FIRST, named
from relax_mlir.transform.packing.constant_weights import BLOCK, is_constant
from relax_mlir.transform.packing.transposed_convolution import split_transposed

# With more pixels a convolution by kernels of one element is a product of matrices whose rows are
# long; see the contraction's kernel. With pixels for fewer register tiles it is none. These and the
# next are set by `benchmarks/kernels.py --only conv`, see "Short rows of pixels" in its README.
_MANY_PIXELS, _FEW_TILES = 256, 3
# Between them windows of at least so many inputs are as fast, if half of L1 holds a step of each;
# so are they of unknown pixels, if L2 has time for twice the steps.
_ENOUGH_INPUTS = 128
# Bytes of weights and of lines of the image, in L2, that FMAs of a tile give a cycle for.
_L2_BYTES = 16
# With fewer input channels sums are stored too often for what windows take to turn them to rows.
_MANY_INPUTS = 64
# Channels of a group, as many of the image as of the output, of which vectors pick lanes.
_SMALL_GROUPS = (2, 4, 8)


def pack_conv_weights(module: ir.Operation, target: str = "") -> None:
    """Bring constant weights of convolutions into blocks of output channels, in place.

    Transposed convolutions are written by plain ones before.

    Args:
        module: a `builtin.module`.
        target: what for; by default the module's (`target_of`).
    """
    split_transposed(module)
    machine = Machine.of(target_of(module, target))
    ranks = {f"relax.conv{rank}d": rank for rank in SPATIAL}
    for func in functions_to_optimize(module):
        for op in named(func, ranks, INNER_FIRST):
            _pack(op, ranks[op.name], machine)


def _pack(op: ir.Operation, rank: int, machine: Machine) -> None:
    weight, name = op.operands[1], op.name.removeprefix("relax.")
    if not is_constant(weight):
        return
    attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
    spatial = SPATIAL[rank]
    if sorted(attrs["kernel_layout"]) != sorted(f"OI{spatial}"):
        return
    if not (attrs["data_layout"] + (attrs["out_layout"] or "")).isalpha():
        return
    dims, data = T.tensor_dims(weight.type), T.tensor_dims(op.operands[0].type)
    if dims is None or data is None:
        return
    axes = layout_axes(attrs["kernel_layout"], f"OI{spatial}")
    sizes = [dims[axis].value or 0 for axis in axes]
    outputs, inputs, *windows = sizes
    if 0 not in sizes and attrs["data_layout"].endswith("C"):
        small = inputs in _SMALL_GROUPS and outputs == inputs * attrs["groups"]
        if inputs == 1 or (small and T.tensor_dtype(weight.type) in ("float32", "float64")):
            _put_channels_last(op, attrs, axes, spatial)
            return
    if 0 in sizes or outputs % (BLOCK * attrs["groups"]) or inputs == 1:
        return
    if attrs["groups"] == 1 and _is_matrix_product(op, attrs, inputs, windows, machine):
        return
    with ir.InsertionPoint(op), op.location:
        if axes != list(range(rank + 2)):
            weight = build("permute_dims", [weight], {"axes": axes})
        split = reshape(weight, [outputs // BLOCK, BLOCK, inputs, *windows])
        outer, inner = spatial[:-1], spatial[-1]
        order = [0, *range(3, 2 + rank), 2, 2 + rank, 1]
        packed = build("permute_dims", [split], {"axes": order})
        _replace(op, packed, {**attrs, "kernel_layout": f"O{outer}I{inner}{BLOCK}o"})


def _put_channels_last(op: ir.Operation, attrs: dict, axes: list[int], spatial: str) -> None:
    """Bring kernels of small groups to the order of data whose channels lie last."""
    outputs, inputs = axes[:2]
    one = T.known_dims(op.operands[1].type)[inputs] == 1
    if outputs >= len(spatial) and (one or outputs > inputs >= len(spatial)):
        return
    with ir.InsertionPoint(op), op.location:
        order = [*axes[2:], inputs, outputs]
        permuted = build("permute_dims", [op.operands[1]], {"axes": order})
        _replace(op, permuted, {**attrs, "kernel_layout": f"{spatial}IO"})


def _replace(op: ir.Operation, weight: ir.Value, attrs: dict) -> None:
    """Write a convolution again, by other kernels."""
    made = build(op.name.removeprefix("relax."), [op.operands[0], weight], attrs)
    if made.type != op.results[0].type:
        made = ir.Operation.create(
            "relax.match_cast", results=[op.results[0].type], operands=[made]
        ).result
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _is_matrix_product(
    op: ir.Operation, attrs: dict, inputs: int, windows: list[int], machine: Machine
) -> bool:
    """Whether a convolution is a product of matrices with long rows."""
    rank = len(windows)
    if any(size != 1 for size in windows) or any(map(any, pads(attrs["padding"], rank))):
        return False
    if any(step != 1 for step in per_axis(attrs["strides"], rank, "strides")):
        return False
    out = T.tensor_dims(op.results[0].type)
    if out is None:
        return True
    layout = attrs["out_layout"] or attrs["data_layout"]
    sizes = [dim.value for letter, dim in zip(layout, out, strict=True) if letter in SPATIAL[rank]]
    known = [size for size in sizes if size is not None]
    # A step of a window's tile needs a line of the image, in L1, and its weights.
    rows, vectors = machine.product_tiles[-1]
    step = machine.isa.line_bytes
    weights = vectors * machine.vector_bits // 8
    delivered = _L2_BYTES * (rows * vectors // machine.fma_units)
    from_l2 = step + weights <= delivered
    # Where L2 has time for twice as much, lines of the image need not stay in L1.
    is_fast = stay = 2 * (step + weights) <= delivered
    step += 0 if from_l2 else weights
    stay = stay or 2 * inputs * step <= machine.l1_bytes
    if len(known) < len(sizes):
        # Few pixels are slow as rows of a product, many are hardly slower as windows.
        many = _ENOUGH_INPUTS if is_fast else _MANY_INPUTS
        return layout.endswith("C") or inputs < many or not (stay or from_l2)
    if layout.endswith("C") or (inputs >= _ENOUGH_INPUTS and stay):
        return math.prod(known) > _MANY_PIXELS
    columns = machine.product_tiles[0][1] * machine.isa.lanes(32)
    return math.prod(known) >= _FEW_TILES * columns
