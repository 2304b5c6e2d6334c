"""`A.vload([i], "float32x4")` and `A.vstore([i], x)`, as subscripts: `A[i : i + 4]`."""

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.script.parser.source import Node
from relax_mlir.script.parser.tir_lanes import lanes_of, split_lanes

if TYPE_CHECKING:
    from relax_mlir.script.parser.tir_expr import TirExprParser


def is_access(node: Node, name: str) -> bool:
    """Whether a node is a call of a buffer's `vload` or `vstore`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (
        node.func.attr == name
    )  # fmt: skip


def load_vector(p: "TirExprParser", node: Node) -> Any:
    """Parse a `vload`.

    Raises:
        ScriptError: it takes other arguments, or its dtype is not the buffer's.
    """
    buffer = p.buffer(node.func.value)
    given = _given(p, node, ("begin", "dtype", "predicate"))
    dtype = given.get("dtype")
    spelled = getattr(dtype, "value", "")
    base, lanes = split_lanes(spelled) if isinstance(spelled, str) else ("", 0)
    if dtype is not None and base != buffer.dtype:
        p.scope.fail(dtype, f"'{ast.unparse(node.func.value)}' has elements of {buffer.dtype}")
    return p.evaluate(_element(p, node, given["begin"], lanes, ast.Load()))


def loaded_lanes(p: "TirExprParser", node: Node) -> int:
    """Return how many lanes a `vload` has, 0 for a scalar's."""
    given = _given(p, node, ("begin", "dtype", "predicate"))
    spelled = getattr(given.get("dtype"), "value", "")
    lanes = split_lanes(spelled)[1] if isinstance(spelled, str) else 0
    return lanes_of(p, _element(p, node, given["begin"], lanes, ast.Load()).slice)


def store_of(p: "TirExprParser", node: Node) -> ast.Assign:
    """Return a `vstore` as an assignment.

    Raises:
        ScriptError: it takes other arguments.
    """
    p.buffer(node.func.value)
    given = _given(p, node, ("begin", "value", "predicate"))
    if "value" not in given:
        p.scope.fail(node, "vstore takes indices and a value")
    value = given["value"]
    target = _element(p, node, given["begin"], lanes_of(p, value), ast.Store())
    return ast.copy_location(ast.Assign([target], value), node)


def _given(p: "TirExprParser", call: Node, names: Sequence[str]) -> dict[str, Node]:
    """Return the arguments of a call by their names."""
    given = dict(zip(names, call.args, strict=False))
    named = {each.arg: each.value for each in call.keywords}
    if len(call.args) > len(names) or set(named) - set(names) or set(named) & set(given):
        p.scope.fail(call, f"{call.func.attr} takes {', '.join(names[:2])}")
    given |= named
    if "begin" not in given:
        p.scope.fail(call, f"{call.func.attr} takes {', '.join(names[:2])}")
    mask = given.get("predicate")
    if mask is not None and getattr(mask, "value", mask) is not None:
        p.scope.fail(mask, "loads and stores of some lanes only are not supported")
    return given


def _element(
    p: "TirExprParser", call: Node, begin: Node, lanes: int, context: ast.expr_context
) -> ast.Subscript:
    """Return the subscript of a buffer from an index on."""
    items = list(begin.elts) if isinstance(begin, (ast.List, ast.Tuple)) else [begin]
    if lanes and items and not lanes_of(p, items[-1]):
        end = ast.BinOp(items[-1], ast.Add(), ast.Constant(lanes))
        items[-1] = ast.Slice(items[-1], end)
    index = items[0] if len(items) == 1 else ast.Tuple(items, ast.Load())
    found = ast.Subscript(call.func.value, index, context)
    return ast.fix_missing_locations(ast.copy_location(found, call))
