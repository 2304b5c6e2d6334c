"""The passes `simplify-inference` and `simplify-known-statistics`: decompose normalizations."""

from collections.abc import Callable
from functools import partial

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.relax.side_effects import (
    functions_to_optimize,
    returned_values,
    written_values,
)
from relax_mlir.lowering.relax_to_tir.decompose import batch_norm, dropout, layer_norm, replace
from relax_mlir.lowering.walk import INNER_FIRST, collect, defining_op

# Operation -> (what it is written as, whether its results can be its operands themselves).
_RULES: dict[str, tuple[Callable[..., ir.Value | None], bool]] = {
    "relax.batch_norm": (partial(batch_norm, training=False, folded=True), True),
    "relax.dropout": (dropout, True),
    "relax.layer_norm": (layer_norm, False),
}


def simplify_inference(module: ir.Operation) -> None:
    """Write out batch and layer normalisation and dropout in simpler operations.

    The module is taken to be used for inference: `batch_norm` takes the running statistics whatever
    its attribute `training` says, and `dropout` changes nothing. An infinite factor of `batch_norm`
    gives NaN, as its mean is multiplied too. An operation whose operands are known too little to do
    so stays.
    """
    _simplify(module, lambda op: op.name in _RULES)


def simplify_known_statistics(module: ir.Operation) -> None:
    """Write out the batch normalisations whose parameters are finite constants, except in training.

    FoldConstant then leaves one multiplication and one addition by channel of them, and
    FoldScaleAxis the addition alone where a convolution comes before.
    """
    _simplify(module, _has_known_statistics)


def _has_known_statistics(op: ir.Operation) -> bool:
    return (
        op.name == "relax.batch_norm"
        and not read_attributes(op, COMPUTE_OPS["batch_norm"].PARAMS)["training"]
        and all(_is_finite_constant(value) for value in list(op.operands)[1:])
    )


def _is_finite_constant(value: ir.Value) -> bool:
    op = defining_op(value, "relax.constant")
    return op is not None and bool(np.isfinite(constant_array(op.attributes["value"])).all())


def _simplify(module: ir.Operation, chosen: Callable[[ir.Operation], bool]) -> None:
    for func in functions_to_optimize(module):
        ops = collect(func, chosen, INNER_FIRST)
        written, returned = (written_values(func), returned_values(func)) if ops else ((), ())
        for op in ops:
            decompose, may_alias = _RULES[op.name]
            fields = [use.owner.operation.results for use in op.results[0].uses]
            named = [op.results[0], *(value for results in fields for value in results)]
            # Two tensors must stay two where something may write to one of them, in this function
            # or, to its results, around it.
            both = any(v in returned for v in named) and any(v in returned for v in op.operands)
            own = may_alias and (bool(written) or both)
            value = decompose(op, own)
            if value is not None:
                replace(op, value)
