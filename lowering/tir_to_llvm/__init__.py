"""Upstream dialects over memrefs to the LLVM dialect."""
