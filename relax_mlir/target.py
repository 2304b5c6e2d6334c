"""`target.Target`: the text of a target, checked, with what TVM's have."""

import contextvars
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from relax_mlir.errors import PipelineError


@dataclass(frozen=True)
class TargetKind:
    """What generates code for a target; `llvm`, the only one.

    Attributes:
        name: of the kind.
    """

    name: str

    def __str__(self) -> str:
        return self.name


class Target(str):
    """A target: a text such as `llvm -mcpu=x86-64-v3`, which a build takes as it is.

    Inside `with Target(...)` it is what builds are for that are given none.
    """

    __slots__ = ()

    def __new__(cls, target: Any = "llvm", host: Any = None) -> "Target":
        """Return the target that a text, a dictionary of options or a target names.

        Args:
            target: what TVM takes, `{"kind": "llvm", "mcpu": "x86-64-v3"}`.
            host: another target, checked; everything runs on the target itself.

        Raises:
            PipelineError: it names what there is not.
        """
        from relax_mlir.lowering.codegen.target import Target as Machine
        from relax_mlir.lowering.codegen.target import spelled

        if host is not None:
            Machine.of(host)
        text = spelled(target)
        Machine.parse(text)
        return super().__new__(cls, text)

    @property
    def kind(self) -> TargetKind:
        """What generates its code."""
        return TargetKind(shlex.split(self)[0])

    @property
    def attrs(self) -> Mapping[str, str]:
        """Its options as they were given, by name."""
        words = [word.lstrip("-") for word in shlex.split(self)[1:]]
        pairs = [word.partition("=") for word in words]
        return {name: value for name, sign, value in pairs if sign}

    @property
    def host(self) -> "Target":
        """Itself: what runs a program is what its kernels are for."""
        return self

    def export(self) -> dict[str, str]:
        """Return the dictionary that `Target` takes."""
        return {"kind": self.kind.name, **self.attrs}

    @staticmethod
    def current(allow_none: bool = True) -> "Target | None":
        """Return the target of the innermost `with`.

        Raises:
            PipelineError: there is none, and `allow_none` is false.
        """
        inside = _ENTERED.get()
        if not inside and not allow_none:
            raise PipelineError("there is no current target: write `with target.Target(...):`")
        return inside[-1] if inside else None

    def __enter__(self) -> "Target":
        _ENTERED.set((*_ENTERED.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _ENTERED.set(_ENTERED.get()[:-1])


_ENTERED: contextvars.ContextVar[tuple[Target, ...]] = contextvars.ContextVar("target", default=())


def current_or_host(target: Any) -> Any:
    """Return a target that was given, else the current one, else this machine."""
    return (Target.current() or "llvm") if target is None else target
