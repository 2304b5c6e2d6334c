"""`relax.op.random`: random numbers that follow from a key."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import random_multinomial as multinomial
from relax_mlir.relax.op import random_normal as normal
from relax_mlir.relax.op import random_uniform as uniform

__all__ = ["multinomial", "normal", "uniform"]
