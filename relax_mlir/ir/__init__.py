"""IRModule, the views of its functions, and structural equality."""

import importlib
from typing import Any

from relax_mlir.errors import missing
from relax_mlir.ir.module import IRModule

# Loaded on first use: they need the dialects.
_EXPORTS = {
    **dict.fromkeys(
        ("BaseFunc", "Call", "DictAttrs", "Expr", "FuncType", "GlobalVar", "Op", "PrimType",
         "StringImm", "Tuple", "TupleGetItem", "TupleType", "Type", "Var"),
        "relax_mlir.relax.expr"),
    **dict.fromkeys(("load_json", "make_node", "save_json"), "relax_mlir.ir.json_text"),
    **dict.fromkeys(("DummyGlobalInfo", "GlobalInfo", "VDevice"), "relax_mlir.ir.global_info"),
    "Range": "relax_mlir.ir.range",
    "ShapeCall": "relax_mlir.ir.shape_rules",
    "ShapeOf": "relax_mlir.ir.shape_rules",
    "call_shape_func": "relax_mlir.ir.shape_rules",
    "get_op_attr": "relax_mlir.ir.shape_rules",
    "register_op": "relax_mlir.ir.op",
    "register_op_attr": "relax_mlir.ir.op",
    "reset_op_attr": "relax_mlir.ir.op",
    "assert_structural_equal": "relax_mlir.ir.structural.compare",
    "get_first_structural_mismatch": "relax_mlir.ir.structural.compare",
    "structural_equal": "relax_mlir.ir.structural.compare",
    "structural_hash": "relax_mlir.ir.structural.compare",
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


def __getattr__(name: str) -> Any:
    if name in ("instrument", "transform"):
        return importlib.import_module(f"relax_mlir.ir.{name}")
    if name not in _EXPORTS:
        raise AttributeError(missing("ir", name, _UNSUPPORTED, __dir__()))
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
