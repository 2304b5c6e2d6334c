"""Window kernels: calls whose prim func slides a window, and then maps the sums one by one."""

from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.plan import plan_function
from relax_mlir.lowering.tir_to_vector.windows.planes import Planes
from relax_mlir.transform.contraction_kernels import ContractionKernel, nests_alone
from relax_mlir.transform.tir_calls import TirCall

_REDUCES = ("reduction", "scan", "contraction", "attention")


def match_window_kernel(call: TirCall | None) -> ContractionKernel | None:
    """Return a call as a window kernel, None when it is none.

    Its prim func has nothing but the window, the padded copy that it reads, and maps.
    """
    if call is None or not nests_alone(call):
        return None
    plans = plan_function(call.callee, Machine())
    windows = [plan for plan in plans if isinstance(plan.form, (Convolution, Planes, Contraction))]
    rest = [info for plan in plans if plan not in windows for info in plan.blocks]
    if len(windows) != 1 or any(info.kind in _REDUCES or not info.fast for info in rest):
        return None
    return ContractionKernel(call)
