"""Elementwise operations as prim funcs: one block, broadcast operands read at index 0."""

import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import (
    Scalar,
    binary,
    cast,
    compare,
    is_float,
    select,
    unary,
)
from relax_mlir.errors import PassError
from relax_mlir.lowering.relax_to_tir.emit import Legalizer


def _wide(function: Callable[[Scalar], Scalar]) -> Callable[[Scalar], Scalar]:
    """Evaluate half-precision operands in float32, as their few bits do not survive composition."""

    def wrapped(x: Scalar) -> Scalar:
        if x.dtype in ("float16", "bfloat16"):
            return cast(function(cast(x, "float32")), x.dtype)
        return function(x)

    return wrapped


def _named(name: str) -> Callable[[Scalar], Scalar]:
    return lambda x: unary(name, x)


def _gelu(x: Scalar) -> Scalar:
    return x * 0.5 * (unary("erf", x * math.sqrt(0.5)) + 1.0)


UNARY: dict[str, Callable[[Scalar], Scalar]] = {
    **{
        name: _named(name)
        for name in (
            "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "floor", "ceil",
            "round", "abs",
        )
    },
    "gelu": _wide(_gelu),
    "sigmoid": _wide(_named("sigmoid")),
    "silu": _wide(lambda x: x * unary("sigmoid", x)),
    "negative": lambda x: -x,
    "relu": lambda x: binary("max", x, 0),
    "square": lambda x: x * x,
}  # fmt: skip


def _floor_divide(a: Scalar, b: Scalar) -> Scalar:
    """Divide like numpy, which takes floats through the exact remainder: `1.0 // 0.1` is 9."""
    if not is_float(a.dtype):
        return binary("floordiv", a, b)
    ratio = binary("div", a, b)
    rest = binary("truncmod", a, b)
    exact = binary("div", a - rest, b)
    opposite = compare("ne", compare("lt", b, 0), compare("lt", rest, 0))
    inexact = compare("ne", rest, 0)
    exact = select(binary("and", inexact, opposite), exact - 1, exact)
    whole = unary("floor", exact)
    whole = select(compare("gt", exact - whole, 0.5), whole + 1, whole)
    signed_zero = ratio * 0
    whole = select(compare("eq", exact, 0), signed_zero, whole)
    return select(compare("eq", b, 0), ratio, whole)


def arithmetic(kind: str, of_bools: str) -> Callable[[Scalar, Scalar], Scalar]:
    """Return a binary operation that is another one on bools, numpy's: their sum is `or`."""
    return lambda a, b: binary(of_bools if a.dtype == "bool" else kind, a, b)


BINARY: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "add": arithmetic("add", "or"),
    "subtract": lambda a, b: a - b,
    "multiply": arithmetic("mul", "and"),
    "divide": lambda a, b: binary("div", a, b),
    "floor_divide": _floor_divide,
    "power": lambda a, b: binary("pow", a, b),
    "maximum": lambda a, b: binary("max", a, b),
    "minimum": lambda a, b: binary("min", a, b),
    "equal": lambda a, b: compare("eq", a, b),
    "not_equal": lambda a, b: compare("ne", a, b),
    "less": lambda a, b: compare("lt", a, b),
    "less_equal": lambda a, b: compare("le", a, b),
    "greater": lambda a, b: compare("gt", a, b),
    "greater_equal": lambda a, b: compare("ge", a, b),
}


# What numpy refuses, or answers with another dtype.
_NOT_OF_BOOLS = ("negative", "subtract", "divide", "floor_divide", "power")


def _refuse_bools(op: ir.Operation) -> None:
    name = op.name.removeprefix("relax.")
    if name in _NOT_OF_BOOLS and T.tensor_dtype(op.results[0].type) == "bool":
        op.location.emit_error(
            f"'{op.name}' op is not defined for bool: cast the operands first, as in "
            f'R.{name}(R.astype(x, "int32"), ...)'
        )
        raise PassError("LegalizeOps", f"'{op.name}' of bool tensors")


def broadcasts(dims: Sequence[SymExpr], out_dims: Sequence[SymExpr]) -> bool:
    """Whether an operand is certain to broadcast to the output."""
    last = out_dims[len(out_dims) - len(dims) :]
    return all(dim == out or dim == 1 for dim, out in zip(dims, last, strict=True))


def broadcast_indices(
    dims: Sequence[SymExpr], out_dims: Sequence[SymExpr], indices: Sequence[Scalar]
) -> tuple[Scalar | int, ...]:
    """Return the indices of an operand that broadcasts, for an output element."""
    offset = len(out_dims) - len(dims)
    return tuple(
        indices[offset + axis] if dim == out_dims[offset + axis] else 0
        for axis, dim in enumerate(dims)
    )


def spatial(dims: Sequence[SymExpr]) -> list[tuple[str, SymExpr]]:
    """Return one spatial axis per dimension."""
    return [("spatial", dim) for dim in dims]


def legalize_unary(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a unary operation of the table.

    Raises:
        PassError: arithmetic on bools.
    """
    _refuse_bools(op)
    name = op.name.removeprefix("relax.")

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        with builder.nest(name, spatial(out.dims)) as block:
            at = tuple(block)
            out.store(UNARY[name](source[at]), at)

    return legalizer.call_prim(op, name, [op.operands[0]], body)


def legalize_binary(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a binary operation of the table, with broadcasting that is certain.

    Raises:
        PassError: arithmetic on bools.
    """
    _refuse_bools(op)
    name = op.name.removeprefix("relax.")
    shapes = T.all_dims(value.type for value in (*op.operands, op.results[0]))
    if shapes is None:
        return None
    *sources, out_dims = shapes
    if not all(broadcasts(dims, out_dims) for dims in sources):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        lhs, rhs, out = buffers
        with builder.nest(name, spatial(out.dims)) as block:
            at = tuple(block)
            a = lhs[broadcast_indices(lhs.dims, out.dims, at)]
            b = rhs[broadcast_indices(rhs.dims, out.dims, at)]
            out.store(BINARY[name](a, b), at)

    return legalizer.call_prim(op, name, list(op.operands), body)


def legalize_astype(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a dtype conversion."""

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        with builder.nest("astype", spatial(out.dims)) as block:
            at = tuple(block)
            out.store(cast(source[at], out.dtype), at)

    return legalizer.call_prim(op, "astype", [op.operands[0]], body)


LEGALIZE = {
    **dict.fromkeys(UNARY, legalize_unary),
    **dict.fromkeys(BINARY, legalize_binary),
    "astype": legalize_astype,
}
