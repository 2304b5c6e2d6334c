"""Relax programs for tests, written as Python functions over MLIR values."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import IRModule, relax
from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax import types as T


def tensor(shape: Sequence[Any] | None, dtype: str = "float32", ndim: int = -1) -> ir.Type:
    """Return a tensor type; a string among the dimensions is a symbol."""
    dims = None
    if shape is not None:
        dims = [SymExpr.var(dim) if isinstance(dim, str) else dim for dim in shape]
    return T.tensor_type(dims, dtype, ndim)


class Program:
    """A module under construction; many functions share one compilation."""

    def __init__(self) -> None:
        with default_context(), ir.Location.unknown():
            self.module = ir.Module.create()

    def function(
        self,
        name: str,
        types: Callable[[], Sequence[ir.Type]],
        body: Callable[..., ir.Value],
    ) -> None:
        """Add a Relax function; `body` gets its parameters and returns its result."""
        func = submodule("dialects.func")
        with self.module.context, ir.Location.name(name), ir.InsertionPoint(self.module.body):
            inputs = list(types())
            op = func.FuncOp(name, (inputs, []))
            op.attributes["relax.function"] = ir.UnitAttr.get()
            block = op.operation.regions[0].blocks.append(
                *inputs, arg_locs=[ir.Location.unknown()] * len(inputs)
            )
            with ir.InsertionPoint(block):
                result = body(*block.arguments)
                func.ReturnOp([result])
            signature = ir.FunctionType.get(inputs, [result.type])
            op.attributes["function_type"] = ir.TypeAttr.get(signature)

    def op(self, name: str, op: str, *types: Any, **attrs: Any) -> None:
        """Add a function that is one operation; `types` are arguments of `tensor`."""
        self.function(
            name,
            lambda: [tensor(*t) for t in types],
            lambda *values: relax_op(op, values, attrs),
        )

    def build(self, **options: Any) -> relax.VirtualMachine:
        """Compile and load."""
        return relax.VirtualMachine(relax.build(IRModule(self.module), **options))
