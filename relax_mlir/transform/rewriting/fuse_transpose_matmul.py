"""The pass `fuse-transpose-matmul`: a product with a transposed matrix is one prim func."""

from typing import Any

from relax_mlir import te
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.relax.dpl import is_op, wildcard
from relax_mlir.relax.dpl.function_rewriter import FunctionRewriter
from relax_mlir.relax.dpl.rewrite import first_rewrite

_LEFT, _RIGHT = wildcard(), wildcard()
_TRANSPOSED = is_op("relax.permute_dims")(_RIGHT)
_PRODUCT = is_op("relax.matmul")(_LEFT, _TRANSPOSED)


def fuse_transpose_matmul(module: ir.Operation) -> None:
    """Make `call_tir` of a prim func `NT_matmul` of `matmul(x, permute_dims(w))`.

    The last two axes of `w` are exchanged and no others. Shapes are known.
    """
    for func in functions_to_optimize(module):
        edit = FunctionRewriter(module, func)

        def rewrite(expr: Any, lookup: Any, edit: FunctionRewriter = edit) -> Any:
            def replace(product: Any, matched: Any) -> Any:
                return _fused(edit, product, matched[_LEFT], matched[_RIGHT], matched[_TRANSPOSED])

            return first_rewrite(_PRODUCT, replace, expr, lookup)

        edit.sweep(rewrite)


def _fused(edit: FunctionRewriter, product: Any, left: Any, right: Any, transposed: Any) -> Any:

    dims = product.ty.dims
    known = all(getattr(each.ty, "dims", None) is not None for each in (left, right))
    rank = right.ty.ndim
    axes = list(range(rank))
    axes[-2:] = axes[-2:][::-1]
    given = transposed.attrs.get("axes")
    order = list(range(rank))[::-1] if given is None else [int(axis) % rank for axis in given]
    if not known or dims is None or rank < 2 or order != axes:
        return product
    dtype = product.ty.dtype

    def compute(a: Any, b: Any) -> Any:
        shape = [dim.value if dim.is_const else dim for dim in dims]
        k = te.reduce_axis((0, a.shape[-1]), name="k")
        is_vector = len(a.shape) == 1

        def element(*places: Any) -> Any:
            batch = places[: len(places) - (1 if is_vector else 2)]
            row = [] if is_vector else [places[-2]]
            first = a(*_batch(a, batch, 1 if is_vector else 2), *row, k)
            second = b(*_batch(b, batch, 2), places[-1], k)
            return te.sum(first.astype(dtype) * second.astype(dtype), axis=k)

        return te.compute(shape, element, name="NT_matmul")

    return edit.builder.call_te(compute, left, right, primfunc_name_hint="NT_matmul")


def _batch(tensor: Any, places: Any, rest: int) -> list[Any]:
    """Return the indices of a tensor's own batches: those of size 1 are broadcast."""
    own = len(tensor.shape) - rest
    return [
        0 if size == 1 else place
        for size, place in zip(tensor.shape[:own], places[len(places) - own :], strict=True)
    ]
