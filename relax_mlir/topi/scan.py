"""Cumulative sums and products along an axis."""

from collections.abc import Callable
from typing import Any

from relax_mlir.te.operation import extern
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import ir_builder
from relax_mlir.tir.scalar.conversion import as_expr, cast
from relax_mlir.tir.scalar.dtypes import checked
from relax_mlir.topi.manipulate import flatten
from relax_mlir.topi.scatter import loops
from relax_mlir.topi.support import axis_of, tensor, wide_of


def scanop(
    data: Tensor, binop: Callable[[Any, Any], Any], identity_value: Any, op_name: str,
    axis: int | None = None, dtype: Any = None, exclusive: Any = False,
) -> Tensor:  # fmt: skip
    """Return what an operation makes of all elements so far along an axis.

    Args:
        data: the tensor.
        binop: from what there is and an element the next one.
        identity_value: what it begins with: a number.
        op_name: of the stage.
        axis: the axis; all elements in a row by default.
        dtype: of the result, by default that of `data`.
        exclusive: whether an element's own value is not in it.

    Raises:
        ExprError: there is no such axis.
    """
    source = tensor(data, op_name)
    if axis is None:
        source, axis = flatten(source), 0
    along = axis_of(axis, source.ndim, op_name)
    kind = checked(dtype) if dtype else source.dtype
    wide = wide_of(kind)
    rest = [dim for i, dim in enumerate(source.shape) if i != along]

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        total = ib.allocate(wide, [1], "total")
        loops(ib, rest, lambda at: _row(ib, ins[0], outs[0], total, at))

    def _row(ib: Any, x: Any, out: Any, total: Any, at: tuple[Any, ...]) -> None:
        total[0] = cast(as_expr(identity_value, wide), wide)
        with ib.for_range(0, source.shape[along], "k") as k:
            place = (*at[:along], k, *at[along:])
            value = cast(x[place], wide)
            if exclusive:
                out[place] = cast(total[0], kind)
                total[0] = binop(total[0], value)
            else:
                total[0] = binop(total[0], value)
                out[place] = cast(total[0], kind)

    return extern(source.shape, [source], write, name=f"T_{op_name}", dtype=kind)


def _scan(name: str, start: int, combine: Callable[[Any, Any], Any]) -> Callable[..., Tensor]:
    def function(
        data: Tensor, axis: int | None = None, dtype: Any = None, exclusive: bool = False
    ) -> Tensor:
        return scanop(data, combine, start, name, axis, dtype, exclusive)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return the {name} along an axis, or of all elements in a row.

    With `exclusive`, each element's own value is not in it.
    """
    return function


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "cumsum": _scan("cumsum", 0, lambda a, b: a + b),
    "cumprod": _scan("cumprod", 1, lambda a, b: a * b),
}
