"""Compiled programs of torch, called as the model is: nested inputs, tensors in and out."""

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from relax_mlir.compiler.pipeline import build
from relax_mlir.errors import ModelError
from relax_mlir.frontend.torch.arrays import array_of, tensor_of
from relax_mlir.frontend.torch.needs import decomposed
from relax_mlir.frontend.torch.program import (
    from_exported_program,
    input_nodes,
    mutated_buffers,
    weight_of,
)
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.vm import VirtualMachine


class CompiledModel:
    """An exported program, compiled.

    Called with what the model takes: tensors of torch give tensors, arrays give arrays. Buffers
    that the model changes are kept from call to call, copies of the model's own.

    Attributes:
        executable: what was compiled.
    """

    def __init__(self, program: Any, target: Any = None, pipeline: Any = "default") -> None:
        program = decomposed(program)
        module = from_exported_program(program, run_ep_decomposition=False)
        self.executable = build(module, target, relax_pipeline=pipeline)
        self._main = VirtualMachine(self.executable)["main"]
        self._spec = program.call_spec
        self._outputs = program.graph_signature.output_specs
        nodes = input_nodes(program)
        self._names = [node.name for node, spec in nodes if spec.kind is InputKind.USER_INPUT]
        self._given = [
            isinstance(node.meta.get("val"), (torch.Tensor, torch.SymInt))
            for node, spec in nodes
            if spec.kind is InputKind.USER_INPUT
        ]
        changed = mutated_buffers(program)
        self._state = {
            spec.target: array_of(weight_of(program, spec)).copy()
            for _, spec in nodes
            if spec.target in changed
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model.

        Raises:
            ModelError: the inputs are not nested as those that the model was exported with.
            ShapeMismatchError: a dimension is not what the model was exported for.
        """
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._spec.in_spec:
            raise ModelError(f"the model takes inputs nested as {self._spec.in_spec}, got {spec}")
        pairs = list(zip(leaves, self._given, strict=True))
        is_torch = any(isinstance(leaf, torch.Tensor) for leaf in leaves)
        inputs = [_argument(leaf) for leaf, is_given in pairs if is_given]
        results = iter(self._main(*inputs, *self._state.values()))
        users = []
        given = dict(zip(self._names, leaves, strict=True))
        for spec in self._outputs:
            # The program has no results that are None, nor tokens.
            result = None if _is_nothing(spec) else next(results)
            if spec.kind is OutputKind.BUFFER_MUTATION:
                self._state[spec.target] = result
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                _write(given[spec.target], result)
            else:
                users.append(_scalar(result, spec) if is_torch else result)
        if is_torch:
            users = [tensor_of(each) if _is_array(each) else each for each in users]
        return pytree.tree_unflatten(users, self._spec.out_spec)


@dataclass(frozen=True)
class LoadedModel:
    """A program of torch that waits for its target.

    Attributes:
        program: the exported program.
    """

    program: Any

    def module(self) -> IRModule:
        """Return the program as a Relax module, its weights bound."""
        return from_exported_program(self.program)

    def compile(self, target: Any = None, pipeline: Any = None) -> CompiledModel:
        """Return the program compiled."""
        return CompiledModel(self.program, target, pipeline)


def load_model(
    model: Any, inputs: Any = None, *, kwargs: Any = None, dynamic_shapes: Any = None
) -> LoadedModel:
    """Return an exported program, or a module exported with example inputs, for compilation.

    Args:
        model: a `torch.export.ExportedProgram`, the path of one (.pt2), or a `torch.nn.Module`.
        inputs: example inputs of a module, a tuple or a single one.
        kwargs: those by keyword.
        dynamic_shapes: as for `torch.export.export`.

    Raises:
        ModelError: a module without inputs, or a program with them.
    """
    if isinstance(model, (str, os.PathLike)):
        model = _read(model)
    if isinstance(model, torch.nn.Module):
        if inputs is None and kwargs is None:
            raise ModelError("a torch.nn.Module needs example inputs: compile(model, inputs=(x,))")
        args = () if inputs is None else inputs if isinstance(inputs, tuple) else (inputs,)
        program = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)
        return LoadedModel(program)
    if not (inputs is kwargs is dynamic_shapes is None):
        raise ModelError("an exported program has its inputs and shapes already")
    return LoadedModel(model)


def run(model: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return what an exported program, or the file of one, gives in torch for arrays.

    Raises:
        ModelError: it cannot be read.
    """
    program = load_model(model).program
    with torch.no_grad():
        results = program.module()(*(torch.from_numpy(np.array(each)) for each in inputs))
    return [np.asarray(each) for each in pytree.tree_leaves(results)]


def _read(path: Any) -> Any:
    name = os.fspath(path)
    if not zipfile.is_zipfile(path):
        raise ModelError(f"{name} is no exported program of torch, which is a ZIP archive")
    try:
        return torch.export.load(path)
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ModelError(f"{name} is no exported program of torch: {reason}") from error


def _argument(leaf: Any) -> Any:
    """Return an argument as the virtual machine takes it; torch's memory is shared."""
    return array_of(leaf) if isinstance(leaf, torch.Tensor) else leaf


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")


def _is_nothing(spec: Any) -> bool:
    return spec.kind is OutputKind.TOKEN or getattr(spec.arg, "value", spec) is None


def _scalar(result: Any, spec: Any) -> Any:
    """Return a number where the model gives a number, not a tensor."""
    is_number = type(spec.arg).__name__ in ("ConstantArgument", "SymIntArgument")
    return np.asarray(result).item() if is_number and result is not None else result


def _write(destination: Any, result: Any) -> None:
    """Give an input that the model changes its new value."""
    if isinstance(destination, torch.Tensor):
        destination.detach().copy_(tensor_of(result))
    else:
        np.copyto(destination, np.asarray(result))
