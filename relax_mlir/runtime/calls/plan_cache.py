"""Which functions of a machine are called often, and what then runs them without Python."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.runtime.calls.direct import code
from relax_mlir.runtime.calls.plans import NoPlan, NoPlanNow, Plan

# What stands for "no plan fits".
MISS = object()
# After how many calls of the same shapes there is a plan, and how many plans are kept.
CALLS = 16
_MOST_PLANS = 8
_MOST_CALLS = CALLS << 16


class Quick:
    """The plans of one function.

    Attributes:
        run: runs the first that fits its arguments, or gives `MISS`; None while there is none.
        watching: whether `seen` wants to know of calls.
    """

    __slots__ = ("_left", "_plans", "_shapes", "_wanted", "run", "watching")

    def __init__(self) -> None:
        self.forget()

    def forget(self, watching: bool = True) -> None:
        """Drop the plans, and make new ones or none."""
        self.run: Callable[..., Any] | None = None
        self.watching = watching
        self._shapes: list[Any] = []
        self._wanted = self._left = CALLS
        self._plans: list[Plan] = []

    def seen(self, args: Sequence[Any]) -> bool:
        """Count a call that no plan fitted; return whether there should be a plan for its like."""
        shapes = [getattr(arg, "shape", None) for arg in args]
        if shapes != self._shapes:
            self._shapes, self._left = shapes, self._wanted
        self._left -= 1
        return self._left == 0

    def plan(self, name: str, make: Callable[[], Plan]) -> None:
        """Make a plan; where there can be none, ask again less and less often, or not at all."""
        self._shapes = []
        native = code()
        try:
            if native is None:
                raise NoPlan
            plan = make()
        except NoPlanNow:
            self._wanted *= 4
            self.watching = self._wanted < _MOST_CALLS
        except NoPlan:
            self.watching: bool = False
        else:
            self._plans = [plan, *self._plans][:_MOST_PLANS]
            self.run = native.run(name, MISS, self._plans)
