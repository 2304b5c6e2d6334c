"""Calls of prim funcs as passes see them: elementwise and contraction kernels."""
