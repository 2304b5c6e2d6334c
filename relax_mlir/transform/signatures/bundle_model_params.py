"""The pass `bundle-model-params`: the weights of a function become one tuple."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.relax.tuples import get_item
from relax_mlir.errors import PassError
from relax_mlir.transform.signatures.parameters import (
    body,
    name_of,
    param_names,
    replace_in,
    sign,
    users,
)

NUM_INPUT = "relax.num_input"


def bundle_model_params(module: ir.Operation, param_tuple_name: str = "") -> None:
    """Make one tuple of the parameters after the first `num_input`, in functions that say that.

    Args:
        module: a `builtin.module`.
        param_tuple_name: what the tuple is called; by default `model_params`.

    Raises:
        PassError: `num_input` is more than there are parameters.
    """
    for func in functions_to_optimize(module):
        if NUM_INPUT in func.attributes:
            bundle(func, param_tuple_name or "model_params")


def bundle(func: ir.Operation, name: str) -> None:
    """Make one tuple of a function's weights."""
    count = ir.IntegerAttr(func.attributes[NUM_INPUT]).value
    block = body(func)
    weights = list(block.arguments)[max(count, 0) :]
    if not 0 <= count <= len(block.arguments):
        func.location.emit_error(f"'num_input' of @{name_of(func)} is {count}")
        raise PassError(
            "BundleModelParams",
            f"@{name_of(func)} has {len(block.arguments)} parameters, of which 'num_input' says "
            f"{count} are inputs",
        )
    names = param_names(func)
    type_ = ir.TupleType.get_tuple([weight.type for weight in weights])
    bundled = block.add_argument(type_, ir.Location.name(name))
    for index, weight in enumerate(weights):
        for user in users(weight):
            with ir.InsertionPoint(user), ir.Location.name(names[count + index]):
                replace_in(user, weight, get_item(bundled, index))
    for index in reversed(range(count, count + len(weights))):
        block.erase_argument(index)
    sign(func, [*names[:count], name])
