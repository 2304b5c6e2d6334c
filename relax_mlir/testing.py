"""`testing`: what tests of programs use, under TVM's names; modules compare by `ir`."""

import sys
from typing import Any, NoReturn

import numpy as np

from relax_mlir.errors import missing
from relax_mlir.runtime.device.api import Device, cpu

_REFUSED = {
    **dict.fromkeys(
        ("parameter", "parameters", "fixture", "parametrize_targets"),
        "pytest.mark.parametrize and pytest.fixture do it",
    ),
    **dict.fromkeys(
        ("requires_gpu", "requires_cuda", "requires_llvm", "requires_package"),
        "kernels run on the CPU; pytest.mark.skipif leaves tests out",
    ),
    "assert_prim_expr_equal": "arith.Analyzer().can_prove_equal(a, b) compares symbolic integers",
}


def __getattr__(name: str) -> Any:
    if name == "assert_structural_equal":
        from relax_mlir.ir import assert_structural_equal

        return assert_structural_equal
    raise AttributeError(missing("testing", name, _REFUSED, globals()))


def assert_allclose(
    actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True
) -> None:
    """Raise unless two arrays have one shape and numbers that differ no more than a tolerance.

    Args:
        actual: an array of numpy, of the virtual machine, or any with DLPack; or nested tuples.
        desired: as `actual`.
        rtol: how much of `desired` a number may differ by.
        atol: how much it may differ by beside that.
        verbose: whether the message shows the numbers.

    Raises:
        AssertionError: they differ, in shape or in how many fields a tuple has too.
    """
    if isinstance(actual, (tuple, list)) and isinstance(desired, (tuple, list)):
        if len(actual) != len(desired):
            raise AssertionError(f"{len(actual)} fields, expected {len(desired)}")
        for mine, other in zip(actual, desired, strict=True):
            assert_allclose(mine, other, rtol, atol, verbose)
        return
    mine, other = _array(actual), _array(desired)
    if mine.shape != other.shape:
        raise AssertionError(f"shape {mine.shape}, expected {other.shape}")
    np.testing.assert_allclose(mine, other, rtol=rtol, atol=atol, verbose=verbose)


def _array(value: Any) -> np.ndarray:
    array = value if isinstance(value, np.ndarray) else None
    if array is None and hasattr(value, "__dlpack__"):
        array = np.from_dlpack(value)
    array = np.asarray(value) if array is None else array
    # numpy compares no bfloat16.
    return array.astype("float32") if array.dtype.name == "bfloat16" else array


def enabled_targets() -> list[tuple[str, Device]]:
    """Return each target that programs can be compiled for and run on here, with its device."""
    return [("llvm", cpu())]


def device_enabled(target: str) -> bool:
    """Whether programs for a target run here."""
    from relax_mlir.errors import PipelineError
    from relax_mlir.lowering.target.target import Target

    try:
        Target(target)
    except PipelineError:
        return False
    return True


def main() -> NoReturn:
    """Run the tests of the file that calls this, as its last lines do."""
    import pytest

    sys.exit(pytest.main([sys.argv[0], *sys.argv[1:]]))
