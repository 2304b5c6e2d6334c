"""`relax.op.ccl`: collectives among workers, which programs on one CPU do not have."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import ccl_allgather as allgather
from relax_mlir.relax.op import ccl_allreduce as allreduce
from relax_mlir.relax.op import ccl_broadcast_from_worker0 as broadcast_from_worker0
from relax_mlir.relax.op import ccl_scatter_from_worker0 as scatter_from_worker0

__all__ = ["allgather", "allreduce", "broadcast_from_worker0", "scatter_from_worker0"]
