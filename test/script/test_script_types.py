"""Annotations: three spellings of one type, and all kinds."""

import pytest

from relax_mlir.dialects.relax.well_formed import check_well_formed
from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source


def parameter(annotation: str, before: str = "") -> str:
    params = f"{before}x: {annotation}"
    text = f"from tvm.script import relax as R\n@R.function\ndef f({params}):\n    return x\n"
    module = from_source(text)
    return str(module.mlir_module.body.operations[0].type.inputs[-1])


V0 = 'tensor<?x4xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>>'


@pytest.mark.parametrize(
    "annotation",
    [
        'R.Tensor[(n, 4), "f32"]',
        'Tensor[(n, 4), "float32"]',
        'R.Tensor(("n", 4), "float32")',
        'R.Tensor((n, 4), dtype="float32")',
        'R.Tensor(shape=["n", 4], dtype="f32", ndim=2)',
        "\"R.Tensor((n, 4), 'float32')\"",
    ],
)
def test_spellings_of_a_known_shape(annotation: str) -> None:
    assert parameter(annotation) == V0


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ('R.Tensor[_, "f32"]', "tensor<*xf32>"),
        ("R.Tensor[_, _]", "tensor<*x!relax.any_dtype>"),
        ("R.Tensor", "tensor<*x!relax.any_dtype>"),
        ("R.Tensor()", "tensor<*x!relax.any_dtype>"),
        ('R.Tensor("int8")', "tensor<*xi8>"),
        ('R.Tensor["bool"]', "tensor<*xi1>"),
        ('R.Tensor("float32", ndim=2)', "tensor<?x?xf32>"),
        ('R.Tensor(dtype="uint8", ndim=1)', "tensor<?xui8>"),
        ("R.Tensor(ndim=2)", "tensor<?x?x!relax.any_dtype>"),
        ('R.Tensor((), "float16")', "tensor<f16>"),
        ('R.Tensor[(3, 4), "bfloat16"]', "tensor<3x4xbf16>"),
        ("R.Tensor[(3, 4)]", "tensor<3x4x!relax.any_dtype>"),
        ("R.Shape", "!relax.shape<unit>"),
        ("R.Shape(ndim=2)", "!relax.shape<2 : i64>"),
        ("R.Shape([2, 3])", "!relax.shape<#relax.dims<[], affine_map<() -> (2, 3)>>>"),
        ("R.Object", "!relax.object"),
        ("R.Any", "!relax.object"),
        ('R.Prim("int64")', "i64"),
        ('R.Prim(value="n")', "i64"),
        ('R.Tuple(R.Tensor((3,), "int64"), R.Object)', "tuple<tensor<3xi64>, !relax.object>"),
        ("R.Tuple([R.Object])", "tuple<!relax.object>"),
    ],
)
def test_other_kinds(annotation: str, expected: str) -> None:
    assert parameter(annotation) == expected


def test_expressions_over_symbols_are_folded() -> None:
    before = 'a: R.Tensor(("n", "m")), '
    one = parameter('R.Tensor(("n * 4 + m * 0", "m // 1"), "float32")', before)
    assert one == parameter('R.Tensor[(2 * n * 2, m), "f32"]', before)


def test_symbols_declared_by_name() -> None:
    text = """
from relax_mlir.script import relax as R, tir as T
@R.function
def f(x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1)):
    n = T.int64()
    m = T.int64(is_size_var=True)
    k = T.var("q")
    z = R.match_cast(y, R.Tensor((m,), "float32"))
    w = R.match_cast(y, R.Tensor((k,), "float32"))
    return R.shape([n + m + k])
"""
    assert '["m", "n", "q"]' in str(from_source(text).mlir_module)


def test_an_annotation_that_never_holds_is_refused() -> None:
    text = """
from tvm.script import relax as R
@R.function
def f(x: R.Tensor(("n",), "float32")):
    y: R.Tensor((n + 1,), "float32") = R.exp(x)
    return y
"""
    with pytest.raises(ScriptError, match=r"declared R.Tensor\(\(n \+ 1,\).* is R.Tensor\(\(n,\)"):
        from_source(text)


def test_a_symbol_of_the_callee_is_not_the_callers() -> None:
    text = """
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function
    def g(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n + 1",), "float32")):
        return y
    @R.function
    def f(y: R.Tensor(("n",), "float32"), x: R.Tensor(("n - 1",), "float32")):
        z = M.g(x, y)
        return z
"""
    assert not check_well_formed(from_source(text).mlir_module)
