"""Schedules without tuning, `s_tir.dlight`: rules that are tried on each prim func in turn."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from relax_mlir.lowering.target.target import Target
from relax_mlir.pass_infra.kinds.decorators import module_pass
from relax_mlir.tir.schedule import Schedule


class ScheduleRule:
    """How to schedule some prim funcs for some targets."""

    def apply(self, func: Any, target: Target, tunable: bool) -> "Schedule | list[Schedule] | None":
        """Return a schedule of a prim func, or None where the rule is not for it.

        Args:
            func: the prim func.
            target: what it is compiled for.
            tunable: whether there may be several schedules to choose from.
        """
        raise NotImplementedError

    @staticmethod
    def from_callable(name: str) -> Callable[[Callable[..., Any]], "ScheduleRule"]:
        """Make a rule of a function that takes the arguments of `apply`: a decorator."""
        return lambda apply: type(name, (ScheduleRule,), {"apply": staticmethod(apply)})()


@module_pass(opt_level=0, name="ApplyDefaultSchedule")
class ApplyDefaultSchedule:
    """Schedule each prim func by the first rule that is for it, unless `tir.is_scheduled` is set.

    Args:
        rules: the rules, in the order in which they are tried.
    """

    def __init__(self, *rules: ScheduleRule) -> None:
        self.rules = rules

    def transform_module(self, mod: Any, ctx: Any) -> Any:
        """Return the module, its prim funcs scheduled."""
        for name, func in mod.functions_items():
            if not hasattr(func, "buffer_map") or func.attrs.get("tir.is_scheduled"):
                continue
            spaces = (rule.apply(func, Target.default(), False) for rule in self.rules)
            space = next((space for space in spaces if space is not None), None)
            if space is not None:
                (schedule,) = space if isinstance(space, list) else [space]
                (scheduled,) = schedule.mod.functions.values()
                mod[name] = scheduled.with_attr("tir.is_scheduled", True)
        return mod


class GPUScheduleRule(ScheduleRule):
    """A rule for GPUs; targets are CPUs here, so that it applies to no prim func."""

    def apply(self, func: Any, target: Target, tunable: bool) -> None:
        """Return None."""


gpu = SimpleNamespace(**{
    name: type(name, (GPUScheduleRule,), {})
    for name in (
        "Fallback", "GEMV", "GeneralReduction", "LowBatchGEMV", "Matmul", "RMSNorm", "Reduction",
        "Transpose",
    )
})  # fmt: skip
