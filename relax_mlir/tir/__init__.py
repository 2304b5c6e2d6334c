"""TIR as a user calls it: symbolic integers for shapes, scalar expressions, their functions."""

import importlib
from typing import Any

from relax_mlir.errors import missing

# Loaded on first use: symbolic integers are MLIR's.
_EXPORTS = {
    **dict.fromkeys(("SizeVar", "Var", "var"), "expr"),
    **dict.fromkeys(("FloatImm", "IntImm", "PrimExpr"), "scalar.prim_expr"),
    **dict.fromkeys(
        ("Add", "And", "Call", "Div", "EQ", "FloorDiv", "FloorMod", "GE", "GT",
         "LE", "LT", "Max", "Min", "Mod", "Mul", "NE", "Not", "Or", "ProducerLoad",
         "Reduce", "Select", "Sub"), "scalar.nodes"),
    **dict.fromkeys(("Schedule", "ScheduleError", "Trace"), "schedule"),
    **dict.fromkeys(
        ("AllocBuffer", "AssertStmt", "Block", "BlockRealize", "BufferLoad", "BufferStore",
         "Evaluate", "For", "ForKind", "IfThenElse", "IterVar", "LetStmt", "SeqStmt", "Stmt",
         "While", "stmt_list", "stmt_seq"), "stmt"),
    **{f"S{name}": f"stmt.{name}" for name in ("Block", "BlockRealize")},
    "BufferRegion": "view.statements",
    "IndexMap": "schedule.index_map",
    "TensorIntrin": "tensor_intrin",
    **dict.fromkeys(("Buffer", "decl_buffer", "is_buffer_var"), "stmt"),
    **dict.fromkeys(("build", "lower"), "lowering"),
    **dict.fromkeys(("Cast", "cast", "const"), "scalar.conversion"),
    **dict.fromkeys(("comm_reducer", "max", "min", "sum"), "scalar.reduction"),
    **dict.fromkeys(("call_extern", "call_packed", "call_pure_extern"), "scalar.externs"),
    **dict.fromkeys(
        ("call_intrin", "convert", "ldexp", "nextafter", "q_multiply_shift",
         "q_multiply_shift_per_axis"), "scalar.calls"),
    **dict.fromkeys(
        ("all", "any", "atan2", "ceildiv", "copysign", "exp10", "fmod", "hypot", "if_then_else",
         "infinity", "likely", "logaddexp", "max_value", "min_value", "pow", "power",
         "reinterpret"), "scalar.functions"),
}  # fmt: skip
# Names of TVM's that have no counterpart.
_UNSUPPORTED = {
    "StringImm": "texts are Python's",
    **dict.fromkeys(
        ("Bind", "Break", "Broadcast", "Continue", "Ramp", "Return", "Shuffle", "address_of",
         "break_loop", "continue_loop", "dp4a", "vectorcombine", "vectorhigh", "vectorlow"),
        "it is a part of scripts, T's"),
    "CommReducer": "te.comm_reducer makes one",
    "LambdaExpr": "Python's functions are",
    "Let": "a Python name for a value does it: what is used twice is computed once",
    "ScheduleState": "tir.Schedule is one with its program: sch.mod, sch.trace",
    "StmtSRef": "sch.get_sref tells what a loop or block is",
    "layout": "layouts are index maps: tir.IndexMap",
    "op": "its functions are those of tir itself",
    **dict.fromkeys(
        (
            "AttrStmt",
            "BufferRealize",
            "DeclBuffer",
            "MatchBufferRegion",
        ),
        "tir.For, tir.BufferStore, tir.IfThenElse and tir.Block are the statements there are",
    ),
}  # fmt: skip
# What other packages have too.
_ELSEWHERE = {
    "PrimFunc": "relax_mlir.relax.expr",
}
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


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        value = getattr(importlib.import_module(_ELSEWHERE[name]), name)
    elif name in _EXPORTS:
        # Some have another name where they are.
        module, _, own = _EXPORTS[name].rpartition(".")
        module, own = (module, own) if own[:1].isupper() else (_EXPORTS[name], name)
        value = getattr(importlib.import_module(f"relax_mlir.tir.{module}"), own)
    elif name in (*_TABLE, *_CLASSES):
        functions = importlib.import_module("relax_mlir.tir.scalar.functions").FUNCTIONS
        value = functions[_CLASSES.get(name, name)]
    elif name in _MODULES:
        value = importlib.import_module(f"relax_mlir.tir.{name}")
    else:
        raise AttributeError(missing("tir", name, _UNSUPPORTED, __dir__()))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS, *_ELSEWHERE, *_TABLE, *_CLASSES, *_MODULES])
