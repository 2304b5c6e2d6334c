"""The pass infrastructure: PassContext, passes, pipelines, and every pass by its name."""

import importlib
from typing import Any

# Public name -> module, imported on first use: the tools must start fast and passes are many.
_EXPORTS = {
    "PassInfo": "info",
    "PassContext": "context",
    "build_config": "context",
    "register_config_option": "config",
    "list_configs": "config",
    "DiagnosticContext": "diagnostics",
    "Pass": "passes",
    "ModulePass": "passes",
    "Sequential": "sequential",
    "PrintIR": "passes",
    "MLIRPass": "passes",
    "mlir": "passes",
    "FunctionPass": "per_function",
    "PrimFuncPass": "per_function",
    "DataflowBlockPass": "dataflow_block",
    "dataflowblock_pass": "decorators",
    "BindParams": "bind_params",
    "CreateModulePass": "decorators",
    "CreateFunctionPass": "decorators",
    "CreatePrimFuncPass": "decorators",
    "CreateDataflowBlockPass": "decorators",
    "CreateSequentialPass": "decorators",
    "fingerprint": "program_hash",
    "pattern": "rewriting",
    "rewrite": "rewriting",
    "pdl": "rewriting",
    "module_pass": "decorators",
    "function_pass": "decorators",
    "prim_func_pass": "decorators",
    "register_pass": "registry",
    "get_pass": "registry",
    "Pipeline": "pipeline",
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
    registry = importlib.import_module(f"{package}.registry")
    entry = registry.find(name)
    if entry is None or entry.name != name:
        raise AttributeError(f"module '{package}' has no attribute '{name}'; {_hint(name)}")
    return entry.make


def _hint(name: str) -> str:
    registry = importlib.import_module("relax_mlir.transform.registry")
    return str(registry.unknown_pass(name))


def __dir__() -> list[str]:
    registry = importlib.import_module("relax_mlir.transform.registry")
    return sorted({*globals(), *__all__, *(entry.name for entry in registry.entries())})
