"""Operations of the tensor dialect, and `affine.apply` of sizes."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.errors import ExprError
from relax_mlir.frontend.mlir.stablehlo.shape import padded, updated
from relax_mlir.frontend.mlir.upstream.bodies import Inputs, call_prim, captured, evaluate
from relax_mlir.frontend.mlir.upstream.linalg import affine
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import Value, materialize, of_ints
from relax_mlir.relax import op

# How the dialects write a size in an attribute that an operand gives.
_DYNAMIC = -(2**63)


def _mixed(m: Any, name: str, first: int) -> tuple[list[SymExpr], int]:
    """Return sizes of which an attribute has the static ones, and operands the others.

    Args:
        m: the import.
        name: of the attribute.
        first: which operand is the first of them.

    Returns:
        The sizes, and the operand after the last.
    """
    sizes = []
    for static in m.attr(name):
        if static == _DYNAMIC:
            sizes += m.sizes(first)
            first += 1
        else:
            sizes.append(SymExpr.of(static))
    return sizes, first


def _result_dims(m: Any, first: int) -> list[SymExpr]:
    """Return the dimensions of the result, the dynamic ones given by operands."""
    dims = []
    for dim in m.shape():
        if dim is None:
            dims += m.sizes(first)
            first += 1
        else:
            dims.append(SymExpr.of(dim))
    return dims


@converts("tensor", "empty")
def _empty(m: Any) -> Any:
    return op.zeros(_result_dims(m, 0), m.dtype())


@converts("tensor", "splat")
def _splat(m: Any) -> Any:
    m.note_narrow(m.x(0))
    return op.full(_result_dims(m, 1), m.x(0), m.dtype())


@converts("tensor", "cast")
def _cast(m: Any) -> Any:
    return m.value(0)


@converts("tensor", "dim")
def _dim(m: Any) -> Any:
    (axis,) = m.sizes(1)
    dims = m.dims(0)
    if axis.value is None or not 0 <= axis.value < len(dims):
        raise ExprError(f"dimension {axis} of a tensor with {len(dims)} dimensions")
    return of_ints(dims[axis.value])


@converts("tensor", "rank")
def _rank(m: Any) -> Any:
    return of_ints(len(m.dims(0)))


@converts("tensor", "from_elements")
def _from_elements(m: Any) -> Any:
    return op.reshape(op.concat([op.reshape(x, (1,)) for x in m.xs()], axis=0), m.shape())


@converts("tensor", "extract")
def _extract(m: Any) -> Any:
    x = m.x(0)
    if not x.ty.ndim:
        return x
    places = [op.reshape(place, ()) for place in m.xs()[1:]]
    return op.index_tensor(x, places)


@converts("tensor", "collapse_shape")
def _collapse(m: Any) -> Any:
    dims = m.dims(0)
    made = []
    for group in m.attr("reassociation"):
        size = SymExpr.const(1)
        for axis in group:
            size = size * dims[axis]
        made.append(size)
    return op.reshape(m.x(0), made)


@converts("tensor", "expand_shape")
def _expand(m: Any) -> Any:
    sizes, _ = _mixed(m, "static_output_shape", 1)
    return op.reshape(m.x(0), sizes)


@converts("tensor", "reshape")
def _reshape(m: Any) -> Any:
    return op.reshape(m.x(0), m.sizes(1))


@converts("tensor", "concat")
def _concat(m: Any) -> Any:
    return op.concat(m.xs(), axis=m.attr("dim"))


@converts("tensor", "extract_slice")
def _extract_slice(m: Any) -> Any:
    offsets, after = _mixed(m, "static_offsets", 1)
    sizes, after = _mixed(m, "static_sizes", after)
    strides, _ = _mixed(m, "static_strides", after)
    steps = [stride.value for stride in strides if stride.value is not None]
    if len(steps) != len(strides):
        raise ExprError("the strides of a slice are only known at run time")
    x: Any = m.x(0)
    ends = [o + (s - 1) * t + 1 for o, s, t in zip(offsets, sizes, strides, strict=True)]
    axes = list(range(len(offsets)))
    if axes:
        x = m.emit(op.strided_slice(x, axes, offsets, ends, steps))
    for axis, size in enumerate(sizes):
        x = m.cast_shape(x, axis, size)
    dropped = _dropped(sizes, m.shape())
    return op.squeeze(x, axis=dropped) if dropped else x


def _dropped(sizes: Sequence[SymExpr], shape: Sequence[int | None]) -> list[int]:
    """Return which dimensions of size 1 a result of lower rank does without, the last ones first.

    Which of several it is makes no difference to the elements.
    """
    dropped: list[int] = []
    wanted = len(shape) - 1
    for axis in reversed(range(len(sizes))):
        is_kept = wanted >= 0 and sizes[axis].value in (None, shape[wanted])
        if is_kept or (wanted >= 0 and shape[wanted] is None and sizes[axis].value != 1):
            wanted -= 1
        else:
            dropped.insert(0, axis)
    return dropped


@converts("tensor", "insert_slice")
def _insert_slice(m: Any) -> Any:
    offsets, after = _mixed(m, "static_offsets", 2)
    sizes, after = _mixed(m, "static_sizes", after)
    strides, _ = _mixed(m, "static_strides", after)
    if any(stride.value != 1 for stride in strides):
        raise ExprError("a slice with strides is inserted, which cannot be imported")
    update = m.emit(op.reshape(m.x(0), sizes))
    dims = m.dims(1)
    axes = [i for i, (size, dim) in enumerate(zip(sizes, dims, strict=True)) if size != dim]
    return updated(m, m.x(1), update, offsets, axes)


@converts("tensor", "pad")
def _pad(m: Any) -> Any:
    low, after = _mixed(m, "static_low", 1)
    high, _ = _mixed(m, "static_high", after)
    region = m.op.regions[0]
    if any(True for argument in region.blocks[0].arguments for _ in argument.uses):
        raise ExprError("what is padded with depends on the place")
    (value,) = m.run_region(region, [Value("int64")] * len(low))
    return padded(m, m.x(0), materialize(value), low, high, [0] * len(low))


@converts("tensor", "generate")
def _generate(m: Any) -> Any:
    dims, region = _result_dims(m, 0), m.op.regions[0]
    inputs = Inputs(m)
    for value in captured(region):
        inputs.add(m.of(value))

    def body(builder: PrimFuncBuilder, outputs: Sequence[Buffer]) -> None:
        with builder.nest("generate", [("spatial", dim) for dim in dims]) as nest:
            iters = list(nest)
            arguments = dict(zip(region.blocks[0].arguments, iters, strict=True))
            (made,) = evaluate(m, region, builder, inputs, arguments, iters)
            outputs[0].store(made, tuple(iters))

    return call_prim(m, "generate", inputs, [(dims, m.dtype())], body)


_SIZES = {
    "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "mod": lambda a, b: a % b,
    "floordiv": lambda a, b: a // b,
}  # fmt: skip


@converts("affine", "apply")
def _apply(m: Any) -> Any:
    map_ = ir.AffineMapAttr(m.op.attributes["map"]).value
    sizes = [size for index in range(len(m.op.operands)) for size in m.sizes(index)]
    made = affine(map_.results[0], sizes, lambda name, a, b: _SIZES[name](a, b), SymExpr.const)
    return of_ints(made)
