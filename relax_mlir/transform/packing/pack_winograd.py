"""The pass `pack-winograd`: constant 3 x 3 weights, transformed for Winograd convolution.

Where the cost model prefers Winograd, a convolution's prim func gets the transformed weights as one
more argument, and an annotation of its block names the tile. The original weights stay: outputs
with infinities or NaN are computed from them.
"""

import math
from dataclasses import dataclass

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.background_copy import start_filling
from relax_mlir.dialects.relax.constants import (
    aligned_room,
    constant_array,
    constant_attribute,
    constant_op,
)
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, written_values
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution
from relax_mlir.lowering.tir_to_vector.plan import plan_function
from relax_mlir.lowering.tir_to_vector.winograd.pattern import (
    ACROSS,
    DOWN,
    GROUPS,
    INPUTS,
    OUTPUTS,
    POINTS,
    TAPS,
    WINOGRAD,
    Winograd,
    element_places,
    find_winograd,
    shared_elements,
)
from relax_mlir.lowering.tir_to_vector.winograd.sizes import best_outputs, panel_vectors
from relax_mlir.lowering.walk import defining_op
from relax_mlir.pass_infra.config import WINOGRAD_TILE
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.transform.kernels.calls import KernelMaker, TirCall, kernel_calls, match_call
from relax_mlir.transform.kernels.contraction import nests_alone
from relax_mlir.transform.packing.packed_operand import give_buffer

# Elements of a window along either side.
_WINDOW = 3


@dataclass
class _Match:
    """A call of a convolution, the position of its kernels, and how they are transformed."""

    call: TirCall
    winograd: Winograd
    position: int
    outputs: int
    panel: int


def pack_winograd(module: ir.Operation, target: str = "") -> None:
    """Transform constant kernels of convolutions that Winograd's way is quicker for, in place.

    Args:
        module: a `builtin.module`, after prim funcs have been fused.
        target: what for; by default the module's (`target_of`).
    """
    most = PassContext.current().option(WINOGRAD_TILE)
    if most == 0:
        return
    packer = _Packer(module, Machine.of(target_of(module, target)), most)
    for function in functions_to_optimize(module):
        packer.function(function)


class _Packer:
    def __init__(self, module: ir.Operation, machine: Machine, most: int) -> None:
        self._machine, self._most = machine, most
        self._kernels = KernelMaker(module)
        # By the prim func's name its only convolution, None where it has none or several.
        self._convolutions: dict[str, Winograd | None] = {}
        # By the original's attribute and what is made of it: what several calls share is made once.
        self._constants: dict[tuple, ir.Attribute | None] = {}

    def function(self, function: ir.Operation) -> None:
        """Transform the kernels of a function's convolutions."""
        calls = kernel_calls(function)
        written = written_values(function) if calls else set()
        for op in calls:
            match = self._match(op, written)
            if match is not None:
                self._replace(match)

    def _match(self, op: ir.Operation, written: set[ir.Value]) -> _Match | None:
        call = match_call(op, self._kernels.symbols)
        if call is None or not any(_is_kernel(value) for value in call.arguments):
            return None
        if not nests_alone(call):
            return None
        result = self._winograd(call)
        if result is None:
            return None
        parameters = list(call.callee.entry_block.arguments)
        position = parameters.index(result.weight.buffer)
        if not 0 <= position < len(call.arguments) or call.arguments[position] in written:
            return None
        if not _is_kernel(call.arguments[position]):
            return None
        outputs = best_outputs(result, self._machine, self._most)
        if outputs is None:
            return None
        lanes = self._machine.lanes(result.element) or 1
        return _Match(call, result, position, outputs, panel_vectors(result, self._machine) * lanes)

    def _winograd(self, call: TirCall) -> Winograd | None:
        """Return the only convolution of a prim func, with the sizes that the call has."""
        name = call.callee.name.value
        if name not in self._convolutions:
            self._convolutions[name] = self._only_convolution(call)
        return self._convolutions[name]

    def _only_convolution(self, call: TirCall) -> Winograd | None:
        plans = plan_function(call.callee, self._machine)
        windows = [plan for plan in plans if isinstance(plan.form, Convolution)]
        if len(windows) != 1:
            return None
        result = find_winograd(windows[0].tops)
        if result is None or [nest.top for nest in result.nests] != windows[0].tops:
            return None
        parameters = list(call.callee.entry_block.arguments)
        return result if result.weight.buffer in parameters else None

    def _replace(self, match: _Match) -> None:
        call = match.call
        attribute = self._transformed(match)
        if attribute is None:
            return
        with ir.InsertionPoint(call.op), call.op.location:
            constant = constant_op(attribute)
        note = [match.outputs, match.panel]
        give_buffer(self._kernels, call, match.winograd.flat.nest.top, constant, WINOGRAD, note)

    def _transformed(self, match: _Match) -> ir.Attribute | None:
        """Return the transformed kernels, None where a number of them may not be finite."""
        value = match.call.arguments[match.position]
        source = value.owner.operation.attributes["value"]
        key = str(source), match.outputs, match.panel, str(match.call.callee.name)
        if key not in self._constants:
            kernels = _kernels(match.winograd, constant_array(source))
            finite = _stay_finite(kernels, match.outputs)
            panels = _panels(kernels, match.outputs, match.panel) if finite else None
            self._constants[key] = panels
        return self._constants[key]


def _is_kernel(value: ir.Value) -> bool:
    if defining_op(value, "relax.constant") is None:
        return False
    dims = T.known_dims(value.type)
    # Planning a function to find its windows takes longer than to see that none are 3 x 3.
    windows = sum(dim.value == _WINDOW for dim in dims)
    return T.tensor_dtype(value.type) == "float32" and len(dims) >= 4 and windows >= 2


def _kernels(winograd: Winograd, array: np.ndarray) -> np.ndarray:
    """Return constant kernels as groups, output channels, input channels and windows."""
    access, sizes, strides = winograd.weight, [], []
    for axis in (GROUPS, OUTPUTS, INPUTS, DOWN, ACROSS):
        for position in winograd.walks[axis]:
            extent = winograd.extents[position].value
            stride = access.strides[position].value
            assert isinstance(extent, int)  # sizes of a constant are known
            assert isinstance(stride, int)
            sizes.append(extent)
            strides.append(4 * stride)
    flat = array.reshape(-1)
    view = np.lib.stride_tricks.as_strided(flat, sizes, strides, writeable=False)
    whole = [winograd.extent(axis).value for axis in (GROUPS, OUTPUTS, INPUTS, DOWN, ACROSS)]
    return view.reshape([size or 1 for size in whole])


def _transformed_weights(weights: np.ndarray, outputs: int) -> np.ndarray:
    """Return the transformed weights.

    Args:
        weights: any shape that ends in 3 x 3.
        outputs: of a tile along an axis.

    Returns:
        float64, the last two dimensions of `outputs` + 2 each.
    """
    matrix = _weight_matrix(outputs)
    # One product for all: numpy multiplies small matrices one by one.
    both = np.kron(matrix, matrix)
    made = weights.reshape(-1, TAPS * TAPS).astype("float64") @ both.T
    return made.reshape(*weights.shape[:-2], len(matrix), len(matrix))


def _stay_finite(weights: np.ndarray, outputs: int) -> bool:
    """Whether transformed weights are finite as float32, by a bound on what sums may grow to."""
    growth = float(np.abs(_weight_matrix(outputs)).sum(axis=1).max() ** 2)
    return bool(np.abs(weights).max(initial=0) * growth < np.finfo(np.float32).max)


def _weight_matrix(outputs: int) -> np.ndarray:
    positive = POINTS[outputs]
    points = [0.0, *(sign * point for point in positive for sign in (1, -1))]
    rows = []
    for point in points:
        scale = math.prod(point - other for other in points if other != point)
        rows.append([point**power / scale for power in range(TAPS)])
    return np.array([*rows, [0.0] * (TAPS - 1) + [1.0]])


def _panels(kernels: np.ndarray, outputs: int, panel: int) -> ir.Attribute:
    """Return transformed kernels as `[element][input channel][output channel]`.

    First all panels of all groups have the elements that smaller tiles use, then they have the
    others (`element_places`).
    """
    groups, channels, inputs, *_ = kernels.shape
    count, elements = groups * -(-channels // panel), (outputs + TAPS - 1) ** 2
    shape = count * elements, inputs, panel
    panels = aligned_room(math.prod(shape), np.dtype("float32")).reshape(shape)
    places = np.argsort(element_places(outputs))
    shared = shared_elements(outputs)

    def fill() -> None:
        numbers = np.ndindex(groups, count // groups)
        for index, (group, number) in enumerate(numbers):
            some = kernels[group, number * panel : (number + 1) * panel]
            made = _transformed_weights(some, outputs).reshape(*some.shape[:2], -1)
            made = made.transpose(2, 1, 0)[places]
            for first, last in ((0, shared), (shared, elements)):
                begin = count * first + index * (last - first)
                part = panels[begin : begin + last - first]
                part[..., : len(some)] = made[first:last]
                part[..., len(some) :] = 0

    start_filling(panels, fill)
    return constant_attribute(panels)
