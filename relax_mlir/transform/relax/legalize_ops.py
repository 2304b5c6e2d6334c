"""The pass `legalize-ops`: operations become `call_tir` of prim funcs; topi has those on images."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.op_names import IMAGE
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, infer_result
from relax_mlir.dialects.relax.ops.params import read_attributes
from relax_mlir.dialects.relax.ops.vision import pooled_bins
from relax_mlir.dialects.relax.tuples import get_item, make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.errors import ExprError
from relax_mlir.lowering.relax_to_tir import legalize_ops as lowering
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer, matched
from relax_mlir.lowering.relax_to_tir.support.imperative import class_annotation
from relax_mlir.relax.expr.call import Op
from relax_mlir.transform.relax.custom_legalization import customize

# Kernels that are loops with conditions, and what class reports give them.
_CLASSES = {
    "roi_align": "gather", "roi_pool": "gather", "get_valid_counts": "scatter",
    "non_max_suppression": "sort", "all_class_non_max_suppression": "sort",
}  # fmt: skip


def _legalize(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise an operation of which topi has a function of the same name."""
    value = _kernel(legalizer, op, infer_result(op))
    return None if value is None else matched(op, value)


def _legalize_boxes(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise what reads certain numbers of each box: how many there are has to be known."""
    dims = T.tensor_dims(op.operands[0].type)
    return None if dims is None or dims[2].value is None else _legalize(legalizer, op)


def _legalize_all_classes(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise the boxes of all classes; of the rows for all boxes those that count are kept."""
    inferred = infer_result(op)
    scores = T.tensor_dims(op.operands[1].type)
    if T.tensor_ndim(inferred.get_type(0)) == 3:
        return _legalize(legalizer, op)
    if scores is None:
        return None
    rows = scores[0] * scores[1] * scores[2]
    every = T.tensor_type([rows, SymExpr.const(3)], "int64")
    types = ir.TupleType.get_tuple([every, inferred.get_type(1)])
    kernel = _kernel(legalizer, op, types)
    if kernel is None:
        return None
    with ir.InsertionPoint(op), op.location:
        places, total = get_item(kernel, 0), get_item(kernel, 1)
        size = legalizer.counted_size(op, total)
        result = T.tensor_type([size, SymExpr.const(3)], "int64")
    kept = legalizer.call_prim(op, "first_rows", [places], _first_rows, result=result)
    if kept is None:
        return None
    with ir.InsertionPoint(op), op.location:
        return matched(op, make_tuple([kept, total]))


def _first_rows(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
    source, out = buffers
    with builder.nest("first_rows", spatial(out.dims)) as place:
        out.store(source[tuple(place)], tuple(place))


def _kernel(legalizer: Legalizer, op: ir.Operation, result: ir.Type) -> ir.Value | None:
    """Return the result of topi's kernel, None where not enough is known for one."""
    name = op.name.removeprefix("relax.")
    operands = [value for value in op.operands if T.is_tensor(value.type)]
    attrs = read_attributes(op, COMPUTE_OPS[name].PARAMS)
    tensors = _tensors(name, list(op.operands), attrs)
    if tensors is None:
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        from relax_mlir.te.prim_func import write_tensors

        if name not in _CLASSES:
            write_tensors(builder, tensors)
            return
        # One block: what its loops do is said once, as nothing can be read off them.
        with builder.block(name, [], annotations=class_annotation(_CLASSES[name])):
            write_tensors(builder, tensors)

    return legalizer.call_prim(op, name, operands, body, str(attrs), result=result)


def _tensors(name: str, operands: Sequence[ir.Value], attrs: dict[str, Any]) -> list[Any] | None:
    """Return te tensors for the operands, and what topi makes of them."""
    from relax_mlir.te.operation import placeholder
    from relax_mlir.topi import image, vision

    if name == "affine_grid":
        # The shape of the grid is no tensor.
        shape = T.shape_dims(operands[1].type)
        if shape is None:
            return None
        sizes = [dim if dim.value is None else dim.value for dim in shape]
        operands, attrs = operands[:1], {**attrs, "target_shape": sizes}
    shapes = T.all_dims([value.type for value in operands])
    dtypes = [T.tensor_dtype(value.type) for value in operands]
    if shapes is None or not all(dtypes):
        return None
    inputs = [
        placeholder([dim if dim.value is None else dim.value for dim in dims], dtype, chr(65 + i))
        for i, (dims, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    ]
    if "pooled_size" in attrs:
        attrs = {**attrs, "pooled_size": pooled_bins(attrs["pooled_size"])}
    try:
        made = getattr(image if name in IMAGE else vision, name)(*inputs, **attrs)
    except ExprError:  # sizes of which only run time knows whether they fit
        return None
    return [*inputs, *(made if isinstance(made, (list, tuple)) else [made])]


BY_TOPI = {
    "affine_grid": _legalize,
    "grid_sample": _legalize,
    "roi_align": _legalize,
    "roi_pool": _legalize,
    "multibox_transform_loc": _legalize,
    "get_valid_counts": _legalize_boxes,
    "non_max_suppression": _legalize_boxes,
    "all_class_non_max_suppression": _legalize_all_classes,
}


def legalize_ops(
    module: ir.Operation,
    customize_legalize_map: Mapping[str, Any] | None = None,
    skip_ops: Sequence[str] = (),
    enable_warning: bool = False,
) -> None:
    """Replace every computation in the module's Relax functions.

    Args:
        module: a `builtin.module`.
        customize_legalize_map: `f(builder, call)` by the name of an operation, called before.
        skip_ops: names of operations that stay.
        enable_warning: warn of operations that become calls of the runtime's library, as too little
            is known for a kernel.

    Raises:
        ExprError: there is no operation of a name.
    """
    if customize_legalize_map:
        customize(module, customize_legalize_map)
    skipped = frozenset(Op.get(name).mlir_name.removeprefix("relax.") for name in skip_ops)
    for name in lowering.legalize_ops(module, BY_TOPI, skipped):
        if enable_warning:
            message = f"LegalizeOps: no kernel for '{name}', the runtime's library computes it"
            warnings.warn(message, stacklevel=2)
