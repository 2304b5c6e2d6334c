"""Relax as a user calls it: build a module, run it."""

import importlib
from typing import Any

from relax_mlir.errors import missing
from relax_mlir.interpreter import tuned_for_builds

_EXPRESSIONS = (
    "AnyType", "BaseFunc", "Binding", "BindingBlock", "Call", "Constant", "DataTypeImm",
    "DataflowBlock", "DataflowVar", "DynTensorType", "Expr", "ExternFunc", "For",
    "FuncStructInfo", "FuncType", "Function", "GlobalVar", "Id", "If", "MatchCast",
    "MatchShape", "ObjectStructInfo", "ObjectType", "PackedFuncType", "PrimFunc",
    "PrimStructInfo", "PrimType", "PrimValue", "SeqExpr", "ShapeExpr", "ShapeStructInfo",
    "ShapeType", "StringImm", "StructInfo", "TensorStructInfo", "TensorType", "Tuple",
    "TupleGetItem", "TupleStructInfo", "TupleType", "Type", "Var", "VarBinding", "While", "const",
    "make_shape",
)  # fmt: skip
# Loaded on first use: compiling needs MLIR, running does not.
_EXPORTS = {
    **dict.fromkeys(_EXPRESSIONS, "relax_mlir.relax.expr"),
    "BlockBuilder": "relax_mlir.relax.builder.block_builder",
    "BuildLog": "relax_mlir.compiler.build_log",
    "DataflowBlockRewrite": "relax_mlir.relax.expr_functor",
    "ExecBuilder": "relax_mlir.runtime",
    "Executable": "relax_mlir.runtime",
    "VMExecutable": "relax_mlir.compiler.vm_build",
    "ExprFunctor": "relax_mlir.relax.expr_functor",
    "PyExprMutator": "relax_mlir.relax.expr_functor",
    "PyExprVisitor": "relax_mlir.relax.expr_functor",
    "VMInstrumentReturnKind": "relax_mlir.runtime",
    "VirtualMachine": "relax_mlir.runtime",
    "build": "relax_mlir.compiler.pipeline",
    "build_config": "relax_mlir.pass_infra.context",
    "call_dps_packed": "relax_mlir.relax.op",
    "call_packed": "relax_mlir.relax.op",
    "call_pure_packed": "relax_mlir.relax.op",
    "call_tir": "relax_mlir.relax.op",
    "call_tir_inplace": "relax_mlir.relax.op",
    "call_tir_with_grad": "relax_mlir.relax.op",
    **dict.fromkeys(
        ("get_default_pipeline", "get_pipeline", "register_pipeline"),
        "relax_mlir.compiler.relax_pipelines",
    ),
    "extern": "relax_mlir.relax.utils",
    "get_shape_of": "relax_mlir.relax.expr",
    **dict.fromkeys(("prim_value", "var"), "relax_mlir.relax.utils"),
    "te_tensor": "relax_mlir.relax.builder.te_calls",
}
# Names of TVM's that have no counterpart.
_UNSUPPORTED = {
    "BasePyModule": "Python functions are called as packed ones: register_func",
    "training": "there is no automatic differentiation",
    "distributed": "programs run on one device",
    "RuntimeDepShape": "a shape that only run time knows is left out: R.Tensor(ndim=2)",
}
_MODULES = ("analysis", "dpl", "expr", "expr_functor", "op", "testing", "utils", "vm")
_COMPILER = {
    "pipeline": "relax_mlir.compiler.relax_pipelines",
    "vm_build": "relax_mlir.compiler.vm_build",
}


def __getattr__(name: str) -> Any:
    if name in ("frontend", "transform"):
        return importlib.import_module(f"relax_mlir.{name}")
    if name in _COMPILER:
        return importlib.import_module(_COMPILER[name])
    if name in _MODULES:
        return importlib.import_module(f"relax_mlir.relax.{name}")
    if name not in _EXPORTS:
        # What imports ask modules for is answered without loading more.
        if name.startswith("__"):
            raise AttributeError(f"module 'relax_mlir.relax' has no attribute '{name}'")
        raise AttributeError(missing("relax", name, _UNSUPPORTED, __dir__()))
    with tuned_for_builds():
        value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS, *_MODULES, *_COMPILER, "transform"])
