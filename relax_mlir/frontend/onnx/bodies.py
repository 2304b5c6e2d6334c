"""Functions: those of a model, and the bodies that schemas give operations without a converter."""

from dataclasses import replace
from typing import Any

from relax_mlir.errors import ModelError
from relax_mlir.frontend.onnx.coverage import coverage_of
from relax_mlir.frontend.onnx.model import Model
from relax_mlir.frontend.onnx.package import onnx_package

# Bodies contain operations that have bodies; the deepest of ONNX's are three.
_MAX_DEPTH = 6


def with_bodies(model: Model) -> Model:
    """Return a model with functions expanded, where their operations have no converter.

    Raises:
        ModelError: a function cannot be expanded.
    """
    onnx_package()
    import onnx.inliner
    import onnx.shape_inference

    for _ in range(_MAX_DEPTH):
        missing = coverage_of(model).missing
        if not missing:
            break
        ids = [_identity(need.op) for need in missing]
        functions = {(each.domain, each.name) for each in model.proto.functions}
        try:
            proto = model.proto
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


def _ops(proto: Any) -> list[tuple[str, str]]:
    return [(node.domain, node.op_type) for node in proto.graph.node]
