"""`detach_params`: the weights that importers leave at the functions whose parameters they are."""

from relax_mlir.ir.module import IRModule
from relax_mlir.relax.expr.values import Elements


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[Elements]]]:
    """Take the attribute `params` off the functions of a module.

    `from_onnx(model, keep_params_in_input=True)` leaves weights there.

    Returns:
        A copy of the module without them, and the arrays by the name of the function, in the order
        of its last parameters.
    """
    made = mod.clone()
    params: dict[str, list[Elements]] = {}
    for name in mod.function_names:
        attrs = made[name].attrs
        if "params" in attrs:
            params[name] = [array.view(Elements) for array in attrs["params"]]
            made[name] = made[name].without_attr("params")
    return made, params
