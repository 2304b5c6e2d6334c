"""Dead code elimination of what branches give and loops carry for nobody."""

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source

BEFORE = """
@R.function
def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool"), k: R.Prim("int64")):
    a = x
    b = x
    d = x
    dead = x
    while R.max(a) < R.const(100.0, "float32"):
        a = a * R.const(2.0, "float32")
        b = b + d
        d = d + x
        dead = dead * a
    e = x
    for i in range(k):
        e = e + x
        b = b + e
        dead = dead + e
    if c:
        p = R.exp(x)
        q = R.sin(x)
        r = R.cos(x)
    else:
        p = x
        q = x
        r = x
    return b, p, q
"""
AFTER = """
@R.function
def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool"), k: R.Prim("int64")):
    a = x
    b = x
    d = x
    while R.max(a) < R.const(100.0, "float32"):
        a = a * R.const(2.0, "float32")
        b = b + d
        d = d + x
    e = x
    for i in range(k):
        e = e + x
        b = b + e
    if c:
        p = R.exp(x)
        q = R.sin(x)
    else:
        p = x
        q = x
    return b, p, q
"""


def test_what_nobody_uses_is_not_carried() -> None:
    before, after = map(transform.DeadCodeElimination(), map(from_source, (BEFORE, AFTER)))
    assert "dead" not in before.script()
    assert "R.cos" not in before.script()
    assert_structural_equal(before, after)


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("turns", [0, 3])
def test_results_stay(taken, turns) -> None:
    module = from_source(BEFORE)
    x = np.array([0.5, 1.0, 3.0], "float32")
    results = [
        relax.VirtualMachine(relax.build(each))["main"](x, np.array(taken), turns)
        for each in (module, transform.DeadCodeElimination()(module))
    ]
    for before, after in zip(*results, strict=True):
        np.testing.assert_array_equal(after, before)


def test_what_effects_use_stays() -> None:
    """A value that only a call with effects reads, and one that is asserted."""
    source = """
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor):
    a = x
    z = y
    for i in range(3):
        R.print(a)
        a = a + x
        z = R.match_cast(z, R.Tensor((n,), "float32"))
    return x
"""
    module = transform.DeadCodeElimination()(from_source(source))
    (loop,) = (
        view.operation
        for view in module["main"].mlir_op.regions[0].blocks[0].operations
        if view.operation.name == "relax.for"
    )
    assert loop.results[0].type.num_types == 2
