"""What each pass did to the program, as a unified diff of its text."""

import difflib
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from relax_mlir.instrument.nesting import PairedInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


class IRDiff(PairedInstrument):
    """Prints a diff for every pass that changed something; a Sequential's are those inside it.

    Args:
        names: only these passes; all by default.
        context: unchanged lines to show around a change.
        script: compare TVMScript instead of MLIR text.
        file: where to; standard error by default.
    """

    def __init__(
        self,
        names: Iterable[str] | None = None,
        context: int = 3,
        script: bool = False,
        file: TextIO | None = None,
    ) -> None:
        super().__init__()
        self.names: frozenset[str] | None = None if names is None else frozenset(names)
        self.context = context
        self.script = script
        self.file = file

    def before(self, mod: "IRModule", info: "PassInfo") -> list[str]:
        """Keep the program's text."""
        return self._text(mod)

    def after(self, mod: "IRModule", info: "PassInfo", state: list[str], leaf: bool) -> None:
        """Print what is different now."""
        if not leaf or (self.names is not None and info.name not in self.names):
            return
        lines = difflib.unified_diff(
            state,
            self._text(mod),
            f"before {info.name}",
            f"after {info.name}",
            n=self.context,
            lineterm="",
        )
        for line in lines:
            print(line, file=self.file or sys.stderr)

    def _text(self, mod: "IRModule") -> list[str]:
        # Elided: numbers of weights make no readable diff.
        return (mod.script() if self.script else mod.as_text(elide=16)).splitlines()
