"""Checks of the arguments of topi's functions."""

import functools
import inspect
from typing import Any

from relax_mlir.errors import ExprTypeError, RelaxMLIRError
from relax_mlir.te.tensor import Tensor

# What Python raises where a value is not what an operator takes it for.
_UNFIT = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)


def checked(name: str, value: Any) -> Any:
    """Return an operator that checks the kinds of its arguments; what is no function, as it is.

    Args:
        name: of the operator, as users call it.
        value: the operator.

    Raises:
        ExprTypeError: by the operator, where a tensor is wanted and something else comes, or where
            it cannot make anything of an argument.
    """
    if not inspect.isfunction(value):
        return value
    signature = inspect.signature(value)
    params = signature.parameters.values()
    single = [each for each in params if each.kind is not inspect.Parameter.VAR_POSITIONAL]
    tensors = [each.name for each in single if each.annotation is Tensor]
    numbers = [each.name for each in single if each.annotation in (bool, float, int, str)]
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in params]
    spelling = f"{name}{inspect.Signature(bare)}"

    @functools.wraps(value)
    def apply(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
            for param in tensors:
                if param in given and not isinstance(given[param], Tensor):
                    raise ExprTypeError(
                        f"{name} takes a te.Tensor as '{param}', got {given[param]!r}"
                    )
            for param in numbers:
                if isinstance(given.get(param), Tensor):
                    raise ExprTypeError(
                        f"{name} takes no tensor as '{param}', got {given[param]!r}"
                    )
            return value(*args, **kwargs)
        except RelaxMLIRError:
            raise
        except _UNFIT as error:
            raise ExprTypeError(f"{spelling} cannot take these arguments: {error}") from error

    return apply
