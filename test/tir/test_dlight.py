"""Rules that schedule prim funcs without tuning."""

from typing import Any

from relax_mlir import IRModule, tir
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from relax_mlir.tir import dlight


@I.ir_module
class Module:
    @T.prim_func
    def first(a: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("fill"):
                v = T.axis.spatial(4, i)
                a[v] = 1.0

    @T.prim_func
    def second(a: T.Buffer((4,), "float32")):
        T.func_attr({"tir.is_scheduled": True})
        for i in range(4):
            with T.block("fill"):
                v = T.axis.spatial(4, i)
                a[v] = 1.0

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return x


@dlight.ScheduleRule.from_callable("Unroll")
def unroll(func: Any, target: Any, tunable: bool) -> Any:
    schedule = tir.Schedule(func)
    schedule.unroll(schedule.get_loops("fill")[0])
    return [schedule]


def test_the_first_rule_that_applies_schedules() -> None:
    # Rules for GPUs apply to nothing; what is scheduled stays.
    scheduled = dlight.ApplyDefaultSchedule(dlight.gpu.Fallback(), unroll)(Module)
    assert isinstance(scheduled, IRModule)
    assert "T.unroll" in scheduled["first"].script()
    assert scheduled["first"].attrs["tir.is_scheduled"]
    assert "T.unroll" not in scheduled["second"].script()
    again = dlight.ApplyDefaultSchedule(dlight.gpu.Matmul())(Module)
    assert again["first"].script() == Module["first"].script()
