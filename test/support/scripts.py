"""Scripts of the Relax design document, their typing slips mended, and how modules are compared."""

import re
from collections.abc import Mapping
from typing import Any

from relax_mlir import IRModule
from relax_mlir.script import from_source, script_with_metadata

MY_IR_MODULE = """\
import tvm.script
from tvm.script import tir as T, relax as R

@tvm.script.ir_module
class MyIRModule:
    @T.prim_func
    def tir_exp_func(x: T.handle, y: T.handle): ## <= D2
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        with T.grid(n) as i:
            Y[i] = T.exp(X[i])

    @R.function
    def relax_func(x: R.Tensor[(n, k), "f32"], w: R.Tensor[_, "f32"]):
        # n, k above are implicitly defined by the signature
        with R.dataflow(): ### <= D0
            lv0 = R.match_shape(w, (k, m)) ## <= D1
            lv1: R.Tensor[(n, m), "f32"] = R.dot(x, lv0)
            lv2: R.Tensor[(n * m,), "f32"] = R.flatten(lv1) ## <= D1
            lv3: R.Shape = (n * m,)  ## <= D1
            gv0: R.Tensor[lv3, "f32"] = R.call_tir(lv3, tir_exp_func, [lv2])   ## <= D2
            R.outputs(gv0)

        R.call_packed("custom_inplace_update", gv0)  ## <= D0, D2
        return gv0
"""

SHAPE_EXAMPLE = """\
from tvm.script import relax as R

@R.function
def shape_example(x: R.Tensor[(n, 2, 2), "f32"]):
    with R.dataflow():
        lv0: R.Tensor[(n, 4), "f32"] = R.reshape(x, (n, 4))
        lv1: R.Tensor[(n * 4,), "f32"] = R.flatten(lv0)
        lv2: R.Shape = (n * 4,)
        lv3: R.Shape = R.call_packed("myshape_func", lv2)
        lv4: R.Tensor[lv3, "f32"] = R.call_tir(lv3, "custom_func", [lv1])
        lv5: R.Tensor[_, "f32"] = R.unique(lv4)
        lv6: R.Tensor[(m,), "f32"] = R.match_shape(lv5, (m,))
        gv0: R.Tensor[(m,), "f32"] = R.exp(lv6)
        R.outputs(gv0)
    return gv0
"""

MATCH_SHAPE = """\
from tvm.script import relax as R

@R.function
def shape_example(x: R.Tensor[_, "f32"], y: R.Tensor[_, "f32"]):
    with R.dataflow():
        lv0: R.Tensor[(n, m)] = R.match_shape(x, (n, m))
        lv1: R.Tensor[(n, m)] = R.match_shape(y, (n, m))
        lv2: Shape = R.match_shape(R.shape_of(y), (n, m))
        gv0 = R.add(lv0, lv1)
        R.outputs(gv0)
    return gv0
"""

WITHOUT_SHAPE = """\
from tvm.script import relax as R

@R.function
def shape_example(x: R.Tensor[_, _]):
    with R.dataflow():
        lv0: R.Tensor[_, _] = R.log(x)
        lv1: R.Tensor[_, _] = R.flatten(lv0)
        lv2: R.Tensor[(m,), "f32"] = R.match_shape(lv1, (m,))
        gv0: R.Tensor[(m,), "f32"] = R.exp(lv2)
        R.outputs(gv0)
    return gv0
"""

BEFORE_AFTER = """\
from tvm.script import relax as R

@R.function
def before(x: R.Tensor[_, _], y: R.Tensor[(m, n), "f32"]):
    with R.dataflow():
        lv0: R.Tensor[_, _] = R.log(x)
        gv0: R.Tensor[(m, n), "f32"] = R.ewise_add(lv0, y)
        R.outputs(gv0)
    return gv0

@R.function
def after(x: R.Tensor[(m, n), "f32"], y: R.Tensor[(m, n), "f32"]):
    with R.dataflow():
        lv0: R.Tensor[(m, n), "f32"] = R.log(x)
        gv0: R.Tensor[(m, n), "f32"] = R.ewise_add(lv0, y)
        R.outputs(gv0)
    return gv0
"""

COMPILE_FLOW = """\
import tvm.script
from tvm.script import tir as T, relax as R

@tvm.script.ir_module
class MyIRModule:
    @T.prim_func
    def tirexp(x: ty.handle, y: ty.handle):
        n1, m1 = T.var("n1"), T.var("m1")
        X = T.match_buffer(x, (n1, m1))
        Y = T.match_buffer(y, (n1, m1))
        with T.block(n1, m1) as i, j:
            Y[i, j] = T.exp(X[i, j])
    @R.function
    def myfunc(x: Tensor[(n, m)]):
        with R.dataflow():
            lv0: Tensor[(n, m)] = R.call_tir((n, m), tirexp, [x])
            gv0: Tensor[(m*n,)] = R.call_tir((m*n,), "flatten", [lv0])
            R.outputs(gv0)
        return gv0
"""

SOFTMAX_OF_PRODUCT = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, "m"), "float32")):
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, w), axis=-1)
            R.output(y)
        return y
"""

ELEMENT_WISE = """\
from tvm.script import tir as T

@T.prim_func
def tir_element_wise(a: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (128, 128))
    B = T.match_buffer(c, (128, 128))
    with T.block([128, 128]) as [i, j]:
        B[i, j] = A[i, j] * 2.0
"""

EMIT_TE = """\
from tvm.script import tir as T, relax as R

@tvm.script.ir_module
class Module:
    @T.func
    def ewise_fun(a, b, m: T.int64):
        n = T.var("n")
        A = T.match_buffer(a, (n, 2 * T.floordiv(m, 2)))
        B = T.match_buffer(b, (n, 2 * T.floordiv(m, 2)))
        with T.block([n, 2 * T.floordiv(m, 2)]) as [i, j]:
            B[i, j] = A[i, j] * 2.0

    @R.func
    def main(x: R.Tensor[(n, 2 * T.floordiv(m, 2)), "f32"], s: R.Shape([m])):
        y = R.call_tir_dyn([n, 2 * T.floordiv(m, 2)], ewise_fun, [x], R.ShapeExpr([m]))
        return y
"""

DOCUMENT = {
    name.lower(): text
    for name, text in dict(globals()).items()
    if name.isupper() and isinstance(text, str)
}


def assembly(module: IRModule) -> str:
    """Return a module's text without locations, the names of constants' blobs left out."""
    text = module.mlir_module.operation.get_asm(assume_verified=True)
    return re.sub(r"\b\w+_\d+(?=>| *: *\"0x)", "blob", text)


def round_trip(text: str, variables: Mapping[str, Any] | None = None) -> str:
    """Parse, print, parse again and check that nothing has changed; the printed script."""
    first = from_source(text, variables)
    printed, metadata = script_with_metadata(first)
    second = from_source(printed, {"metadata": metadata}, filename="printed")
    assert assembly(second) == assembly(first)
    return printed
