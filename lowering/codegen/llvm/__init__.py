"""LLVM: from the LLVM dialect to LLVM IR, and its optimiser."""
