"""The pass infrastructure: PassContext, passes, pipelines, and every pass by its name."""

import importlib
from typing import Any

# Public name -> module, imported on first use: the tools must start fast and passes are many.
_EXPORTS = {
    "PassInfo": "infra.info",
    "PassContext": "infra.context",
    "build_config": "infra.context",
    "register_config_option": "infra.config",
    "list_configs": "infra.config",
    "DiagnosticContext": "infra.diagnostics",
    "Pass": "infra.passes",
    "ModulePass": "infra.passes",
    "Sequential": "infra.sequential",
    "PrintIR": "infra.passes",
    "MLIRPass": "infra.passes",
    "mlir": "infra.passes",
    "FunctionPass": "infra.per_function",
    "PrimFuncPass": "infra.per_function",
    "DataflowBlockPass": "infra.dataflow_block",
    "dataflowblock_pass": "infra.decorators",
    "BindParams": "relax.bind_params",
    "CreateModulePass": "infra.decorators",
    "CreateFunctionPass": "infra.decorators",
    "CreatePrimFuncPass": "infra.decorators",
    "CreateDataflowBlockPass": "infra.decorators",
    "CreateSequentialPass": "infra.decorators",
    "fingerprint": "infra.program_hash",
    "pattern": "rewriting.patterns",
    "rewrite": "rewriting.patterns",
    "pdl": "rewriting.patterns",
    "module_pass": "infra.decorators",
    "function_pass": "infra.decorators",
    "prim_func_pass": "infra.decorators",
    "register_pass": "infra.registry",
    "get_pass": "infra.registry",
    "Pipeline": "pipeline.tree",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    """Return an exported name, or the constructor of the registered pass called so.

    Raises:
        AttributeError: there is neither; names the closest.
    """
    package = "relax_mlir.transform"
    if name in _EXPORTS:
        value = getattr(importlib.import_module(f"{package}.{_EXPORTS[name]}"), name)
        globals()[name] = value
        return value
    if not name[:1].isupper():
        raise AttributeError(f"module '{package}' has no attribute '{name}'")
    registry = importlib.import_module(f"{package}.infra.registry")
    entry = registry.find(name)
    if entry is None or entry.name != name:
        raise AttributeError(f"module '{package}' has no attribute '{name}'; {_hint(name)}")
    return entry.make


def _hint(name: str) -> str:
    registry = importlib.import_module("relax_mlir.transform.infra.registry")
    return str(registry.unknown_pass(name))


def __dir__() -> list[str]:
    registry = importlib.import_module("relax_mlir.transform.infra.registry")
    return sorted({*globals(), *__all__, *(entry.name for entry in registry.entries())})
