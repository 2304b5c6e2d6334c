"""Gradients of operations, `R.grad`: what a change of the result asks of an operand."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops import convolution, index, loss  # noqa: F401 - they declare
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, Param, declare

_GRAD = Param("output_grad", "tensor")


def _second(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return types[1]


for _name, _of in (
    ("nll_loss", "predictions"), ("max_pool2d", "data"), ("avg_pool2d", "data"), ("take", "x"),
):  # fmt: skip
    _params = [param for param in COMPUTE_OPS[_name].PARAMS if param.name != "mode"]
    declare(
        f"grad_{_name}_backward",
        f"The gradient of a function of `{_name}` by {_of}, given that by the result.",
        [_GRAD, *_params],
        _second,
    )
