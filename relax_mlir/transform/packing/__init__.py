"""Packing of constant weights into the layouts that kernels read."""
