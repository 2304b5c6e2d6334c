"""The plans of kernels for reports: decisions, alternatives and estimated costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.describe import is_small
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, Plan, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import Size, cost, size_of
from relax_mlir.lowering.tir_to_vector.plan import matches


@dataclass(frozen=True)
class NestPlan:
    """The plan of blocks that are lowered together.

    Attributes:
        blocks: their names.
        kinds: their classes, as `BlockInfo` has them.
        lines: the decision, its alternatives with their estimated costs, and why other kernel
            classes do not match.
        cycles: the estimated instructions' cycles of one unit for vectors; None for plain loops.
        tile: elements in registers at a time, such as `12x32` (rows by columns).
        vector: the vector type, such as `16 x f32`; empty for plain loops.
        reason: why there is no fast path; empty if there is one, or next to nothing to do.
    """

    blocks: tuple[str, ...]
    kinds: tuple[str, ...]
    lines: tuple[str, ...]
    cycles: float | None = None
    tile: str = ""
    vector: str = ""
    reason: str = ""


def describe(plan: Plan, sizes: Mapping[str, int] | None = None) -> NestPlan:
    """Return the description of a plan, before it is carried out.

    `sizes` are values of symbolic sizes, for estimates; others are assumed.
    """
    names = tuple(info.name for info in plan.blocks)
    # What is fast is a map, also where it writes only a part: padding, a copy into a whole.
    kinds = tuple(
        dict.fromkeys(
            "injective" if info.fast and info.kind == "opaque" else info.kind
            for info in plan.blocks
        )
    )
    reason = "; ".join(dict.fromkeys(info.reason for info in plan.blocks if info.reason))
    size = size_of(sizes)
    lines = tuple(_explain(plan, size))
    if plan.problem is None:
        return NestPlan(names, kinds, lines, reason="" if is_small(plan) else reason)
    chosen, element = plan.decision[-1], plan.problem.element
    lanes = plan.machine.lanes(element)
    cycles = chosen.work(size).cycles
    if lanes is None:
        return NestPlan(names, kinds, lines, cycles, reason=reason)
    tile = _tile(chosen) or str(lanes)
    return NestPlan(names, kinds, lines, cycles, tile, f"{lanes} x {element}", reason)


def _explain(plan: Plan, size: Size) -> list[str]:
    """Return the decision, the alternatives, and why others do not match."""
    chosen = plan.kernel_class
    lines = ["plain loops"]
    if chosen is not None:
        decision = " or, as run time says, ".join(
            _estimate(each, plan.machine, size) for each in plan.decision
        )
        lines = [f"{chosen.name}: {decision}"]
        others = [each for each in plan.candidates if each not in plan.decision]
        lines += _list("other ways", [_estimate(each, plan.machine, size) for each in others])
    matched, reasons = [], dict[str, list[str]]()
    for kernel_class, problem in matches(plan.nests):
        if isinstance(problem, Problem):
            if kernel_class is not chosen:
                tops = [nest.top for nest in problem.nests]
                best = kernel_class.candidates(problem, plan.machine)[-1]
                part = f" for {len(tops)} of {len(plan.tops)} nests" if tops != plan.tops else ""
                matched.append(f"{kernel_class.name}: {_estimate(best, plan.machine, size)}{part}")
        else:
            reasons.setdefault(problem, []).append(kernel_class.name)
    lines += _list("other classes that match", matched)
    no = [f"{', '.join(names)} ({reason})" for reason, names in reasons.items()]
    return lines + _list("classes that do not match", no)


def _list(title: str, entries: Sequence[str]) -> list[str]:
    return [f"  {title}: {'; '.join(entries)}"] if entries else []


def _estimate(candidate: Candidate, machine: Machine, size: Size) -> str:
    cycles = cost(candidate.work(size), machine)
    return " ".join(filter(None, (candidate.name, _tile(candidate), f"({cycles:.2g} cycles)")))


def _tile(candidate: Candidate) -> str:
    return "x".join(map(str, candidate.tile))
