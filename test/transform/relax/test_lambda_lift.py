"""Functions as values, compiled after LambdaLift."""

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.errors import PassError, VMError
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source

SOURCE = """
#n2 = affine_map<()[s0] -> (s0 * 2)>
#n = affine_map<()[s0] -> (s0)>
!X = tensor<?xf32, #relax.dims<["n"], #n2>>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!K = tensor<?xf32, #relax.dims<["k"], #n>>
!O = !relax.object

func.func @chosen(%flag: tensor<i1>, %n: !N, %x: !X) -> !X attributes {relax.function} {
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %f = "relax.if"(%flag) ({
    %g = "relax.lambda"() ({
    ^bb0(%a: !X):
      %s = "relax.add"(%a, %x) : (!X, !X) -> !X
      %m = "relax.multiply"(%s, %two) : (!X, tensor<f32>) -> !X
      "relax.yield"(%m) : (!X) -> ()
    }) : () -> !O
    "relax.yield"(%g) : (!O) -> ()
  }, {
    %h = "relax.lambda"() ({
    ^bb0(%a: !K):
      %inner = "relax.lambda"() ({
        %e = "relax.exp"(%a) : (!K) -> !K
        %c = "relax.match_cast"(%e) : (!K) -> !X
        %s = "relax.add"(%c, %x) : (!X, !X) -> !X
        "relax.yield"(%s) : (!X) -> ()
      }) : () -> !O
      %none = builtin.unrealized_conversion_cast to tuple<>
      %r = "relax.invoke_closure"(%inner, %none) : (!O, tuple<>) -> !X
      "relax.yield"(%r) : (!X) -> ()
    }) : () -> !O
    "relax.yield"(%h) : (!O) -> ()
  }) : (tensor<i1>) -> !O
  %t = builtin.unrealized_conversion_cast %x : !X to tuple<!X>
  %r = "relax.invoke_closure"(%f, %t) : (!O, tuple<!X>) -> !X
  return %r : !X
}

func.func @maker(%x: !N) -> !O attributes {relax.function} {
  %f = "relax.lambda"() ({
  ^bb0(%a: !K):
    %s = "relax.sum"(%x) {axis, keepdims = false} : (!N) -> tensor<f32>
    %r = "relax.add"(%a, %s) : (!K, tensor<f32>) -> !K
    "relax.yield"(%r) : (!K) -> ()
  }) : () -> !O
  return %f : !O
}

func.func @apply(%f: !O, %x: !N) -> tuple<!N, tensor<*xf32>> attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !N to tuple<!N>
  %y = "relax.invoke_closure"(%f, %t) : (!O, tuple<!N>) -> !N
  %u = builtin.unrealized_conversion_cast %y : !N to tuple<!N>
  %z = "relax.invoke_closure"(%f, %u) {pure} : (!O, tuple<!N>) -> tensor<*xf32>
  %r = builtin.unrealized_conversion_cast %y, %z : !N, tensor<*xf32> to tuple<!N, tensor<*xf32>>
  return %r : tuple<!N, tensor<*xf32>>
}
"""


@pytest.fixture(scope="module", params=["alone", "with the others"])
def vm(request):
    passes = [transform.LambdaLift()]
    if request.param != "alone":
        names = ("Normalize", "InferType", "FoldConstant", "EliminateCommonSubexpr",
                 "CanonicalizeBindings", "DeadCodeElimination")  # fmt: skip
        others = [getattr(transform, name)() for name in names]
        passes = [*others, *passes, *others]
    with transform.PassContext(opt_level=3):
        module = transform.Sequential(passes)(IRModule.parse(SOURCE))
    assert "relax.lambda" not in str(module)
    return relax.VirtualMachine(relax.build(module))


@pytest.mark.parametrize("n", [0, 1, 5, 33])
def test_closures(vm, n):
    rng = np.random.default_rng(n)
    x = rng.standard_normal(2 * n, dtype="float32")
    half = x[:n].copy()
    np.testing.assert_allclose(vm["chosen"](np.array(True), half, x), 4 * x, rtol=1e-6)
    got = vm["chosen"](np.array(False), half, x)
    np.testing.assert_allclose(got, np.exp(x) + x, rtol=1e-6, atol=1e-6)
    add = vm["maker"](half)
    np.testing.assert_allclose(add(x), x + half.sum(), rtol=1e-5, atol=1e-5)
    y, z = vm["apply"](add, x)
    np.testing.assert_allclose(y, x + half.sum(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(z, x + 2 * half.sum(), rtol=1e-5, atol=1e-5)


def test_what_a_closure_returns_is_checked(vm):
    with pytest.raises(VMError, match="n"):
        vm["apply"](lambda x: x[:1].copy(), np.ones(3, "float32"))


def test_prim_funcs_return_nothing():
    module = from_source("""
from relax_mlir.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def copy(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = a[i]
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        f = cls.copy
        return f(x)
""")
    with pytest.raises(PassError, match=r"'copy' at .* is a prim func, which writes its results"):
        transform.LambdaLift()(module)
