"""Advanced indexing by several index tensors: reads and writes."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute, extern
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import ir_builder
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.conversion import cast, const
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.index import from_end, integer_indices
from relax_mlir.topi.scatter import loops
from relax_mlir.topi.support import at, broadcast_shape, scalar, shape_of, tensor


def _indices(data: Tensor, given: Sequence[Tensor], where: str) -> tuple[list[Tensor], list[Dim]]:
    """Return tensors of indices for the first dimensions, and the shape that they broadcast to."""
    result = [integer_indices(each, where) for each in given]
    if not result or len(result) > tensor(data, where).ndim:
        raise ExprError(
            f"topi.{where} takes from 1 to {data.ndim} tensors of indices, got {len(result)}"
        )
    return result, list(broadcast_shape([each.shape for each in result], where))


def adv_index(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """Return the elements at places whose first indices stand in tensors that broadcast.

    Args:
        data: the tensor.
        indices: integers, for the first dimensions; they may count from the end.

    Raises:
        ExprError: there is none, there are more than dimensions, or they do not broadcast.
        ExprTypeError: the indices are no integers.
    """
    given, places = _indices(data, indices, "adv_index")
    rest = data.shape[len(given) :]

    def element(*i: Any) -> PrimExpr:
        where = [from_end(at(each, places, i), data.shape[axis]) for axis, each in enumerate(given)]
        return data[(*where, *i[len(places) :])]

    return compute([*places, *rest], element, name="T_adv_index")


def index_tensor(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """Return the same as `adv_index`."""
    return adv_index(data, indices)


def index_put(
    data: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Return a tensor with values at places whose first indices stand in tensors that broadcast.

    Args:
        data: what there was.
        indices: integers, for the first dimensions; they may count from the end.
        values: broadcast to the places and the dimensions behind them; in row-major order where
            places are the same.
        accumulate: whether they are added to what there was.

    Raises:
        ExprError: there are no indices, more than dimensions, or shapes do not broadcast.
        ExprTypeError: the indices are no integers.
    """
    given, places = _indices(data, indices, "index_put")
    shape = [*places, *data.shape[len(given) :]]
    broadcast_shape([tensor(values, "index_put").shape, shape], "index_put")

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        (x, new, *index), out = ins, outs[0]

        def copy(place: tuple[Any, ...]) -> None:
            out[place] = x[place]

        def put(i: tuple[Any, ...]) -> None:
            where = [
                ib.let("place", from_end(_read(one, each, places, i), data.shape[axis]))
                for axis, (one, each) in enumerate(zip(index, given, strict=True))
            ]
            place = (*where, *i[len(places) :])
            value = cast(_read(new, values, shape, i), data.dtype)
            out[place] = out[place] + value if accumulate else value

        loops(ib, data.shape, copy)
        loops(ib, shape, put)

    return extern(data.shape, [data, values, *given], write, "T_index_put", data.dtype)


def _read(buffer: Any, source: Tensor, shape: Sequence[Dim], i: Sequence[Any]) -> Any:
    """Return the element of a buffer at a place of the shape that it broadcasts to."""
    skip = len(shape) - source.ndim
    place = [0 if dim == 1 else i[skip + axis] for axis, dim in enumerate(source.shape)]
    return buffer[tuple(place) if place else 0]


def unravel_index(indices: Tensor, shape: Any) -> Tensor:
    """Return the indices of elements whose number in row-major order is given.

    Args:
        indices: numbers.
        shape: of the tensor that they are about: integers, or a vector of as many as is known.

    Returns:
        An index for each dimension of `shape`, along a first axis.

    Raises:
        ExprError: the number of dimensions is not known.
    """
    numbers = integer_indices(indices, "unravel_index")
    if isinstance(shape, Tensor):
        count = shape.shape[0] if shape.ndim == 1 else None
        if not isinstance(count, int):
            raise ExprError("topi.unravel_index needs a shape of a known number of dimensions")
        dims: list[Any] = [cast(shape[axis], SIZE) for axis in range(count)]
    else:
        dims = list(shape_of(shape, "unravel_index"))

    def element(axis: Any, *i: Any) -> PrimExpr:
        rest = cast(numbers[i], SIZE)
        result: Any = scalar(0, SIZE)
        for position in range(len(dims))[::-1]:
            own = rest % dims[position]
            result = Select(axis == position, own, result)
            rest = rest // dims[position]
        return cast(result, numbers.dtype)

    return compute([len(dims), *numbers.shape], element, name="T_unravel_index")


def sparse_to_dense(
    sparse_indices: Tensor, output_shape: Any, sparse_values: Tensor, default_value: Any = 0
) -> Tensor:
    """Return a tensor of a number, with values at places whose indices are given.

    Args:
        sparse_indices: a place, places of a vector, or a row of indices for each place.
        output_shape: of the tensor.
        sparse_values: a value for each place, or one for all.
        default_value: the number elsewhere.

    Raises:
        ExprError: the shapes do not fit.
        ExprTypeError: the indices are no integers.
    """
    places = integer_indices(sparse_indices, "sparse_to_dense")
    dims = shape_of(output_shape, "sparse_to_dense")
    columns = places.shape[1] if places.ndim == 2 else 1
    if places.ndim > 2 or columns != len(dims) or tensor(sparse_values, "").ndim > 1:
        raise ExprError(
            f"topi.sparse_to_dense: indices of shape {list(places.shape)} and values of shape "
            f"{list(sparse_values.shape)} do not fit {len(dims)} dimensions"
        )
    one_place = places.ndim == 0
    dtype = sparse_values.dtype

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        (index, values), out = ins, outs[0]

        def fill(place: tuple[Any, ...]) -> None:
            out[place] = scalar(default_value, dtype)

        def put(i: tuple[Any, ...]) -> None:
            position = [
                ib.let("place", from_end(index[(*i, k) if places.ndim == 2 else i or 0], dim))
                for k, dim in enumerate(dims)
            ]
            out[tuple(position)] = values[i if sparse_values.ndim and i else 0]

        loops(ib, dims, fill)
        loops(ib, [] if one_place else places.shape[:1], put)

    return extern(dims, [places, sparse_values], write, "T_sparse_to_dense", dtype)


def matrix_set_diag(
    data: Tensor, diagonal: Tensor, k: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Return matrices with diagonals replaced.

    Args:
        data: matrices, in the last two dimensions.
        diagonal: what stands there; with several diagonals, the uppermost first, a row for each.
        k: which diagonal, positive above the main one; a pair for all from one to the other.
        align: how rows of shorter diagonals above and below the main one stand: to the RIGHT or
            the LEFT.

    Raises:
        ExprError: the dimensions or the alignment do not fit.
    """
    first, last = (k[0], k[-1]) if isinstance(k, (list, tuple)) else (k, k)
    sides = {"LEFT": False, "RIGHT": True}
    words = align.split("_")
    if len(words) != 2 or any(word not in sides for word in words) or first > last:
        raise ExprError(f"topi.matrix_set_diag: k {k}, align '{align}'")
    above, below = (sides[word] for word in words)
    several = first != last
    if tensor(data, "matrix_set_diag").ndim < 2 or diagonal.ndim != data.ndim - 1 + several:
        raise ExprError(f"topi.matrix_set_diag: {diagonal} does not fit {data}")
    rows, columns, longest = *data.shape[-2:], diagonal.shape[-1]

    def element(*i: Any) -> PrimExpr:
        row, column = i[-2:]
        offset = column - row
        here = functions.all(offset >= first, offset <= last)
        place = functions.min(row, column)
        if several:
            # A short diagonal at the right begins with so many places that are none of it.
            length = functions.min(
                functions.min(rows + functions.min(offset, 0), columns - functions.max(offset, 0)),
                cast(const(0, SIZE) + longest, SIZE),
            )
            moved = Select(offset >= 0, const(int(above), SIZE), const(int(below), SIZE))
            place = place + moved * (longest - length)
        near = functions.max(functions.min(place, longest - 1), 0)
        which = [functions.max(functions.min(last - offset, last - first), 0)] if several else []
        return functions.if_then_else(here, diagonal[(*i[:-2], *which, near)], data[i])

    return compute(data.shape, element, name="T_matrix_set_diag")
