"""TIR as a user calls it: symbolic integers for shapes, scalar expressions, their functions."""

import importlib
from typing import Any

from relax_mlir.lazy import lazy_exports
from relax_mlir.tvm_modules import install

# Loaded on first use: symbolic integers are MLIR's.
_EXPORTS = {
    "relax.expr": ("PrimFunc",),
    "tir.expr": ("SizeVar", "StringImm", "Var", "var"),
    "tir.lowering": ("build", "lower"),
    "tir.schedule": ("Schedule", "ScheduleError", "Trace"),
    "tir.schedule.index_map": ("IndexMap",),
    "tir.scalar.calls": (
        "call_intrin", "convert", "ldexp", "nextafter", "q_multiply_shift",
        "q_multiply_shift_per_axis",
    ),
    "tir.scalar.conversion": ("Cast", "cast", "const"),
    "tir.scalar.externs": ("call_extern", "call_packed", "call_pure_extern"),
    "tir.scalar.functions": (
        "all", "any", "atan2", "ceildiv", "copysign", "exp10", "fmod", "hypot", "if_then_else",
        "infinity", "likely", "logaddexp", "max_value", "min_value", "pow", "power", "reinterpret",
    ),
    "tir.scalar.nodes": (
        "Add", "And", "Call", "Div", "EQ", "FloorDiv", "FloorMod", "GE", "GT", "LE", "LT", "Max",
        "Min", "Mod", "Mul", "NE", "Not", "Or", "ProducerLoad", "Reduce", "Select", "Sub",
    ),
    "tir.scalar.prim_expr": ("FloatImm", "IntImm", "PrimExpr"),
    "tir.scalar.reduction": ("comm_reducer", "max", "min", "sum"),
    "tir.stmt": (
        "AllocBuffer", "AssertStmt", "Block", "BlockRealize", "Buffer", "BufferLoad", "BufferStore",
        "Evaluate", "For", "ForKind", "IfThenElse", "IterVar", "LetStmt", "SeqStmt", "Stmt",
        "While", "decl_buffer", "is_buffer_var", "stmt_list", "stmt_seq",
    ),
    "tir.tensor_intrin": ("TensorIntrin",),
    "tir.view.statements": ("BufferRegion",),
}  # fmt: skip
# Names of TVM's that have no counterpart.
_UNSUPPORTED = {
    **dict.fromkeys(
        ("Bind", "Break", "Broadcast", "Continue", "Ramp", "Return", "Shuffle", "address_of",
         "break_loop", "continue_loop", "dp4a", "vectorcombine", "vectorhigh", "vectorlow"),
        "it is a part of scripts, T's"),
    "CommReducer": "te.comm_reducer makes one",
    "LambdaExpr": "Python's functions are",
    "Let": "a Python name for a value does it: what is used twice is computed once",
    "ScheduleState": "tir.Schedule is one with its program: sch.mod, sch.trace",
    "StmtSRef": "sch.get_sref gives what a loop or block is",
    "layout": "layouts are index maps: tir.IndexMap",
    "op": "its functions are those of tir itself",
    **dict.fromkeys(
        ("AttrStmt", "BufferRealize", "DeclBuffer", "MatchBufferRegion"),
        "tir.For, tir.BufferStore, tir.IfThenElse and tir.Block are the statements there are",
    ),
}  # fmt: skip
# Classes of TVM's expressions that are functions here.
_CLASSES = {
    "BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "LShift": "shift_left", "RShift": "shift_right",
}  # fmt: skip
_MODULES = ("analysis", "dlight", "ir_builder", "schedule", "stmt_functor", "transform")
_TABLE = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_and", "bitwise_not",
    "bitwise_or", "bitwise_xor", "ceil", "clz", "cos", "cosh", "div", "erf", "exp", "exp2", "fabs",
    "floor", "floordiv", "floormod", "indexdiv", "indexmod", "isfinite", "isinf", "isnan", "log",
    "log10", "log1p", "log2", "nearbyint", "popcount", "round", "rsqrt", "shift_left",
    "shift_right", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "truncdiv",
    "truncmod",
)  # fmt: skip


def _table() -> dict[str, Any]:
    """Return the functions of the table of scalar functions, and other names of statements."""
    functions = importlib.import_module("relax_mlir.tir.scalar.functions").FUNCTIONS
    stmt = importlib.import_module("relax_mlir.tir.stmt")
    names = dict(zip(_TABLE, _TABLE, strict=True)) | _CLASSES
    return {
        **{name: functions[function] for name, function in names.items()},
        "SBlock": stmt.Block, "SBlockRealize": stmt.BlockRealize,
    }  # fmt: skip


install()
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS, _MODULES, _UNSUPPORTED, _table)
