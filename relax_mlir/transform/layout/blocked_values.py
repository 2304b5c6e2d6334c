"""Values in layouts with blocks of channels, such as `NCHW4c`, for ConvertLayout."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.axis_map import AxisMap
from relax_mlir.dialects.relax.blocked_layout import BlockedLayout
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build
from relax_mlir.dialects.relax.ops.elementwise import BinaryOp, CastOp, UnaryOp
from relax_mlir.dialects.relax.ops.reduce import ReduceOp
from relax_mlir.dialects.symbolic.expr import SymExpr

# Operations that compute each element of those at its place, in addition to binary ones.
_ELEMENTWISE = ("ewise_fma", "where")


class Blocks(NamedTuple):
    """A layout that a value was brought to.

    Attributes:
        letters: what the axes of the value are called, in order.
        layout: the layout.
    """

    letters: str
    layout: str

    @property
    def parsed(self) -> BlockedLayout:
        """The layout, with its axes in the order of the value's."""
        return BlockedLayout.parse(self.layout, self.letters)

    def there(self) -> AxisMap:
        """Return where elements go to be in the layout."""
        return self.parsed.axis_map(self.letters)

    def back(self) -> AxisMap:
        """Return where they go to be in the value's own order."""
        return self.parsed.axis_map(self.letters, back=True)

    def axis(self, axis: int) -> int:
        """Return where an axis of the value is, its blocks where it has some."""
        return self.parsed.axes[axis % len(self.letters)]

    def block(self, axis: int) -> int:
        """Return how large the blocks of an axis of the value are, 1 where there are none."""
        return self.parsed.blocks.get(self.letters[axis % len(self.letters)], (1, 0))[0]

    def fits(self, dims: Sequence[SymExpr] | None) -> bool:
        """Whether a shape is known to fill the blocks."""
        return dims is not None and len(dims) == len(self.letters) and all(
            (dim % self.block(axis)).value == 0 for axis, dim in enumerate(dims)
        )  # fmt: skip

    def without(self, axes: set[int]) -> "Blocks | None":
        """Return the layout without some axes of the value, None where one has blocks."""
        gone = {self.letters[axis] for axis in axes}
        if gone & set(self.parsed.blocks):
            return None
        kept = "".join(letter for letter in self.letters if letter not in gone)
        return Blocks(kept, "".join(letter for letter in self.layout if letter not in gone))


class BlockedValues:
    """The tensors of a function in layouts with blocks, by the values that they are."""

    def __init__(self) -> None:
        self.known: dict[ir.Value, tuple[ir.Value, Blocks]] = {}

    def blocks_of(self, values: Sequence[ir.Value]) -> Blocks | None:
        """Return the layout of the first of some values that is in one."""
        return next((self.known[value][1] for value in values if value in self.known), None)

    def can(self, value: ir.Value, blocks: Blocks) -> bool:
        """Whether a value can be brought to a layout, or is a scalar."""
        known = self.known.get(value)
        return (
            (known is not None and known[1] == blocks)
            or T.tensor_ndim(value.type) == 0
            or blocks.fits(T.tensor_dims(value.type))
        )

    def value(self, value: ir.Value, blocks: Blocks) -> ir.Value:
        """Return a value in a layout; a scalar is in each."""
        known = self.known.get(value)
        if known is not None and known[1] == blocks:
            return known[0]
        if T.tensor_ndim(value.type) == 0:
            return value
        return build("layout_transform", [value], {"index_map": blocks.there()})

    def whole(self, value: ir.Value, blocks: Blocks) -> ir.Value:
        """Return what a tensor in a layout is in its own order, and remember the tensor."""
        back = build("layout_transform", [value], {"index_map": blocks.back()})
        self.known[back] = (value, blocks)
        return back

    def computed(
        self, name: str, operands: Sequence[ir.Value], attrs: Mapping[str, Any], blocks: Blocks
    ) -> tuple[ir.Value, Blocks] | None:
        """Return the result of an operation on tensors in a layout, None where it has to be back.

        Args:
            name: of the operation.
            operands: its tensors, the fields of what it joins.
            attrs: its attributes.
            blocks: the layout.
        """
        cls = COMPUTE_OPS[name]
        if name in ("split", "concat"):
            changed = _along(name, attrs, blocks, T.tensor_dims(operands[0].type))
        elif issubclass(cls, ReduceOp):
            return self._reduced(name, operands[0], attrs, blocks)
        else:
            same = name in _ELEMENTWISE or issubclass(cls, (BinaryOp, UnaryOp, CastOp))
            changed = dict(attrs) if same else None
        if changed is None or not all(self.can(value, blocks) for value in operands):
            return None
        moved = [self.value(value, blocks) for value in operands]
        return build(name, [moved] if name == "concat" else moved, changed), blocks

    def _reduced(
        self, name: str, value: ir.Value, attrs: Mapping[str, Any], blocks: Blocks
    ) -> tuple[ir.Value, Blocks] | None:
        rank = len(blocks.letters)
        axes = {axis % rank for axis in attrs["axis"] or range(rank)}
        left = blocks.without(axes)
        if left is None or not left.letters:
            return None
        changed = {**attrs, "axis": sorted(blocks.axis(axis) for axis in axes)}
        made = build(name, [self.value(value, blocks)], changed)
        return made, blocks if attrs["keepdims"] else left


def _along(
    name: str, attrs: Mapping[str, Any], blocks: Blocks, dims: Sequence[SymExpr] | None
) -> dict[str, Any] | None:
    """Return the attributes of splitting or joining along an axis, None where blocks break."""
    axis, size = attrs["axis"], blocks.block(attrs["axis"])
    changed = {**attrs, "axis": blocks.axis(axis)}
    if name == "concat" or size == 1:
        return changed
    parts = attrs["indices_or_sections"]
    if isinstance(parts, int):
        whole = dims is not None and (dims[axis % len(dims)] % (parts * size)).value == 0
        return changed if whole else None
    if any(place % size for place in parts):
        return None
    return {**changed, "indices_or_sections": [place // size for place in parts]}
