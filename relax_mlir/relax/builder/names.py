"""Unique names: the hint itself, then the hint with a number."""

from collections.abc import Iterable


class Names:
    """The names of one scope; asking for one takes constant time."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def add(self, name: str) -> None:
        """Note that something has a name."""
        self._taken.add(name)

    def discard(self, name: str) -> None:
        """Note that nothing has a name any more."""
        self._taken.discard(name)

    def fresh(self, hint: str) -> str:
        """Return a name that nothing has yet, and note it."""
        taken = self._taken
        if hint not in taken:
            taken.add(hint)
            return hint
        count = self._counts.get(hint, 0)
        # `x1` and a count of 1 would read `x11`.
        base = f"{hint}_" if hint[-1:].isdigit() else hint
        while True:
            count += 1
            name = f"{base}{count}"
            if name not in taken:
                self._counts[hint] = count
                taken.add(name)
                return name

    def __contains__(self, name: object) -> bool:
        return name in self._taken
