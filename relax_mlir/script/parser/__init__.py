"""Parsing TVMScript: from Python's syntax tree to MLIR; what both languages share."""

from functools import partial

from relax_mlir.tvm_modules import submodule

# TVM's `tvm.script.parser.relax` is there after `import tvm`.
__getattr__ = partial(submodule, __name__)
