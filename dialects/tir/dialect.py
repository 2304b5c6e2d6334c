"""The TIR dialect object."""

from relax_mlir.dialects.bindings import ext


class Tir(ext.Dialect, name="tir"):
    """Loops and blocks over memrefs: what a tensor operation does to elements."""
