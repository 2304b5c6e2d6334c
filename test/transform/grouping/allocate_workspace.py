# RUN: %PYTHON %s | FileCheck %s
"""Pass `AllocateWorkspace`: functions of libraries take memory to work in."""

import numpy as np

from relax_mlir import register_func, relax, transform
from relax_mlir.relax.dpl import is_op, wildcard
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(
    # CHECK: [[W:workspace[0-9]*]]{{.*}} = R.builtin.alloc_tensor(R.shape([512]), dtype="uint8")
    # CHECK: = cls.[[F:fused_.*_work]](x, [[W]])
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            y = R.tanh(R.exp(x))
            R.output(y)
        return y

    # CHECK-LABEL: def other(
    # CHECK-NEXT: = R.sin(x)
    @R.function
    def other(x: R.Tensor((4,), "float32")):
        return R.sin(x)


# The functions inside take the memory too, as they ask for it.
# CHECK: def [[F]](x: {{.*}}, workspace: R.Tensor((512,), dtype="uint8"))
# CHECK-NEXT: R.func_attr({"Codegen": "work"})
# CHECK: def fused_relax_exp(x1: {{.*}}, {{workspace.*}}: R.Tensor((512,), dtype="uint8"))
# CHECK-NEXT: R.func_attr({"Composite": "work.exp"})
# CHECK: = fused_relax_exp(x, workspace)
# CHECK: def fused_relax_tanh({{.*}}, {{workspace.*}}: R.Tensor((512,), dtype="uint8"))
# CHECK: fused_relax_tanh({{gv.*}}, workspace)
grouped = transform.FuseOpsByPattern(
    [(f"work.{name}", is_op(f"relax.{name}")(wildcard())) for name in ("exp", "tanh")]
)(Model)
for name, size in (("fused_relax_exp", 512), ("fused_relax_tanh", 64)):
    grouped.update_func(name, grouped[name].with_attr("WorkspaceSize", size))
merged = transform.MergeCompositeFunctions()(grouped)
allocated = transform.DeadCodeElimination()(transform.AllocateWorkspace()(merged))
print(allocated.script())


@register_func("relax.ext.work")
def compile_for_work(functions, options):
    def run(x, workspace, out):
        scratch = np.asarray(workspace)[: x.nbytes].view("float32").reshape(x.shape)
        np.exp(x, out=scratch)
        np.tanh(scratch, out=np.asarray(out))

    return [run for _ in functions]


# CHECK: {{^}}True
x = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
vm = relax.VirtualMachine(relax.build(transform.RunCodegen()(allocated)))
print(np.allclose(vm["main"](x), np.tanh(np.exp(x))))
