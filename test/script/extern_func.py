# RUN: %PYTHON %s | FileCheck %s
"""Packed functions as members of a module, and calls of them by the type that they declare."""

from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Members:
    # CHECK-LABEL: class Module:
    # CHECK-NEXT: plain = R.ExternFunc("lib.plain")
    plain = R.ExternFunc("lib.plain")

    # CHECK: typed = R.ExternFunc("lib.typed", R.Callable((R.Tensor(("n",), dtype="float32"),),
    # CHECK-SAME: R.Tensor(("n", 2), dtype="float32"), True))
    typed = R.ExternFunc(
        "lib.typed",
        R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n", 2), "float32"), True),
    )

    # CHECK: pure = R.ExternFunc("lib.pure", R.Callable(ret=R.Tensor(ndim=1), purity=True))
    pure = R.ExternFunc("lib.pure", R.Callable(ret=R.Tensor(ndim=1), purity=True))

    @R.function
    def main(x: R.Tensor((10,), "float32")):
        # CHECK: y = R.call_pure_packed("lib.typed", x,
        # CHECK-SAME: ty_args=(R.Tensor((10, 2), dtype="float32"),))
        # CHECK: z = R.call_pure_packed("lib.pure", y, ty_args=(R.Tensor(ndim=1),))
        with R.dataflow():
            y = Members.typed(x)
            z = Members.pure(y)
            R.output(z)
        # CHECK: u = R.call_packed("lib.plain", z, ty_args=(R.Any,))
        # CHECK: v = R.call_packed("lib.plain", u, ty_args=(R.Tensor((3,), dtype="float32"),))
        # CHECK: R.call_dps_packed("lib.plain", (v,)
        u = Members.plain(z)
        v = Members.plain(u, ty_args=R.Tensor((3,), "float32"))
        return R.call_dps_packed(Members.plain, (v,), R.Tensor((3,), "float32"))


print(Members.script())
assert_structural_equal(from_source(Members.script()), Members)
