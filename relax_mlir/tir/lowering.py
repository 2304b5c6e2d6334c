"""`tir.lower` and `tir.build`."""

from typing import Any

from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule, module_of
from relax_mlir.lowering.target.target import Target
from relax_mlir.pass_infra import registry
from relax_mlir.pass_infra.kinds.sequential import Sequential

# What `lower` runs; LoopPartition is left out of the simple mode, as TVM does it.
PASSES = (
    "LowerInitBlock", "PlanAndUpdateBufferAllocationLocation", "ConvertBlocksToOpaque",
    "CompactBufferAllocation", "LowerOpaqueBlock", "Simplify", "LoopPartition", "VectorizeLoop",
    "StorageRewrite", "UnrollLoop", "HoistIfThenElse", "RemoveNoOp", "CommonSubexprElimTIR",
)  # fmt: skip


def lower(inp: Any, *, simple_mode: bool = False) -> IRModule:
    """Return prim funcs as plain loops: no blocks, no vectorized or unrolled loops.

    A build does not need this, and its own code is faster; it is for looking at, and for passes
    that want loops.

    Args:
        inp: a module, or a schedule; it stays as it is.
        simple_mode: leave the loops whole, for reading.

    Raises:
        TypeError: `inp` is neither.
        PassError: a pass failed.
    """
    names = [name for name in PASSES if not (simple_mode and name == "LoopPartition")]
    return Sequential([registry.get_pass(name) for name in names], name="tir.lower")(module_of(inp))


def build(inp: Any, target: "str | Target | None" = None) -> Any:
    """Compile prim funcs, as TVM's `tir.build` does: `relax_mlir.compile` by its older name.

    `build(mod)["name"](a, b)` calls one.

    Args:
        inp: a module, a function or a schedule; it stays as it is.
        target: as for `relax.build`.

    Raises:
        TypeError: `inp` is neither.
        PassError: a pass failed.
        CompileError: code generation could not continue.
    """
    return extension("build")(module_of(inp), target)
