"""relax-opt: mlir-opt for our dialects and passes."""
