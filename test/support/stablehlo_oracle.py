"""StableHLO's own evaluator, as the reference of imported programs."""

from collections.abc import Sequence

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_attribute
from relax_mlir.frontend.mlir.reading import read_module, stablehlo
from relax_mlir.frontend.mlir.types import elements

_ELEMENTS = {
    "bool": "i1", "float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64",
    "int8": "i8", "uint8": "ui8", "uint32": "ui32",
}  # fmt: skip


def evaluate(text: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the results of `main`, whose types are static."""
    module, _ = read_module(text)
    with module.context, ir.Location.unknown():
        results = stablehlo().eval_module(module, [_attribute(each) for each in arrays])
        return [elements(each) for each in results]


def _attribute(array: np.ndarray) -> ir.Attribute:
    """Return elements as an attribute; those of resources the evaluator does not read."""
    shape = "x".join([*map(str, array.shape), _ELEMENTS[str(array.dtype)]])
    if array.size <= 1 or array.dtype == np.bool_:
        return constant_attribute(array)
    data = array.tobytes().hex().upper()
    return ir.Attribute.parse(f'dense<"0x{data}"> : tensor<{shape}>')
