"""Calls of C functions in scalar expressions and in stages of `te.extern`."""

from typing import Any

from relax_mlir.dialects.tir import externs
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.tir.scalar.conversion import as_expr
from relax_mlir.tir.scalar.dtypes import checked
from relax_mlir.tir.scalar.prim_expr import PrimExpr


class ExternCall(PrimExpr):
    """A call of a C function.

    Attributes:
        name: of the function.
        args: numbers, and buffers for the addresses of their data.
    """

    __slots__ = ("args", "name")

    name: str
    args: list[Any]

    def __init__(self, dtype: str, name: str, args: list[Any]) -> None:
        self.dtype: str = dtype
        self.name, self.args = name, args

    @property
    def operands(self) -> tuple[PrimExpr, ...]:
        """The expressions that this one is made of."""
        return tuple(each for each in self.args if isinstance(each, PrimExpr))

    def write(self, values: list[Scalar]) -> Scalar | None:
        """Write the call at the current insertion point.

        Args:
            values: of the operands, in order.
        """
        rest = iter(values)
        given = [next(rest) if isinstance(each, PrimExpr) else each.buffer for each in self.args]
        return externs.call_extern(self.name, given, self.dtype)

    def __repr__(self) -> str:
        return f"call_extern({self.name!r}, {', '.join(map(repr, self.args))})"


def call_extern(dtype: Any, func_name: str, *args: Any) -> ExternCall:
    """Return a call of a C function of the process, by its name.

    The function must be what the arguments say: nothing checks that. A bare integer is an `int`,
    a bare float a `float`; other numbers are cast first.

    Args:
        dtype: of the result; `"void"` for a call that stands alone, in a stage of `te.extern`.
        func_name: a C identifier.
        args: numbers and expressions; buffers of `te.extern` for the addresses of their data.

    Raises:
        ExprError: the name is none, or there is no such dtype.
    """
    if not isinstance(func_name, str) or not (func_name.isidentifier() and func_name.isascii()):
        raise ExprError(f"tir.call_extern takes the name of a C function, got {func_name!r}")
    given = []
    for each in args:
        if hasattr(each, "buffer") or isinstance(each, PrimExpr):
            given.append(each)
        elif isinstance(each, (bool, int, float)) or hasattr(each, "symbols"):
            kind = "float32" if isinstance(each, float) else "int32" if type(each) is int else ""
            given.append(as_expr(each, kind))
        else:
            raise ExprTypeError(f"tir.call_extern passes numbers and buffers, got {each!r}")
    return ExternCall("" if dtype in ("void", "") else checked(dtype), func_name, given)


call_pure_extern = call_extern


class PackedCall(ExternCall):
    """A call of a function of the registry of packed functions; strings are arguments too."""

    __slots__ = ()

    def write(self, values: list[Scalar]) -> Scalar:
        """Write the call at the current insertion point.

        Args:
            values: of the operands, in order.
        """
        rest = iter(values)
        given = [
            next(rest) if isinstance(each, PrimExpr)
            else each if isinstance(each, str) else each.buffer
            for each in self.args
        ]  # fmt: skip
        return externs.call_packed(self.name, given, self.dtype)

    def __repr__(self) -> str:
        return f"call_packed({', '.join(map(repr, (self.name, *self.args)))})"


def call_packed(*args: Any) -> PackedCall:
    """Return a call of what `register_func` or TVM FFI knows by a name.

    It gets tensors over the memory of buffers, numbers, strings. Its result is an `int32`, 0 where
    it returns nothing.

    Args:
        args: the name, then numbers and expressions, strings, and buffers of `te.extern`.

    Raises:
        ExprTypeError: the first is no name, or one of the others is none of these.
    """
    if not args or not isinstance(args[0], str):
        raise ExprTypeError(
            f"tir.call_packed takes the name of a packed function first, got {args[:1]}"
        )
    name, *rest = args
    for each in rest:
        known = isinstance(each, (bool, int, float, str, PrimExpr))
        if not known and not hasattr(each, "buffer") and not hasattr(each, "symbols"):
            raise ExprTypeError(
                f"tir.call_packed passes numbers, strings and buffers of te.extern, got {each!r}"
            )
    given = [
        each if isinstance(each, str) or hasattr(each, "buffer") else as_expr(each)
        for each in rest
    ]  # fmt: skip
    return PackedCall("int32", name, given)
