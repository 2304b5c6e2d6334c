"""Parsing TVMScript: from Python's syntax tree to MLIR; what both languages share."""
