"""`ShapeCheck`: no pass forgets a shape; what finds one that does."""

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import PassError
from relax_mlir.instrument import ShapeCheck
from relax_mlir.script import from_source
from relax_mlir.transform import PassContext

PROGRAM = from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def layer(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("k", "m"), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            c = R.add(b, R.const(1.0, "float32"))
            R.output(c)
        return c
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32"), s: R.Tensor):
        h = Module.layer(x, w)
        with R.dataflow():
            e = R.exp(h)
            f = R.flatten(e)
            g = R.match_cast(R.unique(f), R.Tensor(("u",), "float32"))
            i = R.multiply(g, g)
            j = R.log(s)
            R.output(f, i, j)
        if R.const(True, "bool"):
            z = R.add(f, f)
        else:
            z = R.subtract(f, f)
        return z, i, j
""")


def test_no_pass_of_a_build_forgets_a_shape() -> None:
    check = ShapeCheck()
    with PassContext(opt_level=3, instruments=[check]):
        executable = relax.build(PROGRAM)
    assert check.compared > len(DEFAULT_PIPELINE)
    x, w = np.ones((3, 4), np.float32), np.ones((4, 8), np.float32)
    result = relax.VirtualMachine(executable)["main"](x, w, x)
    np.testing.assert_allclose(result[0], np.full(24, 2 * np.exp(5)), rtol=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        "InferType", "Normalize", "CanonicalizeBindings", "DeadCodeElimination", "FoldConstant",
        "EliminateCommonSubexpr", "LambdaLift", "ConvertToDataflow", "SimplifyInference",
        "RefineShapesBackward", "ExtractShapeFunctions", "LegalizeOps",
    ],
)  # fmt: skip
def test_no_pass_forgets_a_shape(name) -> None:
    check = ShapeCheck()
    with PassContext(opt_level=3, instruments=[check]):
        transform.get_pass(name)(PROGRAM)
    assert check.compared


def _forget(kind: str):
    """A pass that makes one value's type say less."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "relax.flatten":
            types = {
                "shape": T.tensor_type(None, "float32", 1),
                "rank": T.tensor_type(None, "float32"),
                "dtype": T.tensor_type(None, None, 1),
            }
            op.results[0].set_type(types[kind])
        return ir.WalkResult.ADVANCE

    @transform.module_pass(opt_level=0, name="Forget")
    def forget(mod, ctx):
        copy = mod.clone()
        with copy.context, ir.Location.unknown():
            copy["main"].mlir_op.walk(visit)
        return copy

    return forget


@pytest.mark.parametrize("kind", ["shape", "rank", "dtype"])
def test_a_pass_that_forgets(kind) -> None:
    with (
        pytest.raises(
            PassError, match=r"(?s)Forget.*forgets shapes.*@main: value 'f': was R.Tensor"
        ),
        PassContext(instruments=[ShapeCheck()]),
    ):
        _forget(kind)(PROGRAM)
    with PassContext(instruments=[ShapeCheck(skip=["Forget"])]):
        _forget(kind)(PROGRAM)


def test_a_pass_that_fails_leaves_nothing_behind() -> None:
    @transform.module_pass(opt_level=0, name="Fail")
    def fail(mod, ctx):
        raise RuntimeError("no")

    check = ShapeCheck()
    with PassContext(instruments=[check]):
        with pytest.raises(Exception, match="no"):
            fail(PROGRAM)
        transform.get_pass("InferType")(PROGRAM)
    assert not check._before


@pytest.mark.parametrize(("wanted", "holds"), [("n * 2", True), ("m", True), ("m + n", False)])
def test_another_expression_needs_a_proof(wanted, holds) -> None:
    """The function asserts that `m` is `n * 2`."""
    module = from_source("""
@R.function
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n * 2",), "float32")):
    a = R.match_cast(y, R.Tensor(("m",), "float32"))
    b = R.exp(y)
    c = R.sum(b)
    return c
""")

    @transform.module_pass(opt_level=0, name="Rename")
    def rename(mod, ctx):
        new = mod.clone()
        with new.context:
            n, m = SymExpr.var("n"), SymExpr.var("m")
            dims = {"n * 2": n * 2, "m": m, "m + n": m + n}[wanted]
            for view in new["main"].mlir_op.regions[0].blocks[0].operations:
                if view.operation.name == "relax.exp":
                    view.operation.results[0].set_type(T.tensor_type([dims], "float32"))
        return new

    with PassContext(instruments=[ShapeCheck()]):
        if holds:
            rename(module)
        else:
            with pytest.raises(PassError, match="forgets shapes"):
                rename(module)
