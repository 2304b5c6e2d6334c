"""Tables of Python operators and built-in names."""

import ast

OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "mod",
    ast.Pow: "power",
    ast.MatMult: "matmul",
}
COMPARISONS: dict[type, str] = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
# Call forms and constructors, in addition to the operations of the dialect's table.
BUILTINS = (
    "call_tir", "call_tir_dyn", "call_dps_packed", "call_packed", "call_pure_packed", "match_cast",
    "match_shape", "shape_of", "tuple", "const", "shape", "ShapeExpr", "prim_value", "print",
    "assert_op", "emit", "emit_te", "emit_with_ty", "emit_with_type", "dataflow", "output",
    "outputs", "Tensor", "Shape", "Tuple", "Object", "Prim", "ExternFunc", "func_attr",
    "call_tir_inplace", "call_dps_packed_inplace", "call_inplace_packed", "call_builtin_with_ctx",
    "null_value",
)  # fmt: skip
