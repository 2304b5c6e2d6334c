"""Scalar expressions as trees (TVM's PrimExpr): nodes, functions, conversion, emission."""
