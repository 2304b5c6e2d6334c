"""Relax types from Python: making, asking, printing, and whether they make sense."""

import pytest

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.validity import dims_problem, type_problem
from relax_mlir.dialects.symbolic.expr import SymExpr

DTYPES = (
    "float16", "bfloat16", "float32", "float64", "bool", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip
n, m = SymExpr.var("n"), SymExpr.var("m")


@pytest.fixture(autouse=True)
def _context():
    with default_context(), ir.Location.unknown():
        yield


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_round_trip(dtype: str) -> None:
    element = T.element_type(dtype)
    assert T.dtype_of_element(element) == dtype
    assert T.dtype_of_element(ir.Type.parse(str(element))) == dtype
    assert type_problem(T.tensor_type([2], dtype)) == ""
    bits = 8 if dtype == "bool" else int("".join(filter(str.isdigit, dtype)))
    assert T.dtype_size(dtype) == bits // 8


@pytest.mark.parametrize(
    ("alias", "name"), [("f32", "float32"), ("u8", "uint8"), ("i1", "bool"), ("", ""), (None, "")]
)
def test_aliases(alias, name) -> None:
    assert T.normalize_dtype(alias) == name


def test_unknown_dtype_gets_a_suggestion() -> None:
    with pytest.raises(ValueError, match="unknown dtype 'float31'; did you mean"):
        T.normalize_dtype("float31")


@pytest.mark.parametrize("text", ["i7", "index", "si32", "f80", "complex<f32>"])
def test_other_elements_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an element type"):
        T.dtype_of_element(ir.Type.parse(text))


@pytest.mark.parametrize(
    ("shape", "dtype", "ndim", "text", "script"),
    [
        ([3, 4], "f32", -1, "tensor<3x4xf32>", 'R.Tensor((3, 4), "float32")'),
        ([], "i1", -1, "tensor<i1>", 'R.Tensor((), "bool")'),
        ([0], "u8", -1, "tensor<0xui8>", 'R.Tensor((0,), "uint8")'),
        (None, "f16", 2, "tensor<?x?xf16>", 'R.Tensor(ndim=2, dtype="float16")'),
        (None, None, 1, "tensor<?x!relax.any_dtype>", "R.Tensor(ndim=1)"),
        (None, "f64", -1, "tensor<*xf64>", 'R.Tensor(dtype="float64")'),
        (None, None, -1, "tensor<*x!relax.any_dtype>", "R.Tensor"),
        (
            [n, 4],
            "f32",
            -1,
            'tensor<?x4xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>>',
            'R.Tensor((n, 4), "float32")',
        ),
        (
            [n * m, m],
            "",
            -1,
            'tensor<?x?x!relax.any_dtype, #relax.dims<["m", "n"], '
            "affine_map<()[s0, s1] -> (s0 * s1, s0)>>>",
            "R.Tensor((m * n, m))",
        ),
    ],
)
def test_tensor_types(shape, dtype, ndim, text, script) -> None:
    made = T.tensor_type(shape, dtype, ndim)
    assert made == ir.Type.parse(text)
    assert describe(made) == script
    assert type_problem(made) == ""
    assert T.tensor_dtype(made) == T.normalize_dtype(dtype)
    assert T.tensor_ndim(made) == (ndim if shape is None else len(shape))
    assert T.tensor_dims(made) == (None if shape is None else shape)


def test_the_same_symbols_are_the_same_type() -> None:
    assert T.tensor_type([n * 4], "f32") == T.tensor_type([4 * SymExpr.var("n")], "f32")
    assert T.tensor_type([n], "f32") != T.tensor_type([m], "f32")


@pytest.mark.parametrize("size", [-1, 2**63])
def test_impossible_dimensions(size: int) -> None:
    with pytest.raises(ValueError, match=r"a dimension (cannot be negative|does not fit 64 bits)"):
        T.tensor_type([size], "f32")


@pytest.mark.parametrize("dim", [1.5, "n", None, True])
def test_dimensions_are_integers(dim) -> None:
    with pytest.raises(TypeError, match="a shape dimension must be"):
        T.tensor_type([dim], "f32")


@pytest.mark.parametrize(
    ("dims", "ndim", "script"),
    [([n, 4], -1, "R.Shape([n, 4])"), (None, 2, "R.Shape(ndim=2)"), (None, -1, "R.Shape")],
)
def test_shape_types(dims, ndim, script) -> None:
    made = T.shape_type(dims, ndim)
    assert ir.Type.parse(str(made)) == made
    assert describe(made) == script
    assert T.shape_dims(made) == dims
    assert T.shape_ndim(made) == (ndim if dims is None else len(dims))
    assert type_problem(made) == ""


def test_tuples_and_objects_describe_themselves() -> None:
    made = ir.TupleType.get_tuple([T.object_type(), T.tensor_type([2], "f32")])
    assert describe(made) == 'R.Tuple(R.Object, R.Tensor((2,), "float32"))'


def test_problem_inside_a_tuple() -> None:
    assert "i7" in type_problem(ir.Type.parse("tuple<i64, tuple<tensor<2xi7>>>"))


def test_dims_problem_of_something_else() -> None:
    assert dims_problem(ir.UnitAttr.get()) == "expected #relax.dims, got unit"
    assert dims_problem(Dims.of([n % 4, m, 7])) == ""


def test_shape_field_has_three_cases() -> None:
    module = ir.Module.parse("""
        func.func @f(%x: tensor<2x3xf32>, %u: tensor<*xf32>, %s: !relax.shape<2 : i64>) {
          %0 = "relax.reshape"(%x, %s) : (tensor<2x3xf32>, !relax.shape<2 : i64>) -> tensor<?x?xf32>
          return
        }""")
    block = module.body.operations[0].regions[0].blocks[0]
    x, u, s = block.arguments
    assert T.shape_field(x).case == "V0"
    assert list(T.shape_field(x).dims) == [2, 3]
    assert T.shape_field(u).case == "V2"
    computed = T.shape_field(block.operations[0].operation.results[0])
    assert computed.case == "V1"
    assert computed.value == s
