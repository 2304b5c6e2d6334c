"""What tests of branches, functions and loops share: comparing results, passes that keep them."""

from typing import Any

import numpy as np

from relax_mlir import transform
from relax_mlir.ir.module import IRModule

_KEEP_RESULTS = (
    "InferType", "EliminateCommonSubexpr", "DeadCodeElimination", "CanonicalizeBindings",
    "FoldConstant", "Normalize", "ConvertToDataflow",
)  # fmt: skip


def same(got: Any, wanted: Any) -> None:
    """Assert that results agree, tuples field by field."""
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            same(a, b)
    else:
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def after_passes(module: IRModule) -> IRModule:
    """Return a module after passes that change no result; it is well formed after each."""
    for name in _KEEP_RESULTS:
        module = getattr(transform, name)()(module)
        transform.WellFormed()(module)
    return module
