"""Whether a program is well formed, and why not."""

from typing import Any, NamedTuple

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.well_formed import check_well_formed as function_problems
from relax_mlir.errors import ExprTypeError, RelaxMLIRError, VerifyError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.analysis.scopes import enclosing_module, function_op, module_op
from relax_mlir.relax.expr import Function

_TOO_DEEP = (
    "branches or loops are nested too deep to be checked: put inner ones into functions of their "
    "own, or raise sys.setrecursionlimit"
)


class Diagnostic(NamedTuple):
    """One thing that is wrong.

    Attributes:
        location: where, as MLIR writes it: file, line and column where they are known.
        message: what.
    """

    location: str
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.message}"


class WellFormed(list[Diagnostic]):
    """The answer of `check_well_formed`: true when nothing is wrong, else the list of what is."""

    def __bool__(self) -> bool:
        return not len(self)

    def __repr__(self) -> str:
        return "well formed" if self else "\n".join(map(str, self))


def check_well_formed(node: Any, check_ty: bool = True) -> WellFormed:
    """Check a module or a function; true when it is well formed, else the reasons.

    Every operation by the rules of its dialect, then what no operation can see alone: that symbols
    are bound where they are used, and calls fit what they call. A function that Python built is
    also checked for variables that nothing binds, or that are bound twice.

    Args:
        node: IRModule, or a function in one or built by itself.
        check_ty: whether calls have to fit what they call.

    Raises:
        ExprTypeError: it is neither.
    """
    if isinstance(node, Function) and node.mlir_op is None:
        node = IRModule.from_expr(node)
    try:
        # Asked here, so that what is wrong with a built function is told from a wrong argument.
        getattr(node, "mlir_module", None)
    except RelaxMLIRError as error:
        return WellFormed([Diagnostic("loc(unknown)", str(error))])
    module, only = _module_and_function(node)
    result: list[Diagnostic] = []
    target = module if only is None else only
    assert target is not None, "one of them is there"
    try:
        with target.context:
            target.verify()
    except ir.MLIRError as error:
        result += [Diagnostic(str(d.location), d.message) for d in error.error_diagnostics]
        return WellFormed(result or [Diagnostic("loc(unknown)", str(error))])
    if module is not None:
        name = None if only is None else ir.StringAttr(only.attributes["sym_name"]).value
        try:
            problems = function_problems(module, name, calls=check_ty)
        except RecursionError:
            return WellFormed([Diagnostic(str(target.location), _TOO_DEEP)])
        result += [Diagnostic(str(location), message) for location, message in problems]
    return WellFormed(result)


def well_formed(node: Any, check_ty: bool = True) -> WellFormed:
    """Raise where `check_well_formed` says no, and return its answer: TVM's roles since 0.23.

    Raises:
        VerifyError: it is not well formed; the message has a line for each reason.
        ExprTypeError: it is neither a module nor a function.
    """
    result = check_well_formed(node, check_ty)
    if not result:
        raise VerifyError("the program is not well formed", map(str, result))
    return result


def _module_and_function(node: Any) -> tuple[ir.Operation | None, ir.Operation | None]:
    try:
        return module_op(node), None
    except ExprTypeError:
        func = function_op(node)
        return enclosing_module(func), func
