"""Codes of the builtins `match_shape` and `make_shape`."""

from relax_mlir.runtime.bytecode.tvm_builtins import MakeShapeCode, MatchShapeCode

__all__ = ["MakeShapeCode", "MatchShapeCode"]
