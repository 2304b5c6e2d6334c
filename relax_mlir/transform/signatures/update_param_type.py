"""`UpdateParamType`: parameters of other types."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import relax_functions
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.relax.expr import Type, as_type, var
from relax_mlir.relax.expr_functor.retype import Types
from relax_mlir.transform.relax.infer_type import infer_type
from relax_mlir.transform.signatures.parameters import body


def UpdateParamType(type_func: Callable[[Any], Any]) -> ModulePass:
    """Return the pass that gives parameters other types; what is computed of them is inferred.

    Args:
        type_func: takes a `relax.Var` and returns its type, None to leave it.

    Raises:
        ExprTypeError: `type_func` is no function. The pass raises it where that gives no type, and
            `ExprError` where an operation cannot be computed of the new types.
    """
    if not callable(type_func):
        raise ExprTypeError(f"UpdateParamType takes a function, got {type(type_func).__name__}")

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        module = mod.mlir_module.operation
        with lock_of(mod.context), mod.context, ir.Location.unknown():
            changed = [func for func in relax_functions(module) if _update(func, type_func, mod)]
            if changed:
                infer_type(module)
        return mod

    return ModulePass(run, PassInfo("UpdateParamType"))


# As TVM 0.10 to 0.22 call it.
UpdateParamStructInfo = UpdateParamType


def _update(func: ir.Operation, type_func: Callable[[Any], Any], mod: IRModule) -> bool:
    types = Types()
    for argument in body(func).arguments:
        new = type_func(var(argument, mod))
        if new is None:
            continue
        new_type = as_type(new)
        if not isinstance(new_type, Type):
            raise ExprTypeError(f"a type was expected, got {new!r}")
        types.set(argument, new_type.to_mlir())
    if not types:
        return False

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op != func:
            types.refresh(op)
        return ir.WalkResult.ADVANCE

    func.walk(visit, ir.WalkOrder.POST_ORDER)
    types.refresh_end(body(func))
    types.refresh_signature(func)
    return True
