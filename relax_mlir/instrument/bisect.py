"""Which pass is to blame: the first after which something is wrong, or which fails itself."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir.errors import PassTypeError
from relax_mlir.instrument.nesting import PairedInstrument
from relax_mlir.pass_infra.instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.context import PassContext
    from relax_mlir.pass_infra.info import PassInfo
    from relax_mlir.pass_infra.passes import Pass

IsBad = Callable[["IRModule"], bool]


@dataclass(frozen=True)
class Culprit:
    """The pass to blame.

    Attributes:
        name: its name; `<input>` when the program was bad before any pass.
        index: how many passes ran before it; a Sequential is none, those in it are.
        before: the module that it was given.
        error: what it raised, if it failed.
    """

    name: str
    index: int
    before: "IRModule"
    error: BaseException | None = None


class PassBisect(PairedInstrument):
    """Asks a predicate after each pass; for a cheap one, in one run of the passes.

    Args:
        is_bad: whether something is wrong with a module.

    Raises:
        TypeError: `is_bad` is not callable.

    Attributes:
        culprit: the first pass that made it true, or that failed; None so far.
        count: how many passes have run.
    """

    def __init__(self, is_bad: IsBad) -> None:
        super().__init__()
        if not callable(is_bad):
            raise PassTypeError(f"is_bad is a function of a module, got {is_bad!r}")
        self.is_bad = is_bad
        self.culprit: Culprit | None = None
        self.count = 0

    def enter_pass_ctx(self) -> None:
        """Start over."""
        super().enter_pass_ctx()
        self.culprit, self.count = None, 0

    def before(self, mod: "IRModule", info: "PassInfo") -> "IRModule | None":
        """Keep what the pass is given."""
        if self.culprit is not None:
            return None
        if self.count == 0 and not self._open and self._ask(mod):
            self.culprit = Culprit("<input>", 0, mod.clone())
        return mod.clone()

    def after(
        self, mod: "IRModule", info: "PassInfo", state: "IRModule | None", leaf: bool
    ) -> None:
        """Ask the predicate."""
        if leaf and self.culprit is None and state is not None and self._ask(mod):
            self.culprit = Culprit(info.name, self.count, state)
        self.count += leaf

    def failed(
        self,
        mod: "IRModule",
        info: "PassInfo",
        state: "IRModule | None",
        leaf: bool,
        error: BaseException,
    ) -> None:
        """Blame the pass that failed."""
        if self.culprit is None and state is not None:
            self.culprit = Culprit(info.name, self.count, state, error)

    def _ask(self, mod: "IRModule") -> bool:
        # The question may compile and run the module: none of the instruments watches that.
        with _without_instruments([]):
            return self.is_bad(mod)


class PassLimit(PassInstrument):
    """Skips every pass after the first N, Sequentials counted: LLVM's opt-bisect-limit.

    Raises:
        TypeError: the limit is no integer.

    Attributes:
        names: the passes that asked, in order; those past the limit did not run.
    """

    def __init__(self, limit: int | None = None) -> None:
        if limit is not None and not isinstance(limit, int):
            raise PassTypeError(f"limit is an int or None, got {limit!r}")
        self.limit = limit
        self.names: list[str] = []

    def enter_pass_ctx(self) -> None:
        """Start over."""
        self.names = []

    def should_run(self, mod: "IRModule", info: "PassInfo") -> bool:
        """Count, and reject past the limit."""
        self.names.append(info.name)
        return self.limit is None or len(self.names) <= self.limit


class _Place(PairedInstrument):
    """Counts as PassBisect does: how many passes ran before the one that began last."""

    def __init__(self) -> None:
        super().__init__()
        self.index = self.count = 0

    def before(self, mod: "IRModule", info: "PassInfo") -> None:
        self.index = self.count

    def after(self, mod: "IRModule", info: "PassInfo", state: None, leaf: bool) -> None:
        self.count += leaf


def find_culprit(passes: "Pass", mod: "IRModule", is_bad: IsBad) -> Culprit | None:
    """Find the first pass that makes a predicate true, or fails, with few questions.

    For a predicate that takes long (compile, run, compare): it is asked about log2 of the number of
    passes. The module must get bad once and stay so, else one of the passes that made it bad is
    found. The passes run under the current context, with its instruments left out.

    Returns:
        The culprit, or None where the module is good after all passes.

    Raises:
        TypeError: `passes` is no pass.
    """
    if not hasattr(passes, "info"):
        raise PassTypeError(f"passes is one pass, such as Sequential([...]), got {passes!r}")
    count = _number(passes, mod)
    if not _is_bad_after(passes, mod, count, is_bad):
        return None
    if is_bad(mod):
        return Culprit("<input>", 0, mod)
    good, bad = 0, count
    while bad - good > 1:
        middle = (good + bad) // 2
        if _is_bad_after(passes, mod, middle, is_bad):
            bad = middle
        else:
            good = middle
    limit, place = PassLimit(bad), _Place()
    error: BaseException | None = None
    try:
        _run(passes, mod, limit, place)
    except Exception as raised:
        error = raised
    return Culprit(limit.names[bad - 1], place.index, _run(passes, mod, PassLimit(good)), error)


def _number(passes: "Pass", mod: "IRModule") -> int:
    limit = PassLimit()
    with contextlib.suppress(Exception):
        _run(passes, mod, limit)
    return len(limit.names)


def _is_bad_after(passes: "Pass", mod: "IRModule", count: int, is_bad: IsBad) -> bool:
    try:
        result = _run(passes, mod, PassLimit(count))
    except Exception:
        return True
    return is_bad(result)


def _run(passes: "Pass", mod: "IRModule", *watching: PassInstrument) -> "IRModule":
    with _without_instruments(list(watching)):
        return passes(mod)


def _without_instruments(instead: "list[PassInstrument]") -> "PassContext":
    """Return the current context with other instruments.

    Nobody asks an instrument about `required_pass`: these always run, and cannot be found.
    """
    from relax_mlir.pass_infra.context import PassContext

    current = PassContext.current()
    return PassContext(
        current.opt_level,
        current.required_pass,
        current.disabled_pass,
        instead,
        current.config,
    )
