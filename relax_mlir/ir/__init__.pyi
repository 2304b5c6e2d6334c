"""IRModule, the views of its functions, and structural equality."""

# Made by .ci/stubs, do not edit.

from relax_mlir import instrument, transform
from relax_mlir.ir.global_info import DummyGlobalInfo, GlobalInfo, VDevice
from relax_mlir.ir.json_text import load_json, make_node, save_json
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.op import register_op, register_op_attr, reset_op_attr
from relax_mlir.ir.range import Range
from relax_mlir.ir.shape_rules import ShapeCall, ShapeOf, call_shape_func, get_op_attr
from relax_mlir.ir.structural.compare import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.call import Attrs as DictAttrs
from relax_mlir.relax.expr.call import Call, Op
from relax_mlir.relax.expr.compound import TupleGetItem
from relax_mlir.relax.expr.functions import BaseFunc
from relax_mlir.relax.expr.leaves import GlobalVar, Var, is_prim_expr, is_prim_var
from relax_mlir.relax.expr.types import FuncType, PrimType, TupleType, Type
from relax_mlir.relax.expr.values import StringImm, Tuple

__all__ = [
    "BaseFunc",
    "Call",
    "DictAttrs",
    "DummyGlobalInfo",
    "Expr",
    "FuncType",
    "GlobalInfo",
    "GlobalVar",
    "IRModule",
    "Op",
    "PrimType",
    "Range",
    "ShapeCall",
    "ShapeOf",
    "StringImm",
    "Tuple",
    "TupleGetItem",
    "TupleType",
    "Type",
    "VDevice",
    "Var",
    "assert_structural_equal",
    "call_shape_func",
    "get_first_structural_mismatch",
    "get_op_attr",
    "instrument",
    "is_prim_expr",
    "is_prim_var",
    "load_json",
    "make_node",
    "register_op",
    "register_op_attr",
    "reset_op_attr",
    "save_json",
    "structural_equal",
    "structural_hash",
    "transform",
]
