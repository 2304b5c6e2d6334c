"""`relax.op.ccl`: collectives among workers, which programs on one CPU do not have."""

from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.relax.op.group import members

__getattr__, __dir__ = members("ccl", QUALIFIED["ccl"], "ccl_")
