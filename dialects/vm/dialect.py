"""The VM dialect object and its types."""

from relax_mlir.dialects.bindings import ext


class Vm(ext.Dialect, name="vm"):
    """Explicit memory and run-time shapes: one operation is one call of the machine."""


class Storage(Vm.Type, name="storage"):
    """A block of memory that tensors are placed in."""


class ShapeHeap(Vm.Type, name="heap"):
    """The int64 array that holds the values of a function's symbolic integers."""
