"""Converters of upstream's dialects: arith, math, tensor, linalg, scf, affine."""
