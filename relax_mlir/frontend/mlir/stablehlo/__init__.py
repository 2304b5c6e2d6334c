"""Converters of StableHLO and CHLO, by category.

The semantics are those of the StableHLO specification (docs/spec.md of openxla/stablehlo).
"""
