"""Symbolic integers: expressions over named symbols, conditions, and a prover."""
