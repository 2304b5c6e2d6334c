"""The dataflow pattern language: describe parts of programs, find them, rewrite them."""

from relax_mlir.relax.dpl.classes import (
    AndPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DataTypePattern,
    DFConstraint,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    NotPattern,
    OrPattern,
    PrimArrPattern,
    SameShapeConstraint,
    ShapePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from relax_mlir.relax.dpl.compound import (
    FunctionPattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
)
from relax_mlir.relax.dpl.context import PatternContext
from relax_mlir.relax.dpl.pattern import (
    has_attr,
    has_dtype,
    has_shape,
    has_struct_info,
    has_ty,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    reject,
    wildcard,
)
from relax_mlir.relax.dpl.pattern_rewriter import PatternMatchingRewriter
from relax_mlir.relax.dpl.rewrite import rewrite_bindings, rewrite_call, rewrite_in_place
from relax_mlir.relax.dpl.sequence import PatternSeq

__all__ = [
    "AndPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFConstraint", "DFPattern",
    "DataTypePattern", "DataflowVarPattern", "ExprPattern", "ExternFuncPattern", "FunctionPattern",
    "GlobalVarPattern", "NotPattern", "OrPattern", "PatternContext", "PatternMatchingRewriter",
    "PatternSeq", "PrimArrPattern", "SameShapeConstraint", "ShapePattern", "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern", "UnorderedTuplePattern", "VarPattern", "WildcardPattern", "has_attr",
    "has_dtype", "has_shape", "has_struct_info", "has_ty", "is_call_dps_packed", "is_call_packed",
    "is_call_tir", "is_const", "is_dfv", "is_expr", "is_gv", "is_op", "is_shape", "is_tuple",
    "is_tuple_get_item", "is_var", "make_fused_bias_activation_pattern", "reject",
    "rewrite_bindings", "rewrite_call",
    "rewrite_in_place", "wildcard",
]  # fmt: skip
