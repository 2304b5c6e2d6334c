"""PassContext: options, instruments and optimization level of passes, per thread, by `with`."""

import threading
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import PassTypeError, PipelineError, did_you_mean
from relax_mlir.pass_infra import config as config_options
from relax_mlir.pass_infra import registry, upstream
from relax_mlir.pass_infra.info import PassInfo, level
from relax_mlir.pass_infra.instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.execution.diagnostics import DiagnosticContext

DEFAULT_OPT_LEVEL = 2
# DLPack's number of the CPU, the one device there is.
DLCPU = 1


class PassContext:
    """Optimisation level, forced and disabled passes, instruments and options.

    Args:
        opt_level: passes of a higher level are left out of a Sequential.
        required_pass: names of passes that a Sequential runs whatever their level.
        disabled_pass: names of passes that a Sequential leaves out; wins over `required_pass`.
        instruments: called around every pass, in this order.
        config: options by registered key, see `list_configs`.
        diag_ctx: collects what MLIR reports while passes run; without one, what a pass that
            succeeds reports goes to standard error. May be set later.
        fallback_device: where things run that name no device: the CPU, as `cpu(0)`, `"cpu"` or
            DLPack's 1.

    Raises:
        ValueError: the fallback device is none that there is.
        TypeError: the level is no integer, a list of names is not a list or tuple of strings,
            something else than an instrument is among the instruments, or `config` no dict.
        AttributeError: an unknown option; names the candidates.
    """

    def __init__(
        self,
        opt_level: int = DEFAULT_OPT_LEVEL,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        instruments: Iterable[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        diag_ctx: "DiagnosticContext | None" = None,
        fallback_device: Any = DLCPU,
    ) -> None:
        self.opt_level: int = level("opt_level", opt_level)
        self.required_pass: list[str] = _names("required_pass", required_pass)
        self.disabled_pass: list[str] = _names("disabled_pass", disabled_pass)
        self.instruments = _instruments(instruments)
        self.config: dict[str, Any] = config_options.resolve({} if config is None else config)
        if diag_ctx is not None and not hasattr(diag_ctx, "emit"):
            raise PassTypeError(f"diag_ctx is a DiagnosticContext, got {_kind(diag_ctx)}")
        self.diag_ctx = diag_ctx
        self.fallback_device: int = _device(fallback_device)
        # The passes that were asked about, to find names in the lists that no pass has.
        self._seen: set[str] = set()
        self._warned: set[str] = set()

    @staticmethod
    def create() -> "PassContext":
        """Return a context with every default; TVM's name of the constructor."""
        return PassContext()

    # C++'s names.
    Create = create

    @staticmethod
    def current() -> "PassContext":
        """Return the innermost entered context of this thread, or the thread's default one."""
        stack = _THREAD.stack
        return stack[-1] if stack else _THREAD.default

    Current = current

    @property
    def err_reporter(self) -> "DiagnosticContext | None":
        """The RFC's name of `diag_ctx`."""
        return self.diag_ctx

    @err_reporter.setter
    def err_reporter(self, value: "DiagnosticContext | None") -> None:
        self.diag_ctx = value

    @staticmethod
    def list_configs() -> dict[str, dict[str, Any]]:
        """Return the registered options: key to `type`, `default` and `doc`."""
        return config_options.list_configs()

    def option(self, key: str) -> Any:
        """Return the value of a registered option here: the one given, or its default.

        Raises:
            AttributeError: no such option is registered.
        """
        if key in self.config:
            return self.config[key]
        return config_options.default_of(key)

    def pass_enabled(self, info: PassInfo) -> bool:
        """Whether a Sequential runs the pass: disabled, then required, then the level."""
        self._seen.add(info.name)
        if info.name in self.disabled_pass:
            return False
        if info.name in self.required_pass:
            return True
        return self.opt_level >= info.opt_level

    def override_instruments(self, instruments: Iterable[PassInstrument] | None) -> None:
        """Exit the instruments in force, then enter these instead."""
        new = _instruments(instruments)
        self.instrument_exit_pass_context()
        self.instruments = new
        self.instrument_enter_pass_context()

    def __enter__(self) -> "PassContext":
        # The hooks run before the push, so `current()` in them is the outer context.
        self.instrument_enter_pass_context()
        _THREAD.stack.append(self)
        return self

    def EnterWithScope(self) -> None:
        """Make this the current context: what `with` does, under C++'s name."""
        self.__enter__()

    def ExitWithScope(self) -> None:
        """Leave this context: what the end of a `with` does, under C++'s name.

        Raises:
            RuntimeError: it is not the current one.
        """
        self.__exit__(None, None, None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stack = _THREAD.stack
        if not stack or stack[-1] is not self:
            raise RuntimeError("PassContext exited out of order: it is not the current one")
        stack.pop()
        if kind is None:
            self._warn_of_unknown_names()
        self.instrument_exit_pass_context()

    def _warn_of_unknown_names(self) -> None:
        """Warn once of a name in the lists that no pass has; TVM takes any and says nothing."""
        if not self._seen:
            return
        for what in ("required_pass", "disabled_pass"):
            for name in getattr(self, what):
                hint = None if name in self._seen | self._warned else _hint(name, self._seen)
                if hint is not None:
                    self._warned.add(name)
                    message = f"{what} of the PassContext names '{name}', which is no pass{hint}"
                    warnings.warn(message, stacklevel=3)

    def instrument_enter_pass_context(self) -> None:
        """Enter every instrument in order; on an exception leave the entered ones again."""
        entered: list[PassInstrument] = []
        try:
            for instrument in self.instruments:
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException as error:
            for instrument in reversed(entered):
                try:
                    instrument.exit_pass_ctx()
                except Exception as another:
                    _add_note(error, instrument, "exit_pass_ctx", another)
            self.instruments = []
            raise

    def instrument_exit_pass_context(self) -> None:
        """Leave every instrument in order; an exception drops them all and goes on up."""
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments: list[PassInstrument] = []
            raise

    def instrument_before_pass(self, mod: "IRModule", info: PassInfo) -> bool:
        """Ask every instrument whether the pass runs, then announce it.

        Where a `run_before_pass` raises, those whose hook ran learn that it failed.
        """
        self._seen.add(info.name)
        run = True
        if info.name not in self.required_pass:
            # Everyone is asked, also after a no.
            for instrument in self.instruments:
                answer = instrument.should_run(mod, info)
                if isinstance(answer, str) or answer is None:
                    raise PassTypeError(
                        f"should_run of instrument '{instrument.name}' returned {answer!r}: return "
                        "whether the pass may run"
                    )
                run &= bool(answer)
        if run:
            instruments = list(self.instruments)
            for index, instrument in enumerate(instruments):
                try:
                    instrument.run_before_pass(mod, info)
                except BaseException as error:
                    _notify_failed(instruments[:index], mod, info, error)
                    raise
        return run

    def instrument_after_pass(self, mod: "IRModule", info: PassInfo) -> None:
        """Tell every instrument in order that the pass has run.

        Where a `run_after_pass` raises, the instruments after it learn that the pass failed.
        """
        instruments = list(self.instruments)
        for index, instrument in enumerate(instruments):
            try:
                instrument.run_after_pass(mod, info)
            except BaseException as error:
                _notify_failed(instruments[index + 1 :], mod, info, error)
                raise

    def instrument_pass_failed(self, mod: "IRModule", info: PassInfo, error: BaseException) -> None:
        """Tell every instrument in order that the pass has failed: a hook that TVM lacks.

        What a hook raises becomes a note on `error`; the other hooks still run.
        """
        _notify_failed(self.instruments, mod, info, error)

    def __repr__(self) -> str:
        return (
            f"PassContext(opt_level={self.opt_level}, required_pass={self.required_pass}, "
            f"disabled_pass={self.disabled_pass}, instruments={self.instruments}, "
            f"config={self.config})"
        )


def build_config(
    opt_level: int = DEFAULT_OPT_LEVEL,
    fallback_device: Any = DLCPU,
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
    instruments: Iterable[PassInstrument] | None = None,
    config: Mapping[str, Any] | None = None,
) -> PassContext:
    """Return a PassContext; Relay's name of its constructor, in Relay's order."""
    return PassContext(
        opt_level,
        required_pass,
        disabled_pass,
        instruments,
        config,
        fallback_device=fallback_device,
    )


def _notify_failed(
    instruments: Iterable[PassInstrument], mod: "IRModule", info: PassInfo, error: BaseException
) -> None:
    for instrument in list(instruments):
        try:
            instrument.pass_failed(mod, info, error)
        except Exception as another:
            _add_note(error, instrument, "pass_failed", another)


def _add_note(
    error: BaseException, instrument: PassInstrument, hook: str, another: Exception
) -> None:
    # What `add_note` does, which Python 3.10 lacks.
    vars(error).setdefault("__notes__", []).append(
        f"instrument '{instrument.name}' failed in {hook} as well: "
        f"{type(another).__name__}: {another}"
    )


def _hint(name: str, seen: Iterable[str]) -> str | None:
    """Return what a name that no pass has may mean, None where a pass has it."""
    entry = registry.find(name)
    if entry is not None:
        return None if entry.name == name else f"; did you mean '{entry.name}'?"
    if name in upstream.NAMES:
        return None
    return did_you_mean(name, [*seen, *(entry.name for entry in registry.entries())])


def _kind(value: object) -> str:
    return f"{type(value).__name__} {value!r}"


def _device(device: Any) -> int:
    kind = getattr(device, "dlpack_device_type", None)
    number = kind() if callable(kind) else getattr(device, "device_type", device)
    if device in ("cpu", "llvm") or number == DLCPU:
        return DLCPU
    raise PipelineError(f"fallback_device must be the CPU: cpu(0), 'cpu' or 1, got {device!r}")


def _names(what: str, names: Iterable[str] | None) -> list[str]:
    if names is None:
        return []
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise PassTypeError(
            f"{what} is expected to be the type of list/tuple of str, got {names!r}{_listed(names)}"
        )
    return list(names)


def _listed(names: Any) -> str:
    """Return how to write what was meant as a list of names."""
    if isinstance(names, str):
        return f"; write [{names!r}]"
    given = names if isinstance(names, (list, tuple)) else ()
    meant = next((each.info.name for each in given if hasattr(each, "info")), None)
    return "" if meant is None else f"; write the name of the pass, {meant!r}"


def _instruments(instruments: Iterable[PassInstrument] | None) -> list[PassInstrument]:
    if instruments is not None and not isinstance(instruments, Iterable):
        raise PassTypeError(f"instruments is a list of instruments, got {_kind(instruments)}")
    result = list(instruments or ())
    for instrument in result:
        if not isinstance(instrument, PassInstrument):
            if isinstance(instrument, type) and issubclass(instrument, PassInstrument):
                name = instrument.__name__
                raise PassTypeError(f"instruments are objects, got the class: write {name}()")
            raise PassTypeError(
                f"{instrument!r} is not an instrument; is @pass_instrument missing?"
            )
    return result


class _Thread(threading.local):
    """The stack of entered contexts and the default one; `__init__` runs once in every thread."""

    def __init__(self) -> None:
        self.default = PassContext()
        self.stack: list[PassContext] = []


_THREAD = _Thread()
