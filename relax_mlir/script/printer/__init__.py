"""Printing MLIR as TVMScript."""
