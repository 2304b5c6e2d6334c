"""What tests of schedules use, under TVM's names."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.ir.structural.compare import assert_structural_equal
from relax_mlir.tir.schedule.schedule import Schedule
from relax_mlir.tir.schedule.trace.trace import Trace

_FORMATS = ("python", "json")


def assert_structural_equal_ignore_global_symbol(
    func1: Any, func2: Any, map_free_vars: bool = False
) -> None:
    """Raise unless two functions are structurally equal, whatever they are called.

    Raises:
        StructuralEqualError: they differ; says where first, and both sides.
    """
    left, right = (each.with_attr("global_symbol", "main") for each in (func1, func2))
    assert_structural_equal(left, right, map_free_vars)


def verify_trace_roundtrip(
    sch: Schedule, mod: Any, *, debug_mask: str | int = "all",
    text_format: str | Sequence[str] = _FORMATS,
) -> Schedule:  # fmt: skip
    """Apply a schedule's trace, written and read again, to a program, and compare the results.

    Args:
        sch: the schedule.
        mod: the program that it began with.
        debug_mask: as for `Schedule`.
        text_format: how the trace is written: `"python"`, `"json"`, or several of these.

    Returns:
        The last schedule that was made.

    Raises:
        ValueError: there is no such format, or `sch` keeps no trace.
        StructuralEqualError: a program differs from that of `sch`.
        AssertionError: a trace differs from that of `sch`.
    """
    formats = [text_format] if isinstance(text_format, str) else list(text_format)
    if not formats or not set(formats) <= set(_FORMATS):
        raise ValueError(f"a trace is written as 'python' or 'json', got {text_format!r}")
    trace, made = sch.trace, sch
    if trace is None:
        raise ValueError("the schedule keeps no trace")
    for each in formats:
        made = Schedule(mod, debug_mask=debug_mask)
        if each == "json":
            Trace.apply_json_to_schedule(trace.as_json(), made)
        else:
            exec("\n".join(trace.as_python()), _names(), {"sch": made})
        assert_structural_equal(made.mod, sch.mod)
        assert made.trace is not None
        assert made.trace.as_python() == trace.as_python()
    return made


def _names() -> dict[str, Any]:
    """Return what traces written as Python mention."""
    from relax_mlir import tir
    from relax_mlir.script import tir as T

    return {**vars(tir), "T": T, "tir": tir}
