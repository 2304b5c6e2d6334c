"""Run by the wheel test in an environment outside the checkout; says what it imported."""

import sys

import relax_mlir
import relax_mlir.dialects.context
import relax_mlir.lowering

sys.stdout.write(relax_mlir.__file__)
