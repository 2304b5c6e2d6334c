"""The copy of a module that a build works on: where its context is full, in one of its own.

What constants are made of stays in MLIR until their context ends: its API has no way to drop a
resource. A build makes constants, panels of weights above all, and who holds a module and builds it
again would hold those of every build.
"""

import re

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import new_context
from relax_mlir.dialects.context_memory import is_full
from relax_mlir.dialects.relax.constants import (
    constant_array,
    constant_attribute,
    resource_name,
)
from relax_mlir.dialects.relax.types import tensor_type
from relax_mlir.errors import VerifyError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.c_library import own
from relax_mlir.lowering.walk import INNER_FIRST, named

# Which constant a place is kept for.
_PLACE = "relax.place"
# What makes a resource's name the only one of its kind.
_COUNT = re.compile(r"_\d+$")


def working_copy(mod: IRModule) -> IRModule:
    """Return a deep copy of a module, whose constants are arrays that both share.

    It is in the module's context unless that holds more constants than a context should; then in
    a new one, which ends with the copy. What a new context does not know, such as a user's dialect,
    and what does not verify stay where they are.
    """
    copy = mod.clone()
    if not is_full(mod.context):
        return copy
    kept = _keep_places(copy)
    try:
        context = new_context()
        own(context)
        moved = copy.moved_to(context)
    except VerifyError:
        return mod.clone()
    _fill_places(moved, kept)
    return moved


def _keep_places(mod: IRModule) -> list[tuple[str, np.ndarray]]:
    """Put a number in the place of each resource, whose bytes a copy would copy; return those.

    What has no data stays as it is, and so do arrays that do not determine their type.
    """
    numbers: dict[ir.Attribute, int] = {}
    kept: list[tuple[str, np.ndarray]] = []
    with mod.context, ir.Location.unknown():
        i64 = ir.IntegerType.get_signless(64)
        for op in constants_of(mod):
            value = op.attributes["value"]
            name = resource_name(value)
            if name is None:
                continue
            if value not in numbers:
                try:
                    array = constant_array(value)
                except ValueError:
                    continue
                if tensor_type(array.shape, str(array.dtype)) != value.type:
                    continue
                numbers[value] = len(kept)
                kept.append((_COUNT.sub("", name), array))
            one = "1.0" if "float" in str(kept[numbers[value]][1].dtype) else "1"
            op.attributes["value"] = ir.Attribute.parse(f"dense<{one}> : {value.type}")
            op.attributes[_PLACE] = ir.IntegerAttr.get(i64, numbers[value])
    return kept


def _fill_places(mod: IRModule, kept: list[tuple[str, np.ndarray]]) -> None:
    with mod.context, ir.Location.unknown():
        made = [constant_attribute(array, name) for name, array in kept]
        for op in constants_of(mod):
            if _PLACE in op.attributes:
                op.attributes["value"] = made[ir.IntegerAttr(op.attributes[_PLACE]).value]
                del op.attributes[_PLACE]


def constants_of(mod: IRModule) -> list[ir.Operation]:
    """Return the operations of a module that are constants, in the program's order."""
    return named(mod.mlir_module.operation, ("relax.constant",), INNER_FIRST)
