"""What passes that rewrite convolutions ask of them."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes

# Narrower ones would be rounded between the steps of a rewritten convolution.
_DTYPES = ("float32", "float64")


def attributes(op: ir.Operation) -> dict[str, Any]:
    """Return the attributes of a computation by their names."""
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)


def is_dense(conv: ir.Operation) -> bool:
    """Whether a convolution of whole layouts adds up all channels, in one wide floating dtype."""
    attrs = attributes(conv)
    data, kernel = attrs["data_layout"], attrs["kernel_layout"]
    dtypes = {T.tensor_dtype(v.type) for v in (*conv.operands, conv.results[0])}
    return (
        data.isalpha() and kernel.isalpha() and (attrs["out_layout"] or data) == data
        and attrs["groups"] == 1 and T.tensor_dims(conv.operands[1].type) is not None
        and len(dtypes) == 1 and dtypes <= {*_DTYPES}
    )  # fmt: skip
