"""Patterns of functions and tuples."""

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Any

from relax_mlir.relax.dpl.classes import DFPattern, as_patterns
from relax_mlir.relax.dpl.matcher import Matcher
from relax_mlir.relax.expr import Function, Tuple, TupleGetItem


class FunctionPattern(DFPattern):
    """A Relax function: its parameters, and the value it returns."""

    _parts = ("params", "body")

    def __init__(self, params: Iterable[DFPattern], body: DFPattern) -> None:
        self.params, self.body = as_patterns(params), body

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield for each way in which parameters and result match."""
        if not isinstance(value, Function) or len(value.params) != len(self.params):
            return
        body = value.body
        inner = matcher.within(body)
        for _ in inner.solve_all(self.params, value.params):
            yield from inner.solve(self.body, getattr(body, "body", body))


class TuplePattern(DFPattern):
    """A tuple of these fields; `pattern[i]` is one of them, `pattern[None]` any."""

    _parts = ("fields",)

    def __init__(self, fields: Iterable[DFPattern]) -> None:
        self.fields = as_patterns(fields)

    def __getitem__(self, index: int | None) -> "TupleGetItemPattern":
        if index is not None and not -len(self.fields) <= index < len(self.fields):
            raise IndexError(f"index {index} is out of range for {len(self.fields)} fields")
        return TupleGetItemPattern(self, index if index is None else index % len(self.fields))

    def __len__(self) -> int:
        return len(self.fields)

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield for each way in which the fields match, in order."""
        if isinstance(value, Tuple) and len(value.fields) == len(self.fields):
            yield from matcher.solve_all(self.fields, value.fields)


class UnorderedTuplePattern(DFPattern):
    """A tuple of these fields in any order."""

    _parts = ("fields",)

    def __init__(self, fields: Iterable[DFPattern]) -> None:
        self.fields = as_patterns(fields)

    def __len__(self) -> int:
        return len(self.fields)

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield for each order in which the fields match."""
        if isinstance(value, Tuple) and len(value.fields) == len(self.fields):
            for order in permutations(value.fields):
                yield from matcher.solve_all(self.fields, order)


class TupleGetItemPattern(DFPattern):
    """A field of a tuple, any of them where `index` is None."""

    _parts = ("tuple",)

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self.tuple, self.index = tuple_value, index

    def candidates(self, matcher: Matcher, expr: Any, value: Any) -> Iterator[None]:
        """Yield for each way in which the tuple matches."""
        if isinstance(value, TupleGetItem) and self.index in (None, value.index):
            yield from matcher.solve(self.tuple, value.tuple_value)
