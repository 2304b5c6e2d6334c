"""The pass infrastructure: PassContext, passes, pipelines, and every pass by its name."""

import importlib
from typing import Any

from relax_mlir.pass_infra import registry

# Public name -> module, imported on first use: the tools must start fast and passes are many.
_EXPORTS = {
    "PassInfo": "relax_mlir.pass_infra.info",
    "PassContext": "relax_mlir.pass_infra.context",
    "build_config": "relax_mlir.pass_infra.context",
    "register_config_option": "relax_mlir.pass_infra.config",
    "list_configs": "relax_mlir.pass_infra.config",
    "DiagnosticContext": "relax_mlir.pass_infra.execution.diagnostics",
    "Pass": "relax_mlir.pass_infra.passes",
    "ModulePass": "relax_mlir.pass_infra.passes",
    "Sequential": "relax_mlir.pass_infra.kinds.sequential",
    "PrintIR": "relax_mlir.pass_infra.passes",
    "MLIRPass": "relax_mlir.pass_infra.passes",
    "mlir": "relax_mlir.pass_infra.passes",
    "FunctionPass": "relax_mlir.pass_infra.kinds.per_function",
    "PrimFuncPass": "relax_mlir.pass_infra.kinds.per_function",
    "DataflowBlockPass": "relax_mlir.pass_infra.kinds.dataflow_block",
    "dataflowblock_pass": "relax_mlir.pass_infra.kinds.decorators",
    "FuseOpsByPattern": "relax_mlir.transform.grouping.fuse_ops_by_pattern",
    "FusionPattern": "relax_mlir.transform.grouping.fuse_ops_by_pattern",
    "PatternCheckContext": "relax_mlir.transform.grouping.fuse_ops_by_pattern",
    "CombineParallelMatmul": "relax_mlir.transform.rewriting.combine_parallel_matmul",
    "LazyTransformParams": "relax_mlir.transform.signatures.lazy_params",
    "LiftTransformParams": "relax_mlir.transform.signatures.lift_transform_params",
    "UpdateParamType": "relax_mlir.transform.signatures.update_param_type",
    "UpdateParamStructInfo": "relax_mlir.transform.signatures.update_param_type",
    "RunCodegen": "relax_mlir.transform.grouping.run_codegen",
    "AlterOpImpl": "relax_mlir.transform.layout.alter_op_impl",
    "BindParams": "relax_mlir.transform.relax.bind_params",
    "BindSymbolicVars": "relax_mlir.transform.relax.bind_symbolic_vars",
    "CreateModulePass": "relax_mlir.pass_infra.kinds.decorators",
    "CreateFunctionPass": "relax_mlir.pass_infra.kinds.decorators",
    "CreatePrimFuncPass": "relax_mlir.pass_infra.kinds.decorators",
    "CreateDataflowBlockPass": "relax_mlir.pass_infra.kinds.decorators",
    "CreateSequentialPass": "relax_mlir.pass_infra.kinds.decorators",
    "sequential": "relax_mlir.pass_infra.kinds.decorators",
    "fingerprint": "relax_mlir.pass_infra.execution.program_hash",
    "pattern": "relax_mlir.transform.rewriting.patterns",
    "rewrite": "relax_mlir.transform.rewriting.patterns",
    "pdl": "relax_mlir.transform.rewriting.patterns",
    "module_pass": "relax_mlir.pass_infra.kinds.decorators",
    "function_pass": "relax_mlir.pass_infra.kinds.decorators",
    "prim_func_pass": "relax_mlir.pass_infra.kinds.decorators",
    "register_pass": "relax_mlir.pass_infra.registry",
    "get_pass": "relax_mlir.pass_infra.registry",
    "Pipeline": "relax_mlir.pass_infra.text.pipeline",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    """Return an exported name, or the constructor of the registered pass called so.

    Raises:
        AttributeError: there is neither; names the closest.
    """
    package = "relax_mlir.transform"
    if name in _EXPORTS:
        value = getattr(importlib.import_module(_EXPORTS[name]), name)
        globals()[name] = value
        return value
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
