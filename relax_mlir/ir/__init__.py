"""IRModule, the views of its functions, and structural equality."""

from relax_mlir.ir.module import IRModule
from relax_mlir.lazy import lazy_exports
from relax_mlir.tvm_modules import install

# Loaded on first use: they need the dialects.
_EXPORTS = {
    "relax.expr": (
        "BaseFunc", "Call", "DictAttrs", "Expr", "FuncType", "GlobalVar", "Op", "PrimType",
        "StringImm", "Tuple", "TupleGetItem", "TupleType", "Type", "Var", "is_prim_expr",
        "is_prim_var",
    ),
    "ir.json_text": ("load_json", "make_node", "save_json"),
    "ir.global_info": ("DummyGlobalInfo", "GlobalInfo", "VDevice"),
    "ir.op": ("register_op", "register_op_attr", "reset_op_attr"),
    "ir.range": ("Range",),
    "ir.shape_rules": ("ShapeCall", "ShapeOf", "call_shape_func", "get_op_attr"),
    "ir.structural.compare": (
        "assert_structural_equal", "get_first_structural_mismatch", "structural_equal",
        "structural_hash",
    ),
}  # fmt: skip

# Names of TVM's that have no counterpart.
_UNSUPPORTED = {
    **dict.fromkeys(("Array", "Map"), "sequences and mappings are Python's"),
    **dict.fromkeys(("Attrs", "Node"), "attributes are mappings of Python's"),
    **dict.fromkeys(("SourceName", "Span"), "places in the source are locations of MLIR"),
    "register_intrin_lowering": "intrinsics are lowered by MLIR; a function of yours is called by "
    "tir.call_extern",
}

__all__ = ["IRModule"]
install()
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS, ("instrument", "transform"), _UNSUPPORTED)
