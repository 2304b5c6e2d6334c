"""Relax as a user calls it: build a module, run it."""

from typing import Any

from relax_mlir.interpreter import tuned_for_builds
from relax_mlir.lazy import lazy_exports
from relax_mlir.tvm_modules import install

# Loaded on first use: compiling needs MLIR, running does not.
_EXPORTS = {
    "compiler.base_py_module": ("BasePyModule",),
    "compiler.build_log": ("BuildLog",),
    "compiler.pipeline": ("build",),
    "compiler.relax_pipelines": ("get_default_pipeline", "get_pipeline", "register_pipeline"),
    "compiler.vm_build": ("VMExecutable",),
    "pass_infra.context": ("build_config",),
    "relax.builder.block_builder": ("BlockBuilder",),
    "relax.builder.te_calls": ("te_tensor",),
    "relax.expr": (
        "AnyType", "BaseFunc", "Binding", "BindingBlock", "Call", "Constant", "DataTypeImm",
        "DataflowBlock", "DataflowVar", "DynTensorType", "Expr", "ExternFunc", "For",
        "FuncStructInfo", "FuncType", "Function", "GlobalVar", "Id", "If", "MatchCast",
        "MatchShape", "ObjectStructInfo", "ObjectType", "PackedFuncType", "PrimFunc",
        "PrimStructInfo", "PrimType", "PrimValue", "RuntimeDepShape", "SeqExpr", "ShapeExpr",
        "ShapeStructInfo", "ShapeType", "StringImm", "StructInfo", "TensorStructInfo",
        "TensorType", "Tuple", "TupleGetItem", "TupleStructInfo", "TupleType", "Type", "Var",
        "VarBinding", "While", "const", "get_shape_of", "make_shape",
    ),
    "relax.expr_functor": ("DataflowBlockRewrite", "ExprFunctor", "PyExprMutator", "PyExprVisitor"),
    "relax.op": (
        "call_dps_packed", "call_packed", "call_pure_packed", "call_tir", "call_tir_inplace",
        "call_tir_with_grad",
    ),
    "relax.utils": ("extern", "prim_value", "var"),
    "runtime": ("ExecBuilder", "Executable", "VMInstrumentReturnKind", "VirtualMachine"),
}  # fmt: skip
# Names of TVM's that have no counterpart.
_UNSUPPORTED = {
    "training": "there is no automatic differentiation",
    "distributed": "programs run on one device",
}
_OWN = ("analysis", "dpl", "expr", "expr_functor", "op", "testing", "utils", "vm")
_MODULES = {
    **{name: f"relax_mlir.relax.{name}" for name in _OWN},
    "base_py_module": "relax_mlir.compiler.base_py_module",
    "frontend": "relax_mlir.frontend",
    "pipeline": "relax_mlir.compiler.relax_pipelines",
    "transform": "relax_mlir.transform",
    "vm_build": "relax_mlir.compiler.vm_build",
}
install()
_exported, __dir__ = lazy_exports(__name__, _EXPORTS, _MODULES, _UNSUPPORTED)


def __getattr__(name: str) -> Any:
    with tuned_for_builds():
        return _exported(name)
