"""`dtype=` of intrinsics: `T.exp(x, dtype="float32")`, as TVM writes them up to 0.10."""

import ast
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir.scalar import INDEX, Scalar
from relax_mlir.script.parser.source import Node
from relax_mlir.script.parser.tir_tables import BINARY, UNARY

if TYPE_CHECKING:
    from relax_mlir.script.parser.tir_expr import TirExprParser

# Those whose first argument it is.
_FIRST = ("call_extern", "call_intrin", "call_pure_extern", "infinity", "max_value", "min_value",
          "reinterpret")  # fmt: skip
_OTHERS = ("bitwise_not", "ceildiv", "exp10", "fma", "fmod", "hypot", "if_then_else", "isfinite",
           "isinf", "isnan", "ldexp", "likely", "nextafter", "q_multiply_shift",
           "Select")  # fmt: skip


def has_dtype(name: str, node: Node) -> bool:
    """Whether an intrinsic is called with a `dtype=` that says what follows from its arguments."""
    taken = name in UNARY or name in BINARY or name in _FIRST or name in _OTHERS
    return taken and any(each.arg == "dtype" for each in node.keywords)


def call_with_dtype(p: "TirExprParser", name: str, node: Node) -> Any:
    """Parse such a call.

    Raises:
        ScriptError: the result has another dtype.
    """
    (keyword,) = [each for each in node.keywords if each.arg == "dtype"]
    rest = [each for each in node.keywords if each is not keyword]
    first = [keyword.value] if name in _FIRST else []
    plain = ast.copy_location(ast.Call(node.func, [*first, *node.args], rest), node)
    result = p.evaluate(plain)
    said = getattr(keyword.value, "value", None)
    if not first and isinstance(said, str) and isinstance(result, Scalar):
        try:
            dtype = T.normalize_dtype(said)
        except ValueError as error:
            p.scope.fail(keyword.value, str(error))
        if result.dtype not in (dtype, INDEX):
            p.scope.fail(
                keyword.value, f"T.{name} gives {result.dtype} here, not {said}; cast it by T.Cast"
            )
    return result
