"""Pooling over windows."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.conversion import cast, const
from relax_mlir.tir.scalar.dtypes import lowest
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.nn.convolution import around, counts, pad, windows
from relax_mlir.topi.reduce import FUNCTIONS as REDUCTIONS
from relax_mlir.topi.reduce import mean
from relax_mlir.topi.support import narrowed, tensor, wide_of

_SPATIAL = "DHW"


def _places(layout: str, ndim: int) -> list[int]:
    places = [i for i, letter in enumerate(layout) if letter in _SPATIAL]
    if len(layout) != ndim or len(places) != ndim - 2:
        raise ExprError(f"topi.nn: layout '{layout}' does not fit {ndim} dimensions")
    return places


def _kind(pool_type: str) -> bool:
    """Return whether it is the maximum."""
    if pool_type not in ("max", "avg"):
        raise ExprError(f"topi.nn: pool_type is 'max' or 'avg', got '{pool_type}'")
    return pool_type == "max"


def _pool(
    data: Tensor, kernel: Any, stride: Any, dilation: Any, padding: Any, pool_type: str,
    ceil_mode: bool = False, layout: str = "", count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    places = _places(layout, tensor(data, "nn.pool").ndim)
    rank, largest = len(places), _kind(pool_type)
    window = windows(kernel, rank, "kernel")
    steps, dilations = windows(stride, rank, "stride"), windows(dilation, rank, "dilation")
    sizes = [data.shape[axis] for axis in places]
    ends = around(padding, window, dilations, steps, sizes)
    out = counts(sizes, window, steps, dilations, ends, ceil_mode)
    before, after = [0] * data.ndim, [0] * data.ndim
    shape: list[Dim] = list(data.shape)
    for i, axis in enumerate(places):
        # In ceil_mode the last window may hang over the end, by less than a stride.
        hanging = steps[i] - 1 if ceil_mode else 0
        before[axis], after[axis] = ends[i][0], ends[i][1] + hanging
        shape[axis] = out[i]
    image = pad(data, before, after, lowest(data.dtype) if largest else 0, name="pad_temp")
    over = [te.reduce_axis((0, width), f"r{i}") for i, width in enumerate(window)]
    wide = data.dtype if largest else wide_of(data.dtype)

    def element(*at: Any) -> PrimExpr:
        source: list[Any] = list(at)
        for axis, r, step, gap in zip(places, over, steps, dilations, strict=True):
            source[axis] = at[axis] * step + r * gap
        value = cast(image[tuple(source)], wide)
        return te.max(value, axis=over) if largest else te.sum(value, axis=over)

    made = compute(shape, element, name=f"T_pool_{pool_type}")
    if largest:
        return made

    def inside(at: Any, i: int, room: tuple[int, int]) -> PrimExpr:
        """Return how many positions of a window along an axis count."""
        start = at * steps[i]
        low = binary("max", const(0, "int64"), (const(room[0] - 1 + dilations[i], "int64") - start)
                     // dilations[i])  # fmt: skip
        end = sizes[i] + room[1] - start
        high = binary("min", const(window[i], "int64"), (end + dilations[i] - 1) // dilations[i])
        return high - low

    def average(*at: Any) -> PrimExpr:
        count: Any = const(1, "int64")
        for i, axis in enumerate(places):
            first, last = ends[i]
            room = (0, first + last) if count_include_pad else (first, first)
            count = count * inside(at[axis], i, room)
        # A window of padding only has nothing in it, and a mean of 0.
        return cast(made[at] / cast(binary("max", count, 1), wide), data.dtype)

    return compute(shape, average, name="T_pool_div")


def _of_rank(rank: int, layout: str) -> Callable[..., Tensor]:
    default = layout

    def function(
        data: Tensor, kernel: Any, stride: Any, dilation: Any, padding: Any, pool_type: str,
        ceil_mode: bool = False, layout: str = default, count_include_pad: bool = True,
    ) -> Tensor:  # fmt: skip
        return _pool(
            data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout,
            count_include_pad,
        )  # fmt: skip

    function.__name__ = function.__qualname__ = f"pool{rank}d"
    function.__doc__ = f"""Return the maximum or the mean (`pool_type` max, avg) of windows.

    The layout is {layout} by default; with `ceil_mode` the last window may hang over the end.
    """
    return function


FUNCTIONS = {
    f"pool{rank}d": _of_rank(rank, layout)
    for rank, layout in ((1, "NCW"), (2, "NCHW"), (3, "NCDHW"))
}


def _adaptive(rank: int, layout: str) -> Callable[..., Tensor]:
    default = layout

    def function(data: Tensor, output_size: Any, pool_type: str, layout: str = default) -> Tensor:
        return adaptive_pool(data, output_size, pool_type, layout)

    function.__name__ = function.__qualname__ = f"adaptive_pool{rank}d"
    function.__doc__ = f"Pool into so many windows along each axis of {layout}, equal or nearly."
    return function


FUNCTIONS |= {f"adaptive_pool{rank}d": _adaptive(rank, x) for rank, x in ((1, "NCW"), (3, "NCDHW"))}


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Return the maximum or the mean of all spatial positions, which stay as axes of one."""
    places = _places(layout, tensor(data, "nn.global_pool").ndim)
    return (REDUCTIONS["max"] if _kind(pool_type) else mean)(data, places, True)


def adaptive_pool(
    data: Tensor, output_size: Sequence[int], pool_type: str, layout: str = "NCHW"
) -> Tensor:
    """Return the maximum or the mean of so many windows along each spatial axis, equal or nearly.

    Raises:
        ExprError: there is not one number for each spatial axis.
    """
    places = _places(layout, tensor(data, "nn.adaptive_pool").ndim)
    wanted = windows(output_size, len(places), "output_size")
    largest, wide = _kind(pool_type), wide_of(data.dtype)
    wide = data.dtype if largest else wide
    lengths = [SymExpr.of(data.shape[axis]) for axis in places]
    equal = [(size // count).value for size, count in zip(lengths, wanted, strict=True)]
    equal = [size for size in equal if size]
    if len(equal) == len(places) and all(
        length == count * size for length, count, size in zip(lengths, wanted, equal, strict=True)
    ):
        return _pool(data, equal, equal, 1, 0, pool_type, layout=layout)
    shape: list[Dim] = list(data.shape)
    over = []
    for axis, count in zip(places, wanted, strict=True):
        size = SymExpr.of(shape[axis])
        shape[axis] = count
        # No window is longer than this.
        over.append(te.reduce_axis((0, (size + count - 1) // count + 1), f"r{axis}"))

    def bounds(i: int, at: Any) -> tuple[PrimExpr, PrimExpr]:
        size, place = data.shape[places[i]], at[places[i]]
        start = place * size // wanted[i]
        return start, ((place + 1) * size + wanted[i] - 1) // wanted[i]

    def element(*at: Any) -> PrimExpr:
        source: list[Any] = list(at)
        within = None
        for i, axis in enumerate(places):
            start, end = bounds(i, at)
            source[axis] = start + over[i]
            test = source[axis] < end
            within = test if within is None else binary("and", within, test)
        value = cast(data[tuple(source)], wide)
        return (te.max if largest else te.sum)(value, axis=over, where=within)

    made = compute(shape, element, name="adaptive_pool")
    if largest:
        return made

    def average(*at: Any) -> PrimExpr:
        count: Any = const(1, "int64")
        for i in range(len(places)):
            start, end = bounds(i, at)
            count = count * (end - start)
        return cast(made[at] / cast(count, wide), data.dtype)

    return narrowed(compute(shape, average, name="adaptive_pool_div"), data.dtype, "T_cast")
