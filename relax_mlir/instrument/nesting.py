"""Base of instruments that compare the module before and after: it pairs the two hooks."""

from typing import TYPE_CHECKING, Any

from relax_mlir.pass_infra.instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


class PairedInstrument(PassInstrument):
    """Gives `after` and `failed` what `before` returned, and whether the pass ran others inside."""

    def __init__(self) -> None:
        self._open: list[list[Any]] = []

    def before(self, mod: "IRModule", info: "PassInfo") -> Any:
        """Look at the module before a pass; what it returns comes back afterwards."""

    def after(self, mod: "IRModule", info: "PassInfo", state: Any, leaf: bool) -> None:
        """Look at the module after a pass; `leaf` says that no pass ran inside it."""

    def failed(
        self, mod: "IRModule", info: "PassInfo", state: Any, leaf: bool, error: BaseException
    ) -> None:
        """Look at the module that a failing pass left."""

    def enter_pass_ctx(self) -> None:
        """Start over."""
        self._open = []

    def run_before_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Keep what `before` returns."""
        for around in self._open:
            around[1] = False
        self._open.append([self.before(mod, info), True, info.name])

    def run_after_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Hand it to `after`."""
        if (closed := self._close(info)) is not None:
            self.after(mod, info, *closed)

    def pass_failed(self, mod: "IRModule", info: "PassInfo", error: BaseException) -> None:
        """Hand it to `failed`."""
        if (closed := self._close(info)) is not None:
            self.failed(mod, info, *closed, error)

    def _close(self, info: "PassInfo") -> tuple[Any, bool] | None:
        """Return what `before` returned and whether it is a leaf; None for a pass not seen."""
        if all(name != info.name for _, _, name in self._open):
            return None
        while True:
            # Whatever is still open inside it has ended without a word.
            state, leaf, name = self._open.pop()
            if name == info.name:
                return state, leaf
