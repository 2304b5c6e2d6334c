"""`testing`: what tests of programs use, under TVM's names; modules compare by `ir`."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from relax_mlir.errors import missing
from relax_mlir.runtime.device.api import Device, cpu

_UNSUPPORTED = {
    **dict.fromkeys(
        ("parameters", "parametrize_targets"),
        "pytest.mark.parametrize does it",
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
    if name == "compare":
        from relax_mlir.frontend.loaders import compare

        return compare
    raise AttributeError(missing("testing", name, _UNSUPPORTED, globals()))


def __dir__() -> list[str]:
    return sorted([*globals(), "assert_structural_equal", "compare"])


def assert_allclose(
    actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True
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


def parameter(
    *values: Any, ids: Sequence[str] | None = None, by_dict: Mapping[str, Any] | None = None
) -> Any:
    """Return a fixture of pytest that runs the tests which take it once for each value.

    Args:
        values: the values.
        ids: what they are called, in their order.
        by_dict: instead of both, values by what they are called.
    """
    import pytest

    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())
    return pytest.fixture(params=values, ids=ids)(lambda request: request.param)


def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """Return a fixture of pytest.

    Args:
        func: what makes the value, when the decorator is used without parentheses.
        cache_return_value: whether one value serves all tests of the session.
    """
    import pytest

    made = pytest.fixture(scope="session" if cache_return_value else "function")
    return made if func is None else made(func)


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
