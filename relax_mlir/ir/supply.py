"""`UniqueNameSupply`: names that nothing has, in TVM's spelling."""


class UniqueNameSupply:
    """Gives each name once: a name itself, then with a number, `x`, `x_1`, `x_2`.

    Args:
        prefix: what names begin with, `prefix_x`.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._taken: set[str] = set()

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """Return a name that was not given before, and take it.

        Args:
            name: the name; `v` where it is empty.
            add_prefix: whether it begins with the supply's prefix.
            add_underscore: whether an underscore stands before the number.
        """
        base = self._full(name, add_prefix)
        result, count = base, 0
        while result in self._taken:
            count += 1
            result = f"{base}{'_' * add_underscore}{count}"
        self._taken.add(result)
        return result

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Take a name, and return it with its prefix."""
        result = self._full(name, add_prefix)
        self._taken.add(result)
        return result

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Whether a name is taken."""
        return self._full(name, add_prefix) in self._taken

    def _full(self, name: str, add_prefix: bool) -> str:
        name = name or "v"
        return f"{self._prefix}_{name}" if add_prefix and self._prefix else name
