"""Functions: those of a model, and the bodies that schemas give operations without a converter."""

from dataclasses import replace
from typing import Any

from relax_mlir.errors import ModelError
from relax_mlir.frontend.onnx.coverage import coverage_of
from relax_mlir.frontend.onnx.model import Model, label, subgraphs
from relax_mlir.frontend.onnx.package import onnx_package

# Bodies contain operations that have bodies; the deepest of ONNX's are three.
_MAX_DEPTH = 6
_MAX_NODES = 1_000_000
# Attributes that onnx's inference divides by.
_COUNTS = frozenset((
    "block_size", "blocksize", "dilations", "group", "kernel_shape", "kv_num_heads", "num_groups",
    "num_outputs", "q_num_heads", "strides",
))  # fmt: skip


def with_bodies(model: Model) -> Model:
    """Return a model with functions expanded, where their operations have no converter.

    Raises:
        ModelError: a function cannot be expanded.
    """
    onnx_package()
    import onnx.checker
    import onnx.inliner
    import onnx.shape_inference

    for _ in range(_MAX_DEPTH):
        functions = {(each.domain, each.name) for each in model.proto.functions}
        missing = [_identity(need.op) for need in coverage_of(model).missing]
        ids = [each for each in missing if each in functions or _has_body(onnx, each, model)]
        if not ids:
            break
        _check(onnx, model)
        try:
            proto = _with_function_defaults(onnx, model.proto)
            if not functions.intersection(ids):
                proto = _typed(onnx, proto)
                _fill_defaults(onnx, proto, set(ids), model)
            made = onnx.inliner.inline_selected_functions(proto, ids, inline_schema_functions=True)
        except Exception as error:
            raise ModelError(f"{model.name}: a function cannot be expanded: {error}") from error
        opsets = {("" if e.domain == "ai.onnx" else e.domain): e.version for e in made.opset_import}
        expanded = replace(model, proto=made, opsets={**opsets, "": model.opsets[""]})
        if _ops(made) == _ops(model.proto):
            break
        model = expanded
    return model


def _has_body(onnx: Any, op: tuple[str, str], model: Model) -> bool:
    domain, op_type = op
    try:
        schema = onnx.defs.get_schema(op_type, model.opsets.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return False
    return schema.has_function or schema.has_context_dependent_function


def _check(onnx: Any, model: Model) -> None:
    """Raise for a model that is so broken that onnx's inference crashes."""
    try:
        onnx.checker.check_model(model.proto)
    except onnx.checker.ValidationError as error:
        raise ModelError(f"{model.name} is broken: {' '.join(str(error).split())}") from error
    _check_counts(model.proto.graph)
    if _expanded(model, model.proto.graph.node, {}) > _MAX_NODES:
        raise ModelError(f"{model.name}: its functions expand to more than {_MAX_NODES} nodes")


def _expanded(model: Model, nodes: Any, sizes: dict[tuple[str, str], int | None]) -> int:
    """Return how many nodes there are when functions of the model are expanded.

    Raises:
        ModelError: a function is part of itself.
    """
    total = 0
    bodies = {(each.domain, each.name): each.node for each in model.proto.functions}
    for node in nodes:
        key = (node.domain, node.op_type)
        if key in bodies:
            if key not in sizes:
                sizes[key] = None
                sizes[key] = _expanded(model, bodies[key], sizes)
            size = sizes[key]
            if size is None:
                raise ModelError(f"{model.name}: the function {node.op_type} is part of itself")
            total += size
        total += 1
        total += sum(_expanded(model, body.node, sizes) for body in subgraphs(node))
    return total


def _check_counts(graph: Any) -> None:
    for node in graph.node:
        for attribute in node.attribute:
            given = attribute.ints if attribute.ints else [attribute.i]
            if attribute.name in _COUNTS and min(given) < 1:
                raise ModelError(f"{label(node)}: {attribute.name} must be positive, got {given}")
        for body in subgraphs(node):
            _check_counts(body)


def _identity(name: str) -> tuple[str, str]:
    domain, _, op_type = name.rpartition(".")
    return domain, op_type


def _typed(onnx: Any, proto: Any) -> Any:
    """Return a model with the types of values, which bodies that depend on them need."""
    try:
        return onnx.shape_inference.infer_shapes(proto)
    except Exception:
        return onnx.ModelProto.FromString(proto.SerializeToString())


def _fill_defaults(onnx: Any, proto: Any, ids: set[tuple[str, str]], model: Model) -> None:
    """Give nodes the attributes that they leave out: bodies refer to them."""
    for node in proto.graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if (domain, node.op_type) not in ids:
            continue
        try:
            schema = onnx.defs.get_schema(node.op_type, model.opsets.get(domain, 1), domain)
        except onnx.defs.SchemaError:
            continue
        given = {each.name for each in node.attribute}
        for name, each in schema.attributes.items():
            if name not in given and each.default_value.type:
                node.attribute.append(each.default_value)


def _with_function_defaults(onnx: Any, proto: Any) -> Any:
    """Return a model whose calls of functions have the attributes that they leave out.

    onnx's inliner leaves out the defaults of functions.
    """
    if not any(each.attribute_proto for each in proto.functions):
        return proto
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    defaults = {(each.domain, each.name): each.attribute_proto for each in made.functions}

    def fill(nodes: Any) -> None:
        for node in nodes:
            given = {each.name for each in node.attribute}
            for each in defaults.get((node.domain, node.op_type), ()):
                if each.name not in given:
                    node.attribute.append(each)
            for body in subgraphs(node):
                fill(body.node)

    for nodes in (made.graph.node, *(each.node for each in made.functions)):
        fill(nodes)
    return made


def _ops(proto: Any) -> list[tuple[str, str]]:
    return [(node.domain, node.op_type) for node in proto.graph.node]
