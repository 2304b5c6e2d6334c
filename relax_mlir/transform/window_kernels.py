"""Window kernels: calls whose prim func slides a window, and then maps the sums one by one."""

from relax_mlir.lowering.tir_to_vector.analysis import top_level
from relax_mlir.lowering.tir_to_vector.contraction import Contraction
from relax_mlir.lowering.tir_to_vector.convolution import Convolution
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.plan import plan_function
from relax_mlir.lowering.tir_to_vector.planes import Planes
from relax_mlir.transform.contraction_kernels import BESIDE_NESTS, ContractionKernel
from relax_mlir.transform.tir_calls import TirCall

_REDUCES = ("reduction", "scan", "contraction", "attention")


def match_window_kernel(call: TirCall | None) -> ContractionKernel | None:
    """Return a call as a window kernel, None when it is none.

    Its prim func has nothing but the window, the padded copy that it reads, and maps.
    """
    if call is None:
        return None
    entry = call.callee.operation.regions[0].blocks[0]
    tops = list(top_level(call.callee))
    others = [view.operation.name for view in entry.operations if view.operation not in tops]
    if not tops or any(name not in BESIDE_NESTS for name in others):
        return None
    plans = plan_function(call.callee, Machine())
    windows = [plan for plan in plans if isinstance(plan.form, (Convolution, Planes, Contraction))]
    rest = [info for plan in plans if plan not in windows for info in plan.blocks]
    if len(windows) != 1 or any(info.kind in _REDUCES or not info.fast for info in rest):
        return None
    return ContractionKernel(call)
