"""Traces as JSON, out and in: `[instructions, decisions]`, as TVM writes them."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.parse import read_expression
from relax_mlir.errors import ScheduleValueError
from relax_mlir.tir.scalar import nodes
from relax_mlir.tir.scalar.prim_expr import IntImm, PrimExpr
from relax_mlir.tir.schedule.handles import VARIABLES, ExprRV, RandomVariable
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.trace.instruction import Instruction, Names, kind_of, spell_expr

_OPERATORS = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.FloorDiv: "FloorDiv",
              ast.Mod: "FloorMod"}  # fmt: skip


def as_json(insts: Sequence[Instruction], decisions: Mapping[Instruction, Any]) -> list[Any]:
    """Return instructions and their decisions as JSON."""
    names = Names()
    result: list[Any] = []
    decided: list[Any] = []
    for position, inst in enumerate(insts):
        inputs = [encode(inst.arguments[name], names) for name in inst.kind.inputs]
        attrs = [
            encode(value, names) for name, value in inst.arguments.items()
            if name not in inst.kind.inputs
        ]  # fmt: skip
        outputs = [names.new(each) for each in inst.outputs]
        result.append([inst.kind.name, inputs, attrs, outputs])
        if decisions.get(inst) is not None:
            decided.append([position, encode(decisions[inst], names)])
    return [result, decided]


def encode(value: Any, names: Any) -> Any:
    """Return an argument as JSON.

    Args:
        value: the argument.
        names: what gives random variables their names, by indexing.

    Raises:
        TypeError: nothing of the kind can be in a trace.
    """
    if isinstance(value, (RandomVariable, ExprRV)):
        return {"rv": names[value]}
    if isinstance(value, (list, tuple)):
        return [encode(each, names) for each in value]
    if isinstance(value, dict):
        return {"dict": [[encode(k, names), encode(v, names)] for k, v in value.items()]}
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, PrimExpr):
        return {"expr": spell_expr(value, names)}
    if isinstance(value, SymExpr):
        return {"size": str(value)}
    if hasattr(value, "as_json"):
        return value.as_json()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} of a trace cannot be written as JSON")


def from_json(data: Any) -> tuple[list[Instruction], dict[Instruction, Any]]:
    """Return the instructions and decisions of the trace that JSON describes.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(data, (list, tuple)) or len(data) != 2:
        raise ScheduleValueError(
            "this is no trace of a schedule: expected a list of two, instructions and decisions"
        )
    try:
        entries, decided = data
        variables: dict[str, Any] = {}
        insts = [_instruction(entry, variables) for entry in entries]
        decisions = {insts[position]: decode(each, variables) for position, each in decided}
    except (TypeError, ValueError, KeyError, IndexError, SyntaxError) as error:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        raise ScheduleValueError(f"this is no trace of a schedule: {text}") from error
    return insts, decisions


def _instruction(entry: Any, variables: dict[str, Any]) -> Instruction:
    name, inputs, attrs, outputs = entry
    kind = kind_of(name)
    rest = [key for key in kind.parameters if key not in kind.inputs]
    if len(inputs) != len(kind.inputs) or len(attrs) != len(rest):
        raise ScheduleValueError(f"{name} has {len(kind.inputs)} inputs and {len(rest)} attributes")
    given = dict(zip((*kind.inputs, *rest), (*inputs, *attrs), strict=True))
    arguments = {key: decode(given[key], variables) for key in kind.parameters}
    made = []
    for each in outputs:
        variables[each] = VARIABLES[each[0]]()
        made.append(variables[each])
    return Instruction(kind, arguments, made)


def decode(value: Any, variables: dict[str, Any]) -> Any:
    """Return the argument that JSON describes.

    Args:
        value: what `encode` gave.
        variables: the random variables by their names.

    Raises:
        KeyError: a name has no variable.
        ValueError: it describes none.
    """
    if isinstance(value, list):
        return [decode(each, variables) for each in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "rv":
        return variables[content]
    if tag == "dict":
        return {decode(k, variables): decode(v, variables) for k, v in content}
    if tag == "expr":
        return _expression(ast.parse(content, mode="eval").body, variables)
    if tag == "size":
        return read_expression(content)
    if tag == "index_map":
        return IndexMap.from_json(content)
    raise ScheduleValueError(f"unknown value '{tag}'")


def _expression(node: ast.AST, variables: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return variables[node.id]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        sides = [_expression(side, variables) for side in (node.left, node.right)]
        return getattr(nodes, _OPERATORS[type(node.op)])(*sides)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 2:
        sides = [_expression(side, variables) for side in node.args]
        return getattr(nodes, {"min": "Min", "max": "Max"}[node.func.attr])(*sides)
    raise ScheduleValueError("unknown expression")
