"""Fusion: chains of kernels, epilogues of contractions, attention."""
