"""The result of a comparison: the first difference, and the pairing of functions."""

from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.ir.structural.walk import is_private


class Difference(Exception):
    """Two programs differ.

    Attributes:
        left: the operation of the first program where they do, or None for the module itself.
        right: that of the second.
        what: which part of it.
        got: that part of the first.
        expected: that part of the second.
    """

    left: ir.Operation | None
    right: ir.Operation | None
    what: str
    got: Any
    expected: Any

    def __init__(
        self,
        left: ir.Operation | None,
        right: ir.Operation | None,
        what: str,
        got: Any,
        expected: Any,
    ) -> None:
        super().__init__(what)
        self.left, self.right = left, right
        self.what, self.got, self.expected = what, got, expected


@dataclass
class Names:
    """Which function of one module is which of the other.

    Attributes:
        left: the functions of the first module.
        right: those of the second.
        to_right: what is known.
        to_left: the same from the other side.
        pending: pairs not compared yet.
    """

    left: dict[str, ir.Operation] = field(default_factory=dict)
    right: dict[str, ir.Operation] = field(default_factory=dict)
    to_right: dict[str, str] = field(default_factory=dict)
    to_left: dict[str, str] = field(default_factory=dict)
    pending: list[tuple[str, str]] = field(default_factory=list)

    def match(self, mine: str, theirs: str) -> bool:
        """Whether the names can be of the same function, given what was matched before."""
        known = self.to_right.get(mine)
        if known is not None:
            return known == theirs
        if theirs in self.to_left:
            return False
        lhs, rhs = self.left.get(mine), self.right.get(theirs)
        if lhs is None or rhs is None:
            return lhs is rhs and mine == theirs
        if is_private(lhs) != is_private(rhs) or (not is_private(lhs) and mine != theirs):
            return False
        self.bind(mine, theirs)
        self.pending.append((mine, theirs))
        return True

    def bind(self, mine: str, theirs: str) -> None:
        """Note that two functions are to be the same."""
        self.to_right[mine] = theirs
        self.to_left[theirs] = mine

    def trial(self) -> "Names":
        """Return a copy to try something with."""
        return Names(self.left, self.right, dict(self.to_right), dict(self.to_left))
