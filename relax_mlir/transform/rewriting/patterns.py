"""Rewrite patterns as passes: Python functions or PDL under MLIR's greedy driver."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.errors import PassError, PassTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.execution.diagnostics import exception_text
from relax_mlir.pass_infra.execution.erase_guard import guarded, only_looks
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import Pass
from relax_mlir.transform.rewriting.checks import (
    NativeCall,
    Rewriter,
    check_operation,
    native_calls,
)

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
    replaces `op`; or True where it has itself changed something. An `op` whose results are unused
    goes away by `rewriter.erase_op(op)` and True. Other operations go away the same way, or by
    their `erase()`, which means the same inside a pattern; what has uses left cannot be erased.

    Raises:
        TypeError: `root` is no name.
    """
    if not isinstance(root, str):
        raise PassTypeError(
            "a pattern names the operation that it is about, as in @pattern('relax.add'); "
            f"got {root!r}"
        )
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
                raise PassTypeError(f"{each!r} is no pattern; is @pattern('op.name') missing?")
        self.patterns: tuple[Pattern, ...] = tuple(patterns)
        self.info = pass_info
        self.max_rewrites = max_rewrites
        self.top_down = top_down

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Run the driver on the module.

        Raises:
            PassError: a pattern's root does not exist, a rewrite fails or gives what cannot
                replace its operation, or the patterns do not come to an end.
        """
        driver = _Driver(self, mod.mlir_module.operation)
        rewrites = submodule("rewrite").RewritePatternSet()
        for each in self.patterns:
            try:
                check_operation(each.root, mod.context)
            except ValueError as error:
                message = f"the root of pattern '{each.name}': {error}"
                raise PassError(self.info.name, message) from error
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
        self.rewrites: dict[str, Rewrite] = dict(rewrites or {})
        self.max_rewrites = max_rewrites
        self.top_down = True

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Run the driver on the module.

        Raises:
            PassError: the patterns do not parse, name what does not exist or was not passed, a
                function fails or gives something else than the PDL takes, or the patterns do
                not come to an end.
        """
        try:
            patterns = ir.Module.parse(self.text, mod.context)
        except ir.MLIRError as error:
            raise PassError(self.info.name, f"the patterns do not parse: {error}") from error
        try:
            constraints, rewrites = native_calls(patterns, self.constraints, self.rewrites)
        except ValueError as error:
            raise PassError(self.info.name, str(error)) from error
        module = submodule("rewrite").PDLModule(patterns)
        driver = _Driver(self, mod.mlir_module.operation)
        for call in constraints:
            holds = driver.constraint(call.name, self.constraints[call.name])
            module.register_constraint_function(call.symbol, holds)
        for call in rewrites:
            make = driver.native(call, self.rewrites[call.name])
            module.register_rewrite_function(call.symbol, make)
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

    def __init__(self, owner: "RewritePass | PDLPass", module: ir.Operation) -> None:
        self.owner = owner
        self.module = module
        self.error: BaseException | None = None
        self.count = 0

    def callback(self, each: Pattern) -> Callable[[ir.Operation, Any], bool]:
        """Return MLIR's form of a pattern, which answers whether it did not match."""
        what = f"'{each.root}' op pattern '{each.name}'"

        def run(op: Any, rewriter: Any) -> bool:
            if self.error is not None:
                return True
            op = op.operation
            # Read now: after the rewrite the operation may be gone.
            place = op.location
            checked = Rewriter(rewriter, op)
            try:
                with place, rewriter.ip, guarded(self.module, checked.erase_op):
                    result = each.rewrite(op, checked)
                if result is None or result is False:
                    if checked.root_is_gone:
                        raise ValueError("it removed the operation, so it has to return True")
                    return True
                self._count()
                if result is not True:
                    checked.replace_op(op, result)
            except BaseException as error:
                self._keep(error, place, what)
            # A match also after an error, so that MLIR leaves an operation alone that may be gone.
            return False

        return run

    def constraint(self, name: str, holds: Callable[..., bool]) -> Callable[..., bool]:
        """Return MLIR's form of a constraint, which answers whether it does not hold."""

        def run(rewriter: Any, results: Any, values: Any) -> bool:
            if self.error is not None:
                return True
            try:
                with guarded(self.module, only_looks):
                    return not holds(*values)
            except BaseException as error:
                self._keep(error, None, f"constraint '{name}'")
                return True

        return run

    def native(self, call: NativeCall, make: Rewrite) -> Callable[..., Any]:
        """Return MLIR's form of a native rewrite, which never fails: MLIR would abort."""

        def run(rewriter: Any, results: Any, values: Any) -> bool:
            root = rewriter.ip.ref_operation.operation
            # Read now: after the rewrite the operation may be gone.
            block, place = root.block, root.location
            types = [value.type for value in root.results]
            made = None
            if self.error is None:
                try:
                    self._count()
                    checked = Rewriter(rewriter, root, call.keeps_root)
                    with (
                        ir.Location.unknown(),
                        rewriter.ip,
                        guarded(self.module, checked.erase_op),
                    ):
                        made = call.results(make(checked, *values), checked)
                except BaseException as error:
                    self._keep(error, place, f"rewrite '{call.name}'")
            if made is None:
                with ir.Location.unknown(), ir.InsertionPoint.at_block_begin(block):
                    made = call.dummies(types)
            for each in made:
                results.append(each)
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

    def _keep(self, error: BaseException, place: ir.Location | None, what: str) -> None:
        if isinstance(error, RuntimeError) and "has been invalidated" in str(error):
            # What the bindings say of an operation that is gone.
            error = ValueError("the operation is already erased or replaced")
        self.error = error
        if place is not None and not isinstance(error, PassError):
            place.emit_error(f"{what}: {exception_text(error)}")


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
