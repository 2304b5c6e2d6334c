"""Print the module around passes, to stderr or to any file (P35)."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from relax_mlir.instrument.base import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.transform.info import PassInfo


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after the passes of the given names; None means every pass."""

    def __init__(
        self,
        print_before_pass_names: Iterable[str] | None = (),
        print_after_pass_names: Iterable[str] | None = (),
        file: TextIO | None = None,
    ) -> None:
        self.before = _names(print_before_pass_names)
        self.after = _names(print_after_pass_names)
        self.file = file

    def run_before_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Print if the pass is one of the `before` names."""
        if self.before is None or info.name in self.before:
            self._print("Before", mod, info)

    def run_after_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Print if the pass is one of the `after` names."""
        if self.after is None or info.name in self.after:
            self._print("After", mod, info)

    def _print(self, when: str, mod: "IRModule", info: "PassInfo") -> None:
        # MLIR's own heading, so that tools which read its dumps read these too.
        heading = f"// -----// IR Dump {when} {info.name} //----- //"
        print(heading, mod.mlir_module, sep="\n", file=self.file or sys.stderr)


class PrintBefore(PassPrintingInstrument):
    """Prints the module before the named passes, or before every pass where none is named."""

    def __init__(self, *names: str, file: TextIO | None = None) -> None:
        super().__init__(names or None, (), file)


class PrintAfter(PassPrintingInstrument):
    """Prints the module after the named passes, or after every pass where none is named."""

    def __init__(self, *names: str, file: TextIO | None = None) -> None:
        super().__init__((), names or None, file)


class PrintBeforeAll(PassPrintingInstrument):
    """Prints the module before every pass."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(None, (), file)


class PrintAfterAll(PassPrintingInstrument):
    """Prints the module after every pass."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__((), None, file)


class PrintAll(PassPrintingInstrument):
    """Prints the module before and after every pass."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(None, None, file)


def _names(names: Iterable[str] | None) -> frozenset[str] | None:
    if isinstance(names, str):
        raise TypeError(f"expected a list of pass names, got the string {names!r}")
    return None if names is None else frozenset(names)
