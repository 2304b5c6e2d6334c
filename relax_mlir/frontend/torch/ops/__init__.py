"""Converters of torch's operators, by category."""

import importlib
from collections.abc import Mapping

from relax_mlir.frontend.registry import Converter, converted_ops, find_converter
from relax_mlir.frontend.torch.importer import COMPLEX

_CATEGORIES = (
    "attention", "bits", "complex", "control", "counted", "create", "elementwise", "index",
    "matrices", "nn", "norm", "order", "quantized", "random", "recurrent", "reduce", "sampling",
    "scan", "shape", "sizes", "special",
)  # fmt: skip
# What becomes a loop or a branch, which no dataflow block holds.
LOOPS = ("cond", "while_loop", "scan")


def converters() -> Mapping[str, Converter]:
    """Return the converter of every overload that has one.

    Those of complex numbers are behind "complex", as in `complex aten.mul.Tensor`.
    """
    for name in _CATEGORIES:
        importlib.import_module(f"relax_mlir.frontend.torch.ops.{name}")
    result = {
        prefix + name: find_converter(table, name)
        for table, prefix in (("torch", ""), ("torch complex", COMPLEX))
        for name in converted_ops(table)
    }
    return {name: each for name, each in result.items() if each is not None}
