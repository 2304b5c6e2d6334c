"""Results whose size depends on data: distinct elements, repetitions, counts."""

from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.torch.importer import Importer, target_name
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr.types import TensorType
from relax_mlir.relax.expr.values import ShapeExpr


def _count_name(m: Importer) -> str:
    """Return the name of the size that only run time knows."""
    names = [symbol.name for symbol in m.node.meta.get("unbacked_bindings") or {}]
    return names[0] if names else m.block_builder.get_unique_name("count")


@converts("_unique2.default", "unique_dim.default")
def _unique(m: Importer, x: Any, *args: Any, **_: Any) -> list[Any]:
    """Return distinct elements, or parts along an axis, which of them each is, and how many.

    torch gives them ascending, whatever `sorted` says.
    """
    is_flat = target_name(m.node) == "aten._unique2.default"
    axis = None if is_flat else args[0] % x.ty.ndim
    made = m.emit(op.unique(x, True, False, True, True, axis=axis))
    dims: list[Any] = [None] if axis is None else list(x.ty.dims)
    dims[axis or 0] = _count_name(m)
    values = m.block_builder.match_cast(m.emit(made[0]), TensorType(dims, m.dtype))
    inverse = m.cast(made[1], "int64")
    inverse = op.reshape(inverse, ShapeExpr(x.ty.dims) if is_flat else (-1,))
    others = [inverse, m.cast(made[2], "int64")]
    # Those that the program does not ask for are empty for torch.
    nothing = op.zeros((0,), "int64")
    # A size that only run time knows is no `int`.
    sizes = [fake.shape[0] if fake.ndim == 1 else 1 for fake in m.value[1:]]
    is_asked = [not isinstance(size, int) or size > 0 for size in sizes]
    return [values, *(each if is_asked[i] else nothing for i, each in enumerate(others))]


@converts("unique_consecutive.default")
def _unique_consecutive(
    m: Importer, x: Any, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> list[Any]:  # fmt: skip
    """Return an element, or part along an axis, of each run of equal ones; runs; their lengths."""
    shape: Any = ShapeExpr(x.ty.dims) if dim is None else (-1,)
    if dim is None:
        x, dim = m.emit(op.reshape(x, (-1,))), 0
    axis = dim % x.ty.ndim
    count = x.ty.dims[axis]
    before = op.strided_slice(x, axes=[axis], begin=[0], end=[count - 1])
    differs = op.not_equal(op.strided_slice(x, axes=[axis], begin=[1], end=[count]), before)
    others = [i for i in range(x.ty.ndim) if i != axis]
    if others:
        differs = op.max(m.cast(differs, "int8"), axis=others)
    # Nothing has no first run.
    first = op.ones([SymExpr.min(count, SymExpr.const(1))], "int64")
    begins = m.emit(op.concat([first, m.cast(m.emit(differs), "int64")], axis=0))
    places = op.squeeze(m.cast(op.nonzero(begins), "int64"), axis=[0])
    runs = SymExpr.var(_count_name(m))
    places = m.block_builder.match_cast(m.emit(places), TensorType([runs], "int64"))
    ends = op.concat([places, op.full((1,), m.cast(count, "int64"), "int64")], axis=0)
    lengths = op.subtract(op.strided_slice(ends, [0], [1], [runs + 1]), places)
    run_of = op.subtract(op.cumsum(begins, axis=0), m.cast(1, "int64"))
    # What torch has for those that are not asked for differs from what it traced.
    return [
        op.take(x, places, axis=axis),
        op.reshape(run_of, shape) if return_inverse else None,
        lengths if return_counts else None,
    ]


@converts("repeat_interleave.Tensor")
def _repeat_interleave(m: Importer, repeats: Any, output_size: Any = None) -> Any:
    """Return each index as often as a tensor says."""
    ends = m.emit(op.cumsum(m.cast(repeats, "int64"), axis=0))
    if output_size is None:
        # The last end, 0 of nothing.
        total = m.emit(op.sum(m.cast(repeats, "int64")))
        output_size = m.bind_size(total, _count_name(m))
    places = op.arange(0, output_size, 1, "int64")
    return m.cast(op.searchsorted(ends, places, right=True), m.dtype)


@converts("bincount.default")
def _bincount(m: Importer, x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Return how often each number occurs, or the sums of its weights."""
    ends = op.concat([op.add(m.cast(x, "int64"), m.cast(1, "int64")),
                      op.full((1,), m.cast(minlength, "int64"), "int64")], axis=0)  # fmt: skip
    count = m.bind_size(m.emit(op.max(ends)), _count_name(m))
    added: Any = op.ones(x.ty.dims, m.dtype) if weights is None else m.cast(weights, m.dtype)
    zeros = op.zeros([count], m.dtype)
    return op.scatter_elements(zeros, m.cast(x, "int64"), added, 0, reduction="add")


@converts("nonzero_static.default")
def _nonzero_static(m: Importer, x: Any, *, size: int, fill_value: int = -1) -> Any:
    """Return the places of the first elements that are not zero, and a number for what is left."""
    rank = x.ty.ndim
    places = op.permute_dims(m.cast(op.nonzero(x), "int64"))
    count = m.block_builder.get_unique_name("count")
    places = m.block_builder.match_cast(m.emit(places), TensorType((count, rank), "int64"))
    rest = op.full((size, rank), m.cast(fill_value, "int64"), "int64")
    return op.strided_slice(m.emit(op.concat([places, rest], axis=0)), [0], [0], [size])
