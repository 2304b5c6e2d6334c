"""One run of MLIR's PassManager over upstream and Python passes; failures become exceptions."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir, passmanager
from relax_mlir.dialects.relax import effects
from relax_mlir.dialects.relax.side_effects import writing_functions
from relax_mlir.errors import PassError, RelaxMLIRError
from relax_mlir.pass_infra.execution import erase_guard
from relax_mlir.pass_infra.execution.diagnostics import (
    Diagnostic,
    captured,
    exception_text,
    excerpt,
)

# MLIR aborts the process on a Python pass whose op_name differs from the anchor, so every manager
# here is anchored on the module and no Python pass names an operation.
ANCHOR = "builtin.module"


class _Thread(threading.local):
    """Whether somebody verifies what this thread's passes leave once they all have run."""

    suspend_verification = False


_THREAD = _Thread()


@contextmanager
def suspend_verification() -> Iterator[None]:
    """Leave out verification after each pass of this thread: who enters verifies at the end."""
    before, _THREAD.suspend_verification = _THREAD.suspend_verification, True
    try:
        yield
    finally:
        _THREAD.suspend_verification = before


@dataclass
class _State:
    """What a Python step shares with the run that it is part of."""

    module: Any = None
    failure: tuple[str, BaseException] | None = None


class Execution:
    """A PassManager on `builtin.module` whose Python passes work in place on the module it runs on.

    Attributes:
        manager: MLIR's PassManager, for its printing, timing and verification switches.
        diagnostics: what MLIR reported during the last `run`, also of a run that succeeded.
    """

    def __init__(self, context: ir.Context) -> None:
        self.context = context
        self.manager: passmanager.PassManager = passmanager.PassManager(ANCHOR, context)
        if _THREAD.suspend_verification:
            self.manager.enable_verifier(False)
        self.diagnostics: list[Diagnostic] = []
        self._state = _State()

    def add_text(self, text: str) -> None:
        """Append upstream passes written as a pipeline.

        Raises:
            ValueError: MLIR does not accept the text.
        """
        self.manager.add(text)

    def add_python(self, name: str, apply: Callable[[ir.Module], None], flag: str = "") -> None:
        """Append a Python pass: `apply` changes the module in place."""
        # The pass may erase operations; one that is in use must not take the process along.
        erase_guard.install()
        # Not `self`: MLIR's manager keeps the callable, and a cycle through it is never collected.
        state = self._state

        def step(operation: ir.Operation, external_pass: Any) -> None:
            try:
                apply(state.module)
                effects.forget()
            # MLIR must see a failed pass (it then prints and stops as for its own), and the
            # exception must survive the way through C++ unchanged, KeyboardInterrupt included.
            except BaseException as error:
                interrupted = was_interrupted(error)
                state.failure = (name, KeyboardInterrupt() if interrupted else error)
                external_pass.signal_pass_failure()

        self.manager.add(step, name, argument=flag)

    def run(self, module: ir.Module, name: str = "") -> None:
        """Run everything on a module in place; the module is unusable after a failure.

        Args:
            module: the module, of this context.
            name: whom to blame when MLIR says that something failed but not what.

        Raises:
            PassError: a pass failed, or left IR that does not verify.
        """
        self._state.module, self._state.failure = module, None
        try:
            with (
                captured(self.context) as self.diagnostics,
                effects.known(lambda: writing_functions(module.operation)),
            ):
                self.manager.run(module.operation)
        except ir.MLIRError:
            self._raise_failure(name or "pipeline")
        finally:
            self._state.module = None

    def _raise_failure(self, name: str) -> None:
        lines = [line for diagnostic in self.diagnostics for line in excerpt(diagnostic)]
        if self._state.failure is None:
            raise PassError(name, "see the diagnostics", lines) from None
        name, error = self._state.failure
        self._state.failure = None
        if isinstance(error, PassError):
            if lines and not error.diagnostics:
                raise PassError(error.pass_name, _reason(error), lines) from error
            raise error
        if isinstance(error, RelaxMLIRError):
            raise PassError(name, str(error), lines) from error
        if not isinstance(error, Exception):
            raise error
        raise PassError(name, exception_text(error), lines) from error


def _reason(error: PassError) -> str:
    return str(error).removeprefix(f"pass '{error.pass_name}' failed: ")


# What Operation.walk raises, whatever its callback raised: the traceback is all that is left of it.
_FROM_CALLBACK = "Exception raised in callback: "


def was_interrupted(error: BaseException | None) -> bool:
    """Whether an exception, or one that it was raised from, once was a KeyboardInterrupt."""
    while error is not None:
        text = str(error) if isinstance(error, RuntimeError) else ""
        if text.startswith(_FROM_CALLBACK):
            return text.rstrip().rsplit("\n", 1)[-1].startswith(KeyboardInterrupt.__name__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C leave the body as what it is, also out of callbacks; works as a decorator too."""
    try:
        yield
    except Exception as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from error
        raise
