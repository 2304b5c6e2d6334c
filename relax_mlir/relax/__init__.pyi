"""Relax as a user calls it: build a module, run it."""

# Made by .ci/stubs, do not edit.

from relax_mlir import frontend, transform
from relax_mlir.compiler import base_py_module, vm_build
from relax_mlir.compiler import relax_pipelines as pipeline
from relax_mlir.compiler.base_py_module import BasePyModule
from relax_mlir.compiler.build_log import BuildLog
from relax_mlir.compiler.pipeline import build
from relax_mlir.compiler.relax_pipelines import (
    get_default_pipeline,
    get_pipeline,
    register_pipeline,
)
from relax_mlir.pass_infra.context import build_config
from relax_mlir.relax import analysis, dpl, expr, expr_functor, op, testing, utils, vm
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.builder.te_calls import te_tensor
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.blocks import (
    Binding,
    BindingBlock,
    DataflowBlock,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from relax_mlir.relax.expr.blocks import MatchCast as MatchShape
from relax_mlir.relax.expr.call import Call
from relax_mlir.relax.expr.compound import If, TupleGetItem
from relax_mlir.relax.expr.functions import BaseFunc, Function, PrimFunc
from relax_mlir.relax.expr.leaves import DataflowVar, ExternFunc, GlobalVar, Id, Var
from relax_mlir.relax.expr.loops import For, While
from relax_mlir.relax.expr.shapes import get_shape_of
from relax_mlir.relax.expr.types import (
    DynTensorType,
    FuncType,
    ObjectType,
    PackedFuncType,
    PrimType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)
from relax_mlir.relax.expr.types import FuncType as FuncStructInfo
from relax_mlir.relax.expr.types import ObjectType as AnyType
from relax_mlir.relax.expr.types import ObjectType as ObjectStructInfo
from relax_mlir.relax.expr.types import PrimType as PrimStructInfo
from relax_mlir.relax.expr.types import ShapeType as ShapeStructInfo
from relax_mlir.relax.expr.types import TensorType as TensorStructInfo
from relax_mlir.relax.expr.types import TupleType as TupleStructInfo
from relax_mlir.relax.expr.types import Type as StructInfo
from relax_mlir.relax.expr.values import (
    Constant,
    DataTypeImm,
    PrimValue,
    RuntimeDepShape,
    ShapeExpr,
    StringImm,
    Tuple,
    const,
    make_shape,
)
from relax_mlir.relax.expr_functor.functor import ExprFunctor
from relax_mlir.relax.expr_functor.mutator import PyExprMutator
from relax_mlir.relax.expr_functor.rewrite import DataflowBlockRewrite
from relax_mlir.relax.expr_functor.visitor import PyExprVisitor
from relax_mlir.relax.op.calls import (
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
)
from relax_mlir.relax.utils import extern, prim_value, var
from relax_mlir.runtime.exec_builder import ExecBuilder
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.executable import Executable as VMExecutable
from relax_mlir.runtime.vm.instrument import VMInstrumentReturnKind
from relax_mlir.runtime.vm.virtual_machine import VirtualMachine

__all__ = [
    "AnyType",
    "BaseFunc",
    "BasePyModule",
    "Binding",
    "BindingBlock",
    "BlockBuilder",
    "BuildLog",
    "Call",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowBlockRewrite",
    "DataflowVar",
    "DynTensorType",
    "ExecBuilder",
    "Executable",
    "Expr",
    "ExprFunctor",
    "ExternFunc",
    "For",
    "FuncStructInfo",
    "FuncType",
    "Function",
    "GlobalVar",
    "Id",
    "If",
    "MatchCast",
    "MatchShape",
    "ObjectStructInfo",
    "ObjectType",
    "PackedFuncType",
    "PrimFunc",
    "PrimStructInfo",
    "PrimType",
    "PrimValue",
    "PyExprMutator",
    "PyExprVisitor",
    "RuntimeDepShape",
    "SeqExpr",
    "ShapeExpr",
    "ShapeStructInfo",
    "ShapeType",
    "StringImm",
    "StructInfo",
    "TensorStructInfo",
    "TensorType",
    "Tuple",
    "TupleGetItem",
    "TupleStructInfo",
    "TupleType",
    "Type",
    "VMExecutable",
    "VMInstrumentReturnKind",
    "Var",
    "VarBinding",
    "VirtualMachine",
    "While",
    "analysis",
    "base_py_module",
    "build",
    "build_config",
    "call_dps_packed",
    "call_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "const",
    "dpl",
    "expr",
    "expr_functor",
    "extern",
    "frontend",
    "get_default_pipeline",
    "get_pipeline",
    "get_shape_of",
    "make_shape",
    "op",
    "pipeline",
    "prim_value",
    "register_pipeline",
    "te_tensor",
    "testing",
    "transform",
    "utils",
    "var",
    "vm",
    "vm_build",
]
