"""All operators of the runtime's library by name."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime.bytecode.builtins import LIBRARY_PREFIX as PREFIX
from relax_mlir.runtime.library.attention import ATTENTION
from relax_mlir.runtime.library.bfloat16 import through_single
from relax_mlir.runtime.library.boxes import BOXES
from relax_mlir.runtime.library.casts import CASTS
from relax_mlir.runtime.library.create import CREATE
from relax_mlir.runtime.library.elementwise import ELEMENTWISE
from relax_mlir.runtime.library.gradients import GRADIENTS
from relax_mlir.runtime.library.image import IMAGE
from relax_mlir.runtime.library.index import CHECKS, INDEX
from relax_mlir.runtime.library.linear_algebra import LINEAR_ALGEBRA
from relax_mlir.runtime.library.manipulate import MANIPULATE
from relax_mlir.runtime.library.memory import MEMORY
from relax_mlir.runtime.library.nn import NN
from relax_mlir.runtime.library.normalization import NORMALIZATION
from relax_mlir.runtime.library.operands import named
from relax_mlir.runtime.library.quantize import QUANTIZE
from relax_mlir.runtime.library.query import QUERY
from relax_mlir.runtime.library.random import RANDOM
from relax_mlir.runtime.library.reduce import REDUCE
from relax_mlir.runtime.library.regions import REGIONS
from relax_mlir.runtime.library.sort import SORT

# Name with the prefix -> function of the operands, then the attributes in their declared order.
# Results are the caller's own, C-contiguous, and of the dtype that the compiler's rules give.
LIBRARY: dict[str, Callable[..., Any]] = {}


def _own(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays of any dtype whose results are the caller's own."""
    compute = through_single(compute)

    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            result = compute(*args)
        if not isinstance(result, tuple):
            return np.asarray(result, order="C")
        if result and type(result[0]) is int:
            return result
        return tuple([np.asarray(field, order="C") for field in result])

    return call


for _table in (
    ATTENTION, BOXES, CASTS, CREATE, ELEMENTWISE, GRADIENTS, IMAGE, INDEX, LINEAR_ALGEBRA,
    MANIPULATE, NN, NORMALIZATION, QUANTIZE, RANDOM, REDUCE, REGIONS, SORT,
):  # fmt: skip
    for _name, _function in _table.items():
        LIBRARY[PREFIX + _name] = named(_name, _own(_function))
# What kernels wait for, and what asks for properties, computes nothing of the elements.
for _name, _function in {**CHECKS, **MEMORY, **QUERY}.items():
    LIBRARY[PREFIX + _name] = named(_name, _function)
