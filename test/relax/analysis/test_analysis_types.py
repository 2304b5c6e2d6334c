"""relax.analysis: relations between types, the types of calls, erasure."""

import pytest
import tvm_ffi

from relax_mlir import ir, relax
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.relax import analysis
from relax_mlir.relax.expr import FuncType, as_type
from relax_mlir.script import relax as R


@pytest.mark.parametrize(
    ("base", "derived", "result"),
    [
        (R.Object, R.Tensor((4,), "float32"), "PASS"),
        (R.Tensor((4,), "float32"), R.Object, "FAIL_L1"),
        (R.Tensor(ndim=1), R.Tensor((4,), "float32"), "PASS"),
        (R.Tensor((4,), "float32"), R.Tensor(ndim=1, dtype="float32"), "FAIL_L2"),
        (R.Tensor((4,), "float32"), R.Tensor(dtype="float32"), "FAIL_L1"),
        (R.Shape(ndim=1), R.Shape, "FAIL_L1"),
        (R.Tensor(("n",), "float32"), R.Tensor(("m",), "float32"), "FAIL_L2"),
        (R.Tensor(("n * 2",), "float32"), R.Tensor(("n + n",), "float32"), "PASS"),
        (R.Tensor(("n",), "float32"), R.Tensor(("n + 1",), "float32"), "FAIL_L0"),
        (R.Tensor((4,), "float32"), R.Tensor((4,), "float16"), "FAIL_L0"),
        (R.Tensor((4,), "float32"), R.Shape([4]), "FAIL_L0"),
        (relax.TensorType(ndim=1, vdevice="llvm"), relax.TensorType(ndim=1), "FAIL_L1"),
        (relax.TensorType(ndim=1), relax.TensorType(ndim=1, vdevice="llvm"), "PASS"),
        (
            relax.TensorType(ndim=1, vdevice=ir.VDevice("llvm", 0)),
            relax.TensorType(ndim=1, vdevice=ir.VDevice("llvm", 1)),
            "FAIL_L0",
        ),
        (R.Shape(ndim=2), R.Shape([1, 2]), "PASS"),
        (FuncType([R.Object], R.Object), FuncType.opaque_func(ret=R.Shape), "FAIL_L1"),
        (FuncType([R.Object], R.Tensor), FuncType.opaque_func(ret=R.Shape), "FAIL_L1"),
        (FuncType.opaque_func(ret=R.Tensor), FuncType([R.Object], R.Shape), "FAIL_L0"),
        (R.Tuple(R.Object, R.Tensor), R.Tuple(R.Shape, R.Tensor((2,), "int8")), "PASS"),
        (R.Tuple(R.Object), R.Tuple(R.Object, R.Object), "FAIL_L0"),
    ],
)
def test_type_base_check(base, derived, result):
    assert analysis.type_base_check(base, derived).name == result
    assert as_type(base).is_base_of(derived) is (result == "PASS")


def test_type_lca():
    lca = analysis.type_lca
    a, b = R.Tensor(("n", 4), "float32"), R.Tensor(("n", 5), "float32")
    assert str(lca(a, b)) == 'R.Tensor(ndim=2, dtype="float32")'
    assert str(lca(a, a)) == 'R.Tensor((n, 4), "float32")'
    assert str(lca(a, R.Tensor((4,), "int8"))) == "R.Tensor()"
    assert str(lca(a, R.Shape([4]))) == "R.Object"
    assert str(lca(R.Tuple(a, a), R.Tuple(a, b))) == str(
        analysis.type_lca(R.Tuple(a, lca(a, b)), R.Tuple(a, lca(a, b)))
    )


def test_types_of_calls_and_erasure():
    func = FuncType([R.Tensor(("n", 4), "float32")], R.Tensor(("n * 4",), "float32"))
    derive = analysis.derive_call_ret_type
    assert str(derive(func, [R.Tensor((3, 4), "float32")])) == 'R.Tensor((12,), "float32")'
    assert str(derive(func, [R.Tensor(ndim=2, dtype="float32")])) == (
        'R.Tensor(ndim=1, dtype="float32")'
    )
    for bad in ([], [R.Tensor((3, 5), "float32")], [R.Tensor((3, 4), "int8")]):
        with pytest.raises(ExprError):
            derive(func, bad)
    with pytest.raises(ExprTypeError):
        derive(R.Object, [])
    erased = analysis.erase_to_well_defined(R.Tensor(("n", "m"), "float32"), {"n": 3})
    assert str(erased) == 'R.Tensor(ndim=2, dtype="float32")'
    kept = analysis.erase_to_well_defined(R.Tensor(("n", "n + 1"), "float32"), {"n": 3})
    assert str(kept) == 'R.Tensor((3, 4), "float32")'


def test_types_of_annotations():
    entry = R.entry
    assert isinstance(R.Tensor(("n",), "float32"), entry.TypeProxy)
    assert R.Any.as_ty() == relax.AnyType()
    lhs, rhs = R.Prim("int8").as_ty(), R.Prim("float32").as_ty()
    assert tvm_ffi.structural_equal(analysis.type_lca(lhs, lhs), lhs)
    assert not tvm_ffi.structural_equal(lhs, rhs)
    assert tvm_ffi.structural_equal(analysis.type_lca(lhs, rhs), relax.AnyType())
    func = FuncType([R.Shape(["n", 2])], R.Tuple(R.Tensor(("n",), "int8"), R.Shape([3])))
    assert str(analysis.get_static_type(func)) == (
        'R.Callable((R.Shape(ndim=2),), R.Tuple(R.Tensor(ndim=1, dtype="int8"), R.Shape(ndim=1)))'
    )
