"""The pass `pack-vnni`: constant convolution weights in VNNI layout.

For targets with dot-product instructions, a convolution's prim func gets one more argument: its
weights in groups of input channels. An annotation of the block names that layout. The argument with
the original weights stays, for kernels that do not use the groups.
"""

from collections.abc import Sequence

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import (
    aligned,
    constant_array,
    constant_attribute,
    constant_op,
)
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, written_values
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution
from relax_mlir.lowering.tir_to_vector.convolution.weight_blocks import (
    HEADER,
    VNNI_WEIGHTS,
    note_of,
)
from relax_mlir.lowering.tir_to_vector.plan import plan_function
from relax_mlir.lowering.walk import defining_op
from relax_mlir.transform.kernels.calls import KernelMaker, TirCall, kernel_calls, match_call
from relax_mlir.transform.kernels.contraction import nests_alone
from relax_mlir.transform.packing.packed_operand import give_buffer

_DTYPES = ("int8", "uint8", "int16", "bfloat16")


def pack_vnni(module: ir.Operation, target: str = "") -> None:
    """Put constant kernels of convolutions into groups of input channels, in place.

    Args:
        module: a `builtin.module`, after prim funcs have been fused.
        target: what for; by default the module's (`target_of`).
    """
    machine = Machine.of(target_of(module, target))
    if not machine.dot_products:
        return
    packer = _Packer(module, machine)
    for function in functions_to_optimize(module):
        packer.function(function)


class _Packer:
    def __init__(self, module: ir.Operation, machine: Machine) -> None:
        self._machine = machine
        self._kernels = KernelMaker(module)
        # By the prim func's name its only convolution, None where it has none or several.
        self._convolutions: dict[str, Convolution | None] = {}
        # By the original's attribute and the note: what several calls share is made once.
        self._constants: dict[tuple[str, tuple[int, ...]], ir.Attribute] = {}

    def function(self, function: ir.Operation) -> None:
        """Group the kernels of a function's convolutions."""
        calls = kernel_calls(function)
        written = written_values(function) if calls else set()
        for op in calls:
            call = match_call(op, self._kernels.symbols)
            if call is None or not any(_is_kernel(value) for value in call.arguments):
                continue
            if nests_alone(call, views=True):
                self._pack(call, written)

    def _pack(self, call: TirCall, written: set[ir.Value]) -> None:
        window = self._only_convolution(call)
        if window is None or window.grouped is None:
            return
        kernels, parameters = window.weight.buffer, list(call.callee.entry_block.arguments)
        position = parameters.index(kernels) if kernels in parameters else -1
        if not 0 <= position < len(call.arguments):
            return
        value = call.arguments[position]
        lanes = self._machine.lanes(window.element)
        if value in written or not _is_kernel(value) or lanes is None:
            return
        note = note_of(window, window.grouped, lanes)
        if note is None or 0 in T.known_dims(value.type):
            return
        with ir.InsertionPoint(call.op), call.op.location:
            constant = constant_op(self._grouped(value, note))
        give_buffer(self._kernels, call, window.flat.nest.top, constant, VNNI_WEIGHTS, note)

    def _only_convolution(self, call: TirCall) -> Convolution | None:
        name = call.callee.name.value
        if name not in self._convolutions:
            plans = plan_function(call.callee, self._machine)
            windows = [plan.form for plan in plans if isinstance(plan.form, Convolution)]
            self._convolutions[name] = windows[0] if len(windows) == 1 else None
        return self._convolutions[name]

    def _grouped(self, value: ir.Value, note: list[int]) -> ir.Attribute:
        source = value.owner.operation.attributes["value"]
        key = str(source), tuple(note)
        if key not in self._constants:
            groups = packed_weights(constant_array(source), note)
            self._constants[key] = constant_attribute(aligned(groups))
        return self._constants[key]


def _is_kernel(value: ir.Value) -> bool:
    if defining_op(value, "relax.constant") is None:
        return False
    return T.tensor_dtype(value.type) in _DTYPES and len(T.known_dims(value.type)) >= 3


def packed_weights(weights: np.ndarray, note: Sequence[int]) -> np.ndarray:
    """Return constant weights in groups of 32 bits, zeros after the last channels.

    If the image's sign bits are flipped, a block ends with the correction that its sums start from.
    """
    lanes, group, bits, flips_signs, second, _ = note[:HEADER]
    extents, strides = note[HEADER::2], note[HEADER + 1 :: 2]
    flat = np.ascontiguousarray(weights).reshape(-1)
    width = flat.itemsize
    view = np.lib.stride_tricks.as_strided(
        flat, extents, [width * stride for stride in strides], writeable=False
    )
    steps, last = int(np.prod(extents[2:-1], dtype=np.int64)), extents[-1]
    matrix = view.reshape(extents[0] * extents[1], steps, last)
    if width * 8 != bits:
        matrix = matrix.astype(f"int{bits}")
    whole = np.pad(
        matrix.view(f"int{bits}"), ((0, -len(matrix) % lanes), (0, 0), (0, -last % group))
    )
    split = whole.reshape(-1, lanes, steps, whole.shape[2] // group, group)
    packed = np.ascontiguousarray(split.transpose(0, 2, 3, 1, 4)).view("int32")
    packed = packed.reshape(len(split), -1, lanes)
    if not flips_signs:
        return packed
    sums = matrix.sum((1, 2), dtype=np.int64) << (bits - 1)
    starts = np.pad(-sums if second else sums, (0, -len(matrix) % lanes))
    return np.concatenate([packed, starts.astype("int32").reshape(-1, 1, lanes)], 1)
