"""The pass infrastructure: PassContext, passes, pipelines, and every pass by its name."""

from typing import Any

from relax_mlir.lazy import lazy_exports
from relax_mlir.pass_infra import registry

# Imported on first use: the tools must start fast and passes are many.
_EXPORTS = {
    "pass_infra.config": ("list_configs", "register_config_option"),
    "pass_infra.context": ("PassContext", "build_config"),
    "pass_infra.execution.diagnostics": ("DiagnosticContext",),
    "pass_infra.execution.program_hash": ("fingerprint",),
    "pass_infra.info": ("PassInfo",),
    "pass_infra.kinds.dataflow_block": ("DataflowBlockPass",),
    "pass_infra.kinds.decorators": (
        "CreateDataflowBlockPass", "CreateFunctionPass", "CreateModulePass", "CreatePrimFuncPass",
        "CreateSequentialPass", "dataflowblock_pass", "function_pass", "module_pass",
        "prim_func_pass", "sequential",
    ),
    "pass_infra.kinds.per_function": ("FunctionPass", "PrimFuncPass"),
    "pass_infra.kinds.sequential": ("Sequential",),
    "pass_infra.passes": ("MLIRPass", "ModulePass", "Pass", "PrintIR", "mlir"),
    "pass_infra.registry": ("GetPass", "get_pass", "register_pass"),
    "pass_infra.text.pipeline": ("Pipeline",),
    "transform.grouping.fuse_ops_by_pattern": (
        "FuseOpsByPattern", "FusionPattern", "PatternCheckContext",
    ),
    "transform.grouping.run_codegen": ("RunCodegen",),
    "transform.layout.alter_op_impl": ("AlterOpImpl",),
    "transform.relax.bind_params": ("BindParams",),
    "transform.relax.bind_symbolic_vars": ("BindSymbolicVars",),
    "transform.rewriting.combine_parallel_matmul": ("CombineParallelMatmul",),
    "transform.rewriting.patterns": ("pattern", "pdl", "rewrite"),
    "transform.signatures.lazy_params": ("LazyTransformParams",),
    "transform.signatures.lift_transform_params": ("LiftTransformParams",),
    "transform.signatures.update_param_type": ("UpdateParamStructInfo", "UpdateParamType"),
}  # fmt: skip

__all__ = sorted(name for names in _EXPORTS.values() for name in names)
_exported, _ = lazy_exports(__name__, _EXPORTS)


def __getattr__(name: str) -> Any:
    """Return an exported name, or the constructor of the registered pass called so.

    Raises:
        AttributeError: there is neither; names the closest.
    """
    package = "relax_mlir.transform"
    if name in __all__:
        return _exported(name)
    if not name[:1].isupper():
        raise AttributeError(f"module '{package}' has no attribute '{name}'")
    entry = registry.find(name)
    if entry is None or entry.name != name:
        raise AttributeError(f"module '{package}' has no attribute '{name}'; {_hint(name)}")
    return entry.make


def _hint(name: str) -> str:
    return str(registry.unknown_pass(name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *(entry.name for entry in registry.entries())})
