"""TVM's name of `relax_mlir.errors`: that is what an import of this gives."""

from relax_mlir.tvm_modules import take_place

take_place(__name__)
