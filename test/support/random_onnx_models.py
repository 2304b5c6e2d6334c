"""Random ONNX models against onnxruntime where it is installed, else onnx's reference evaluator."""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import random_models
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_recipes import ONLY_ONNXRUNTIME, RECIPES, STEPS
from random_models import UnfitError, elements, is_tame

from relax_mlir.compiler.driver import compile
from relax_mlir.frontend.onnx import from_onnx

OPSET = 23


class Maker(random_models.Maker):
    """An ONNX model under construction."""

    recipes = RECIPES

    @classmethod
    def peer(cls) -> str:
        """Return what the results are compared with."""
        return "onnxruntime" if runtime() else "onnx's reference evaluator"

    def element(self, dtype: str) -> int:
        """Return ONNX's number of a dtype."""
        return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def node(self, op_type: str, *inputs: str, outputs: int = 1, **attrs: Any) -> list[str]:
        """Add a node; returns its results.

        Raises:
            UnfitError: it has no results that can be compared.
        """
        names = [f"v{len(self.values) + i}" for i in range(outputs)]
        made = helper.make_node(op_type, list(inputs), names, **attrs)
        given = {name: self.values[name] for name in inputs if name}
        try:
            with np.errstate(all="ignore"):
                results = ReferenceEvaluator(made, opsets={"": OPSET}).run(None, given)
        except Exception:
            raise UnfitError from None
        arrays = [np.asarray(each) for each in results]
        if not all(map(is_tame, arrays)):
            raise UnfitError
        self.nodes.append(made)
        self.values.update(zip(names, arrays, strict=True))
        return names

    @functools.cached_property
    def model(self) -> onnx.ModelProto:
        """Return the model; its outputs are the results that no node takes."""
        used = {name for node in self.nodes for name in node.input}
        made = [name for node in self.nodes for name in node.output]
        outputs = [name for name in made if name not in used]
        inputs = [name for name in self.inputs if name in used]
        graph = helper.make_graph(
            self.nodes, "random",
            [self._type(name, [self._dim(n) for n in self.dims(name)]) for name in inputs],
            [self._type(name, None) for name in outputs],
            [onnx.numpy_helper.from_array(self.values[n], n) for n in self.constants if n in used],
        )  # fmt: skip
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10
        )

    def _type(self, name: str, dims: Any) -> Any:
        return helper.make_tensor_value_info(name, self.element(self.dtype(name)), dims)

    def _dim(self, size: int) -> Any:
        return f"d{size}" if self.is_dynamic and size > 1 and self.rng.random() < 0.8 else size

    def text(self) -> str:
        """Return the model as ONNX's text."""
        return onnx.printer.to_text(self.model)

    def compiled(self) -> Callable[..., Any]:
        """Return the model, imported and compiled."""
        return compile(from_onnx(self.model))

    def cases(self) -> Iterator[tuple[list[Any], list[list[Any]]]]:
        """Give inputs and results, for other sizes too where there are any."""
        model = self.model
        inputs = {each.name: self.values[each.name] for each in model.graph.input}
        others = _other_sizes(self, model, inputs)
        for given in (inputs, *others) if model.graph.node else ():
            wanted = expected(model, given)
            if wanted and (given is inputs or all(is_tame(each) for each in wanted[0])):
                yield list(given.values()), wanted
            elif given is inputs:
                return

    def may_refuse(self, inputs: list[Any], wanted: list[list[Any]]) -> bool:
        """Whether sizes may be refused.

        onnx's reference takes some that do not fit; windows larger than their image give nothing
        there, or in onnxruntime, which rounds their number toward zero, and later nodes may make
        something of nothing.
        """
        every = onnx.ModelProto()
        every.CopyFrom(self.model)
        shown = {each.name for each in every.graph.output}
        made = (name for node in every.graph.node for name in node.output if name not in shown)
        every.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made if name)
        names = [each.name for each in self.model.graph.input]
        found = _by_onnxruntime(every, dict(zip(names, inputs, strict=True)))
        return found is None or any(not each.size for each in itertools.chain(found, *wanted))


def runtime() -> Any:
    """Return onnxruntime, None where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    onnxruntime.set_default_logger_severity(4)
    return onnxruntime


def _by_onnxruntime(model: Any, inputs: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    """Return onnxruntime's results, None where it is not installed or lacks a kernel."""
    ort = runtime()
    if ort is None:
        return None
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    # It makes two quantizations in a row one, of another scale.
    options.add_session_config_entry("session.disable_double_qdq_remover", "1")
    try:
        session = ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return session.run(None, inputs)
    except Exception as error:  # its exceptions have no other base
        if "NOT_IMPLEMENTED" in f"{type(error).__name__} {error}".upper().replace(" ", "_"):
            return None
        raise


def expected(model: Any, inputs: dict[str, np.ndarray]) -> list[list[np.ndarray]]:
    """Return what others give: onnxruntime where it can run the model, and onnx's reference.

    Each is wrong somewhere: onnxruntime where nothing is summed up, the reference at others.
    """
    try:
        by_onnxruntime = _by_onnxruntime(model, inputs)
    except Exception:  # a model that it refuses is none to judge by
        return []
    if by_onnxruntime is None and any(_misleads(model, node) for node in model.graph.node):
        return []
    found = [] if by_onnxruntime is None else [by_onnxruntime]
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        found.append([np.asarray(e) for e in ReferenceEvaluator(model).run(None, inputs)])
    return found


def _misleads(model: Any, node: Any) -> bool:
    """Whether onnx's reference may be wrong at a node.

    A Gather by no indices loses its rank, the last window of an LpPool that is not whole its place;
    padding to the same size takes the batch for a size (`_conv_implementation`, onnx 1.20).
    """
    nothing = {each.name for each in model.graph.initializer if 0 in each.dims}
    nothing |= {
        each.name
        for each in model.graph.input
        if any(not dim.dim_param and not dim.dim_value for dim in each.type.tensor_type.shape.dim)
    }
    by_nothing = node.op_type == "Gather" and node.input[1] in nothing
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    is_cut = node.op_type == "LpPool" and attributes.get("ceil_mode", 0)
    is_padded = attributes.get("auto_pad", b"").startswith(b"SAME")
    return node.op_type in ONLY_ONNXRUNTIME or by_nothing or is_cut or is_padded


def _other_sizes(maker: Maker, model: Any, inputs: Any) -> Iterator[dict[str, np.ndarray]]:
    """Give the inputs of a dynamic model other sizes, where no node has steps.

    onnxruntime takes tensors without elements of any size; such models keep theirs.
    """
    types = {each.name: each.type.tensor_type.shape.dim for each in model.graph.input}
    symbols = sorted({dim.dim_param for dims in types.values() for dim in dims} - {""})
    if any(not array.size for array in maker.values.values()):
        return
    if not symbols or any(node.op_type in STEPS for node in model.graph.node):
        return
    sizes = {name: int(maker.choice((1, 2, 3, 6, 9))) for name in symbols}
    yield {
        name: elements(maker.rng, [sizes.get(d.dim_param, d.dim_value) for d in dims],
                       inputs[name].dtype.name)
        for name, dims in types.items()
    }  # fmt: skip
