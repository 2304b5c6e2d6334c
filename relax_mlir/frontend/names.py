"""Names of symbols for sizes that a model leaves open or that only run time knows."""

from relax_mlir.dialects.symbolic.expr import SymExpr


class Names:
    """Names of symbols that nothing else has, for all graphs of a model."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._count = 0

    def fresh(self, prefix: str) -> SymExpr:
        """Return a new symbol."""
        while True:
            name = f"{prefix}{self._count}"
            self._count += 1
            if name not in self._taken:
                self._taken.add(name)
                return SymExpr.var(name)
