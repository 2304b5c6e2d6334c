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
from relax_mlir.relax.expr.views import view_op
from relax_mlir.transform.layout.blocked_values import BlockedValues, Blocks
from relax_mlir.transform.layout.desired_layouts import CONVERTIBLE, DesiredLayouts
from relax_mlir.transform.layout.layout_rules import (
    ONE_TENSOR,
    SAME_ORDER,
    new_axis,
    permuted_type,
    squeeze,
)
from relax_mlir.transform.relax.dead_code_elimination import remove_unused

_WINDOWED = ("relax.conv2d", "relax.max_pool2d", "relax.avg_pool2d")
# Below so many input channels a kernel along them does not fill a vector.
_FEW_CHANNELS = 8

# A result, and how its axes stand to those of the program: None where as there.
Made = tuple[ir.Value, tuple[int, ...] | Blocks | None]
Choice = Callable[[ir.Operation], list[str] | None]


def convert_layout(
    module: ir.Operation, desired_layouts: Mapping[str, Any], layout_cb: Any = None
) -> None:
    """Bring convolutions, pooling and resizing to the layouts asked for, and what is between along.

    Args:
        module: a `builtin.module`.
        desired_layouts: operation to the layouts of its data and weight.
        layout_cb: instead of them, a function that returns such a dictionary for a `relax.Call`.

    Raises:
        PassError: an operation has no layout, or a layout is none of its.
    """
    try:
        desired = DesiredLayouts(desired_layouts)

        def choose(op: ir.Operation) -> list[str] | None:
            given = DesiredLayouts(layout_cb(view_op(op))) if layout_cb else desired
            return given.get(op.name.removeprefix("relax."))

        _convert(module, choose, any_operation=True)
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


def _convert(module: ir.Operation, choose: Choice, any_operation: bool = False) -> None:
    for func in functions_to_optimize(module):
        written, returned = written_values(func), returned_values(func)
        converter = _Converter(choose, written, returned, any_operation)
        converter.block(func.regions[0].blocks[0])
        remove_unused(func)


class _Converter:
    """Works through a function in order.

    `_variants` holds for a value the same tensor with its axes in another order: axis `i` of the
    variant is axis `order[i]` of the value.

    Args:
        choose: the layouts for an operation.
        written: values that something writes to.
        returned: values that the caller may get hold of.
        any_operation: whether operations of other categories than those around convolutions follow.
    """

    def __init__(
        self,
        choose: Choice,
        written: set[ir.Value],
        returned: set[ir.Value],
        any_operation: bool,
    ) -> None:
        self._choose, self._written, self._returned = choose, written, returned
        self._any_operation = any_operation
        self._variants: dict[ir.Value, tuple[ir.Value, tuple[int, ...]]] = {}
        self._blocked = BlockedValues()

    def block(self, block: ir.Block) -> None:
        """Convert the operations of a block; inner blocks see the variants of outer ones."""
        for view in list(block.operations):
            op = view.operation
            for region in op.regions:
                before, blocked = dict(self._variants), dict(self._blocked.known)
                for inner in region.blocks:
                    self.block(inner)
                self._variants, self._blocked.known = before, blocked
            name = op.name.removeprefix("relax.")
            if name == "tuple_get_item" and known_fields(op.operands[0]) is not None:
                op.results[0].replace_all_uses_with(
                    get_item(op.operands[0], op.attributes["index"].value)
                )
                op.erase()
                continue
            if name == "match_cast" and self._any_operation:
                self._match_cast(op)
                continue
            # What is written to in place has one memory, and a variant of it would go stale.
            if name not in COMPUTE_OPS or op.results[0] in self._written:
                continue
            with ir.InsertionPoint(op), op.location:
                made = self._operation(op, name)
            if made is not None:
                self._replace(op, *made)

    def _operation(self, op: ir.Operation, name: str) -> Made | None:
        """Return the operation's result in another order of axes, None to leave it as it is."""
        if op.name in _WINDOWED or (self._any_operation and name in CONVERTIBLE):
            return self._window(op, name)
        fields = known_fields(op.operands[0]) if name == "concat" else None
        tensors = list(op.operands) if fields is None else fields
        blocks = self._blocked.blocks_of(tensors)
        if blocks is not None:
            return self._in_blocks(op, name, tensors, blocks)
        known = [self._variants.get(operand) for operand in op.operands]
        cls = COMPUTE_OPS[name]
        if self._any_operation and name in SAME_ORDER:
            return self._same_order(op, name)
        if not any(known):
            return None
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
        if self._any_operation and name == "split":
            return self._split(op, attrs, value, order)
        result = self._rule(op, name, attrs, order) if self._any_operation else None
        if result is not None:
            return build(name, [value, *list(op.operands)[1:]], result[0]), result[1]
        if name == "permute_dims":
            made = _permuted(attrs, value, order)
            if made[0] == value and op.results[0] in self._returned:
                # Two results of a function stay two tensors.
                if value in self._returned:
                    return None
                self._returned.add(value)
            return made
        return None

    def _in_blocks(
        self, op: ir.Operation, name: str, tensors: Sequence[ir.Value], blocks: Blocks
    ) -> Made | None:
        attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
        made = self._blocked.computed(name, tensors, attrs, blocks)
        if made is None or name != "split":
            return made
        parts = [
            self._blocked.whole(get_item(made[0], index), blocks)
            for index in range(made[0].type.num_types)
        ]
        return make_tuple(parts), None

    def _window(self, op: ir.Operation, name: str) -> Made | None:
        attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
        # A weight in blocks was packed for the layouts that there are.
        if not attrs.get("kernel_layout", "O").isalpha():
            return None
        weighted = "kernel_layout" in attrs
        key = "data_layout" if weighted else "layout"
        source, desired = attrs[key], self._choose(op)
        target = attrs.get("out_layout") or source
        if not (source + target).isalpha():
            return None
        known = self._variants.get(op.operands[0])
        blocked = self._blocked.known.get(op.operands[0])
        if desired is None and blocked is not None and not weighted:
            desired = [blocked[1].layout] if blocked[1].letters == source else None
        if desired is None and known is not None and not weighted:
            desired = ["".join(source[axis] for axis in known[1])]
        if desired is None or any(attrs.get("roi") or ()):
            return None
        if not all(each.isalpha() for each in desired):
            return self._window_of_blocks(op, name, attrs, desired)
        layout = desired[0]
        result = desired[2] if len(desired) > 2 else layout
        kernel = desired[1] if len(desired) > 1 else ""
        if (layout, result) == (source, target) and attrs.get("kernel_layout", "") == kernel:
            return None
        new = {**attrs, key: layout}
        if "out_layout" in attrs:
            new["out_layout"] = result if result != layout else ""
        operands = [self._in_order(op.operands[0], permutation(source, layout))]
        if weighted:
            axes = permutation(attrs["kernel_layout"], kernel)
            operands.append(self._in_order(op.operands[1], axes))
            new["kernel_layout"] = kernel
        else:
            operands += list(op.operands)[1:]
        return build(name, operands, new), tuple(permutation(target, result))

    def _window_of_blocks(
        self, op: ir.Operation, name: str, attrs: dict[str, Any], desired: Sequence[str]
    ) -> Made | None:
        """Compute in blocks of channels, where channels fill them."""
        key = "kernel_layout" if "kernel_layout" in attrs else "layout"
        source = attrs["data_layout" if key == "kernel_layout" else key]
        result = desired[2] if len(desired) > 2 else desired[0]
        target = Blocks(attrs.get("out_layout") or source, result)
        sources = [source, attrs[key]][: len(desired)]
        wanted = [Blocks(*each) for each in zip(sources, desired, strict=False)]
        values = list(op.operands)
        if "out_layout" not in attrs:
            return None
        if not target.fits(T.tensor_dims(op.results[0].type)) or not all(
            blocks.fits(T.tensor_dims(value.type))
            for blocks, value in zip(wanted, values, strict=False)
        ):
            return None
        new = {**attrs, "out_layout": target.layout, key: desired[-1]}
        if key == "kernel_layout":
            new |= {"data_layout": desired[0], key: desired[1]}
        for index, (blocks, value) in enumerate(zip(wanted, values, strict=False)):
            if blocks.layout.isalpha():
                values[index] = self._in_order(value, permutation(*blocks))
            else:
                values[index] = self._blocked.value(value, blocks)
        return build(name, values, new), target

    def _batch_norm(
        self, op: ir.Operation, attrs: dict[str, Any], value: ir.Value, order: tuple[int, ...]
    ) -> tuple[ir.Value, None]:
        """Normalise the variant; the first field of the tuple is data, the others are vectors."""
        axis = order.index(attrs["axis"] % len(order))
        made = build("batch_norm", [value, *list(op.operands)[1:]], {**attrs, "axis": axis})
        data = get_item(made, 0)
        back = build("permute_dims", [data], {"axes": _inverse(order)})
        self._variants[back] = (data, order)
        statistics = [get_item(made, index) for index in range(1, made.type.num_types)]
        return make_tuple([back, *statistics]), None

    def _rule(
        self, op: ir.Operation, name: str, attrs: dict[str, Any], order: tuple[int, ...]
    ) -> tuple[dict[str, Any], tuple[int, ...]] | None:
        if name == "squeeze":
            return squeeze(attrs, order, T.tensor_dims(op.operands[0].type))
        return ONE_TENSOR[name](attrs, order) if name in ONE_TENSOR else None

    def _split(
        self, op: ir.Operation, attrs: dict[str, Any], value: ir.Value, order: tuple[int, ...]
    ) -> tuple[ir.Value, None]:
        """Split the variant; each part of it is a variant of what the program has."""
        made = build("split", [value], {**attrs, "axis": new_axis(attrs["axis"], order)})
        backs = []
        for index in range(made.type.num_types):
            part = get_item(made, index)
            backs.append(build("permute_dims", [part], {"axes": _inverse(order)}))
            self._variants[backs[-1]] = (part, order)
        return make_tuple(backs), None

    def _same_order(self, op: ir.Operation, name: str) -> tuple[ir.Value, tuple[int, ...]] | None:
        """Bring all operands to the order of the first that has a variant."""
        fields = known_fields(op.operands[0]) if name == "concat" else list(op.operands)
        known = [self._variants.get(value) for value in fields or ()]
        order = next((entry[1] for entry in known if entry is not None), None)
        if order is None or any(T.tensor_ndim(v.type) != len(order) for v in fields or ()):
            return None
        attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
        axis = SAME_ORDER[name]
        if axis:
            attrs = {**attrs, axis: new_axis(attrs[axis], order)}
        moved = [self._in_order(value, order) for value in fields or ()]
        return build(name, [moved] if name == "concat" else moved, attrs), order

    def _match_cast(self, op: ir.Operation) -> None:
        """Cast the variant, which binds the symbols too."""
        known = self._variants.get(op.operands[0])
        if known is None or T.tensor_ndim(op.results[0].type) != len(known[1]):
            return
        type_ = permuted_type(op.results[0].type, known[1])
        with ir.InsertionPoint(op), op.location:
            made = ir.Operation.create("relax.match_cast", results=[type_], operands=[known[0]])
        self._replace(op, made.result, known[1])

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

    def _replace(
        self, op: ir.Operation, value: ir.Value, order: tuple[int, ...] | Blocks | None
    ) -> None:
        """Put a result in another order of axes in the place of an operation."""
        old = op.results[0]
        back = value
        with ir.InsertionPoint(op), op.location:
            if isinstance(order, Blocks):
                back, order = self._blocked.whole(value, order), None
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
