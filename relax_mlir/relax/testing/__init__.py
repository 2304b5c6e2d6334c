"""Helpers of tests and small models: modules of layers, and expressions as trees of text."""

from relax_mlir.relax.testing import ast_printer, nn
from relax_mlir.relax.testing.ast_printer import ASTPrinter, dump_ast

__all__ = ["ASTPrinter", "ast_printer", "dump_ast", "nn"]
