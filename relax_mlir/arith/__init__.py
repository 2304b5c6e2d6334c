"""Proofs about symbolic integers while a program is built (R07)."""

from relax_mlir.arith.analyzer import Analyzer, ConstIntBound, ModularSet

__all__ = ["Analyzer", "ConstIntBound", "ModularSet"]
