"""The interface of pass instruments: TVM's five hooks and `pass_failed`, all optional."""

import difflib
import inspect
import warnings
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import PassTypeError

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


class PassInstrument:
    """Base of instruments: subclass it, or write a class with the hooks under `@pass_instrument`.

    The module that a hook gets is the one being worked on: who keeps it keeps `mod.clone()`.

    Attributes:
        name: the class's name, unless it sets another.
        flag: what `relax-opt` calls it, for instruments that find passes wrong.
    """

    name = "PassInstrument"
    flag = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name: str = cls.__name__

    def enter_pass_ctx(self) -> None:
        """Called before a PassContext with this instrument comes into force."""

    def exit_pass_ctx(self) -> None:
        """Called after that PassContext has ceased to be in force."""

    def should_run(self, mod: "IRModule", info: "PassInfo") -> bool:
        """Return whether the pass may run; every instrument is asked, one no is enough."""
        return True

    def run_before_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Called just before the pass."""

    def run_after_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Called just after the pass, unless it failed."""

    def pass_failed(self, mod: "IRModule", info: "PassInfo", error: BaseException) -> None:
        """Called when the pass raised; the module is as it left it. Not one of TVM's hooks.

        Also called in place of `run_after_pass` when the hook of another instrument raised.
        """


_HOOKS = tuple(name for name, value in vars(PassInstrument).items() if not name.startswith("_"))


def pass_instrument(pi_cls: type | None = None) -> Any:
    """Make an instrument of a class that has some of the hooks.

    Raises:
        TypeError: what is decorated is not a class.
    """

    def decorate(target: type) -> type:
        if not isinstance(target, type):
            raise PassTypeError(
                "pi_cls must be a class whose methods are hooks such as run_before_pass, got "
                f"{target!r}"
            )
        if issubclass(target, PassInstrument):
            return target
        body = {
            "__module__": target.__module__,
            "__qualname__": target.__qualname__,
            "__doc__": target.__doc__,
        }
        _warn_misspelled(target)
        _check_hooks(target)
        # The class comes first, so its hooks win and the missing ones do nothing.
        return type(target.__name__, (target, PassInstrument), body)

    return decorate if pi_cls is None else decorate(pi_cls)


def _check_hooks(target: type) -> None:
    """Reject hooks that cannot be called with what hooks are given."""
    for name in _HOOKS:
        hook = vars(target).get(name)
        if not inspect.isfunction(hook):
            continue
        wanted = tuple(inspect.signature(getattr(PassInstrument, name)).parameters)
        signature = inspect.signature(hook)
        try:
            signature.bind(*wanted)
        except TypeError:
            raise PassTypeError(
                f"hook '{name}' of instrument '{target.__name__}' takes {signature}, and is called "
                f"with ({', '.join(wanted)})"
            ) from None


def _warn_misspelled(target: type) -> None:
    """Warn of methods whose names are nearly hooks: they are never called."""
    for name, value in vars(target).items():
        near = difflib.get_close_matches(name, _HOOKS, n=1, cutoff=0.85)
        if near and name not in _HOOKS and near[0] not in vars(target) and callable(value):
            warnings.warn(
                f"instrument '{target.__name__}': nobody calls '{name}'; "
                f"did you mean the hook '{near[0]}'?",
                stacklevel=4,
            )
