"""Traces: the instructions of a schedule with their decisions, printed, changed and replayed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relax_mlir.errors import ScheduleTypeError, ScheduleValueError
from relax_mlir.extension_points import extension
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.tir.schedule.handles import ExprRV, RandomVariable
from relax_mlir.tir.schedule.trace.instruction import Instruction, as_python
from relax_mlir.tir.schedule.trace.json_form import as_json, from_json
from relax_mlir.tir.schedule.trace.mlir_form import as_mlir, from_mlir

DecisionProvider = Callable[[Instruction, list[Any], list[Any], Any], Any]


class Trace:
    """The instructions that a schedule was made by, and the decisions of those that sample.

    `str(trace)` is a Python function that makes the schedule again.

    Attributes:
        insts: the instructions, in order.
        decisions: what those that sample decided.
    """

    def __init__(
        self,
        insts: Iterable[Instruction] = (),
        decisions: dict[Instruction, Any] | None = None,
    ) -> None:
        kept: list[Instruction] = list(insts) if isinstance(insts, Iterable) else [insts]
        for each in kept:
            if not isinstance(each, Instruction):
                raise ScheduleTypeError(
                    f"tir.Trace takes a list of instructions, got {each!r}; sch.trace has those of "
                    "a schedule, Trace.from_json reads them"
                )
        if decisions is not None and not isinstance(decisions, dict):
            raise ScheduleTypeError(
                f"the decisions of tir.Trace are a dict by instruction, got {decisions!r}"
            )
        self.insts = kept
        self.decisions: dict[Instruction, Any] = dict(decisions or {})

    def __len__(self) -> int:
        return len(self.insts)

    def get_decision(self, inst: Instruction) -> Any:
        """Return what an instruction decided, None where it decides nothing."""
        return self.decisions.get(inst)

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Add an instruction at the end."""
        self.insts.append(inst)
        if decision is not None:
            self.decisions[inst] = decision

    def pop(self) -> Instruction | None:
        """Remove the last instruction and return it, None where there is none."""
        if not self.insts:
            return None
        inst = self.insts.pop()
        self.decisions.pop(inst, None)
        return inst

    def copy(self) -> "Trace":
        """Return a trace of the same instructions, to be added to independently."""
        return Trace(self.insts, self.decisions)

    def _kept(self, remove_postproc: bool) -> list[Instruction]:
        if not remove_postproc:
            return self.insts
        ends = (i for i, inst in enumerate(self.insts) if inst.kind.postproc)
        return self.insts[: next(ends, len(self.insts))]

    def with_decision(
        self, inst: Instruction, decision: Any, remove_postproc: bool = False
    ) -> "Trace":
        """Return a trace in which an instruction decided otherwise.

        Raises:
            ValueError: the instruction is not in the trace, or decides nothing.
        """
        if inst not in self.insts or not inst.kind.samples:
            raise ScheduleValueError(f"{inst.kind.name} is no sampling instruction of this trace")
        kept = self._kept(remove_postproc)
        return Trace(
            kept, {**{i: d for i, d in self.decisions.items() if i in kept}, inst: decision}
        )

    def simplified(self, remove_postproc: bool = False) -> "Trace":
        """Return a trace without instructions that change nothing and whose results are unused.

        Args:
            remove_postproc: whether `enter_postproc` and what follows it go too.
        """
        used: set[int] = set()
        kept: list[Instruction] = []
        for inst in reversed(self._kept(remove_postproc)):
            if inst.kind.pure and not any(id(output) in used for output in inst.outputs):
                continue
            kept.append(inst)
            used |= {id(each) for each in inst.variables()}
        kept.reverse()
        return Trace(kept, {inst: d for inst, d in self.decisions.items() if inst in kept})

    def apply_to_schedule(
        self,
        sch: Any,
        remove_postproc: bool = False,
        decision_provider: DecisionProvider | None = None,
    ) -> None:
        """Do all of it again on a schedule, which records it in its own trace.

        Args:
            sch: the `tir.Schedule`, of the same program or one with the same blocks.
            remove_postproc: whether to stop at `enter_postproc`.
            decision_provider: called for each instruction that samples with it, its inputs, its
                attributes and its decision; returns the decision to make.

        Raises:
            ScheduleError: a primitive cannot be applied.
        """
        replay(self, self._kept(remove_postproc), sch, decision_provider)

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """Return the trace as statements of Python, which call the methods of `sch`."""
        return as_python(self._kept(remove_postproc), self.decisions)

    def as_json(self, remove_postproc: bool = False) -> Any:
        """Return the trace as lists, strings and numbers that `json` writes."""
        return as_json(self._kept(remove_postproc), self.decisions)

    def as_mlir(self, remove_postproc: bool = False) -> str:
        """Return the trace as MLIR text: a transform script whose operations are the primitives."""
        return as_mlir(self._kept(remove_postproc), self.decisions)

    @staticmethod
    def from_json(json_obj: Any) -> "Trace":
        """Return the trace that `as_json` gave.

        Raises:
            ValueError: it is no trace.
        """
        return Trace(*from_json(json_obj))

    @staticmethod
    def from_mlir(text: str) -> "Trace":
        """Return the trace that `as_mlir` gave.

        Raises:
            ValueError: it is no trace.
        """
        return Trace(*from_mlir(text))

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Any) -> None:
        """Do what a trace says that `as_json` gave.

        Raises:
            ValueError: it is no trace.
            ScheduleError: a primitive cannot be applied.
        """
        Trace.from_json(json_obj).apply_to_schedule(sch)

    def __str__(self) -> str:
        lines = self.as_python() or ["pass"]
        body = "\n".join(f"    {line}" for line in lines)
        head = "# from relax_mlir import tir\n"
        return f"{head}def apply_trace(sch: tir.Schedule) -> None:\n{body}\n"

    def show(self, style: str | None = None) -> None:
        """Print the trace as Python, in colour on terminals.

        Args:
            style: `"ansi"` for colour always, `"plain"` for none.
        """
        extension("ir.show")(str(self), style)

    def _repr_html_(self) -> str:
        """Return the trace as notebooks show it."""
        return extension("ir.html")(str(self))


def replay(
    trace: Trace, insts: Sequence[Instruction], sch: Any, provider: DecisionProvider | None
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
