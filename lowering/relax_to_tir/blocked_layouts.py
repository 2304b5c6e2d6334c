"""Operations on images in blocks of channels, such as `NCHW16c`, written on whole axes."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.blocked_layout import BlockedLayout, has_blocks
from relax_mlir.dialects.relax.conv_geometry import SPATIAL
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, infer_result, read_attributes
from relax_mlir.lowering.relax_to_tir.decompose import Decomposition, reshape


def _without_blocks(rank: int) -> Decomposition:
    letters = {"kernel_layout": f"OI{SPATIAL[rank]}"}
    letters |= dict.fromkeys(("data_layout", "layout", "out_layout"), f"NC{SPATIAL[rank]}")

    def decompose(op: ir.Operation, own: bool) -> ir.Value | None:
        name = op.name.removeprefix("relax.")
        attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
        inferred = infer_result(op)
        tensors = [value.type for value in op.operands if T.is_tensor(value.type)]
        if not has_blocks(attrs) or None in map(T.tensor_dims, (*tensors, inferred)):
            return None
        written = {key: attrs[key] for key in attrs if key in letters and attrs[key]}
        layouts = {key: BlockedLayout.parse(text, letters[key]) for key, text in written.items()}
        result = layouts.pop("out_layout", None) or layouts.get("data_layout") or layouts["layout"]
        if name == f"conv{rank}d" and _is_packed(layouts["kernel_layout"], written):
            return None
        with ir.InsertionPoint(op), op.location:
            operands = list(op.operands)
            for index, layout in enumerate(layouts.values()):
                operands[index] = _moved(operands[index], layout, back=True)
            plain = {**attrs, **{key: letters[key] for key in written}}
            value = _moved(build(name, operands, plain), result, back=False)
            if value.type == op.results[0].type:
                return value
            declared = [op.results[0].type]
            return ir.Operation.create("relax.match_cast", declared, [value]).result

    return decompose


def _moved(value: ir.Value, layout: BlockedLayout, back: bool) -> ir.Value:
    """Return a tensor on whole axes in a layout, or back on whole axes."""
    if not layout.blocks and layout.axes == tuple(range(layout.rank)):
        return value
    dims = T.known_dims(value.type)
    places: list[int] = []
    for letter, axis in zip(layout.letters, layout.axes, strict=True):
        places += [axis, *layout.blocks.get(letter, ())[1:]]
    if back:
        return reshape(build("permute_dims", [value], {"axes": places}), layout.sizes(dims))
    blocked = layout.dims(dims)
    split = reshape(value, [blocked[place] for place in places])
    order = [places.index(axis) for axis in range(layout.rank)]
    return build("permute_dims", [split], {"axes": order})


def _is_packed(kernel: BlockedLayout, written: dict[str, str]) -> bool:
    """Whether only kernels are in blocks, of output channels: convolutions form loops of them."""
    others = {key: text for key, text in written.items() if key != "kernel_layout"}
    return set(kernel.blocks) <= {"O"} and not has_blocks(others)


WITHOUT_BLOCKS: dict[str, Decomposition] = {
    f"{name}{rank}d{suffix}": _without_blocks(rank)
    for rank in SPATIAL
    for name, suffix in (
        ("conv", ""), ("conv", "_transpose"), ("max_pool", ""), ("avg_pool", ""),
        ("adaptive_avg_pool", ""), ("resize", ""),
    )
}  # fmt: skip
