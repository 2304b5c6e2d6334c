"""Well-formedness after each pass: symbols bound, calls that fit, dataflow that is pure."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from relax_mlir.errors import PassError
from relax_mlir.pass_infra.instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


class WellFormedInstrument(PassInstrument):
    """Fails a pass that leaves a program which is not well-formed.

    Args:
        skip: passes that may leave one, such as a first half of two that belong together.
        check_input: also check the input of passes; its errors name no pass.
    """

    flag = "--check-well-formed"

    def __init__(self, skip: Iterable[str] = (), check_input: bool = False) -> None:
        self.skip: frozenset[str] = frozenset(skip)
        self.check_input = check_input

    def run_before_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Check the pass's input if that is wanted.

        Raises:
            PassError: it is not well-formed.
        """
        if self.check_input and info.name not in self.skip:
            self._check(mod, info, "was given")

    def run_after_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Check what the pass left.

        Raises:
            PassError: it is not well-formed.
        """
        if info.name not in self.skip:
            self._check(mod, info, "left")

    def _check(self, mod: "IRModule", info: "PassInfo", verb: str) -> None:
        from relax_mlir.dialects.relax.well_formed import check_well_formed

        problems = check_well_formed(mod.mlir_module.operation)
        if problems:
            lines = [f"{location}: error: {message}" for location, message in problems]
            raise PassError(info.name, f"it {verb} a module that is not well-formed", lines)
