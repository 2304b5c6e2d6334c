"""Sort, argsort, top-k and searchsorted."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.sizes import size_of
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.lowering.relax_to_tir.search import write_search
from relax_mlir.lowering.relax_to_tir.support.sorter import write_sorted
from relax_mlir.te.operation import compute, extern
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import ir_builder
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.tir.scalar.conversion import cast
from relax_mlir.tir.scalar.dtypes import checked, is_float
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.support import axis_of, same, tensor

_BOTH, _VALUES, _INDICES = "both", "values", "indices"


def _sorted(
    name: str, data: Tensor, axis: int, count: Dim, kinds: Sequence[str], ascending: Any,
    dtype: str,
) -> list[Tensor]:  # fmt: skip
    """Return the first `count` in order along an axis: values, indices, or both."""
    source = tensor(data, name)
    along = axis_of(axis, source.ndim, name)
    shape = [count if i == along else dim for i, dim in enumerate(source.shape)]
    dtypes = [source.dtype if kind == _VALUES else dtype for kind in kinds]

    def write(ins: list[Any], outs: list[Any]) -> None:
        buffers = dict(zip(kinds, (each.buffer for each in outs), strict=True))
        pair = (buffers.get(_VALUES), buffers.get(_INDICES))
        builder, rows = ir_builder.current().builder, ins[0].buffer
        write_sorted(builder, name, rows, along, SymExpr.of(count), pair, not ascending)

    made = extern([shape] * len(kinds), [source], write, name=f"T_{name}", dtype=dtypes)
    return [made] if isinstance(made, Tensor) else list(made)


def sort(data: Tensor, axis: int = -1, is_ascend: Any = 1) -> Tensor:
    """Return a tensor with the elements along an axis in order, NaN behind all numbers."""
    length = _length(data, axis, "sort")
    return _sorted("sort", data, axis, length, [_VALUES], is_ascend, "int64")[0]


def argsort(
    data: Tensor, valid_count: Any = None, axis: int = -1, is_ascend: Any = 1,
    dtype: str = "float32",
) -> Tensor:  # fmt: skip
    """Return where the elements in order were along an axis; equal ones keep their order.

    Args:
        data: the tensor.
        valid_count: none; elements that do not count get a value that puts them last.
        axis: the axis.
        is_ascend: whether the least comes first.
        dtype: of the places.

    Raises:
        ExprError: there is a `valid_count`.
    """
    if valid_count is not None:
        raise ExprError(
            "topi.argsort takes no valid_count: give what does not count a value that comes last, "
            "by topi.where"
        )
    length = _length(data, axis, "argsort")
    return _sorted("argsort", data, axis, length, [_INDICES], is_ascend, checked(dtype))[0]


def topk(
    data: Tensor, k: Any = 1, axis: int = -1, ret_type: str = _BOTH, is_ascend: Any = False,
    dtype: str = "int64",
) -> Any:  # fmt: skip
    """Return the first `k` in order along an axis, the greatest first by default.

    Args:
        data: the tensor.
        k: how many; all of them where it is less than 1.
        axis: the axis.
        ret_type: `both`, `values` or `indices`.
        is_ascend: whether the least comes first.
        dtype: of the indices.

    Returns:
        A tensor, or a list of values and indices.

    Raises:
        ExprError: there are certainly not so many, or no such `ret_type`.
        ExprTypeError: `k` is no size.
    """
    kinds = [_VALUES, _INDICES] if ret_type == _BOTH else [ret_type]
    if ret_type not in (_BOTH, _VALUES, _INDICES):
        raise ExprError(f"topi.topk: ret_type is both, values or indices, got '{ret_type}'")
    length, count = SymExpr.of(_length(data, axis, "topk")), size_of(k)
    if count is None:
        raise ExprTypeError(f"topi.topk: k is an integer or a size, got {k!r}")
    if count.value is not None and count.value < 1:
        count = length
    least = (length - count).lower_bound()
    if least is None or least < 0:
        raise ExprError(
            f"topi.topk: axis {axis} is not known to have {count} elements, it has {length}; "
            "match_cast the tensor, or give k as a minimum of both"
        )
    made = _sorted("topk", data, axis, plain(count), kinds, is_ascend, checked(dtype))
    return made if ret_type == _BOTH else made[0]


def _length(data: Tensor, axis: int, where: str) -> Dim:
    dims = tensor(data, where).shape
    return dims[axis_of(axis, len(dims), where)]


def searchsorted(
    sorted_sequence: Tensor, values: Tensor, right: bool = False, out_dtype: str = "int64"
) -> Tensor:
    """Return where elements would be inserted in rows that are in order.

    Args:
        sorted_sequence: a vector for all, or rows; other dimensions are those of `values`.
        values: what is searched for.
        right: behind the equal ones, else in front of them.
        out_dtype: of the places.

    Raises:
        ExprError: the dimensions or dtypes do not fit.
    """
    rows, wanted = tensor(sorted_sequence, "searchsorted"), tensor(values, "searchsorted")
    dtype = checked(out_dtype)
    if rows.dtype != wanted.dtype:
        raise ExprError(f"topi.searchsorted: {rows.dtype} is searched for {wanted.dtype}")
    if rows.ndim == 1:

        def write(ins: list[Any], outs: list[Any]) -> None:
            buffers: list[Buffer] = [each.buffer for each in (*ins, *outs)]
            builder: PrimFuncBuilder = ir_builder.current().builder
            write_search(builder, "searchsorted", buffers, right)

        return extern(wanted.shape, [wanted, rows], write, "T_searchsorted", dtype)
    outer = zip(rows.shape[:-1], wanted.shape[:-1], strict=False)
    if rows.ndim != wanted.ndim or not all(same(a, b) for a, b in outer):
        raise ExprError(
            f"topi.searchsorted: {list(wanted.shape)} does not fit rows of {list(rows.shape)}"
        )
    k = te.reduce_axis((0, rows.shape[-1]), "k")
    before = _before(right)
    return compute(
        wanted.shape,
        lambda *i: te.sum(cast(before(rows[(*i[:-1], k)], wanted[i]), dtype), axis=k),
        name="T_searchsorted",
    )


def _before(right: bool) -> Callable[[PrimExpr, PrimExpr], PrimExpr]:
    def before(edge: PrimExpr, value: PrimExpr) -> PrimExpr:
        result = binary("le" if right else "lt", edge, value)
        if not is_float(value.dtype):
            return result
        # NaN goes behind all numbers.
        last = value != value
        return functions.any(result, last if right else functions.all(last, edge == edge))

    return before
