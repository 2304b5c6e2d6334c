"""Relax programs for tests as MLIR text: the types and operations that are long to write."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir import IRModule, relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.relax import types as T

n, m = SymExpr.var("n"), SymExpr.var("m")
X3, X6 = np.arange(3, dtype="float32"), np.arange(6, dtype="float32")
X23 = X6.reshape(2, 3)
MARK = "attributes {relax.function}"


def tensor(*dims: Any, dtype: str = "f32") -> str:
    """Return a tensor type as MLIR spells it."""
    with default_context(), ir.Location.unknown():
        return str(T.tensor_type(dims, dtype))


def shape(*dims: Any) -> str:
    """Return a shape type as MLIR spells it."""
    with default_context(), ir.Location.unknown():
        return str(T.shape_type(dims))


TN, TM, SN = tensor(n), tensor(m), shape(n)


def tuple_of(name: str, *fields: tuple[str, str]) -> str:
    """Return the line that makes tuple `name` of values and their types."""
    values, types = ", ".join(f[0] for f in fields), ", ".join(f[1] for f in fields)
    return f"{name} = builtin.unrealized_conversion_cast {values} : {types} to tuple<{types}>"


def machine(text: str, **options: Any) -> relax.VirtualMachine:
    """Compile a module and load it."""
    return relax.VirtualMachine(relax.build(IRModule.parse(text), **options))


def function(text: str) -> Callable[..., Any]:
    """Compile a module and return its function `f`."""
    return machine(text)["f"]


def names_called(vm: relax.VirtualMachine) -> list[str]:
    """Return what the bytecode calls."""
    return [
        line.split()[1]
        for line in vm.executable.as_text().splitlines()
        if line.strip().startswith("call")
    ]
