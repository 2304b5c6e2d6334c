"""Contractions: GEMM and GEMV in any layout, by register tiles and cache blocking."""
