"""`target.Target`: what to compile for, under TVM's name."""

from relax_mlir.lowering.target.target import Target, TargetKind

__all__ = ["Target", "TargetKind", "create"]

# What TVM called it first.
create = Target
