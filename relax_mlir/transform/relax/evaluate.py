"""Evaluation of operations at compile time, by compiling them."""

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import is_tuple, make_tuple
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.runtime.vm.virtual_machine import VirtualMachine

func: ModuleType = submodule("dialects.func")

Request = tuple[ir.Operation, list[np.ndarray]]


class Evaluator:
    """Evaluates calls of prim funcs, and operations of which the runtime's library has none."""

    def __init__(self, module: ir.Operation) -> None:
        self._module = module

    def run(self, requests: Sequence[Request]) -> list[list[np.ndarray] | None]:
        """Return the results of operations on arrays, None where one fails."""
        program = self._program(requests)
        try:
            # What the user watches is the pass, not the compilation in it. It runs here, whatever
            # the module is compiled for.
            with PassContext():
                machine = VirtualMachine(extension("build")(IRModule(program), "llvm"))
        except RelaxMLIRError:
            return [None] * len(requests)
        return [
            _call(machine, f"evaluate{index}", arrays) for index, (_, arrays) in enumerate(requests)
        ]

    def _program(self, requests: Sequence[Request]) -> ir.Module:
        """Return a module of the prim funcs and one function per request."""
        program = ir.Module.create()
        with ir.InsertionPoint(program.body):
            for view in self._module.regions[0].blocks[0].operations:
                if "tir.prim_func" in view.operation.attributes:
                    view.operation.clone()
        for index, (op, arrays) in enumerate(requests):
            with ir.InsertionPoint(program.body):
                _function(f"evaluate{index}", op, arrays)
        return program


def _function(name: str, op: ir.Operation, arrays: Sequence[np.ndarray]) -> None:
    types = [T.tensor_type(array.shape, str(array.dtype)) for array in arrays]
    result = op.results[0].type
    function = func.FuncOp(name, (types, [result]))
    function.operation.attributes["relax.function"] = ir.UnitAttr.get()
    block = function.operation.regions[0].blocks.append(
        *types, arg_locs=[ir.Location.unknown()] * len(types)
    )
    operands = list(block.arguments)
    with ir.InsertionPoint(block):
        if op.name == "relax.call_tir":
            outputs = (
                [result.get_type(i) for i in range(result.num_types)]
                if is_tuple(result)
                else [result]
            )
            shapes = [
                ir.Operation.create(
                    "relax.shape_expr", results=[T.shape_type(T.tensor_dims(output))]
                ).result
                for output in outputs
            ]
            shape = make_tuple(shapes) if is_tuple(result) else shapes[0]
            operands = [shape, make_tuple(operands)]
        call = ir.Operation.create(
            op.name,
            results=[result],
            operands=operands,
            attributes=dict(op.attributes.items()),
        )
        func.ReturnOp([call.result])


def _call(
    machine: VirtualMachine, name: str, arrays: Sequence[np.ndarray]
) -> list[np.ndarray] | None:
    try:
        result = machine[name](*arrays)
    except (RelaxMLIRError, RuntimeError, ValueError, TypeError):
        return None
    return (
        [np.asarray(item) for item in result] if isinstance(result, tuple) else [np.asarray(result)]
    )
