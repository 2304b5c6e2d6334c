"""Arithmetic of sizes as floats: scales and coordinates that a model computes from its shapes."""

from collections.abc import Callable
from typing import Any

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op

# Python's operators and torch's functions of `SymFloat`, by the name of what a node calls.
_UNARY: dict[str, Callable[..., Any]] = {
    "neg": op.negative, "sym_float": lambda x: x, "_sym_sqrt": op.sqrt, "_sym_log2": op.log2,
    "_sym_exp": op.exp, "_sym_sin": op.sin, "_sym_cos": op.cos, "_sym_tanh": op.tanh,
    "abs": op.abs,
}  # fmt: skip
_BINARY: dict[str, Callable[..., Any]] = {
    "add": op.add, "sub": op.subtract, "mul": op.multiply, "truediv": op.divide,
    "pow": op.power, "floordiv": op.floor_divide, "mod": op.floor_mod, "sym_max": op.maximum,
    "sym_min": op.minimum,
}  # fmt: skip

for _name, _function in _UNARY.items():
    converts(_name)(lambda m, x, f=_function: f(m.cast(x, "float64")))
for _name, _function in _BINARY.items():
    converts(_name)(lambda m, x, y, f=_function: f(m.cast(x, "float64"), m.cast(y, "float64")))


@converts("sym_not")
def _sym_not(m: Importer, x: Any) -> Any:
    return op.logical_not(m.cast(x, "bool"))
