"""Control flow: `If` by Relax's own."""

from typing import Any

from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import TupleValue, Value, materialize, of_expr
from relax_mlir.relax import op
from relax_mlir.relax.expr import Tuple


@converts("onnx", "If")
def if_(node: Any) -> Any:
    """Run one of two bodies; only one is imported where the condition is known."""
    known = node.const(0)
    branches = [node.attrs["then_branch"], node.attrs["else_branch"]]
    if known is not None:
        return _body(node, branches[0 if bool(known.reshape(-1)[0]) else 1])
    builder = node.graph.builder
    condition = node.x(0)
    if node.ndim(0):
        condition = builder.emit(op.reshape(condition, ()))
    dtypes: list[str] = []
    with builder.if_(condition) as branch:
        for region, body in zip((branch.then_(), branch.else_()), branches, strict=True):
            with region:
                values = _body(node, body)
                if any(not isinstance(each, Value) for each in values):
                    raise node.fail("sequences and optionals of a condition are not supported")
                dtypes = [each.dtype for each in values]
                made = [builder.emit(materialize(each)) for each in values]
                branch.yield_(made[0] if len(made) == 1 else Tuple(made))
    result = branch.result
    if len(dtypes) == 1:
        return [of_expr(result, dtypes[0])]
    return [of_expr(builder.emit(result[i]), dtype) for i, dtype in enumerate(dtypes)]


def _body(node: Any, body: Any) -> list[Any]:
    inner = node.graph.inner()
    inner.add_initializers(body)
    return inner.run(body, f"a body of {node.op_type} '{node.proto.name}'")


@converts("onnx", "SequenceConstruct", since=11)
def sequence_construct(node: Any) -> Any:
    """Return tensors as a sequence."""
    return TupleValue(tuple(node.inputs))


@converts("onnx", "SequenceAt", since=11)
def sequence_at(node: Any) -> Any:
    """Return an element of a sequence."""
    at = node.const(1)
    if not isinstance(node.inputs[0], TupleValue) or at is None:
        raise node.fail("the position in a sequence has to be known at import")
    return node.inputs[0].fields[int(at)]
