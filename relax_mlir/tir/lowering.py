"""`tir.lower` and `tir.build`: prim funcs through the passes, and to machine code."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule
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
    """Compile prim funcs; `build(mod)["name"](a, b)` calls one.

    Args:
        inp: a module, or a schedule; it stays as it is.
        target: as for `relax.build`.

    Raises:
        TypeError: `inp` is neither.
        PassError: a pass failed.
        CompileError: code generation could not continue.
    """
    return extension("build")(module_of(inp), target)


def module_of(inp: Any) -> IRModule:
    """Return a module, given so or as what has one, or of a function alone.

    Raises:
        TypeError: it is none.
    """
    if getattr(getattr(inp, "mlir_op", None), "name", "") == "func.func":
        return IRModule({inp.name: inp})
    found = inp if isinstance(inp, IRModule) else getattr(inp, "mod", inp)
    if isinstance(found, ir.Module):
        found = IRModule(found)
    if not isinstance(found, IRModule):
        hint = ""
        items = inp if isinstance(inp, (list, tuple)) and inp else [inp]
        if all(type(each).__name__ == "Tensor" for each in items):
            hint = "; te.create_prim_func([inputs..., outputs...]) makes a prim func of tensors"
        raise ExprTypeError(f"expected a module or a schedule, got {type(inp).__name__}{hint}")
    return found
