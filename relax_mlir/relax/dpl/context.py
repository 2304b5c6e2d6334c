"""Patterns of whole dataflow blocks: several values, and who uses whom."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from relax_mlir.relax.dpl.matcher import Matcher, Pattern, emitted_value, identity, operands
from relax_mlir.relax.expr import DataflowBlock, MatchCast, Var

_ACTIVE = threading.local()


class _Constraint(Protocol):
    """Something said of several patterns."""

    def holds(self, bound: Mapping[Any, Any]) -> bool: ...


@dataclass(frozen=True)
class Use:
    """That one pattern uses another.

    Attributes:
        only: whether nothing else uses it.
        index: as which argument, those in tuples counted; -1 for any.
        checked: whether it must be looked at: that a call uses its arguments need not.
    """

    only: bool
    index: int = -1
    checked: bool = True


class PatternContext:
    """Patterns that a dataflow block must match together, each a value of its own.

    Args:
        incremental: begin with what the context around this one says.
    """

    def __init__(self, incremental: bool = False) -> None:
        around = PatternContext.current() if incremental else None
        self._patterns: dict[Pattern, None] = {} if around is None else dict(around._patterns)
        self._uses: dict[tuple[Pattern, Pattern], list[Use]] = (
            {} if around is None else {pair: list(uses) for pair, uses in around._uses.items()}
        )
        self._constraints: list[_Constraint] = [] if around is None else list(around._constraints)

    def __enter__(self) -> "PatternContext":
        _stack().append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _stack().pop()

    @staticmethod
    def current() -> "PatternContext | None":
        """Return the innermost context of this thread, None outside of all."""
        stack = _stack()
        return stack[-1] if stack else None

    def add(self, pattern: Pattern) -> None:
        """Have a pattern stand for a value."""
        self._patterns[pattern] = None

    def add_use(self, producer: Pattern, consumer: Pattern, use: Use) -> None:
        """Say that one pattern uses another."""
        uses = self._uses.setdefault((producer, consumer), [])
        if use not in uses:
            uses.append(use)

    def add_call(self, call: Any) -> None:
        """Have a call and its arguments stand for values."""
        for index, arg in enumerate(call.args):
            self.add(arg)
            self.add_use(arg, call, Use(False, index, checked=False))
        self.add(call)

    def add_constraint(self, constraint: _Constraint) -> None:
        """Say something of several patterns."""
        self._constraints.append(constraint)

    def match_dfb(self, dfb: DataflowBlock) -> "dict[Any, Any] | None":
        """Return the variables of a dataflow block that the patterns stand for, None for no match.

        Patterns that were put into the context stand for different values. A pattern of a constant
        stands for the constant.

        Args:
            dfb: a dataflow block.
        """
        return _Search(self, dfb).run()


def _stack() -> list[PatternContext]:
    if not hasattr(_ACTIVE, "stack"):
        _ACTIVE.stack = []
    return _ACTIVE.stack


class _Search:
    """Looks for values for the patterns of a context, those next to known ones first."""

    def __init__(self, context: PatternContext, dfb: DataflowBlock) -> None:
        self._context = context
        self._vars: dict[Any, Any] = {}
        self._values: dict[Any, Any] = {}
        self._operands: dict[Any, list[Any]] = {}
        self._users: dict[Any, dict[Any, None]] = {}
        for binding in dfb.bindings:
            var, value = binding.var, binding.value
            if var is None:
                continue
            key = identity(var)
            if not isinstance(binding, MatchCast):
                self._values[var] = value
                self._vars[identity(value)] = var
            self._vars[key] = var
            uses = [value] if isinstance(binding, MatchCast) else operands(value)
            self._operands[key] = [identity(each) for each in uses]
            for each in uses:
                self._users.setdefault(identity(each), {})[key] = None
                if identity(each) not in self._vars:
                    self._vars[identity(each)] = each
        self._leaving = {identity(var) for var in dfb.outputs}
        self._matcher = Matcher(self._value)
        self._keys: dict[Any, Any] = {}
        neighbours: dict[Pattern, dict[Pattern, None]] = {}
        for producer, consumer in context._uses:
            neighbours.setdefault(producer, {})[consumer] = None
            neighbours.setdefault(consumer, {})[producer] = None
        self._order = _connected(list(context._patterns), neighbours)
        self._neighbours = neighbours

    def _value(self, var: Var) -> Any:
        result = self._values.get(var)
        return emitted_value(var) if result is None else result

    def run(self) -> "dict[Any, Any] | None":
        for _ in self._assign(0):
            named = {p: self._vars.get(identity(v), v) for p, v in self._matcher.bound.items()}
            if all(each.holds(named) for each in self._context._constraints):
                return named
        return None

    def _assign(self, place: int) -> Iterator[None]:
        if place == len(self._order):
            yield
            return
        pattern = self._order[place]
        for key in self._candidates(pattern):
            if key in self._keys.values():
                continue
            self._keys[pattern] = key
            if self._uses_hold(pattern):
                for _ in self._matcher.solve(pattern, self._vars[key]):
                    yield from self._assign(place + 1)
            del self._keys[pattern]

    def _candidates(self, pattern: Pattern) -> list[Any]:
        known = self._matcher.bound.get(pattern)
        if known is not None:
            key = identity(known)
            self._vars.setdefault(key, known)
            return [key]
        for other in self._neighbours.get(pattern, ()):
            key = self._keys.get(other)
            if key is not None:
                uses = (pattern, other) in self._context._uses
                return list(dict.fromkeys(self._operands.get(key, ()))) if uses else list(
                    self._users.get(key, ())
                )  # fmt: skip
        return list(self._vars)

    def _uses_hold(self, pattern: Pattern) -> bool:
        for other in self._neighbours.get(pattern, ()):
            if other not in self._keys:
                continue
            for pair in ((pattern, other), (other, pattern)):
                for use in self._context._uses.get(pair, ()):
                    if use.checked and not self._holds(use, *(self._keys[p] for p in pair)):
                        return False
        return True

    def _holds(self, use: Use, producer: Any, consumer: Any) -> bool:
        used = self._operands.get(consumer, [])
        if use.index >= 0:
            if use.index >= len(used) or used[use.index] != producer:
                return False
        elif producer not in used:
            return False
        return not use.only or (
            list(self._users[producer]) == [consumer] and producer not in self._leaving
        )


def _connected(
    patterns: "list[Pattern]", neighbours: "dict[Pattern, dict[Pattern, None]]"
) -> "list[Pattern]":
    """Return patterns in an order in which most stand next to an earlier one, calls first."""
    order: dict[Pattern, None] = {}
    # Wildcards come last: what they stand for follows from what uses them.
    for root in sorted(patterns, key=lambda each: not each._parts):
        waiting = [root]
        while waiting:
            top = waiting.pop()
            if top not in order:
                order[top] = None
                waiting += [n for n in neighbours.get(top, ()) if n in patterns][::-1]
    return list(order)
