"""Layouts with blocked axes: `OHIW16o` has 16 output channels innermost (TVM's names)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.relax.axis_map import AxisMap, Digit
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.symbolic.expr import SymExpr

_PARTS = re.compile(r"([A-Z])|([1-9][0-9]*)([a-z])")


@dataclass(frozen=True)
class BlockedLayout:
    """Where the axes of a tensor are.

    Attributes:
        letters: what the axes are called in the order that users of this class give them in.
        axes: for each letter its position.
        blocks: for a letter whose axis is split the size of a block and the position inside it.
        rank: how many dimensions there are.
    """

    letters: str
    axes: tuple[int, ...]
    blocks: dict[str, tuple[int, int]]
    rank: int

    @staticmethod
    def parse(layout: str, letters: str) -> "BlockedLayout":
        """Read a layout.

        Args:
            layout: each of the letters once; a size and a small letter stand for a block.
            letters: what axes there must be.

        Raises:
            InferError: another letter, one twice or missing, or a block of no axis.
        """
        axes: dict[str, int] = {}
        blocks: dict[str, tuple[int, int]] = {}
        end = position = 0
        for part in _PARTS.finditer(layout):
            axis, size, inner = part.groups()
            letter = axis or inner.upper()
            known = axes if axis else blocks
            if part.start() != end or letter in known:
                break
            if axis:
                axes[letter] = position
            else:
                blocks[letter] = (int(size), position)
            end, position = part.end(), position + 1
        if end != len(layout) or sorted(axes) != sorted(letters) or not set(blocks) <= set(axes):
            raise InferError(f"a layout here has the letters of '{letters}', got '{layout}'")
        return BlockedLayout(letters, tuple(axes[x] for x in letters), blocks, position)

    def axis_map(self, source: str, back: bool = False) -> AxisMap:
        """Return where elements go from a layout without blocks to this one, or back."""
        if back:
            places = dict(zip(self.letters, self.axes, strict=True))
            outputs = []
            for letter in source:
                size, inner = self.blocks.get(letter, (0, 0))
                high = Digit(places[letter], 1, 0, size or 1)
                outputs.append((high, Digit(inner, 1, 0, 1)) if size else (high,))
            return AxisMap(self.rank, tuple(outputs))
        made: list[tuple[Digit, ...]] = [()] * self.rank
        for letter, place in zip(self.letters, self.axes, strict=True):
            size, inner = self.blocks.get(letter, (0, 0))
            made[place] = (Digit(source.index(letter), size or 1, 0, 1),)
            if size:
                made[inner] = (Digit(source.index(letter), 1, size, 1),)
        return AxisMap(len(source), tuple(made))

    def dims(self, sizes: Sequence[SymExpr]) -> list[SymExpr]:
        """Return a tensor's dimensions, given the sizes of whole axes in the order of the letters.

        Raises:
            InferError: a size is no multiple of its block.
        """
        result = [SymExpr.const(0)] * self.rank
        for letter, axis, size in zip(self.letters, self.axes, sizes, strict=True):
            block, inner = self.blocks.get(letter, (1, axis))
            if size.is_const and size % block != 0:
                raise InferError(f"{size} along '{letter}' are no whole blocks of {block}")
            result[inner] = SymExpr.const(block)
            result[axis] = size // block
        return result

    def sizes(self, dims: Sequence[SymExpr], what: str = "data") -> list[SymExpr]:
        """Return the sizes of whole axes, in the order of the letters, of a tensor's dimensions.

        Raises:
            InferError: blocks have not the size that the layout says.
        """
        sizes = []
        for letter, axis in zip(self.letters, self.axes, strict=True):
            size, inner = self.blocks.get(letter, (1, axis))
            if inner != axis and dims[inner].is_const and dims[inner] != size:
                raise InferError(
                    f"{what} must have blocks of {size} along '{letter}', got {dims[inner]}"
                )
            sizes.append(dims[axis] * size)
        return sizes


def has_blocks(attrs: Mapping[str, Any]) -> bool:
    """Whether an operation of these attributes has a tensor in a layout with blocks."""
    layouts = [attrs[name] for name in attrs if name.endswith("layout")]
    return not all(layout.isalpha() for layout in layouts if layout)
