"""Operations that give their operand: marks for passes, and places of tensors."""

import re
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.create import dtype_of
from relax_mlir.dialects.relax.ops.elementwise import with_dtype

# Kinds of devices that programs run on.
CPU_KINDS = ("llvm", "c", "cpu")


def _first(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return types[0]


def _placed(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    device = attrs["dst_vdevice"]
    kind = re.match(r"\w*", device)
    if kind is None or kind[0] not in CPU_KINDS:
        raise InferError(f"programs run on CPUs, such as llvm:0, got device '{device}'")
    return types[0]


def _wrapped(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return with_dtype(types[0], dtype_of(attrs, T.tensor_dtype(types[0])))


_MARKS = {
    "builtin_stop_lift_params": ("x", "What LiftTransformParams does not move out of a program."),
    "grad_no_grad": ("input", "What has no gradient."),
    "grad_start_checkpoint": ("input", "Where a stage begins that gradients compute again."),
    "grad_end_checkpoint": ("input", "Where a stage ends that gradients compute again."),
}
for _name, (_param, _doc) in _MARKS.items():
    # What is a constant is not computed, again or at all.
    _operand = Param(_param, "tensor", variable="checkpoint" in _name)
    declare(_name, f"The operand. {_doc}", [_operand], _first)
declare(
    "to_vdevice",
    "The operand on a device; programs run on CPUs.",
    [Param("data", "tensor"), Param("dst_vdevice", "device")],
    _placed,
)
declare(
    "hint_on_device",
    "The operand; what uses it is best run on that device; programs run on CPUs.",
    [
        Param("data", "tensor"),
        Param("dst_vdevice", "device"),
        Param("memory_scope", "str", "global"),
    ],
    _placed,
)
declare(
    "wrap_param",
    "A parameter of a model in another dtype.",
    [Param("data", "tensor"), Param("dtype", "dtype", "float32")],
    _wrapped,
)
