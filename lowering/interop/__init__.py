"""Modules for, and from, MLIR tools that know our dialects only by their IRDL."""
