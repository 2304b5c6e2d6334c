"""Writing TVMScript: from MLIR to the text that a person would have written."""
