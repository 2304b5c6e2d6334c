"""Rewrite patterns as passes: Python functions or PDL under MLIR's greedy driver."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import PassInfo
from relax_mlir.transform.passes import Pass

# A pattern that feeds itself never ends by iterations alone: MLIR then runs for ever.
MAX_REWRITES = 100_000

Rewrite = Callable[..., Any]


@dataclass(frozen=True)
class Pattern:
    """A rewrite of one kind of operation.

    Attributes:
        root: the operation's name, such as `relax.add`.
        rewrite: called with the operation and the rewriter, see `pattern`.
        benefit: patterns of higher benefit are tried first.
    """

    root: str
    rewrite: Rewrite
    benefit: int = 1

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.rewrite, "__name__", self.root)


def pattern(root: str, benefit: int = 1) -> Callable[[Rewrite], Pattern]:
    """Make a pattern of `f(op, rewriter)`; operations made in it go in front of `op`.

    It returns None where it does not match; the value, the list of values or the operation that
    replaces `op`; or True where it has itself changed something. An `op` whose results nobody uses
    goes away by `rewriter.erase_op(op)` and True.
    """
    return lambda rewrite: Pattern(root, rewrite, benefit)


class RewritePass(Pass):
    """Applies patterns until none matches, by MLIR's greedy driver.

    The driver also folds, and drops pure operations that nobody uses.

    Raises:
        TypeError: something else than a pattern is among the patterns.
    """

    def __init__(
        self,
        patterns: Sequence[Pattern],
        pass_info: PassInfo,
        max_rewrites: int = MAX_REWRITES,
        top_down: bool = True,
    ) -> None:
        for each in patterns:
            if not isinstance(each, Pattern):
                raise TypeError(f"{each!r} is no pattern; is @pattern('op.name') missing?")
        self.patterns = tuple(patterns)
        self.info = pass_info
        self.max_rewrites = max_rewrites
        self.top_down = top_down

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Run the driver on the module.

        Raises:
            PassError: the patterns do not come to an end.
        """
        driver = _Driver(self)
        rewrites = submodule("rewrite").RewritePatternSet()
        for each in self.patterns:
            rewrites.add(each.root, driver.callback(each), each.benefit)
        _apply(self, mod.mlir_module, rewrites.freeze(), driver)


class PDLPass(Pass):
    """Applies `pdl.pattern`s, matched by MLIR itself: no Python runs while it looks for them.

    Args:
        text: a module of patterns, or the patterns alone.
        pass_info: name and level.
        constraints: `apply_native_constraint` by name: `f(*values)` returns whether it holds.
        rewrites: `apply_native_rewrite` by name: `f(rewriter, *values)` returns a value, an
            operation, or None.
        max_rewrites: when to give up.
    """

    def __init__(
        self,
        text: str,
        pass_info: PassInfo,
        constraints: "dict[str, Callable[..., bool]] | None" = None,
        rewrites: "dict[str, Rewrite] | None" = None,
        max_rewrites: int = MAX_REWRITES,
    ) -> None:
        self.text = text
        self.info = pass_info
        self.constraints = dict(constraints or {})
        self.rewrites = dict(rewrites or {})
        self.max_rewrites = max_rewrites
        self.top_down = True

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Run the driver on the module.

        Raises:
            PassError: the patterns do not parse, or do not come to an end.
        """
        try:
            patterns = ir.Module.parse(self.text, mod.context)
        except ir.MLIRError as error:
            raise PassError(self.info.name, f"the patterns do not parse: {error}") from error
        module = submodule("rewrite").PDLModule(patterns)
        driver = _Driver(self)
        for name, holds in self.constraints.items():
            module.register_constraint_function(name, driver.constraint(name, holds))
        for name, rewrite_function in self.rewrites.items():
            module.register_rewrite_function(name, driver.native(name, rewrite_function))
        _apply(self, mod.mlir_module, module.freeze(), driver)


def rewrite(
    *patterns: Pattern,
    opt_level: int = 0,
    name: str | None = None,
    max_rewrites: int = MAX_REWRITES,
    top_down: bool = True,
) -> RewritePass:
    """Return patterns as a pass.

    Raises:
        TypeError: something else than a pattern is among the patterns.
    """
    default = "+".join(getattr(each, "name", "?") for each in patterns) or "rewrite"
    return RewritePass(patterns, PassInfo(name or default, opt_level), max_rewrites, top_down)


def pdl(
    text: str,
    *,
    constraints: "dict[str, Callable[..., bool]] | None" = None,
    rewrites: "dict[str, Rewrite] | None" = None,
    opt_level: int = 0,
    name: str = "pdl",
    max_rewrites: int = MAX_REWRITES,
) -> PDLPass:
    """Return PDL patterns as a pass."""
    return PDLPass(text, PassInfo(name, opt_level), constraints, rewrites, max_rewrites)


class _Driver:
    """Between MLIR's driver and the user's functions: locations, results and exceptions.

    An exception cannot cross the driver, so the first one is kept, everything after it does not
    match, and it is raised when the driver is back.
    """

    def __init__(self, owner: "RewritePass | PDLPass") -> None:
        self.owner = owner
        self.error: BaseException | None = None
        self.count = 0

    def callback(self, each: Pattern) -> Callable[[ir.Operation, Any], bool]:
        """Return MLIR's form of a pattern, which answers whether it did not match."""

        def run(op: Any, rewriter: Any) -> bool:
            if self.error is not None:
                return True
            op = op.operation
            try:
                with op.location, rewriter.ip:
                    result = each.rewrite(op, rewriter)
                if result is None or result is False:
                    return True
                self._count()
                if result is not True:
                    rewriter.replace_op(op, _replacement(result))
            except BaseException as error:
                self._keep(error, op, f"pattern '{each.name}'")
                return True
            return False

        return run

    def constraint(self, name: str, holds: Callable[..., bool]) -> Callable[..., bool]:
        """Return MLIR's form of a constraint, which answers whether it does not hold."""

        def run(rewriter: Any, results: Any, values: Any) -> bool:
            if self.error is not None:
                return True
            try:
                return not holds(*values)
            except BaseException as error:
                self._keep(error, None, f"constraint '{name}'")
                return True

        return run

    def native(self, name: str, make: Rewrite) -> Callable[..., Any]:
        """Return MLIR's form of a native rewrite."""

        def run(rewriter: Any, results: Any, values: Any) -> bool:
            if self.error is not None:
                return True
            try:
                self._count()
                with ir.Location.unknown(), rewriter.ip:
                    made = make(rewriter, *values)
                if made is not None:
                    results.append(getattr(made, "operation", made))
            except BaseException as error:
                self._keep(error, None, f"rewrite '{name}'")
                return True
            return False

        return run

    def _count(self) -> None:
        self.count += 1
        if self.count > self.owner.max_rewrites:
            raise PassError(
                self.owner.info.name,
                f"no end after {self.owner.max_rewrites} rewrites: does a pattern match what it "
                "makes?",
            )

    def _keep(self, error: BaseException, op: ir.Operation | None, what: str) -> None:
        self.error = error
        if op is not None and not isinstance(error, PassError):
            message = f"'{op.name}' op {what}: {type(error).__name__}: {error}"
            op.location.emit_error(message)


def _apply(
    owner: "RewritePass | PDLPass", module: ir.Module, patterns: Any, driver: _Driver
) -> None:
    rewrite_module = submodule("rewrite")
    config = rewrite_module.GreedyRewriteConfig()
    config.max_num_rewrites = owner.max_rewrites
    config.use_top_down_traversal = owner.top_down
    converged = True
    try:
        rewrite_module.apply_patterns_and_fold_greedily(module, patterns, config)
    except (ir.MLIRError, RuntimeError):
        converged = False
    if driver.error is not None:
        raise driver.error
    if not converged:
        raise PassError(
            owner.info.name,
            "the patterns did not come to an end: does one match what it makes?",
        )


def _replacement(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return list(result)
    if isinstance(result, (ir.OpView, ir.Operation)):
        return result.operation
    return [result]
