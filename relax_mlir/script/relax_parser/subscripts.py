"""Subscripts of tensors by numpy's rules: `x[1:n, None, -1]`."""

import ast
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.base import build
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.script.parser.interfaces import ExprParser
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.operations import integer

# A slice without an end goes to the last element of however many there are.
_END = 2**63 - 1


def part_of_tensor(p: ExprParser, x: ir.Value, node: Node, name: str | None) -> ir.Value:
    """Create the operations that take a part of a tensor.

    Integers and slices (symbolic bounds too), `...` and None; or one tensor of integers, which
    takes along the first axis.

    Raises:
        ScriptError: the index means nothing, or is out of range for certain.
    """
    items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    used = sum(not _is_constant(item, None, Ellipsis) for item in items)
    ndim = T.tensor_ndim(x.type)
    if 0 <= ndim < used:
        p.scope.fail(node, f"{used} indices for a tensor of {ndim} dimensions")
    gaps = [i for i, item in enumerate(items) if _is_constant(item, Ellipsis)]
    if len(gaps) > 1:
        p.scope.fail(items[gaps[1]], "an index can have one '...' only")
    if gaps and ndim < 0 and gaps[0] < len(items) - 1:
        p.scope.fail(node, "indices after '...' need a tensor of known rank, as by R.match_cast")
    slices: dict[int, tuple[Any, Any, int]] = {}
    dropped: list[int] = []
    added: list[int] = []
    axis = place = 0
    for item in items:
        if _is_constant(item, None):
            added.append(place)
        elif _is_constant(item, Ellipsis):
            axis += ndim - used
            place += ndim - used
            continue
        elif isinstance(item, ast.Slice):
            if item.lower or item.upper or item.step:
                slices[axis] = _slice(p, item)
            axis += 1
        else:
            raw = integer(p, item) if not _is_tensor(p, item) else p.evaluate(item)
            if isinstance(raw, ir.Value):
                if len(items) > 1:
                    p.scope.fail(item, "a tensor of indices must be the only index")
                return _build(p, "take", [x, raw], {"axis": 0}, node, name)
            _check_range(p, x, axis, raw, item)
            slices[axis] = raw, _END if raw == -1 else raw + 1, 1
            dropped.append(axis)
            axis += 1
            continue
        place += 1
    steps: list[tuple[str, dict[str, Any]]] = []
    if slices:
        begin, end, strides = (list(bounds) for bounds in zip(*slices.values(), strict=True))
        attrs = {"axes": list(slices), "begin": begin, "end": end}
        steps.append(("strided_slice", attrs | ({"strides": strides} if {*strides} != {1} else {})))
    if dropped:
        steps.append(("squeeze", {"axis": dropped}))
    if added:
        steps.append(("expand_dims", {"axis": added}))
    for place, (op, attrs) in enumerate(steps):
        x = _build(p, op, [x], attrs, node, name if place == len(steps) - 1 else None)
    return x


def _is_constant(node: Node, *values: Any) -> bool:
    return isinstance(node, ast.Constant) and any(node.value is value for value in values)


def _is_tensor(p: ExprParser, node: Node) -> bool:
    """Whether an index is the name of a tensor."""
    if not isinstance(node, ast.Name):
        return False
    result: Any = p.scope.values.get(node.id)
    return isinstance(result, ir.Value) and T.is_tensor(result.type)


def _slice(p: ExprParser, node: Node) -> tuple[Any, Any, int]:
    step = 1 if node.step is None else integer(p, node.step)
    if isinstance(step, SymExpr):
        step = step.value
    if type(step) is not int or step == 0:
        p.scope.fail(node.step, "the step of a slice must be an integer other than 0")
    ends = (0, _END) if step > 0 else (_END, -_END)
    begin, end = (
        default if bound is None else _bound(p, bound)
        for bound, default in zip((node.lower, node.upper), ends, strict=True)
    )
    return begin, end, step


def _bound(p: ExprParser, node: Node) -> Any:
    raw = integer(p, node)
    if isinstance(raw, bool) or not isinstance(raw, (int, SymExpr)):
        p.scope.fail(node, f"an index is an integer or a symbol, got {_shown(raw)}")
    return raw


def _shown(raw: Any) -> str:
    return describe(raw.type) if isinstance(raw, ir.Value) else repr(raw)


def _check_range(p: ExprParser, x: ir.Value, axis: int, raw: Any, node: Node) -> None:
    if isinstance(raw, bool) or not isinstance(raw, (int, SymExpr)):
        p.scope.fail(node, f"an index is an integer, a symbol or a slice, got {_shown(raw)}")
    dims, index = T.tensor_dims(x.type), SymExpr.of(raw).value
    size = dims[axis].value if dims is not None else None
    if size is not None and index is not None and not -size <= index < size:
        p.scope.fail(node, f"index {index} is out of range for dimension {axis}, which is {size}")


def _build(
    p: ExprParser, op: str, operands: list[ir.Value], attrs: dict, node: Node, name: str | None
) -> ir.Value:
    try:
        return build(op, operands, attrs, p.scope.location(node, name))
    except ValueError as error:
        p.scope.fail(node, str(error))
