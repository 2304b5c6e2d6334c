"""Whether passes keep what a program computes: it runs before and after, on the same inputs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import PassError
from relax_mlir.instrument.nesting import PairedInstrument

if TYPE_CHECKING:
    from relax_mlir.instrument.program_comparison import Comparison
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


class EquivalenceCheck(PairedInstrument):
    """Fails the first pass after which a public function computes something else.

    The module before and after each pass that changed it is built without optimisations, and its
    functions are called with the same arguments: Relax functions, or prim funcs where there are no
    Relax functions. Arguments that the function before the pass rejects are left out. Numbers may
    differ by `rtol` of the largest number in a result; dtypes, shapes, NaN and infinities must be
    equal. The error names the pass, the function, the smallest input found, and what differs.

    Args:
        inputs: arguments by the name of a function, instead of random ones: a list of lists.
        samples: how many times random arguments are drawn for a function. Symbols are drawn within
            their declared bounds, and once more all as 0 and all as 1; the last sample has NaN,
            infinities and -0.0 among its numbers.
        rtol: the relative difference that is allowed; by the dtype of the result if None.
        skip: passes that may change results.
        seed: where random numbers begin.

    Attributes:
        compared: how many calls were compared so far.
        not_compared: passes whose effect could not be compared, each with the reason.
    """

    flag = "--check-equivalence"

    def __init__(
        self,
        inputs: Mapping[str, Sequence[Sequence[Any]]] | None = None,
        samples: int = 3,
        rtol: float | None = None,
        *,
        skip: Iterable[str] = (),
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.skip: frozenset[str] = frozenset(skip)
        self.compared = 0
        self.not_compared: list[tuple[str, str]] = []
        self._options = (inputs or {}, samples, rtol, seed)
        self._comparison: Comparison | None = None

    def enter_pass_ctx(self) -> None:
        """Start over."""
        super().enter_pass_ctx()
        self._comparison = None

    def before(self, mod: "IRModule", info: "PassInfo") -> "IRModule | None":
        """Keep what the pass is given."""
        return None if info.name in self.skip else mod.clone()

    def after(
        self, mod: "IRModule", info: "PassInfo", state: "IRModule | None", leaf: bool
    ) -> None:
        """Compare what the functions compute.

        Raises:
            PassError: a function computes something else than before the pass.
        """
        # The compiler takes 0.7 s to import, which pipelines without this check need not pay.
        from relax_mlir.instrument.program_comparison import Comparison, NotEquivalent

        if not leaf or state is None:
            return
        comparison = self._comparison = self._comparison or Comparison(*self._options)
        try:
            problems = comparison.compare(state, mod.clone())
        except NotEquivalent as error:
            message = f"it changes what '@{error.function}' computes"
            raise PassError(info.name, message, error.lines) from None
        finally:
            self.compared, comparison.compared = self.compared + comparison.compared, 0
        self.not_compared += [(info.name, problem) for problem in problems]
