"""The result of comparing a model with its source framework."""

from dataclasses import dataclass

import numpy as np

from relax_mlir.text_table import text_table


@dataclass(frozen=True)
class Difference:
    """How far one result is from that of the source framework.

    Attributes:
        name: of the result.
        error: the largest absolute difference; infinite where shapes, dtypes or NaNs differ.
        agrees: whether every number is within the tolerance.
    """

    name: str
    error: float
    agrees: bool


@dataclass(frozen=True)
class Comparison:
    """A compiled model compared with its source, on the same inputs; prints as a table.

    Attributes:
        outputs: each output.
        first: the first operation whose result differs, and its place in the model; None if none
            does alone.
    """

    outputs: list[Difference]
    first: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether all outputs are within the tolerance."""
        return all(each.agrees for each in self.outputs)

    def check(self) -> None:
        """Raise unless all outputs are within the tolerance.

        Raises:
            AssertionError: one is not; the message is the table.
        """
        if not self.agrees:
            raise AssertionError(str(self))

    @property
    def table(self) -> str:
        """The outputs, the largest error of each, and which differ."""
        rows = [("output", "largest error", "")]
        rows += [
            (each.name, f"{each.error:.3g}", "" if each.agrees else "DIFFERS")
            for each in self.outputs
        ]
        return text_table(rows, right=(1,))

    def __str__(self) -> str:
        if self.agrees:
            return self.table
        first = self.first or "no operation alone; the kernels that fuse several do"
        return f"{self.table}\nfirst to differ: {first}"


def difference(
    name: str, actual: np.ndarray, expected: np.ndarray, rtol: float, atol: float
) -> Difference:
    """Return how far an array is from what it should be; NaNs agree with NaNs."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return Difference(name, float("inf"), False)
    mine, other = _comparable(actual), _comparable(expected)
    agrees = np.allclose(mine, other, rtol, atol, equal_nan=True)
    with np.errstate(invalid="ignore"):
        errors = np.where(
            (mine == other) | (np.isnan(mine) & np.isnan(other)), 0, abs(mine - other)
        )
    largest = float(np.max(errors, initial=0))
    return Difference(name, float("inf") if np.isnan(largest) else largest, agrees)


def _comparable(array: np.ndarray) -> np.ndarray:
    return array.astype("complex128" if array.dtype.kind == "c" else "float64")
