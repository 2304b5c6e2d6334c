"""Running passes in MLIR's PassManager: diagnostics, guards, hashes of programs."""
