"""`from_exported_program`: a torch.export.ExportedProgram in, an IRModule out."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import fx
from torch.export.graph_signature import InputKind, InputSpec, OutputKind

from relax_mlir.errors import ExprError, ModelError
from relax_mlir.frontend.torch.arrays import array_of
from relax_mlir.frontend.torch.decompositions import decomposition_table
from relax_mlir.frontend.torch.dtypes import dtype_name
from relax_mlir.frontend.torch.importer import Complex, Importer, describe
from relax_mlir.frontend.torch.needs import decomposed, needs
from relax_mlir.frontend.torch.ops import LOOPS, converters
from relax_mlir.frontend.torch.ops.random import draws
from relax_mlir.frontend.torch.symbols import bounds_of, size
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.types import PrimType, TensorType
from relax_mlir.relax.expr.values import Constant, Tuple, const

_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def from_exported_program(
    exported_program: Any, *, keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False, no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[str, Callable[[fx.Node, Importer], Any]] | None = None,
    run_ep_decomposition: bool = True,
) -> IRModule:  # fmt: skip
    """Return an exported program as a Relax module with one function, `main`.

    Its parameters are the inputs of the program; then buffers that the model changes, whose new
    values are in front of the results, as in the graph; then the weights, if they are kept. Dynamic
    dimensions keep their names and their relations (`2*n`), ranges are the function's `bounds`.
    Weights that are bound share torch's memory.

    Args:
        exported_program: of `torch.export.export`.
        keep_params_as_input: whether weights are parameters of the function; `parameters_of` has
            them in order, and the function's attribute `num_input` says how many others there are.
        unwrap_unit_return_tuple: whether a single result is given without a tuple around it.
        no_bind_return_tuple: whether the tuple of results is not bound to a variable.
        custom_convert_map: converters by name, `aten.relu.default` or `relu.default`: they get the
            node and the importer, and take precedence.
        run_ep_decomposition: whether operators that Relax does not have are decomposed, which torch
            takes seconds for; programs without such operators are imported as they are.

    Raises:
        UnsupportedOpError: operators have no converter; the message has all of them.
        ModelError: it is no exported program, or has inputs that are no tensors.
        ExprError: an operator could not be converted; the message has the line of the model.
    """
    if not isinstance(exported_program, torch.export.ExportedProgram):
        raise ModelError(
            f"from_exported_program takes a torch.export.ExportedProgram, got "
            f"{type(exported_program).__name__}; torch.export.export(model, inputs) makes one"
        )
    program = exported_program
    custom = dict(custom_convert_map or {})
    # Names of a given map are those of decomposed operators.
    if run_ep_decomposition:
        if custom:
            program = program.run_decompositions(decomposition_table())
        else:
            program = decomposed(program)
    needs(program.graph_module, custom).check()
    return _Program(program, custom, keep_params_as_input).build(
        unwrap_unit_return_tuple, no_bind_return_tuple
    )


class _Program:
    """One exported program under import.

    Attributes:
        program: the program.
        mutated: names of the inputs that are buffers which the program changes.
    """

    def __init__(self, program: Any, custom: dict[str, Any], keep_params: bool) -> None:
        self.program = program
        self.mutated = mutated_buffers(program)
        self._keep_params = keep_params
        self._builder = BlockBuilder()
        self._importer = Importer(self._builder, converters(), custom)

    def build(self, unwrap: bool, no_bind: bool) -> IRModule:
        """Return the module."""
        params, state, weights = self._parameters()
        inputs = [*params, *state]
        attrs: dict[str, Any] = {}
        bounds = bounds_of(self.program.range_constraints)
        if bounds:
            attrs["bounds"] = bounds
        if self._keep_params:
            attrs["num_input"] = len(inputs)
        nodes = list(self.program.graph.nodes)
        is_impure = _is_impure(nodes)
        bb = self._builder
        with bb.function("main", [*inputs, *weights], attrs=attrs):
            with nullcontext() if is_impure else bb.dataflow():
                run_nodes(self._importer, nodes)
                outputs = [_output(self._importer, node) for node in self._results()]
                single = unwrap and len(outputs) == 1
                result = outputs[0] if single else Tuple(outputs)
                if not no_bind:
                    result = bb.emit(result) if is_impure else bb.emit_output(result)
                elif not is_impure:
                    outputs = [bb.emit_output(each) for each in outputs]
                    result = outputs[0] if single else Tuple(outputs)
            bb.emit_func_output(result)
        return bb.finalize()

    def _results(self) -> list[Any]:
        (output,) = (node for node in self.program.graph.nodes if node.op == "output")
        specs = self.program.graph_signature.output_specs
        return [
            result
            for result, spec in zip(output.args[0], specs, strict=True)
            if spec.kind is not OutputKind.TOKEN and result is not None
        ]

    def _parameters(self) -> tuple[list[Var], list[Var], list[Var]]:
        """Return the function's parameters: inputs, changed buffers, weights."""
        inputs, state, weights = [], [], []
        for node, spec in input_nodes(self.program):
            if spec.kind is InputKind.USER_INPUT:
                var = _input(node)
                inputs += [] if var is None else [var]
                self._importer.env[node] = _plain(node, var)
            elif spec.target in self.mutated:
                state.append(_tensor(node, spec.target))
                self._importer.env[node] = state[-1]
            elif spec.kind in _WEIGHTS and self._keep_params:
                weights.append(_tensor(node, spec.target))
                self._importer.env[node] = weights[-1]
            elif spec.kind in _WEIGHTS:
                self._importer.env[node] = _constant(weight_of(self.program, spec))
            elif spec.kind is not InputKind.TOKEN:
                raise ModelError(f"input '{node.name}' is a {spec.kind.name.lower()}, no tensor")
        return inputs, state, weights


def from_graph(graph: fx.GraphModule) -> IRModule:
    """Return a graph of ATen operators as a Relax module with one function, `main`.

    Its parameters are the placeholders; its result is a tuple of the outputs that are not None.

    Args:
        graph: without mutation, each node with its value in `meta["val"]`, as dispatch of ahead of
            time autograd gives it.

    Raises:
        ExprError: an operator could not be converted; the message has the line of the model.
    """
    builder = BlockBuilder()
    importer = Importer(builder, converters())
    nodes = list(graph.graph.nodes)
    params = []
    for node in nodes:
        if node.op == "placeholder":
            var = _input(node)
            params += [] if var is None else [var]
            importer.env[node] = _plain(node, var)
    (output,) = (node for node in nodes if node.op == "output")
    is_impure = _is_impure(nodes)
    with builder.function("main", params):
        with nullcontext() if is_impure else builder.dataflow():
            run_nodes(importer, nodes)
            results = [_output(importer, each) for each in output.args[0] if each is not None]
            emit = builder.emit if is_impure else builder.emit_output
            result = emit(Tuple(results))
        builder.emit_func_output(result)
    return builder.finalize()


def _is_impure(nodes: list[fx.Node]) -> bool:
    """Whether a node becomes what no dataflow block holds: a loop, a branch, random numbers."""
    return any(
        getattr(node.target, "__name__", "") in LOOPS or str(node.target) in LOOPS or draws(node)
        for node in nodes
    )


def _output(importer: Importer, result: Any) -> Any:
    value = importer.env[result] if isinstance(result, fx.Node) else result
    if isinstance(value, (bool, int, float)):
        return const(np.asarray(value))
    if isinstance(value, Complex):
        raise ExprError(
            f"a result is of complex numbers, for which Relax has no dtype; return "
            f"torch.view_as_real of it\n  at {describe(result)}"
        )
    return value


def _input(node: fx.Node) -> Var | None:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return _tensor(node, node.name)
    if isinstance(value, torch.SymInt):
        return Var(node.name, PrimType("int64", size(value)))
    return None


def _tensor(node: fx.Node, name: str) -> Var:
    value = node.meta["val"]
    dims = [size(dim) for dim in value.shape]
    return Var(name.replace(".", "_"), TensorType(dims, dtype_name(value.dtype)))


def run_nodes(importer: Importer, nodes: list[fx.Node]) -> None:
    """Convert the calls among some nodes, in order."""
    for node in nodes:
        if node.op == "call_function":
            importer.env[node] = importer.convert(node)
        elif node.op == "get_attr":
            importer.env[node] = attribute(node)


def attribute(node: fx.Node) -> Any:
    """Return what a node reads of its module: a graph of a branch, or a constant."""
    value: Any = node.graph.owning_module
    for name in str(node.target).split("."):
        value = getattr(value, name)
    return _constant(value) if isinstance(value, torch.Tensor) else value


def _constant(value: torch.Tensor) -> Constant | Complex:
    array = array_of(value.resolve_conj())
    return Complex.constant(array) if value.is_complex() else Constant(array)


def input_nodes(program: Any) -> list[tuple[fx.Node, InputSpec]]:
    """Return the placeholders of a program with what its signature says about them."""
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    return list(zip(nodes, program.graph_signature.input_specs, strict=True))


def mutated_buffers(program: Any) -> list[str]:
    """Return the names of the buffers that a program gives new values, in the order of inputs."""
    specs = program.graph_signature.output_specs
    changed = {spec.target for spec in specs if spec.kind is OutputKind.BUFFER_MUTATION}
    return [spec.target for _, spec in input_nodes(program) if spec.target in changed]


def parameters_of(program: Any) -> dict[str, np.ndarray]:
    """Return the weights by name, in the order of the parameters of `keep_params_as_input=True`.

    The arrays share torch's memory.
    """
    changed = set(mutated_buffers(program))
    return {
        spec.target: array_of(weight_of(program, spec))
        for _, spec in input_nodes(program)
        if spec.kind in _WEIGHTS and spec.target not in changed
    }


def weight_of(program: Any, spec: InputSpec) -> torch.Tensor:
    """Return a parameter, buffer or constant of a program.

    Raises:
        ModelError: the program lacks it.
    """
    for values in (program.state_dict, program.constants):
        if spec.target in values:
            return values[spec.target]
    raise ModelError(f"the exported program lacks the weight '{spec.target}'")


def _plain(node: fx.Node, var: Var | None) -> Any:
    """Return the value of an input: a variable, a symbolic integer, or what torch has fixed."""
    value = node.meta.get("val")
    return size(value) if isinstance(value, torch.SymInt) else value if var is None else var
