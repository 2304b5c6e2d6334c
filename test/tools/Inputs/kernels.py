"""Two kernels that become vector code, and two equal ones that do not."""

from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Kernels:
    @T.prim_func
    def logistic(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n - 1):
            with T.block("chaos"):
                v = T.axis.opaque(n - 1, i)
                Y[v + 1] = Y[v] * (X[v] - Y[v])

    @T.prim_func
    def logistic_again(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n - 1):
            with T.block("chaos"):
                v = T.axis.opaque(n - 1, i)
                Y[v + 1] = Y[v] * (X[v] - Y[v])

    @R.function
    def main(
        x: R.Tensor(("n", 64), "float32"),
        w: R.Tensor((64, 48), "float32"),
        u: R.Tensor(("m",), "float32"),
    ):
        cls = Kernels
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, w), axis=-1)
            a = R.call_tir(cls.logistic, (u,), out_sinfo=R.Tensor(("m",), "float32"))
            b = R.call_tir(cls.logistic_again, (a,), out_sinfo=R.Tensor(("m",), "float32"))
            R.output(y, b)
        return y, b
