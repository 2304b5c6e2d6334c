"""Every class of kernels for AArch64, run in an emulator, against the same program on this machine.

What this machine computes the tests of numerics hold to numpy.
"""

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest
from aarch64 import TARGET, emulated
from class_programs import CASES, program

from relax_mlir import relax

pytestmark = pytest.mark.own_targets

# Sizes of the symbols: odd ones, larger than a tile, single ones, and none.
SIZES = [
    {"n": 13, "m": 37, "k": 29, "b": 2, "h": 9, "w": 11},
    {"n": 1, "m": 11, "k": 1, "b": 1, "h": 3, "w": 3},
    {"n": 0, "m": 10, "k": 0, "b": 0, "h": 2, "w": 5},
    {"n": 2, "m": 300, "k": 261, "b": 3, "h": 5, "w": 17},
]
# Of the largest result: dtypes of few bits are rounded once more where vectors have other sizes.
TOLERANCES = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6, "float64": 1e-14}


@pytest.fixture(scope="module")
def machines() -> Iterator[tuple[relax.VirtualMachine, relax.VirtualMachine]]:
    module = program()
    host = relax.VirtualMachine(relax.build(module, "llvm -O0 -num-threads=1"))
    built = relax.build(module, TARGET.format("neoverse-n1"))
    with emulated():
        yield host, relax.VirtualMachine(built)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_this_machine(name, machines) -> None:
    _, shapes, dtype = CASES[name]
    for sizes in SIZES:
        random = np.random.default_rng(0)
        given = []
        for shape in shapes:
            dims = [sizes[dim] if isinstance(dim, str) else dim for dim in shape]
            values = random.integers(0, 9, dims) if "int" in dtype else random.uniform(0, 2, dims)
            given.append(values.astype(getattr(ml_dtypes, dtype, dtype)))
        expected, result = (np.asarray(machine[name](*given)) for machine in machines)
        assert result.dtype == expected.dtype
        assert result.shape == expected.shape
        largest = max(np.abs(expected.astype("f8")).max(initial=0), 1e-30)
        error = np.abs(result.astype("f8") - expected.astype("f8")).max(initial=0)
        assert error <= TOLERANCES.get(result.dtype.name, 0) * largest, sizes


def test_errors_cross_the_boundary(machines) -> None:
    x = np.ones((3, 4), "float32")
    with pytest.raises(ValueError, match="dimension 0 is 3, expected 4"):
        machines[1]["gemm_float32"](x, x)
