"""StableHLO programs run by StableHLO's own evaluator, which takes static shapes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_attribute
from relax_mlir.errors import ModelError
from relax_mlir.frontend.mlir.passes import dialects_of
from relax_mlir.frontend.mlir.reading import read_module, stablehlo
from relax_mlir.frontend.mlir.types import elements
from relax_mlir.pass_infra.execution.trial_parse import in_child

_RUN = {"builtin", "func", "stablehlo"}


def run(model: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the results of `main`, evaluated in a process of its own: some programs crash it.

    Args:
        model: what `from_mlir` takes, of StableHLO with static shapes.
        inputs: the arguments.

    Raises:
        ModelError: it is of other dialects, or the evaluator cannot run it.
    """
    module, name = read_module(model)
    others = sorted(dialects_of(module.operation) - _RUN)
    if others:
        raise ModelError(f"{name}: only StableHLO has an evaluator, this has {', '.join(others)}")
    results = in_child(lambda: _evaluated(module, inputs))
    if isinstance(results, list):
        return results
    raise ModelError(f"{name}: StableHLO's evaluator cannot run it{results or ''}")


def _evaluated(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray] | str:
    function = module.body.operations[0].operation
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    with module.context, ir.Location.unknown():
        try:
            given = [_attribute(*each) for each in zip(inputs, types, strict=True)]
            return [elements(each) for each in stablehlo().eval_module(module, given)]
        except (ValueError, ir.MLIRError) as error:
            return f": {str(error).splitlines()[0]}"


def _attribute(array: np.ndarray, type_: ir.Type) -> ir.Attribute:
    """Return elements as an attribute; those of resources the evaluator does not read."""
    if array.size <= 1 or array.dtype == np.bool_:
        return constant_attribute(array)
    shape = "x".join([*map(str, array.shape), str(type_.element_type)])
    return ir.Attribute.parse(f'dense<"0x{array.tobytes().hex().upper()}"> : tensor<{shape}>')
