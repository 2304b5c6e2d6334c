"""Doing again what a trace says."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.tir.prim_expr import PrimExpr
from relax_mlir.tir.schedule.handles import ExprRV, RandomVariable
from relax_mlir.tir.schedule.instruction import Instruction
from relax_mlir.tir.schedule.trace import DecisionProvider, Trace

if TYPE_CHECKING:
    from relax_mlir.tir.schedule.schedule import Schedule


def replay(
    trace: Trace, insts: Sequence[Instruction], sch: "Schedule", provider: DecisionProvider | None
) -> None:
    """Do the instructions of a trace on a schedule."""
    variables: dict[int, Any] = {}
    for inst in list(insts):
        arguments = {k: substituted(v, variables) for k, v in inst.arguments.items()}
        if inst.kind.samples:
            decision = trace.decisions.get(inst)
            if provider is not None:
                decision = provider(
                    inst,
                    [substituted(v, variables) for v in inst.inputs],
                    list(inst.attrs),
                    decision,
                )
            arguments["decision"] = decision
        positional = arguments.pop(inst.kind.variadic, []) if inst.kind.variadic else []
        given = getattr(sch, inst.kind.method)(*positional, **arguments)
        results = [] if given is None else given
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        for old, new in zip(inst.outputs, results, strict=False):
            variables[id(old)] = new


def substituted(value: Any, variables: dict[int, Any]) -> Any:
    """Return an argument with the random variables of another schedule in place of those in it."""
    if isinstance(value, (RandomVariable, ExprRV)):
        return variables.get(id(value), value)
    if isinstance(value, (list, tuple)):
        return [substituted(each, variables) for each in value]
    if isinstance(value, dict):
        return {key: substituted(each, variables) for key, each in value.items()}
    if isinstance(value, PrimExpr) and value.operands:
        parts = [substituted(each, variables) for each in value.operands]
        if any(a is not b for a, b in zip(parts, value.operands, strict=True)):
            return type(value)(*parts)
    return value
