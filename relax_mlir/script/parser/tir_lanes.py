"""Vector expressions, `B[i : i + 4] = A[T.Ramp(j, 2, 4)] * T.Broadcast(x, 4)`: lane after lane.

An expression with lanes is read once for each: all lanes are computed before the first is stored.
"""

import ast
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.source import Node

if TYPE_CHECKING:
    from relax_mlir.script.parser.tir_expr import TirExprParser
    from relax_mlir.script.parser.tir_stmt import TirStmtParser

_RAMPS = ("T.ramp", "T.Ramp")
_BROADCASTS = ("T.broadcast", "T.Broadcast")
_MOST = 1024


def store_vector(stmts: "TirStmtParser", buffer: Buffer, target: Node, value: Node) -> bool:
    """Parse a store of several lanes; whether it was one.

    Raises:
        ScriptError: the two sides have different lanes, or something in them is wrong.
    """
    p = stmts.expr
    lanes = _lanes(p, target.slice)
    if lanes == 0:
        return False
    given = _lanes(p, value)
    if given not in (0, lanes):
        p.scope.fail(value, f"{lanes} lanes are stored, this has {given}")
    raws = []
    for lane in range(lanes):
        with p.on_lane(lane):
            raws.append((p.indices(target, buffer), p.evaluate(value)))
    for indices, raw in raws:
        stmts.store(buffer, target, indices, raw, value)
    return True


def lane_of(p: "TirExprParser", node: Node, path: str) -> Any:
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
    vectors, picks = _shuffled(p, node)
    parts = [(vector, i) for vector in vectors for i in range(_lanes(p, vector) or 1)]
    if not 0 <= picks[p.lane] < len(parts):
        p.scope.fail(node, f"lane {picks[p.lane]} of {len(parts)}")
    vector, lane = parts[picks[p.lane]]
    with p.on_lane(lane):
        return p.evaluate(vector)


def slice_index(p: "TirExprParser", item: Node) -> Node:
    """Return where a slice begins, of which the lane that is being read is one element."""
    return item.lower if item.lower is not None else ast.copy_location(ast.Constant(0), item)


def _shuffled(p: "TirExprParser", node: Node) -> tuple[list[Node], list[int]]:
    p.count(node, 2)
    vectors, picks = node.args
    several = (ast.List, ast.Tuple)
    numbers = [_number(p, each) for each in getattr(picks, "elts", ())]
    if not isinstance(vectors, several) or not isinstance(picks, several) or None in numbers:
        p.scope.fail(node, "T.Shuffle takes a list of vectors and a list of constant lanes")
    return list(vectors.elts), [number for number in numbers if number is not None]


def _number(p: "TirExprParser", node: Node) -> int | None:
    """Return the integer that a node spells, None for anything else."""
    if isinstance(node, ast.Call):
        known = p.scope.path(node.func) in ("T.int32", "T.int64") and len(node.args) == 1
        return _number(p, node.args[0]) if known else None
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    value = p.scope.lookup_or(node, MISSING) if isinstance(node, ast.Name) else None
    return value if type(value) is int else None


def _lanes(p: "TirExprParser", node: Node) -> int:
    """Return how many lanes an expression has, 0 for a scalar.

    Raises:
        ScriptError: two parts have different lanes, or a part's are no constant.
    """
    path = p.scope.path(node.func) if isinstance(node, ast.Call) else None
    if path in (*_RAMPS, *_BROADCASTS):
        count = _number(p, node.args[-1]) if node.args else None
        if count is None or not 1 <= count <= _MOST:
            p.scope.fail(node, f"the lanes of a vector are a constant from 1 to {_MOST}")
        return count
    if path == "T.Shuffle":
        return len(_shuffled(p, node)[1])
    if isinstance(node, ast.Slice):
        return _length(p, node)
    found = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            lanes = _lanes(p, child)
            if found and lanes not in (0, found):
                p.scope.fail(node, f"{found} lanes meet {lanes}")
            found = found or lanes
    return found


def _length(p: "TirExprParser", node: Node) -> int:
    """Return the length of `a : a + 4`."""
    if node.step is not None or node.upper is None:
        p.scope.fail(node, "a vector of a buffer is A[i : i + 4]")
    start = SymExpr.const(0) if node.lower is None else _plain(node.lower)
    length = (_plain(node.upper) - start).value
    if length is None or not 1 <= length <= _MOST:
        p.scope.fail(node, f"the lanes of a vector are a constant from 1 to {_MOST}")
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
