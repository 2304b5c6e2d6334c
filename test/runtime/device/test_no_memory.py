"""A kernel that cannot get memory for its intermediate results is an error, not a crash."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import VMError
from relax_mlir.script import from_source

PROGRAM = """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def big(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.alloc_buffer((n * FACTOR,), "float32")
        for i in range(n):
            C[i] = A[i]
        for i in range(n):
            B[i] = C[i]

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        y = R.exp(x)
        z = R.call_tir(big, (y,), out_sinfo=R.Tensor(("n",), "float32"))
        return z
"""


# Too much for any machine; a product that does not fit 64 bits and wraps around to a small one.
@pytest.mark.parametrize("factor", [10**13, 1 << 60])
def test_no_memory_is_an_error(factor):
    vm = relax.VirtualMachine(relax.build(from_source(PROGRAM.replace("FACTOR", str(factor)))))
    x = np.zeros(16, np.float32)
    for _ in range(3):
        with pytest.raises(VMError, match="there is no memory for its intermediate results"):
            vm["main"](x)
    with pytest.raises(VMError, match="big: there is no memory"):
        vm["big"](x, np.zeros(16, np.float32))
    assert vm["main"](np.zeros(0, np.float32)).shape == (0,)


def test_enough_memory_is_none():
    vm = relax.VirtualMachine(relax.build(from_source(PROGRAM.replace("FACTOR", "2"))))
    np.testing.assert_allclose(vm["main"](np.zeros(7, np.float32)), np.ones(7), rtol=1e-6)
