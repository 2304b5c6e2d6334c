"""The passes `convert-layout` and `alter-op-layout`: images in the layouts of fast kernels.

Each value keeps its layout for operations that are not converted. Converted operations use a copy
in the new layout of each other's results, so transposes are left only at the ends of a chain.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.conv_geometry import permutation
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, read_attributes
from relax_mlir.dialects.relax.ops.elementwise import BinaryOp, CastOp, UnaryOp
from relax_mlir.dialects.relax.ops.reduce import ReduceOp
from relax_mlir.dialects.relax.side_effects import (
    functions_to_optimize,
    returned_values,
    written_values,
)
from relax_mlir.dialects.relax.tuples import get_item, known_fields, make_tuple
from relax_mlir.errors import PassError
from relax_mlir.lowering.relax_to_tir.decompose import reshape
from relax_mlir.transform.layout.desired_layouts import DesiredLayouts
from relax_mlir.transform.relax.dead_code_elimination import remove_unused

_WINDOWED = ("relax.conv2d", "relax.max_pool2d", "relax.avg_pool2d")
# Below so many input channels a kernel along them does not fill a vector.
_FEW_CHANNELS = 8

Choice = Callable[[ir.Operation], list[str] | None]


def convert_layout(module: ir.Operation, desired_layouts: Mapping[str, Any]) -> None:
    """Bring convolutions and pooling to the layouts asked for, and what is between them along.

    Args:
        module: a `builtin.module`.
        desired_layouts: operation to the layouts of its data and weight.

    Raises:
        PassError: an operation has no layout, or a layout is none of its.
    """
    try:
        desired = DesiredLayouts(desired_layouts)
        _convert(module, lambda op: desired.get(op.name.removeprefix("relax.")))
    except (InferError, ValueError) as error:
        raise PassError("ConvertLayout", str(error)) from error


def alter_op_layout(module: ir.Operation) -> None:
    """Bring convolutions to the layouts in which the kernels of this compiler are fastest.

    Those are NHWC and HWIO: vectors then run along the channels, which are many and of a fixed
    number. A convolution that takes only a few channels reads them as they come and returns NHWC.
    """
    _convert(module, _suitable)


def _suitable(op: ir.Operation) -> list[str] | None:
    if op.name != "relax.conv2d":
        return None
    attrs = read_attributes(op, COMPUTE_OPS["conv2d"].PARAMS)
    weight = T.tensor_dims(op.operands[1].type)
    if weight is None:
        return None
    channels = weight[attrs["kernel_layout"].index("I")] * attrs["groups"]
    few = not channels.is_const or channels.value < _FEW_CHANNELS
    return [attrs["data_layout"] if few else "NHWC", "HWIO", "NHWC"]


def _convert(module: ir.Operation, choose: Choice) -> None:
    for func in functions_to_optimize(module):
        converter = _Converter(choose, written_values(func), returned_values(func))
        converter.block(func.regions[0].blocks[0])
        remove_unused(func)


class _Converter:
    """Works through a function in order.

    `_variants` holds for a value the same tensor with its axes in another order: axis `i` of the
    variant is axis `order[i]` of the value.
    """

    def __init__(self, choose: Choice, written: set[ir.Value], returned: set[ir.Value]) -> None:
        self._choose, self._written, self._returned = choose, written, returned
        self._variants: dict[ir.Value, tuple[ir.Value, tuple[int, ...]]] = {}

    def block(self, block: ir.Block) -> None:
        """Convert the operations of a block; inner blocks see the variants of outer ones."""
        for view in list(block.operations):
            op = view.operation
            for region in op.regions:
                before = dict(self._variants)
                for inner in region.blocks:
                    self.block(inner)
                self._variants = before
            name = op.name.removeprefix("relax.")
            if name == "tuple_get_item" and known_fields(op.operands[0]) is not None:
                op.results[0].replace_all_uses_with(
                    get_item(op.operands[0], op.attributes["index"].value)
                )
                op.erase()
                continue
            # What is written to in place has one memory, and a variant of it would go stale.
            if name not in COMPUTE_OPS or op.results[0] in self._written:
                continue
            with ir.InsertionPoint(op), op.location:
                made = self._operation(op, name)
            if made is not None:
                self._replace(op, *made)

    def _operation(
        self, op: ir.Operation, name: str
    ) -> tuple[ir.Value, tuple[int, ...] | None] | None:
        """Return the operation's result in another order of axes, None to leave it as it is."""
        if op.name in _WINDOWED:
            return self._window(op, name)
        known = [self._variants.get(operand) for operand in op.operands]
        if not any(known):
            return None
        cls = COMPUTE_OPS[name]
        attrs = read_attributes(op, cls.PARAMS)
        if issubclass(cls, BinaryOp):
            return self._binary(op, name, known)
        if known[0] is None:
            return None
        value, order = known[0]
        if issubclass(cls, (UnaryOp, CastOp)):
            return build(name, [value], attrs), order
        if issubclass(cls, ReduceOp):
            return _reduction(name, attrs, value, order)
        if name in ("softmax", "log_softmax"):
            axis = order.index(attrs["axis"] % len(order))
            return build(name, [value], {"axis": axis}), order
        if name == "layer_norm":
            axes = [order.index(axis % len(order)) for axis in attrs["axes"]]
            return build(name, [value, *list(op.operands)[1:]], {**attrs, "axes": axes}), order
        if name == "batch_norm":
            return self._batch_norm(op, attrs, value, order)
        if name == "permute_dims":
            made = _permuted(attrs, value, order)
            if made[0] == value and op.results[0] in self._returned:
                # Two results of a function stay two tensors.
                if value in self._returned:
                    return None
                self._returned.add(value)
            return made
        return None

    def _window(
        self, op: ir.Operation, name: str
    ) -> tuple[ir.Value, tuple[int, ...] | None] | None:
        attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
        # A weight in blocks was packed for the layouts that there are.
        if not attrs.get("kernel_layout", "O").isalpha():
            return None
        key = "data_layout" if name == "conv2d" else "layout"
        source, desired = attrs[key], self._choose(op)
        target = attrs["out_layout"] or source
        known = self._variants.get(op.operands[0])
        if desired is None and known is not None and name != "conv2d":
            desired = ["".join(source[axis] for axis in known[1])]
        if desired is None:
            return None
        layout = desired[0]
        result = desired[2] if len(desired) > 2 else layout
        kernel = desired[1] if len(desired) > 1 else ""
        if (layout, result) == (source, target) and attrs.get("kernel_layout", "") == kernel:
            return None
        new = {**attrs, key: layout, "out_layout": result if result != layout else ""}
        operands = [self._in_order(op.operands[0], permutation(source, layout))]
        if name == "conv2d":
            axes = permutation(attrs["kernel_layout"], kernel)
            operands.append(self._in_order(op.operands[1], axes))
            new["kernel_layout"] = kernel
        return build(name, operands, new), tuple(permutation(target, result))

    def _batch_norm(
        self, op: ir.Operation, attrs: dict[str, Any], value: ir.Value, order: tuple[int, ...]
    ) -> tuple[ir.Value, None]:
        """Normalise the variant; the first field of the tuple is data, the others are vectors."""
        axis = order.index(attrs["axis"] % len(order))
        made = build("batch_norm", [value, *list(op.operands)[1:]], {**attrs, "axis": axis})
        data, *statistics = (get_item(made, index) for index in range(made.type.num_types))
        back = build("permute_dims", [data], {"axes": _inverse(order)})
        self._variants[back] = (data, order)
        return make_tuple([back, *statistics]), None

    def _in_order(self, value: ir.Value, order: Sequence[int]) -> ir.Value:
        """Return a value with its axes in an order, the variant where that is the one."""
        order = tuple(order)
        if order == tuple(range(len(order))):
            return value
        known = self._variants.get(value)
        if known is not None and known[1] == order:
            return known[0]
        return build("permute_dims", [value], {"axes": list(order)})

    def _binary(
        self, op: ir.Operation, name: str, known: Sequence[tuple | None]
    ) -> tuple[ir.Value, tuple[int, ...]] | None:
        order = next(entry[1] for entry in known if entry is not None)
        rank = len(order)
        if T.tensor_ndim(op.results[0].type) != rank:
            return None
        operands = []
        for value in op.operands:
            dims = T.tensor_dims(value.type)
            if T.tensor_ndim(value.type) == rank:
                operands.append(self._in_order(value, order))
            elif dims is None:
                return None
            elif not dims:
                operands.append(value)
            else:
                whole = reshape(value, [1] * (rank - len(dims)) + dims)
                operands.append(self._in_order(whole, order))
        return build(name, operands, {}), order

    def _replace(self, op: ir.Operation, value: ir.Value, order: tuple[int, ...] | None) -> None:
        """Put a result in another order of axes in the place of an operation."""
        old = op.results[0]
        back = value
        with ir.InsertionPoint(op), op.location:
            if order is not None and order != tuple(range(len(order))):
                back = build("permute_dims", [value], {"axes": _inverse(order)})
            if back.type != old.type:
                back = ir.Operation.create(
                    "relax.match_cast", results=[old.type], operands=[back]
                ).result
        old.replace_all_uses_with(back)
        if back != value and order is not None:
            self._variants[back] = (value, order)
        op.erase()


def _inverse(order: tuple[int, ...]) -> list[int]:
    return [order.index(axis) for axis in range(len(order))]


def _reduction(
    name: str, attrs: dict[str, Any], value: ir.Value, order: tuple[int, ...]
) -> tuple[ir.Value, tuple[int, ...] | None]:
    rank = len(order)
    axes = range(rank) if attrs["axis"] is None else [axis % rank for axis in attrs["axis"]]
    reduced = build(name, [value], {**attrs, "axis": sorted(order.index(axis) for axis in axes)})
    if attrs["keepdims"]:
        return reduced, order
    kept = [axis for axis in order if axis not in axes]
    ranks = sorted(kept)
    return reduced, tuple(ranks.index(axis) for axis in kept)


def _permuted(
    attrs: dict[str, Any], value: ir.Value, order: tuple[int, ...]
) -> tuple[ir.Value, None]:
    """Compose a transpose of the program with the one that a variant stands for."""
    rank = len(order)
    axes = attrs["axes"] if attrs["axes"] is not None else list(range(rank))[::-1]
    composed = [order.index(axis % rank) for axis in axes]
    if composed == list(range(rank)):
        return value, None
    return build("permute_dims", [value], {"axes": composed}), None
