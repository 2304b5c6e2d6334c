"""Expressions of Relax programs as TVM's people know them: views over MLIR, not a second IR."""

from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.blocks import (
    Binding,
    BindingBlock,
    DataflowBlock,
    MatchCast,
    MatchShape,
    SeqExpr,
    VarBinding,
    binding_of,
)
from relax_mlir.relax.expr.call import Attrs, Call, If, Op, TupleGetItem
from relax_mlir.relax.expr.convert import convert
from relax_mlir.relax.expr.functions import (
    BaseFunc,
    Function,
    PrimFunc,
    function_view,
    functions,
)
from relax_mlir.relax.expr.leaves import (
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    GlobalVar,
    Id,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    Var,
    const,
)
from relax_mlir.relax.expr.shapes import get_shape_of, shape_kind
from relax_mlir.relax.expr.types import (
    AnyType,
    DynTensorType,
    FuncStructInfo,
    FuncType,
    ObjectStructInfo,
    ObjectType,
    PrimStructInfo,
    PrimType,
    ShapeStructInfo,
    ShapeType,
    StructInfo,
    TensorStructInfo,
    TensorType,
    TupleStructInfo,
    TupleType,
    Type,
    as_type,
)
from relax_mlir.relax.expr.views import register_view, var, view, view_op

__all__ = [
    "AnyType", "Attrs", "BaseFunc", "Binding", "BindingBlock", "Call", "Constant", "DataTypeImm",
    "DataflowBlock", "DataflowVar", "DynTensorType", "Expr", "ExternFunc", "FuncStructInfo",
    "FuncType", "Function", "GlobalVar", "Id", "If", "MatchCast", "MatchShape", "ObjectStructInfo",
    "ObjectType", "Op", "PrimFunc", "PrimStructInfo", "PrimType", "PrimValue", "SeqExpr",
    "ShapeExpr", "ShapeStructInfo", "ShapeType", "StringImm", "StructInfo", "TensorStructInfo",
    "TensorType", "Tuple", "TupleGetItem", "TupleStructInfo", "TupleType", "Type", "Var",
    "VarBinding", "as_type", "binding_of", "const", "convert", "function_view", "functions",
    "get_shape_of", "register_view", "shape_kind", "var", "view", "view_op",
]  # fmt: skip
