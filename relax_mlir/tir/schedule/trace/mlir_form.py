"""Traces as MLIR: a transform script of the schedule dialect, out and in."""

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.schedule import load_schedule
from relax_mlir.errors import ScheduleValueError
from relax_mlir.tir.schedule.attributes import attribute
from relax_mlir.tir.schedule.handles import VARIABLES
from relax_mlir.tir.schedule.trace.instruction import Instruction, Names, kind_of
from relax_mlir.tir.schedule.trace.json_form import decode, encode

# IRDL wants the operands of one operation to be of one type.
_HANDLE = "!transform.any_op"
_ENTRY = "__transform_main"
_SHELL = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @{_ENTRY}(%root: !transform.any_op) {{
    transform.yield
  }}
}}"""


class _Operands:
    """Names the random variables of one operation by the numbers of its operands: x0, x1, ..."""

    def __init__(self, values: dict[int, ir.Value]) -> None:
        self.values, self.used = values, []

    def __getitem__(self, rv: Any) -> str:
        if id(rv) not in self.values:
            raise ScheduleValueError("the trace uses a random variable that it does not make")
        self.used.append(self.values[id(rv)])
        return f"x{len(self.used) - 1}"


def as_mlir(insts: Sequence[Instruction], decisions: Mapping[Instruction, Any]) -> str:
    """Return instructions as a transform script."""
    with make_context() as context, ir.Location.unknown():
        load_schedule(context)
        module = ir.Module.parse(_SHELL)
        body = module.body.operations[0].operation.regions[0].blocks[0]
        end = list(body.operations)[-1]
        values: dict[int, ir.Value] = {}
        names = Names()
        with ir.InsertionPoint(end):
            for inst in insts:
                _write(inst, decisions.get(inst), values, names, body.arguments[0])
        module.operation.verify()
        text = module.operation.get_asm(use_name_loc_as_prefix=True)
    return text


def _write(
    inst: Instruction, decision: Any, values: dict[int, ir.Value], names: Names, root: ir.Value
) -> None:
    operands = _Operands(values)
    attributes = {k: _attribute(encode(v, operands)) for k, v in inst.arguments.items()}
    if decision is not None:
        attributes["decision"] = _attribute(encode(decision, operands))
    spelled = [names.new(rv) for rv in inst.outputs]
    location = ir.Location.name(spelled[0]) if spelled else ir.Location.unknown()
    op = ir.Operation.create(
        f"schedule.{inst.kind.method}",
        operands=operands.used or [root],
        results=[ir.Type.parse(_HANDLE)] * len(inst.outputs),
        attributes=attributes,
        loc=location,
    )
    for rv, result in zip(inst.outputs, op.results, strict=True):
        values[id(rv)] = result


def _attribute(value: Any) -> ir.Attribute:
    if value is None:
        return ir.UnitAttr.get()
    if isinstance(value, list):
        return ir.ArrayAttr.get([_attribute(each) for each in value])
    if not isinstance(value, dict):
        return attribute(value)
    if "rv" in value:
        return ir.FlatSymbolRefAttr.get(value["rv"])
    return ir.DictAttr.get({key: _attribute(each) for key, each in value.items()})


def from_mlir(text: str) -> tuple[list[Instruction], dict[Instruction, Any]]:
    """Return the instructions and decisions of the trace that a transform script describes.

    Raises:
        ValueError: it is none.
    """
    with make_context() as context, ir.Location.unknown():
        load_schedule(context)
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise ScheduleValueError(f"this is no trace of a schedule: {error}") from error
        for view in module.body.operations:
            op = view.operation
            named = "sym_name" in op.attributes
            if named and ir.StringAttr(op.attributes["sym_name"]).value == _ENTRY:
                try:
                    return _read(op.regions[0].blocks[0])
                except (KeyError, TypeError, ValueError, SyntaxError) as error:
                    raise ScheduleValueError(f"this is no trace of a schedule: {error}") from error
    raise ScheduleValueError(f"this is no trace of a schedule: it has no sequence '{_ENTRY}'")


def _read(body: ir.Block) -> tuple[list[Instruction], dict[Instruction, Any]]:
    insts: list[Instruction] = []
    decisions: dict[Instruction, Any] = {}
    made: dict[ir.Value, Any] = {}
    for view in body.operations:
        op = view.operation
        if op.name == "transform.yield":
            break
        kind = kind_of(op.name.removeprefix("schedule."))
        used = {f"x{i}": made[v] for i, v in enumerate(op.operands) if v in made}
        given = {name: _value(op.attributes[name]) for name in op.attributes}
        arguments = {name: decode(given[name], used) for name in kind.parameters}
        outputs = [VARIABLES[kind.gives]() for _ in op.results]
        made.update(zip(op.results, outputs, strict=True))
        insts.append(Instruction(kind, arguments, outputs))
        if "decision" in given:
            decisions[insts[-1]] = decode(given["decision"], used)
    return insts, decisions


def _value(attribute: ir.Attribute) -> Any:
    attribute = attribute.maybe_downcast()
    if isinstance(attribute, ir.UnitAttr):
        return None
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return {"rv": attribute.value}
    if isinstance(attribute, ir.ArrayAttr):
        return [_value(each) for each in attribute]
    if isinstance(attribute, ir.DictAttr):
        return {item.name: _value(item.attr) for item in attribute}
    return attribute.value
