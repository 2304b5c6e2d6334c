"""`IRModule`: the MLIR module that is the only copy of a program."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.errors import VerifyError


class IRModule:
    """A program: one MLIR module of functions."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module

    @property
    def mlir_module(self) -> ir.Module:
        """The MLIR module itself, not a copy."""
        return self._module

    @property
    def context(self) -> ir.Context:
        """The MLIR context that the module lives in."""
        return self._module.context

    @classmethod
    def parse(cls, text: str | bytes, context: ir.Context | None = None) -> "IRModule":
        """Read MLIR text or bytecode.

        Raises:
            VerifyError: it does not parse or does not verify.
        """
        try:
            return cls(ir.Module.parse(text, context or default_context()))
        except ir.MLIRError as error:
            raise VerifyError(str(error)) from error

    def clone(self) -> "IRModule":
        """Return a deep copy in the same context."""
        with self.context, self._module.operation.location:
            copy = ir.Module.create()
            for name in self._module.operation.attributes:
                copy.operation.attributes[name] = self._module.operation.attributes[name]
            with ir.InsertionPoint(copy.body):
                for operation in self._module.body.operations:
                    operation.operation.clone()
        return IRModule(copy)

    def __str__(self) -> str:
        return str(self._module)
