"""Programs of PyTorch: `from_exported_program(torch.export.export(model, inputs))`."""

from relax_mlir.frontend.torch.compiled import load_model
from relax_mlir.frontend.torch.dynamo import compile_counts
from relax_mlir.frontend.torch.needs import coverage
from relax_mlir.frontend.torch.program import from_exported_program, parameters_of

__all__ = [
    "compile_counts",
    "coverage",
    "from_exported_program",
    "load_model",
    "parameters_of",
]
