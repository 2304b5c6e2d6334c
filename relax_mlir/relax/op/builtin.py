"""`relax.op.builtin`: what lowered programs are made of."""

from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.relax.op.calls import alloc_tensor
from relax_mlir.relax.op.group import members

__all__ = ["alloc_tensor", "stop_lift_params"]  # noqa: F822 - by __getattr__
__getattr__, __dir__ = members("builtin", ("alloc_tensor", *QUALIFIED["builtin"]), "builtin_")
