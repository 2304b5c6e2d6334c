"""Vector expressions, `B[i : i + 4] = A[T.Ramp(j, 2, 4)] * T.Broadcast(x, 4)`, lane by lane.

An expression is parsed once for each lane. All lanes are computed before the first is stored.
"""

import ast
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.interfaces import TirExprParser, TirStmtParser
from relax_mlir.script.parser.source import Node

_RAMPS = ("T.ramp", "T.Ramp")
_BROADCASTS = ("T.broadcast", "T.Broadcast")
# Of a vector of so many lanes each takes its half, the second's begins in the middle.
_HALVES = {"T.vectorlow": 0, "T.vectorhigh": 1}
_COMBINE = "T.vectorcombine"
_DOT = "T.dp4a"
_DOT_LANES = 4
_MAX_LANES = 1024


def split_lanes(dtype: str) -> tuple[str, int]:
    """Return the dtype of a vector's elements and its lanes, `float32x4`; 0 for a scalar's."""
    base, _, lanes = dtype.rpartition("x")
    return (base, int(lanes)) if base and lanes.isdigit() else (dtype, 0)


def dot_product(p: TirExprParser, node: Node) -> Any:
    """Parse `T.dp4a(a, b, c)`: the sum of four products of bytes, in 32 bits.

    Raises:
        ScriptError: the first two are no vectors of four lanes.
    """
    places = list(node.args)
    if places and isinstance(places[0], ast.Constant) and isinstance(places[0].value, str):
        places = places[1:]
    if len(places) not in (2, 3) or node.keywords:
        p.scope.fail(node, "T.dp4a takes two vectors, and what is added to their product")
    total = p.evaluate(places[2]) if len(places) > 2 else 0
    for vector in places[:2]:
        if lanes_of(p, vector) != _DOT_LANES:
            p.scope.fail(vector, f"T.dp4a takes vectors of {_DOT_LANES} lanes")
    for lane in range(_DOT_LANES):
        with p.on_lane(lane):
            a, b = (p.convert(p.evaluate(each), "int32", each) for each in places[:2])
            total = p.binary("add", total, p.binary("mul", a, b, node), node)
    return total


def store_vector(stmts: TirStmtParser, buffer: Buffer, target: Node, value: Node) -> bool:
    """Parse a store of several lanes; whether it was one.

    Raises:
        ScriptError: the two sides have different lanes, or something in them is wrong.
    """
    p = stmts.expr
    lanes = lanes_of(p, target.slice)
    if lanes == 0:
        return False
    given = lanes_of(p, value)
    if given not in (0, lanes):
        p.scope.fail(value, f"{lanes} lanes are stored, this has {given}")
    raws = []
    for lane in range(lanes):
        with p.on_lane(lane):
            raws.append((p.indices(target, buffer), p.evaluate(value)))
    for indices, raw in raws:
        stmts.store(buffer, target, indices, raw, value)
    return True


def lane_of(p: TirExprParser, node: Node, path: str) -> Any:
    """Return a vector's element on the lane that is being read.

    Raises:
        ScriptError: the vector stands where there are no lanes, or its lanes are no constant.
    """
    if p.lane is None:
        p.scope.fail(node, f"{path} makes a vector: store it to as many elements, A[i : i + 4]")
    if path in _RAMPS:
        p.count(node, 3)
        base, stride = (p.evaluate(arg) for arg in node.args[:2])
        return p.binary("add", base, p.binary("mul", stride, p.lane, node), node)
    if path in _BROADCASTS:
        p.count(node, 2)
        return p.evaluate(node.args[0])
    if path in _HALVES:
        vector = _vectors(p, node, 1)[0]
        with p.on_lane(p.lane + _HALVES[path] * (lanes_of(p, vector) // 2)):
            return p.evaluate(vector)
    if path == _COMBINE:
        first, second = _vectors(p, node, 2)
        lanes = lanes_of(p, first)
        with p.on_lane(p.lane % lanes):
            return p.evaluate(first if p.lane < lanes else second)
    vectors, picks = _shuffled(p, node)
    parts = [(vector, i) for vector in vectors for i in range(lanes_of(p, vector) or 1)]
    if not 0 <= picks[p.lane] < len(parts):
        p.scope.fail(node, f"lane {picks[p.lane]} of {len(parts)}")
    vector, lane = parts[picks[p.lane]]
    with p.on_lane(lane):
        return p.evaluate(vector)


def _vectors(p: TirExprParser, node: Node, count: int) -> list[Node]:
    """Return the vectors that a function takes after a dtype."""
    p.count(node, count + 1)
    vectors = list(node.args[1:])
    lanes = {lanes_of(p, vector) for vector in vectors}
    if len(lanes) != 1 or 0 in lanes or (count == 1 and min(lanes) % 2):
        p.scope.fail(node, f"{ast.unparse(node.func)} takes vectors of the same, even lanes")
    return vectors


def slice_index(p: TirExprParser, item: Node) -> Node:
    """Return where a slice begins, of which the lane that is being read is one element."""
    return item.lower if item.lower is not None else ast.copy_location(ast.Constant(0), item)


def _shuffled(p: TirExprParser, node: Node) -> tuple[list[Node], list[int]]:
    p.count(node, 2)
    vectors, picks = node.args
    several = (ast.List, ast.Tuple)
    numbers = [_number(p, each) for each in getattr(picks, "elts", ())]
    if not isinstance(vectors, several) or not isinstance(picks, several) or None in numbers:
        p.scope.fail(node, "T.Shuffle takes a list of vectors and a list of constant lanes")
    return list(vectors.elts), [number for number in numbers if number is not None]


def _number(p: TirExprParser, node: Node) -> int | None:
    """Return the integer that a node spells, None for anything else."""
    if isinstance(node, ast.Call):
        known = p.scope.path(node.func) in ("T.int32", "T.int64") and len(node.args) == 1
        return _number(p, node.args[0]) if known else None
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    value = p.scope.lookup_or(node, MISSING) if isinstance(node, ast.Name) else None
    return value if type(value) is int else None


def lanes_of(p: TirExprParser, node: Node) -> int:
    """Return how many lanes an expression has, 0 for a scalar.

    Raises:
        ScriptError: two parts have different lanes, or a part's are no constant.
    """
    if is_access(node, "vload"):
        return loaded_lanes(p, node)
    path = p.scope.path(node.func) if isinstance(node, ast.Call) else None
    if path in (*_RAMPS, *_BROADCASTS):
        count = _number(p, node.args[-1]) if node.args else None
        if count is None or not 1 <= count <= _MAX_LANES:
            p.scope.fail(node, f"the lanes of a vector are a constant from 1 to {_MAX_LANES}")
        return count
    if path in _HALVES:
        return lanes_of(p, _vectors(p, node, 1)[0]) // 2
    if path == _COMBINE:
        return 2 * lanes_of(p, _vectors(p, node, 2)[0])
    if path == _DOT:
        return 0
    if path is not None and p.is_dtype(split_lanes(path[2:])[0]) and split_lanes(path[2:])[1]:
        lanes = split_lanes(path[2:])[1]
        if len(node.args) == 1 and lanes_of(p, node.args[0]) not in (0, lanes):
            p.scope.fail(node, f"{path} takes {lanes} lanes or a number for all of them")
        return lanes
    if path == "T.Shuffle":
        return len(_shuffled(p, node)[1])
    if isinstance(node, ast.Slice):
        return _length(p, node)
    result = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            lanes = lanes_of(p, child)
            if result and lanes not in (0, result):
                p.scope.fail(node, f"{result} lanes meet {lanes}")
            result = result or lanes
    return result


def _length(p: TirExprParser, node: Node) -> int:
    """Return the length of `a : a + 4`."""
    if node.step is not None or node.upper is None:
        p.scope.fail(node, "a vector of a buffer is A[i : i + 4]")
    start = SymExpr.const(0) if node.lower is None else _plain(node.lower)
    length = (_plain(node.upper) - start).value
    if length is None or not 1 <= length <= _MAX_LANES:
        p.scope.fail(node, f"the lanes of a vector are a constant from 1 to {_MAX_LANES}")
    return length


def _plain(node: Node) -> SymExpr:
    """Return an index over names that stand for themselves."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return SymExpr.const(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        a, b = _plain(node.left), _plain(node.right)
        return a + b if isinstance(node.op, ast.Add) else a - b if isinstance(
            node.op, ast.Sub) else a * b  # fmt: skip
    return SymExpr.var(node.id if isinstance(node, ast.Name) else f"({ast.unparse(node)})")


# `A.vload([i], "float32x4")` and `A.vstore([i], x)` are subscripts: `A[i : i + 4]`.


def is_access(node: Node, name: str) -> bool:
    """Whether a node is a call of a buffer's `vload` or `vstore`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (
        node.func.attr == name
    )  # fmt: skip


def load_vector(p: TirExprParser, node: Node) -> Any:
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


def loaded_lanes(p: TirExprParser, node: Node) -> int:
    """Return how many lanes a `vload` has, 0 for a scalar's."""
    given = _given(p, node, ("begin", "dtype", "predicate"))
    spelled = getattr(given.get("dtype"), "value", "")
    lanes = split_lanes(spelled)[1] if isinstance(spelled, str) else 0
    return lanes_of(p, _element(p, node, given["begin"], lanes, ast.Load()).slice)


def store_of(p: TirExprParser, node: Node) -> ast.Assign:
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


def _given(p: TirExprParser, call: Node, names: Sequence[str]) -> dict[str, Node]:
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
    p: TirExprParser, call: Node, begin: Node, lanes: int, context: ast.expr_context
) -> ast.Subscript:
    """Return the subscript of a buffer from an index on."""
    items = list(begin.elts) if isinstance(begin, (ast.List, ast.Tuple)) else [begin]
    if lanes and items and not lanes_of(p, items[-1]):
        end = ast.BinOp(items[-1], ast.Add(), ast.Constant(lanes))
        items[-1] = ast.Slice(items[-1], end)
    index = items[0] if len(items) == 1 else ast.Tuple(items, ast.Load())
    result = ast.Subscript(call.func.value, index, context)
    return ast.fix_missing_locations(ast.copy_location(result, call))
