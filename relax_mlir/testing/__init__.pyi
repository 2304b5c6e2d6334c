"""`testing`: what tests of programs use, under TVM's names; modules compare by `ir`."""

# Made by .ci/stubs, do not edit.

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.frontend.loaders import compare
from relax_mlir.ir.structural.compare import assert_structural_equal
from relax_mlir.runtime.device.api import Device

__all__ = [
    "assert_allclose",
    "assert_structural_equal",
    "compare",
    "device_enabled",
    "enabled_targets",
    "fixture",
    "main",
    "parameter",
]

def assert_allclose(
    actual: Any, desired: Any, rtol: float = 1e-07, atol: float = 1e-07, verbose: bool = True
) -> None:
    """Raise unless two arrays have one shape and numbers that differ no more than a tolerance.

    Args:
        actual: an array of numpy, of the virtual machine, or any with DLPack; or nested tuples.
        desired: as `actual`.
        rtol: how much of `desired` a number may differ by.
        atol: the absolute tolerance, in addition.
        verbose: whether the message shows the numbers.

    Raises:
        AssertionError: they differ, in shape or in how many fields a tuple has too.
    """

def device_enabled(target: str) -> bool:
    """Whether programs for a target run here."""

def enabled_targets() -> list[tuple[str, Device]]:
    """Return each target that programs can be compiled for and run on here, with its device."""

def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """Return a fixture of pytest.

    Args:
        func: what makes the value, when the decorator is used without parentheses.
        cache_return_value: whether one value serves all tests of the session.
    """

def main() -> Any:
    """Run the tests of the file that calls this, as its last lines do."""

def parameter(
    *values: Any, ids: Sequence[str] | None = None, by_dict: Mapping[str, Any] | None = None
) -> Any:
    """Return a fixture of pytest that runs the tests which take it once for each value.

    Args:
        values: the values.
        ids: what they are called, in their order.
        by_dict: instead of both, values by what they are called.
    """
