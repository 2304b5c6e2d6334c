"""Reading TVMScript: from a Python syntax tree to MLIR."""
