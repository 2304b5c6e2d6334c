"""Proofs about symbolic integers while a program is built."""

from relax_mlir.arith.analyzer import Analyzer, ConstIntBound, ModularSet

__all__ = ["Analyzer", "ConstIntBound", "ModularSet"]
