"""Copies of prim funcs that take other parameters or have attributes of their own."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import named
from relax_mlir.transform.kernels.calls import KernelSymbols, unique_name


class KernelCopies:
    """The prim funcs of a module, and the copies that calls of some of them are changed to.

    Attributes:
        symbols: the prim funcs by name.
    """

    def __init__(self, module: ir.Operation) -> None:
        self.symbols = KernelSymbols(module)
        self._module = module
        self._copied: set[str] = set()

    def add(self, name: str, base: str, made: ir.Operation | None = None) -> ir.Operation:
        """Return a private copy of a prim func.

        Args:
            name: the prim func.
            base: what the copy is called, with a number if that is taken.
            made: what is to be called instead, if it is no plain copy; it is copied itself.
        """
        kernel = self.symbols[name].operation
        copy = (kernel if made is None else made).clone(ip=ir.InsertionPoint(kernel))
        copy.attributes["sym_name"] = ir.StringAttr.get(unique_name(base, self.symbols))
        copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
        self.symbols.insert(copy)
        self._copied.add(name)
        return copy

    def remove_uncalled(self) -> None:
        """Remove private prim funcs that were copied and that nothing calls any more."""
        calls = named(self._module, ("relax.call_tir", "relax.call_tir_inplace"))
        for name in self._copied - {call.attributes["callee"].value for call in calls}:
            kernel = self.symbols[name]
            if "sym_visibility" in kernel.operation.attributes:
                self.symbols.erase(kernel)


def parameter_attributes(kernel: ir.Operation) -> list[ir.Attribute]:
    """Return the attributes of each parameter of a prim func: name, shape, dtype."""
    return list(ir.ArrayAttr(kernel.attributes["arg_attrs"]))


def sign_kernel(kernel: ir.Operation, attributes: Sequence[ir.Attribute]) -> None:
    """Declare the parameters of a prim func after its block's arguments have changed."""
    types = [argument.type for argument in kernel.regions[0].blocks[0].arguments]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(list(attributes))
