"""relax-lsp: a language server for Python, scripts and MLIR."""
