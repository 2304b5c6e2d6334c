"""What passes that rewrite convolutions ask of them."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, written_values
from relax_mlir.lowering.walk import named
from relax_mlir.transform.relax.dead_code_elimination import remove_unused

# Narrower ones would be rounded between the steps of a rewritten convolution.
_DTYPES = ("float32", "float64")


def rewrite_convolutions(
    module: ir.Operation, rewrite: Callable[[ir.Operation, set[ir.Value]], bool],
    name: str = "relax.conv2d",
) -> None:  # fmt: skip
    """Rewrite operations of a name, and remove what nothing uses any more.

    `rewrite` gets a convolution and the values that are written in place, and says whether it has
    replaced the convolution.
    """
    for func in functions_to_optimize(module):
        convolutions = named(func, (name,))
        written = written_values(func) if convolutions else set()
        if any([rewrite(conv, written) for conv in convolutions]):
            remove_unused(func)


def input_made_by(name: str, conv: ir.Operation, written: set[ir.Value]) -> ir.Operation | None:
    """Return the operation of a name in the same block that makes a convolution's images alone."""
    value = conv.operands[0]
    if isinstance(value.owner, ir.Block) or len(list(value.uses)) != 1 or value in written:
        return None
    op = value.owner.operation
    return op if op.name == name and op.block == conv.block else None


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
