"""`from_onnx`: an ONNX model in, an IRModule out."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ModelError, RelaxMLIRError
from relax_mlir.frontend.names import Names
from relax_mlir.frontend.onnx import ops
from relax_mlir.frontend.onnx.bodies import with_bodies
from relax_mlir.frontend.onnx.coverage import coverage_of
from relax_mlir.frontend.onnx.graph import Graph, identifier
from relax_mlir.frontend.onnx.model import Model, read_model
from relax_mlir.frontend.onnx.weights import dtype_name, elements, storage_dtype
from relax_mlir.frontend.values import ObjectValue, TupleValue, Value, materialize
from relax_mlir.ir.module import IRModule
from relax_mlir.relax import op
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr import ObjectType, TensorType, Tuple, Var

MAX_ELEMENTS = 2**48


def from_onnx(
    model: Any,
    shape_dict: Mapping[str, Any] | None = None,
    dtype_dict: Mapping[str, str] | str | None = None,
    opset: int | None = None,
    keep_params_in_input: bool = False,
) -> IRModule:
    """Import an ONNX model as TVM's `relax.frontend.onnx.from_onnx` does.

    The program has one function `main`: its parameters are the inputs of the model in their order,
    its result is the model's output, a tuple where there are several. Dimensions that the model
    names, and those it leaves open, are symbols. 8-bit and 4-bit floats are their bits in `uint8`
    tensors, integers of less than 8 bits are `int8` or `uint8`.

    Args:
        model: a `ModelProto`, its bytes, or a path. Weights in files next to it are mapped,
            and have to be in its folder.
        shape_dict: shapes of inputs instead of those in the model: integers, names and expressions
            of symbols.
        dtype_dict: dtypes of inputs by name, instead of those in the model; or one for all that the
            model does not type.
        opset: what counts as the version of ONNX's operators instead of what the model says.
        keep_params_in_input: weights become further parameters, after the inputs; the attribute
            `num_input` of `main` counts the inputs, `params` has the weights, which
            `frontend.detach_params` takes off.

    Raises:
        MissingPackageError: the package `onnx` is not installed.
        UnsupportedOpError: operations cannot be imported; names all of them.
        ModelError: the model is broken.
    """
    ops.load()
    read = read_model(model, opset)
    read = prepared(read)
    graph = read.proto.graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [each for each in graph.input if each.name not in weights]
    shapes = dict(shape_dict or {})
    for what, given in (("shape_dict", shapes), ("dtype_dict", dtype_dict)):
        known = [each.name for each in inputs]
        unknown = [] if isinstance(given, str) else sorted(set(given or ()) - set(known))
        if unknown:
            names = ", ".join(known)
            raise ModelError(f"{what} has '{unknown[0]}'; the inputs of {read.name} are {names}")
    builder = BlockBuilder()
    params = {each.name: _parameter(each, shapes, dtype_dict) for each in inputs}
    importer = Graph(read, builder, Names(_symbols(params)), {})
    for proto in inputs:
        var, dtype = params[proto.name]
        importer.values[proto.name] = Value(dtype, var) if dtype else _object(proto, var)
    kept = _weights(read, importer) if keep_params_in_input else []
    importer.add_initializers(graph)
    attrs: dict[str, Any] = {}
    if keep_params_in_input:
        attrs = {"num_input": len(params), "params": [array for _, array in kept]}
    variables = [*(var for var, _ in params.values()), *(var for var, _ in kept)]
    try:
        with builder.function("main", variables, attrs=attrs):
            outputs = [_output(each) for each in importer.run(graph, f"graph '{graph.name}'")]
            builder.emit_func_output(outputs[0] if len(outputs) == 1 else Tuple(outputs))
    except ModelError:
        raise
    except RelaxMLIRError as error:
        raise ModelError(f"{read.name}: {error}") from error
    module = builder.finalize()
    return _with_dataflow(module)


def prepared(model: Model) -> Model:
    """Return a model of which every operation has a converter, its functions expanded.

    Raises:
        UnsupportedOpError: some have none.
    """
    expanded = with_bodies(model)
    coverage_of(expanded).check()
    return expanded


def _with_dataflow(module: IRModule) -> IRModule:
    from relax_mlir.pass_infra import registry

    return registry.get_pass("ConvertToDataflow")(module)


def _parameter(proto: Any, shapes: Mapping[str, Any], dtypes: Any) -> tuple[Var, str]:
    what = f"input '{proto.name}'"
    kind = proto.type.WhichOneof("value")
    type_ = proto.type.tensor_type
    if kind in ("sequence_type", "optional_type"):
        return Var(identifier(proto.name), ObjectType()), ""
    if kind not in ("tensor_type", None):
        raise ModelError(f"{what} is a {kind}; tensors, sequences and optionals are supported")
    own = {} if isinstance(dtypes, str) else dtypes or {}
    if type_.elem_type and proto.name not in own:
        dtype = dtype_name(type_.elem_type, what)
    else:
        dtype = own.get(proto.name, dtypes if isinstance(dtypes, str) else "")
        if not dtype:
            raise ModelError(f"{what} has no element type; dtype_dict can say it")
    if dtype == "string":
        raise ModelError(f"{what} has strings, which are not supported")
    storage = storage_dtype(dtype)
    if proto.name in shapes:
        made = TensorType([_dim(each) for each in shapes[proto.name]], storage)
    elif not type_.HasField("shape"):
        made = TensorType(dtype=storage)
    else:
        dims = [_proto_dim(proto.name, i, dim) for i, dim in enumerate(type_.shape.dim)]
        if math.prod(dim for dim in dims if isinstance(dim, int)) > MAX_ELEMENTS:
            raise ModelError(f"{what} of shape {dims} has more than 2**48 elements")
        made = TensorType(dims, storage)
    return Var(identifier(proto.name), made), dtype


def _dim(value: Any) -> Any:
    return SymExpr.of(value) if isinstance(value, (int, SymExpr)) else value


def _proto_dim(name: str, index: int, dim: Any) -> Any:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return int(dim.dim_value)
    # torch.onnx writes multiples of a size so.
    multiple = re.fullmatch(r"(\d+) ?\* ?([A-Za-z_]\w*)", dim.dim_param)
    if multiple:
        return SymExpr.var(multiple[2]) * int(multiple[1])
    if dim.dim_param and re.search(r"\w", dim.dim_param):
        return SymExpr.var(identifier(dim.dim_param))
    return SymExpr.var(identifier(f"{name}_{index}"))


def _symbols(params: Mapping[str, tuple[Var, str]]) -> set[str]:
    names: set[str] = set()
    for var, _ in params.values():
        shape = var.ty.shape if isinstance(var.ty, TensorType) else None
        for dim in getattr(shape, "values", ()):
            names |= dim.symbols
    return names


def _weights(model: Model, importer: Graph) -> list[tuple[Var, np.ndarray]]:
    kept = []
    for tensor in model.proto.graph.initializer:
        dtype = dtype_name(tensor.data_type, f"tensor '{tensor.name}'")
        if dtype.startswith(("float", "bfloat")) and tensor.dims:
            array = elements(tensor, model.folder)
            var = Var(identifier(tensor.name), TensorType(array.shape, storage_dtype(dtype)))
            kept.append((var, array))
            importer.values[tensor.name] = Value(dtype, var)
    return kept


def _object(proto: Any, var: Var) -> ObjectValue:
    """Return an input that is a sequence or an optional, perhaps of a sequence."""
    type_ = proto.type
    if type_.WhichOneof("value") == "optional_type":
        type_ = type_.optional_type.elem_type
    is_sequence = type_.WhichOneof("value") == "sequence_type"
    tensor = (type_.sequence_type.elem_type if is_sequence else type_).tensor_type
    dtype = dtype_name(tensor.elem_type, f"input '{proto.name}'")
    ndim = len(tensor.shape.dim) if tensor.HasField("shape") else -1
    return ObjectValue(var, dtype, "sequence" if is_sequence else "optional", ndim)


def _output(value: Any) -> Any:
    if isinstance(value, TupleValue):
        return Tuple([_output(each) for each in value.fields])
    if isinstance(value, ObjectValue):
        return value.expr
    return op.null_value() if value is None else materialize(value)
