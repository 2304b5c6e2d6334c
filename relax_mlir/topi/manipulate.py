"""Shape manipulation."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import arithmetic, functions
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.topi.blocks import joined, reshaped
from relax_mlir.topi.support import axes_of, axis_of, same, shape_of, size, tensor


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Return a tensor with its axes in another order, by default the opposite one.

    Raises:
        ExprError: `axes` names not every axis once.
    """
    ndim = tensor(a, "transpose").ndim
    order = list(range(ndim))[::-1] if axes is None else [
        axis_of(axis, ndim, "transpose") for axis in axes
    ]  # fmt: skip
    if sorted(order) != list(range(ndim)):
        raise ExprError(f"topi.transpose: axes {axes} are no order of {ndim} dimensions")
    back = [order.index(axis) for axis in range(ndim)]
    return compute(
        [a.shape[axis] for axis in order], lambda *i: a[tuple(i[p] for p in back)],
        name="T_transpose",
    )  # fmt: skip


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """Return a tensor with axes of one element inserted."""
    ndim = tensor(a, "expand_dims").ndim
    axis = axis_of(axis, ndim + 1, "expand_dims")
    shape = [*a.shape[:axis], *[1] * num_newaxis, *a.shape[axis:]]
    return reshaped("T_expand_dims", a, shape)


def squeeze(a: Tensor, axis: Any = None) -> Tensor:
    """Return a tensor without axes of one element: these, or all there are.

    Raises:
        ExprError: an axis is not known to have one element.
    """
    dims = tensor(a, "squeeze").shape
    if axis is None:
        gone = [i for i, dim in enumerate(dims) if same(dim, 1)]
    else:
        gone = axes_of(axis, len(dims), "squeeze")
    for i in gone:
        if not same(dims[i], 1):
            raise ExprError(f"topi.squeeze: dimension {i} has {dims[i]} elements, not 1")
    left = [dim for i, dim in enumerate(dims) if i not in gone]
    return reshaped("T_squeeze", a, left)


def reshape(a: Tensor, newshape: Any) -> Tensor:
    """Return the elements in row-major order in another shape; one size can be -1.

    Raises:
        ExprError: the shape is not known to have as many elements.
    """
    items = list(newshape) if isinstance(newshape, (list, tuple)) else [newshape]
    open_ = [i for i, item in enumerate(items) if isinstance(item, int) and item == -1]
    dims = list(shape_of([1 if i in open_ else x for i, x in enumerate(items)], "reshape"))
    total = SymExpr.of(size(tensor(a, "reshape").shape))
    if len(open_) > 1:
        raise ExprError(f"topi.reshape: only one size of {newshape} can be -1")
    if open_ and not same(size(dims), 0):
        dims[open_[0]] = plain(total // size(dims))
    if not same(plain(total), size(dims)):
        raise ExprError(
            f"topi.reshape: {list(a.shape)} has {total} elements, {newshape} has {size(dims)}"
        )
    return reshaped("T_reshape", a, dims)


def flatten(a: Tensor) -> Tensor:
    """Return all elements in one dimension."""
    return reshape(a, [-1])


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Return tensors put one after another along an axis.

    Raises:
        ExprError: there is none, or the other dimensions are not known to be equal.
    """
    tensors = [tensor(each, "concatenate") for each in a_tuple]
    if not tensors:
        raise ExprError("topi.concatenate takes one tensor or more")
    first = tensors[0]
    axis = axis_of(axis, first.ndim, "concatenate")
    starts: list[list[Dim]] = []
    total = SymExpr.const(0)
    for each in tensors:
        equal = each.ndim == first.ndim and all(
            i == axis or same(a, b)
            for i, (a, b) in enumerate(zip(each.shape, first.shape, strict=True))
        )
        if not equal or each.dtype != first.dtype:
            raise ExprError(f"topi.concatenate: {each} does not go with {first} along axis {axis}")
        starts.append([plain(total) if i == axis else 0 for i in range(first.ndim)])
        total = total + each.shape[axis]
    shape = [plain(total) if i == axis else dim for i, dim in enumerate(first.shape)]
    distinct = list({id(each): each for each in tensors}.values())
    if len(distinct) < len(tensors):
        from relax_mlir.topi.elementwise import identity

        seen: set[int] = set()
        for i, each in enumerate(tensors):
            tensors[i] = identity(each) if id(each) in seen else each
            seen.add(id(each))
    return joined("T_concat", tensors, shape, starts)


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Return tensors of one shape side by side along a new axis."""
    if isinstance(tensors, Tensor):
        raise ExprTypeError(f"topi.stack takes a list of tensors, got one, {tensors!r}")
    if not tensors:
        raise ExprError("topi.stack takes one tensor or more")
    first = tensor(tensors[0], "stack")
    for each in tensors[1:]:
        if list(map(SymExpr.of, tensor(each, "stack").shape)) != list(map(SymExpr.of, first.shape)):
            raise ExprError(
                f"topi.stack takes tensors of one shape, got {list(first.shape)} and "
                f"{list(each.shape)}"
            )
    axis = axis_of(axis, tensors[0].ndim + 1, "stack")
    return concatenate([expand_dims(each, axis) for each in tensors], axis)


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Return parts of a tensor along an axis: so many of one size, or cut at these places."""
    axis = axis_of(axis, tensor(ary, "split").ndim, "split")
    dim = SymExpr.of(ary.shape[axis])
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1:
            raise ExprError(f"topi.split: there are no {indices_or_sections} parts")
        part = dim.ceildiv(indices_or_sections)
        cuts: list[Any] = [part * i for i in range(1, indices_or_sections)]
    else:
        cuts = list(indices_or_sections)
    ends = [*cuts, dim]
    return [
        strided_slice(ary, [plain(SymExpr.of(a))], [plain(SymExpr.of(b))], axes=[axis])
        for a, b in zip([0, *cuts], ends, strict=True)
    ]


def strided_slice(
    a: Tensor, begin: Sequence[Any], end: Sequence[Any], strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None, slice_mode: str = "end",
    assume_inbound: bool = True,
) -> Tensor:  # fmt: skip
    """Return every so many elements from `begin` to before `end`, by numpy's rules.

    Args:
        a: the tensor.
        begin: where to begin in each axis; None is where a slice of that direction begins.
        end: where to end; with `slice_mode="size"` how many, -1 for all that are left.
        strides: by default 1.
        axes: the axes that are sliced, by default the first ones.
        slice_mode: `end` or `size`.
        assume_inbound: as in TVM, of no consequence here: what is outside is left out.

    Raises:
        ExprError: there are not as many of each, or a stride is 0.
    """
    ndim = tensor(a, "strided_slice").ndim
    steps = list(strides) if strides else [1] * len(begin)
    if len(steps) < len(begin):
        steps += [1] * (len(begin) - len(steps))
    if len(begin) != len(end) or len(begin) > ndim:
        raise ExprError(f"topi.strided_slice: begin {begin} and end {end} do not fit {ndim} axes")
    if slice_mode not in ("end", "size"):
        raise ExprError(f"topi.strided_slice: slice_mode is 'end' or 'size', got '{slice_mode}'")
    chosen = range(len(begin)) if axes is None else [
        axis_of(x, ndim, "strided_slice") for x in axes
    ]  # fmt: skip
    starts: list[Any] = [0] * ndim
    strides_of = [1] * ndim
    shape = list(a.shape)
    for axis, first, last, step in zip(chosen, begin, end, steps, strict=True):
        if slice_mode == "size":
            last = None if isinstance(last, int) and last == -1 else SymExpr.of(first) + last
            step = 1
        starts[axis], shape[axis] = _bounds(SymExpr.of(a.shape[axis]), first, last, step)
        strides_of[axis] = step
    return compute(
        shape,
        lambda *i: a[tuple(
            x * step + start for x, start, step in zip(i, starts, strides_of, strict=True)
        )],
        name="T_strided_slice",
    )  # fmt: skip


def _bounds(dim: SymExpr, first: Any, last: Any, step: int) -> tuple[Dim, Dim]:
    if step == 0:
        raise ExprError("topi.strided_slice: a stride is 0")
    low, high = (SymExpr.const(0), dim) if step > 0 else (SymExpr.const(-1), dim - 1)

    def clamped(value: Any, default: SymExpr) -> SymExpr:
        if value is None:
            return default
        place = SymExpr.of(value)
        if place.value is not None and place.value < 0:
            place = place + dim
        return place.max(low).min(high)

    start = clamped(first, low if step > 0 else high)
    stop = clamped(last, high if step > 0 else low)
    span = stop - start if step > 0 else start - stop
    return plain(start), plain(span.ceildiv(abs(step)).max(0))


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """Return a tensor with the elements along an axis in the opposite order."""
    axis = axis_of(axis, tensor(a, "flip").ndim, "flip")
    last = SymExpr.of(a.shape[axis]) - 1
    return compute(
        a.shape, lambda *i: a[tuple(last - x if p == axis else x for p, x in enumerate(i))],
        name="T_flip",
    )  # fmt: skip


def roll(a: Tensor, shift: int, axis: int = 0) -> Tensor:
    """Return a tensor with the elements moved along an axis, the last ones to the beginning."""
    axis = axis_of(axis, tensor(a, "roll").ndim, "roll")
    size = a.shape[axis]
    moved = plain(SymExpr.of(shift) % SymExpr.of(size).max(1))

    def element(*i: Any) -> Any:
        def at(place: Any) -> Any:
            return a[tuple(place if p == axis else x for p, x in enumerate(i))]

        # Two places that vectors can load from; a remainder would have a gather.
        back = i[axis] - moved
        return functions.if_then_else(i[axis] < moved, at(back + size), at(back))

    return compute(a.shape, element, name="T_roll")


def tile(a: Tensor, reps: Any) -> Tensor:
    """Return a tensor repeated as a whole, so many times along each axis."""
    times = list(reps) if isinstance(reps, (list, tuple)) else [reps]
    source = tensor(a, "tile")
    ndim = max(len(times), source.ndim)
    dims = [1] * (ndim - source.ndim) + list(source.shape)
    times = [1] * (ndim - len(times)) + times
    shape = [plain(SymExpr.of(dim) * count) for dim, count in zip(dims, times, strict=True)]
    skip = ndim - source.ndim

    def element(*i: Any) -> Any:
        # An axis that is not repeated needs no remainder.
        return source[tuple(
            x if same(count, 1) else 0 if same(dim, 1) else x % dim
            for x, dim, count in zip(i[skip:], source.shape, times[skip:], strict=True)
        )]  # fmt: skip

    return compute(shape, element, name="T_tile")


def repeat(a: Tensor, repeats: int, axis: int = 0) -> Tensor:
    """Return a tensor with each element repeated along an axis."""
    axis = axis_of(axis, tensor(a, "repeat").ndim, "repeat")
    shape = [
        plain(SymExpr.of(dim) * repeats) if p == axis else dim for p, dim in enumerate(a.shape)
    ]
    return compute(
        shape,
        lambda *i: a[tuple(
            arithmetic.binary("floordiv", x, repeats) if p == axis else x for p, x in enumerate(i)
        )],
        name="T_repeat",
    )  # fmt: skip


def expand_like(a: Tensor, shape_like: Tensor, axis: Any) -> Tensor:
    """Return a tensor with new axes, repeated along them to the shape of another one.

    Args:
        a: the tensor.
        shape_like: of its dimensions and the new ones.
        axis: the new axes, in `shape_like`.

    Raises:
        ExprError: the dimensions do not fit.
    """
    given = axes_of(axis, tensor(shape_like, "expand_like").ndim, "expand_like")
    kept = [i for i in range(shape_like.ndim) if i not in given]
    fits = len(kept) == tensor(a, "expand_like").ndim and all(
        same(dim, shape_like.shape[i]) for dim, i in zip(a.shape, kept, strict=True)
    )
    if not fits:
        raise ExprError(f"topi.expand_like: {a} with new axes {given} is not like {shape_like}")
    return compute(shape_like.shape, lambda *i: a[tuple(i[k] for k in kept)], name="T_expand_like")


def dyn_tile(a: Tensor, new_shape: Any, rdim: int) -> Tensor:
    """Return a tensor repeated as a whole to a shape, `rdim` times of which are given."""
    dims = shape_of(new_shape, "dyn_tile")
    skip = len(dims) - tensor(a, "dyn_tile").ndim
    if skip < 0 or rdim > len(dims):
        raise ExprError(f"topi.dyn_tile: {a} does not repeat to {list(dims)}")
    return compute(
        dims, lambda *i: a[tuple(x % d for x, d in zip(i[skip:], a.shape, strict=True))],
        name="T_tile",
    )  # fmt: skip
