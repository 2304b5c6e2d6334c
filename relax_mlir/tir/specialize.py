"""`func.specialize`: symbols and integer parameters become constants."""

import ast
from collections.abc import Mapping
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.sizes import size_of
from relax_mlir.errors import ExprError, ExprTypeError, ScriptError, did_you_mean
from relax_mlir.ir.function_protocols import PrimFunc
from relax_mlir.ir.single_function import single
from relax_mlir.tir.expr import Param
from relax_mlir.tir.parameters import parameters
from relax_mlir.tir.stmt import Buffer


def specialize(func: PrimFunc, values: Mapping[Any, Any]) -> PrimFunc:
    """Return a prim func whose symbols and integer parameters are numbers.

    The parameters that became numbers are none any more. What it computes is what the function did
    when it was called with these.

    Args:
        func: the prim func; it stays as it is.
        values: for a parameter, a symbol, or the name of one, its number; for a parameter that is
            a buffer a `tir.decl_buffer` whose shape says the symbols of its own.

    Raises:
        ExprTypeError: it is no prim func, or something is neither number nor buffer.
        ExprError: there is no such parameter or symbol, or shapes contradict each other.
    """
    from relax_mlir.script import from_source

    op = single(func)
    if "tir.prim_func" not in op.attributes:
        raise ExprTypeError("specialize takes a prim func, this is a Relax function")
    name = op.attributes["sym_name"].value
    if not isinstance(values, Mapping):
        raise ExprTypeError(
            f"specialize takes numbers and buffers by parameter, {{param: 8}}, got {values!r}"
        )
    numbers = _numbers(name, parameters(op), values)
    tree = ast.parse(func.script())
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    function.args.args = [each for each in function.args.args if each.arg not in numbers]
    function.body = [each for each in function.body if not _declares(each, numbers)] or [ast.Pass()]
    try:
        return from_source(ast.unparse(tree), extra_vars=numbers)[name]
    except ScriptError as error:
        given = ", ".join(f"{symbol} = {number}" for symbol, number in numbers.items())
        raise ExprError(f"specialize of '{name}' with {given}: {error.message}") from None


def _numbers(
    name: str, params: list[tuple[Param, Buffer | None]], values: Mapping[Any, Any]
) -> dict[str, int]:
    """Return the numbers of symbols by name."""
    buffers = {param: buffer for param, buffer in params}
    scalars = {param.name: param.dtype for param, buffer in params if buffer is None}
    shapes = [SymExpr.of(dim) for _, buffer in params if buffer for dim in buffer.shape]
    known = sorted({*(symbol for dim in shapes for symbol in dim.symbols), *scalars})
    result: dict[str, int] = {}
    shaped: list[tuple[Buffer, Buffer]] = []

    def note(symbol: str, number: int, why: str) -> None:
        if result.setdefault(symbol, number) != number:
            raise ExprError(
                f"specialize of '{name}': '{symbol}' is {result[symbol]} and {number}{why}"
            )

    for key, value in values.items():
        param = next((each for each in buffers if str(each) == str(key)), None)
        buffer = None if param is None else buffers[param]
        if buffer is not None:
            for symbol, number in _solved(name, buffer, value).items():
                note(symbol, number, f" by the shape of '{buffer.name}'")
            shaped.append((buffer, value))
            continue
        if str(key) not in known:
            raise ExprError(
                f"specialize of '{name}': there is no parameter or symbol '{key}'"
                f"{did_you_mean(str(key), known) or '; there are: ' + (', '.join(known) or 'none')}"
            )
        if scalars.get(str(key), "int64") not in ("int64", "i64", "index"):
            raise ExprTypeError(
                f"specialize of '{name}': '{key}' is of {scalars[str(key)]}; only integers that "
                "sizes may be made of become numbers"
            )
        size = size_of(value)
        if size is None or size.value is None:
            raise ExprTypeError(f"specialize of '{name}': '{key}' becomes a number, got {value!r}")
        note(str(key), size.value, "")
    for own, given in shaped:
        _check(name, own, given, result)
    return result


def _solved(name: str, own: Buffer, given: Any) -> dict[str, int]:
    """Return the symbols that are dimensions of a parameter's buffer, as numbers."""
    if not isinstance(given, Buffer):
        raise ExprTypeError(
            f"specialize of '{name}': '{own.name}' is a buffer, tir.decl_buffer(shape, dtype) says "
            f"its shape, got {given!r}"
        )
    wanted = f"a buffer of {own.dtype} and shape {_text(own.shape)}"
    if given.dtype != own.dtype or given.ndim != own.ndim:
        raise ExprError(
            f"specialize of '{name}': '{own.name}' is {wanted}, got one of {given.dtype} and shape "
            f"{_text(given.shape)}"
        )
    pairs = zip(own.shape, map(SymExpr.of, given.shape), strict=True)
    return {
        str(SymExpr.of(dim).name): size.value
        for dim, size in pairs
        if SymExpr.of(dim).name is not None and size.value is not None
    }


def _check(name: str, own: Buffer, given: Buffer, numbers: Mapping[str, int]) -> None:
    """Check that a shape is what the numbers make of the parameter's."""
    for dim, size in zip(own.shape, given.shape, strict=True):
        known = SymExpr.of(dim).substitute(numbers)
        if str(size) not in (str(dim), str(known)):
            raise ExprError(
                f"specialize of '{name}': '{own.name}' has the shape {_text(own.shape)}, which "
                f"{_text(given.shape)} is not; dimensions that are symbols by themselves become "
                "numbers"
            )


def _declares(statement: ast.stmt, numbers: Mapping[str, int]) -> bool:
    """Whether a statement says `n = T.int64()` of what is a number now."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    target, call = statement.targets[0], statement.value
    plain = not call.args and not call.keywords and isinstance(target, ast.Name)
    return plain and isinstance(target, ast.Name) and target.id in numbers


def _text(shape: tuple[Any, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
