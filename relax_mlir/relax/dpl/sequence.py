"""Chains of patterns of which each uses the one before it."""

from collections.abc import Iterable
from typing import Union

from relax_mlir.relax.dpl.classes import DFPattern, _dup
from relax_mlir.relax.dpl.context import PatternContext, Use


class PatternSeq:
    """Patterns of which each uses the one before it; `a >> b >> c` makes one.

    Args:
        patterns: the patterns, producers first.
        only_use: whether nothing else uses what is used.
    """

    def __init__(self, patterns: Iterable[DFPattern], only_use: bool = False) -> None:
        self.patterns: list[DFPattern] = list(patterns)
        self._uses: list[Use] = [Use(only_use)] * (len(self.patterns) - 1)
        self._note()

    def _note(self) -> None:
        current = PatternContext.current()
        if current is not None:
            for pattern in self.patterns:
                current.add(pattern)
            for use, producer, consumer in zip(
                self._uses, self.patterns[:-1], self.patterns[1:], strict=True
            ):
                current.add_use(producer, consumer, use)

    def used_by(self, other: Union[DFPattern, "PatternSeq"], index: int = -1) -> "PatternSeq":
        """Return the chain with another behind it, whose first pattern uses this one's last."""
        return self._then(other, Use(False, index))

    def only_used_by(self, other: Union[DFPattern, "PatternSeq"], index: int = -1) -> "PatternSeq":
        """Return that chain where nothing else uses this one's last pattern."""
        return self._then(other, Use(True, index))

    def _then(self, other: Union[DFPattern, "PatternSeq"], use: Use) -> "PatternSeq":
        tail = other if isinstance(other, PatternSeq) else PatternSeq([other])
        made = PatternSeq([])
        made.patterns = self.patterns + tail.patterns
        made._uses = [*self._uses, use, *tail._uses]
        made._note()
        return made

    def __xor__(self, other: Union[DFPattern, "PatternSeq"]) -> "PatternSeq":
        return self.used_by(other)

    def __rshift__(self, other: Union[DFPattern, "PatternSeq"]) -> "PatternSeq":
        return self.only_used_by(other)

    def __getitem__(self, index: int) -> DFPattern:
        return self.patterns[index]

    def __len__(self) -> int:
        return len(self.patterns)

    def dup(self) -> "PatternSeq":
        """Return such a chain for other values."""
        done: dict[DFPattern, DFPattern] = {}
        made = PatternSeq([])
        made.patterns = [_dup(each, done) for each in self.patterns]
        made._uses = list(self._uses)
        made._note()
        return made
