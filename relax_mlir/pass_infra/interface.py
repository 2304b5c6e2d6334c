"""The interface of a pass, for modules that run or print passes and must not import them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.pass_infra.info import PassInfo

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.execution.pass_manager_run import Execution


class AnyPass(ABC):
    """A pass, or a sequence of passes; the base of `transform.Pass`.

    Attributes:
        info: its PassInfo.
        element: its text in a pipeline, where it was made from one with options.
        is_sequence: whether it runs other passes with all that the infrastructure does around each.
        is_upstream: whether its text is upstream's own.
        runs_on_functions: whether a pipeline may nest it under `func.func`.
        passes: the passes of a sequence, None for a pass that is none.
    """

    info: PassInfo
    element: str | None = None
    is_sequence = False
    is_upstream = False
    runs_on_functions = False
    passes: "Sequence[AnyPass] | None" = None

    @abstractmethod
    def __call__(self, mod: Any, ctx: Any = None, *, required: bool | None = None) -> Any:
        """Run on a copy of a module."""

    @abstractmethod
    def run_in_place(self, mod: "IRModule", ctx: Any) -> bool:
        """Run on the module itself; returns whether the pass ran."""

    @abstractmethod
    def add_to(self, execution: "Execution", ctx: Any = None) -> None:
        """Append the pass to a PassManager."""

    @property
    @abstractmethod
    def pipeline(self) -> str:
        """The text that recreates the pass."""
