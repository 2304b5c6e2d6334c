"""Which passes changed the program: a hash of its structure before and after each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir.instrument.nesting import PairedInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


@dataclass(frozen=True)
class PassChange:
    """One run of a pass: whether it changed the program, and the program's hash after it."""

    name: str
    changed: bool
    hash: str


class ChangeInstrument(PairedInstrument):
    """Notes for every pass, Sequentials included, whether it changed anything.

    Attributes:
        passes: one entry for each pass that ran, in the order in which they ended.
    """

    def __init__(self) -> None:
        super().__init__()
        self.passes: list[PassChange] = []

    def enter_pass_ctx(self) -> None:
        """Forget an earlier context's passes."""
        super().enter_pass_ctx()
        self.passes = []

    @property
    def changed(self) -> list[str]:
        """The names of the passes that changed something."""
        return [each.name for each in self.passes if each.changed]

    def before(self, mod: "IRModule", info: "PassInfo") -> str:
        """Hash the program."""
        return _hash(mod)

    def after(self, mod: "IRModule", info: "PassInfo", state: str, leaf: bool) -> None:
        """Hash it again."""
        now = _hash(mod)
        self.passes.append(PassChange(info.name, now != state, now))

    def render(self) -> str:
        """Return one line per pass."""
        return "".join(
            f"{each.hash[:12]} {'changed  ' if each.changed else 'unchanged'} {each.name}\n"
            for each in self.passes
        )


def _hash(mod: "IRModule") -> str:
    from relax_mlir.pass_infra.execution.program_hash import fingerprint

    return fingerprint(mod.mlir_module)
