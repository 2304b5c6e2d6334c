"""Programs spelled as TVM 0.1x prints them after LegalizeOps: typed extents, blocks, attributes."""

# ruff: noqa: E501

HEAD = """\
# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R
"""

MATMUL_ADD_RELU = """\
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_attrs({"external_mods": [], "system_lib_prefix": None})
    @T.prim_func(private=True)
    def add(var_lv: T.handle, b: T.Buffer((T.int64(5),), "float32"), var_T_add: T.handle):
        T.func_attr({"op_pattern": 0, "tir.noalias": T.bool(True)})
        n = T.int64()
        lv = T.match_buffer(var_lv, (n, T.int64(5)))
        T_add = T.match_buffer(var_T_add, (n, T.int64(5)))
        # with T.block("root"):
        for ax0, ax1 in T.grid(n, T.int64(5)):
            with T.block("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(lv[v_ax0, v_ax1], b[v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = lv[v_ax0, v_ax1] + b[v_ax1]

    @T.prim_func(private=True)
    def matmul(var_x: T.handle, w: T.Buffer((T.int64(7), T.int64(5)), "float32"), var_matmul: T.handle):
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (n, T.int64(7)))
        matmul = T.match_buffer(var_matmul, (n, T.int64(5)))
        # with T.block("root"):
        for i0, i1, k in T.grid(n, T.int64(5), T.int64(7)):
            with T.block("matmul"):
                v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                T.reads(x[v_i0, v_k], w[v_k, v_i1])
                T.writes(matmul[v_i0, v_i1])
                with T.init():
                    matmul[v_i0, v_i1] = T.float32(0.0)
                matmul[v_i0, v_i1] = matmul[v_i0, v_i1] + x[v_i0, v_k] * w[v_k, v_i1]

    @T.prim_func(private=True)
    def relu(var_lv1: T.handle, var_compute: T.handle):
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        lv1 = T.match_buffer(var_lv1, (n, T.int64(5)))
        compute = T.match_buffer(var_compute, (n, T.int64(5)))
        # with T.block("root"):
        for i0, i1 in T.grid(n, T.int64(5)):
            with T.block("compute"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(lv1[v_i0, v_i1])
                T.writes(compute[v_i0, v_i1])
                compute[v_i0, v_i1] = T.max(lv1[v_i0, v_i1], T.float32(0.0))

    @R.function
    def main(x: R.Tensor(("n", 7), dtype="float32"), w: R.Tensor((7, 5), dtype="float32"), b: R.Tensor((5,), dtype="float32")) -> R.Tensor(("n", 5), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.matmul, (x, w), out_sinfo=R.Tensor((n, 5), dtype="float32"))
            lv1 = R.call_tir(cls.add, (lv, b), out_sinfo=R.Tensor((n, 5), dtype="float32"))
            gv = R.call_tir(cls.relu, (lv1,), out_sinfo=R.Tensor((n, 5), dtype="float32"))
            R.output(gv)
        return gv
"""

SOFTMAX = """\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def softmax(A: T.Buffer((T.int64(3), T.int64(11)), "float32"), T_softmax_norm: T.Buffer((T.int64(3), T.int64(11)), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        T_softmax_maxelem = T.alloc_buffer((T.int64(3),))
        T_softmax_exp = T.alloc_buffer((T.int64(3), T.int64(11)))
        T_softmax_expsum = T.alloc_buffer((T.int64(3),))
        for i0, k in T.grid(T.int64(3), T.int64(11)):
            with T.block("T_softmax_maxelem"):
                v_i0, v_k = T.axis.remap("SR", [i0, k])
                T.reads(A[v_i0, v_k])
                T.writes(T_softmax_maxelem[v_i0])
                with T.init():
                    T_softmax_maxelem[v_i0] = T.min_value("float32")
                T_softmax_maxelem[v_i0] = T.max(T_softmax_maxelem[v_i0], A[v_i0, v_k])
        for i0, i1 in T.grid(T.int64(3), T.int64(11)):
            with T.block("T_softmax_exp"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(A[v_i0, v_i1], T_softmax_maxelem[v_i0])
                T.writes(T_softmax_exp[v_i0, v_i1])
                T_softmax_exp[v_i0, v_i1] = T.exp(A[v_i0, v_i1] - T_softmax_maxelem[v_i0])
        for i0, k in T.grid(T.int64(3), T.int64(11)):
            with T.block("T_softmax_expsum"):
                v_i0, v_k = T.axis.remap("SR", [i0, k])
                T.reads(T_softmax_exp[v_i0, v_k])
                T.writes(T_softmax_expsum[v_i0])
                with T.init():
                    T_softmax_expsum[v_i0] = T.float32(0.0)
                T_softmax_expsum[v_i0] = T_softmax_expsum[v_i0] + T_softmax_exp[v_i0, v_k]
        for i0, i1 in T.grid(T.int64(3), T.int64(11)):
            with T.block("T_softmax_norm"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(T_softmax_exp[v_i0, v_i1], T_softmax_expsum[v_i0])
                T.writes(T_softmax_norm[v_i0, v_i1])
                T.block_attr({"axis": 1})
                T_softmax_norm[v_i0, v_i1] = T_softmax_exp[v_i0, v_i1] / T_softmax_expsum[v_i0]

    @R.function
    def main(x: R.Tensor((3, 11), dtype="float32")) -> R.Tensor((3, 11), dtype="float32"):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.softmax, (x,), out_sinfo=R.Tensor((3, 11), dtype="float32"))
            R.output(gv)
        return gv
"""

LAYER_NORM = """\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def layer_norm(A: T.Buffer((T.int64(2), T.int64(3), T.int64(7)), "float32"), B: T.Buffer((T.int64(7),), "float32"), C: T.Buffer((T.int64(7),), "float32"), T_layer_norm: T.Buffer((T.int64(2), T.int64(3), T.int64(7)), "float32")):
        T.func_attr({"op_pattern": 4, "tir.noalias": T.bool(True)})
        # with T.block("root"):
        A_red_temp_v0 = T.alloc_buffer((T.int64(2), T.int64(3)))
        A_red_temp_v1 = T.alloc_buffer((T.int64(2), T.int64(3)))
        for ax0, ax1, k2 in T.grid(T.int64(2), T.int64(3), T.int64(7)):
            with T.block("A_red_temp"):
                v_ax0, v_ax1, v_k2 = T.axis.remap("SSR", [ax0, ax1, k2])
                T.reads(A[v_ax0, v_ax1, v_k2])
                T.writes(A_red_temp_v0[v_ax0, v_ax1], A_red_temp_v1[v_ax0, v_ax1])
                with T.init():
                    A_red_temp_v0[v_ax0, v_ax1] = T.float32(0.0)
                    A_red_temp_v1[v_ax0, v_ax1] = T.float32(0.0)
                v_A_red_temp_v0: T.float32 = A_red_temp_v0[v_ax0, v_ax1] + A[v_ax0, v_ax1, v_k2]
                v_A_red_temp_v1: T.float32 = A_red_temp_v1[v_ax0, v_ax1] + A[v_ax0, v_ax1, v_k2] * A[v_ax0, v_ax1, v_k2]
                A_red_temp_v0[v_ax0, v_ax1] = v_A_red_temp_v0
                A_red_temp_v1[v_ax0, v_ax1] = v_A_red_temp_v1
        for ax0, ax1, ax2 in T.grid(T.int64(2), T.int64(3), T.int64(7)):
            with T.block("T_layer_norm"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax0, v_ax1, v_ax2], A_red_temp_v0[v_ax0, v_ax1], A_red_temp_v1[v_ax0, v_ax1], B[v_ax2], C[v_ax2])
                T.writes(T_layer_norm[v_ax0, v_ax1, v_ax2])
                T_layer_norm[v_ax0, v_ax1, v_ax2] = (A[v_ax0, v_ax1, v_ax2] - A_red_temp_v0[v_ax0, v_ax1] * T.float32(0.14285714285714285)) * T.rsqrt(A_red_temp_v1[v_ax0, v_ax1] * T.float32(0.14285714285714285) - A_red_temp_v0[v_ax0, v_ax1] * T.float32(0.14285714285714285) * (A_red_temp_v0[v_ax0, v_ax1] * T.float32(0.14285714285714285)) + T.float32(1.0000000000000001e-05)) * B[v_ax2] + C[v_ax2]

    @R.function
    def main(x: R.Tensor((2, 3, 7), dtype="float32"), gamma: R.Tensor((7,), dtype="float32"), beta: R.Tensor((7,), dtype="float32")) -> R.Tensor((2, 3, 7), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        gv = R.call_tir(cls.layer_norm, (x, gamma, beta), out_sinfo=R.Tensor((2, 3, 7), dtype="float32"))
        return gv
"""

TRANSPOSE_RESHAPE = """\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def reshape(lv: T.Buffer((T.int64(5), T.int64(3)), "float32"), T_reshape: T.Buffer((T.int64(15),), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        for ax0 in range(T.int64(15)):
            with T.block("T_reshape"):
                v_ax0 = T.axis.spatial(T.int64(15), ax0)
                T.reads(lv[v_ax0 % T.int64(15) // T.int64(3), v_ax0 % T.int64(3)])
                T.writes(T_reshape[v_ax0])
                T_reshape[v_ax0] = lv[v_ax0 % T.int64(15) // T.int64(3), v_ax0 % T.int64(3)]

    @T.prim_func(private=True)
    def transpose(x: T.Buffer((T.int64(3), T.int64(5)), "float32"), T_transpose: T.Buffer((T.int64(5), T.int64(3)), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        for ax0, ax1 in T.grid(T.int64(5), T.int64(3)):
            with T.block("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(x[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = x[v_ax1, v_ax0]

    @R.function
    def main(x: R.Tensor((3, 5), dtype="float32")) -> R.Tensor((15,), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.transpose, (x,), out_sinfo=R.Tensor((5, 3), dtype="float32"))
            gv = R.call_tir(cls.reshape, (lv,), out_sinfo=R.Tensor((15,), dtype="float32"))
            R.output(gv)
        return gv
"""

# A schedule applied: split loops, predicates, steps, padding, an iterator that is not a loop.
SCHEDULED = """\
@I.ir_module
class Module:
    @T.prim_func
    def pad(var_A: T.handle, var_B: T.handle):
        T.func_attr({"global_symbol": "pad", "tir.is_scheduled": T.bool(True)})
        n = T.int64()
        A = T.match_buffer(var_A, (T.int64(1), n), "float32")
        B = T.match_buffer(var_B, (T.int64(1), n + T.int64(4)), "float32")
        # with T.block("root"):
        for i_0 in T.parallel((n + T.int64(19)) // T.int64(16)):
            for i_1 in T.vectorized(T.int64(16)):
                with T.block("pad"):
                    v0 = T.axis.spatial(T.int64(1), T.int64(0))
                    v1 = T.axis.spatial(n + T.int64(4), i_0 * T.int64(16) + i_1)
                    T.where(i_0 * T.int64(16) + i_1 < n + T.int64(4))
                    T.reads(A[v0, v1 - T.int64(2)])
                    T.writes(B[v0, v1])
                    B[v0, v1] = T.if_then_else(T.int64(2) <= v1 and v1 < n + T.int64(2), A[v0, v1 - T.int64(2)], T.float32(0.5))

    @T.prim_func(private=True)
    def index(A: T.Buffer((T.int64(10),), "float32"), B: T.Buffer((T.int64(10),), "int64"), C: T.Buffer((T.int64(10),), "float32")):
        for i in T.serial(T.int64(0), T.int64(10), step=T.int64(2)):
            for j in T.unroll(T.int64(2)):
                B[i + j] = T.min(T.max(T.Cast("int64", i + j) - T.int64(3), T.int64(0)), T.int64(4))
                C[i + j] = T.Cast("float32", B[i + j]) * A[T.int64(9) - i - j] + T.Cast("float32", i)
        for i in range(T.int64(8), T.int64(10)):
            C[i] = T.Select(T.bool(True), C[i] + T.float32(1), T.max_value("float32"))
            B[T.truncdiv(i, T.int64(3))] = T.if_then_else(i < T.int64(9), i, T.int64(0))

    @R.function
    def main(x: R.Tensor((1, "n"), dtype="float32"), y: R.Tensor((10,), dtype="float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.pad, (x,), out_sinfo=R.Tensor((1, n + 4), dtype="float32"))
            b = R.call_tir(cls.index, (y,), out_sinfo=[R.Tensor((10,), dtype="int64"), R.Tensor((10,), dtype="float32")])
            R.output(a, b)
        return (a, b)
"""

PRINTED = {
    name.lower(): HEAD + text
    for name, text in dict(globals()).items()
    if name.isupper() and name not in ("HEAD", "PRINTED")
}
