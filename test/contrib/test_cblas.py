"""`contrib.cblas`: products of matrices by TVM's names."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.contrib import cblas
from relax_mlir.errors import ExprError
from relax_mlir.script import relax as R


@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("transb", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_products(transa: bool, transb: bool, batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((*batch, 3, 4), "float32"), rng.random((*batch, 4, 5), "float32")
    expected = a @ b
    a = a.swapaxes(-1, -2).copy() if transa else a
    b = b.swapaxes(-1, -2).copy() if transb else b
    x, y = (relax.Var(name, R.Tensor(each.shape, "float32")) for name, each in (("x", a), ("y", b)))
    bb = relax.BlockBuilder()
    func = cblas.batch_matmul if batch else cblas.matmul
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit_te(func, x, y, transa=transa, transb=transb))
    mod = bb.finalize()
    assert func.__name__ in mod.function_names
    result = relax.VirtualMachine(relax.build(mod))["main"](a, b)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_tensors_of_other_ranks_are_refused() -> None:
    x = relax.Var("x", R.Tensor((3, 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with pytest.raises(ExprError, match="takes tensors of 3 dimensions, got 2 and 2"):
            bb.emit_te(cblas.batch_matmul, x, x)
        bb.emit_func_output(x)
