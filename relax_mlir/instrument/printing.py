"""Print the module around passes, to stderr or to any file."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from relax_mlir.errors import PassTypeError
from relax_mlir.instrument.nesting import PairedInstrument
from relax_mlir.pass_infra.instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after the passes of the given names; None means every pass."""

    def __init__(
        self,
        print_before_pass_names: Iterable[str] | None = (),
        print_after_pass_names: Iterable[str] | None = (),
        file: TextIO | None = None,
    ) -> None:
        if file is not None and not hasattr(file, "write"):
            raise PassTypeError(f"file is what to print to, open('log.txt', 'w'), got {file!r}")
        self.before: frozenset[str] | None = _names(print_before_pass_names)
        self.after: frozenset[str] | None = _names(print_after_pass_names)
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
        print_module(f"{when} {info.name}", mod, self.file)


class PrintBeforeAll(PassPrintingInstrument):
    """Prints the module before every pass."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(None, (), file)


class PrintAfterAll(PassPrintingInstrument):
    """Prints the module after every pass."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__((), None, file)


class PrintOnChange(PairedInstrument):
    """Prints the module after each pass that changed it, a Sequential by the passes inside it."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__()
        self.file = file

    def before(self, mod: "IRModule", info: "PassInfo") -> str:
        """Hash the program."""
        return _hash(mod)

    def after(self, mod: "IRModule", info: "PassInfo", state: str, leaf: bool) -> None:
        """Print it if its hash is another."""
        if leaf and _hash(mod) != state:
            print_module(f"After {info.name}", mod, self.file)


class PrintOnFailure(PassInstrument):
    """Prints the module that a failing pass left, once, however many Sequentials are around it."""

    def __init__(self, file: TextIO | None = None) -> None:
        self.file = file
        self._printed: BaseException | None = None

    def pass_failed(self, mod: "IRModule", info: "PassInfo", error: BaseException) -> None:
        """Print if no pass inside has."""
        if self._printed is not error:
            print_module(f"After {info.name} Failed", mod, self.file)
        self._printed = error

    def exit_pass_ctx(self) -> None:
        """Let go of the error."""
        self._printed = None


def print_module(title: str, mod: "IRModule", file: TextIO | None = None) -> None:
    """Print a module under MLIR's own heading: tools which read its dumps read these too."""
    # Assumed to verify: what a failing pass leaves does not, and is wanted all the same.
    text = mod.mlir_module.operation.get_asm(assume_verified=True)
    heading = f"// -----// IR Dump {title} //----- //"
    print(heading, f"{text.rstrip()}\n", sep="\n", file=file or sys.stderr)


def _hash(mod: "IRModule") -> str:
    from relax_mlir.pass_infra.execution.program_hash import fingerprint

    return fingerprint(mod.mlir_module)


def _names(names: Iterable[str] | None) -> frozenset[str] | None:
    if isinstance(names, str):
        raise PassTypeError(f"expected a list of pass names, got the string {names!r}")
    return None if names is None else frozenset(names)
