"""The passes that a pass requires, in topological order, each once."""

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from relax_mlir.errors import PipelineError
from relax_mlir.pass_infra import config, registry
from relax_mlir.pass_infra.execution.program_hash import fingerprint
from relax_mlir.pass_infra.interface import AnyPass

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.context import PassContext


def required_passes(wanted: AnyPass, *, transitive: bool) -> list[AnyPass]:
    """Return what to run before a pass.

    Args:
        wanted: the pass; it is not in the result.
        transitive: also what the required passes require, and each pass once; otherwise TVM's rule,
            the names in `wanted.info.required` as they stand.

    Raises:
        PipelineError: a required pass does not exist, or passes require each other.
    """
    if not wanted.info.required:
        return []
    if not transitive:
        return [registry.get_pass(name) for name in wanted.info.required]
    result: dict[str, AnyPass] = {}
    path = [wanted.info.name]

    def visit(names: tuple[str, ...]) -> None:
        for name in names:
            each = registry.get_pass(name)
            own_name = each.info.name
            if own_name in path:
                circle = " -> ".join([*path[path.index(own_name) :], own_name])
                raise PipelineError(f"passes require each other: {circle}")
            if own_name in result:
                continue
            path.append(own_name)
            visit(each.info.required)
            path.pop()
            result[own_name] = each

    visit(wanted.info.required)
    return list(result.values())


class Results:
    """What each pass of a run left behind, to see whether anything has changed the module since."""

    def __init__(self, mod: "IRModule", ctx: "PassContext") -> None:
        self._module = mod.mlir_module
        self._ctx = ctx
        self._left: dict[str, str] = {}

    def belongs_to(self, mod: "IRModule", ctx: "PassContext") -> bool:
        """Whether these are the results on that very module under that context."""
        return self._ctx is ctx and self._module == mod.mlir_module

    def note(self, step: AnyPass) -> None:
        """Remember the module as it is after a pass."""
        self._left[str(step)] = fingerprint(self._module)

    def stands(self, step: AnyPass) -> bool:
        """Whether the pass has run and the module is as it left it."""
        left = self._left.get(str(step))
        return left is not None and left == fingerprint(self._module)


@contextlib.contextmanager
def results_of(whole: AnyPass, mod: "IRModule", ctx: "PassContext") -> Iterator[Results | None]:
    """Share one Results among a pass that runs others and all the Sequentials inside it.

    Gives None where nothing in it requires a pass, or where TVM's rule is configured.
    """
    around = _RUN.results
    if around is not None and around.belongs_to(mod, ctx):
        yield around
        return
    wanted = ctx.option(config.TRANSITIVE_REQUIRED) and _requires_any(whole)
    _RUN.results = Results(mod, ctx) if wanted else None
    try:
        yield _RUN.results
    finally:
        _RUN.results = around


def _requires_any(whole: AnyPass) -> bool:
    return bool(whole.info.required) or any(map(_requires_any, whole.passes or ()))


class _Run(threading.local):
    """The results of the run that this thread is in."""

    results: Results | None = None


_RUN = _Run()
