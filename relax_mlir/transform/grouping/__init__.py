"""Passes that make functions of groups of bindings, and kernels or library calls of those."""
