"""Nobody else's module changes: what is shared stays as it was while passes run."""

from typing import TYPE_CHECKING

from relax_mlir.errors import PassError
from relax_mlir.pass_infra.instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


class ImmutableModule(PassInstrument):
    """Fails the pass that changes one of the given modules instead of its own copy.

    `PassContext(config={"testing.immutable_module": True})` does the same for the module that a
    pass is called on.
    """

    def __init__(self, *modules: "IRModule") -> None:
        self.modules = modules
        self._hashes = self._now()

    def run_after_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Compare the modules with what they were.

        Raises:
            PassError: one has changed.
        """
        now = self._now()
        if now != self._hashes:
            raise PassError(info.name, f"Immutable module has been modified in pass: {info.name}")

    def _now(self) -> list[str]:
        from relax_mlir.pass_infra.execution.program_hash import fingerprint

        return [fingerprint(each.mlir_module) for each in self.modules]
