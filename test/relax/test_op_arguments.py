"""Arguments of operations that are refused when a call is written, or its type inferred."""

import numpy as np
import pytest

from relax_mlir import ir, relax, tir
from relax_mlir.errors import ExprError
from relax_mlir.script import relax as R

op = relax.op
x = relax.Var("x", R.Tensor(("n", 9), "float32"))


def test_scalars_of_other_dtypes_are_no_sizes():
    number, flag = tir.Var("r", "float32"), tir.Var("b", "bool")
    assert (number.dtype, str(number + 1), flag.name_hint) == ("float32", "(r + 1.0)", "b")
    assert not isinstance(number, tir.Var)
    text = tir.StringImm("two")
    assert (text, text.value) == ("two", "two")
    for count in (number, text, 1.5):
        with pytest.raises(TypeError, match="repeats: expected int"):
            op.repeat(x, count)
    for variable in (relax.DataflowVar("pv", ir.PrimType("int64")), x):
        with pytest.raises(TypeError, match="a dimension is made of integers and symbols, got "):
            op.reshape(x, [variable])
    assert op.reshape(x, [relax.Var("pv", ir.PrimType("int64"))]).ty.ndim == 1
    with pytest.raises(RuntimeError, match="can only have dtype of int64, 'r' is a scalar of"):
        relax.ShapeExpr([number])
    with pytest.raises(TypeError, match="is a number of float32, which is the element of a buffer"):
        tir.PrimFunc([number], tir.Evaluate(0))
    with pytest.raises(ExprError, match="'float' is no dtype"):
        tir.Var("f", "float")


def test_attributes_are_looked_at_when_a_call_is_made():
    for begin, end, strides in (([], [9], None), ([0], [], None), ([0], [9], [])):
        with pytest.raises(ExprError, match="must have one length"):
            op.strided_slice(x, [1], begin, end, strides)
    on, off = tir.FloatImm("float32", 1), tir.IntImm("int64", 0)
    places = relax.Var("places", R.Tensor((2,), "int64"))
    with pytest.raises(ExprError, match="must have one dtype, got float32 and int64"):
        op.one_hot(places, on, off, 5)
    assert op.one_hot(places, 1.0, 0, 5).ty == relax.TensorType((2, 5), "float32")


def test_constants_of_parameters_of_torch():
    class Parameter:
        """As torch.nn.Parameter: no array while its gradient is tracked."""

        dtype = np.dtype("float64")

        def __array__(self, *args, **kwargs):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")

        def detach(self):
            return np.ones((2, 3))

    assert relax.const(Parameter()).ty == relax.TensorType((2, 3), "float64")
    Parameter.detach = lambda self: self
    with pytest.raises(ExprError, match="no array of numbers: Can't call numpy"):
        relax.const(Parameter())
