"""Control flow, calls, and operations that are unsupported, by name."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.frontend.mlir.legalized import legalized
from relax_mlir.frontend.mlir.needs import refuses
from relax_mlir.frontend.mlir.stablehlo.reduce import (
    DYNAMIC_REDUCE_WINDOW,
    dynamic_reduce_window,
)
from relax_mlir.frontend.mlir.types import python_value
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import Value, materialize, of_expr
from relax_mlir.relax import op
from relax_mlir.relax.expr import Tuple, const

# What upstream lowers to linalg, and no operation of Relax is.
_LOWERED = {
    "stablehlo": ("bitcast_convert", "cbrt", "count_leading_zeros", "map", "popcnt",
                  "reduce_precision", "select_and_scatter", "torch_index_select", "einsum"),
    "chlo": ("bessel_i1e", "digamma", "erf_inv", "erfc", "is_neg_inf", "is_pos_inf", "lgamma",
             "next_after", "polygamma", "sinh", "zeta"),
}  # fmt: skip
for _dialect, _names in _LOWERED.items():
    converts(_dialect, *_names)(legalized)


def carry(m: Any, values: Sequence[Value]) -> list[Any]:
    """Return values as variables, which loops and branches hand on."""
    return [m.emit(materialize(each)) for each in values]


@converts("stablehlo", "while")
@converts("scf", "while")
def while_(m: Any) -> Any:
    """Run a body as long as a condition holds; what is carried has its first value's type."""
    initial = carry(m, [m.value(index) for index in range(len(m.op.operands))])
    condition, body = m.op.regions
    is_scf = m.op.name == "scf.while"
    with m.builder.while_(initial) as loop:
        with loop.cond() as values:
            holds, *_ = m.run_region(condition, _values(values))
            loop.yield_(materialize(holds))
        with loop.body() as values:
            given = m.run_region(condition, _values(values))[1:] if is_scf else _values(values)
            loop.yield_(*carry(m, m.run_region(body, given)))
    if is_scf:
        return m.run_region(condition, _values(loop.results))[1:]
    return list(loop.results)


def _values(variables: Sequence[Any]) -> list[Value]:
    return [of_expr(each) for each in variables]


def branches(m: Any, condition: Any, regions: Sequence[Callable[[], list[Value]]]) -> list[Any]:
    """Run one of two regions, each given by what converts it.

    Returns:
        The results.
    """
    count = len(m.op.results)
    with m.builder.if_(condition) as branch:
        for scope, region in zip((branch.then_(), branch.else_()), regions, strict=True):
            with scope:
                made = carry(m, region())
                branch.yield_(made[0] if count == 1 else Tuple(made))
    if not count:
        return []
    return [branch.result] if count == 1 else [m.emit(branch.result[i]) for i in range(count)]


@converts("stablehlo", "if")
def _if(m: Any) -> Any:
    operation = m.op
    regions = [lambda region=region: m.run_region(region, []) for region in operation.regions]
    return branches(m, m.emit(m.x(0)), regions)


@converts("stablehlo", "case")
def _case(m: Any) -> Any:
    """Run the branch of an index; the last one is also that of every other index."""
    index = m.emit(m.x(0))
    return _from(m, index, list(m.op.regions), 0)


def _from(m: Any, index: Any, regions: list[Any], number: int) -> list[Any]:
    first, *others = regions
    if not others:
        return m.run_region(first, [])
    holds = m.emit(op.equal(index, const(number, index.ty.dtype)))

    def rest() -> list[Value]:
        made = _from(m, index, others, number + 1)
        return [each if isinstance(each, Value) else of_expr(each) for each in made]

    return branches(m, holds, [lambda: m.run_region(first, []), rest])


@converts("func", "call")
@converts("stablehlo", "composite")
def call(m: Any) -> Any:
    """Convert the body of a function in place of a call."""
    name = m.attr("callee") or m.attr("decomposition")
    return m.run_function(name, [m.value(index) for index in range(len(m.op.operands))])


_ANNOTATIONS = (
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
)  # fmt: skip


@converts("stablehlo", "custom_call")
def _custom_call(m: Any) -> Any:
    """Take the calls that JAX makes of operations, checks and annotations."""
    target = m.attr("call_target_name")
    if target == "shape_assertion":
        values = [m.value(index) for index in range(1, len(m.op.operands))]
        return m.check(m.value(0), m.attr("error_message", ""), values)
    if target == DYNAMIC_REDUCE_WINDOW:
        return dynamic_reduce_window(m)
    return [m.value(index) for index in range(len(m.op.results))]


@refuses("stablehlo.custom_call")
def _unknown_call(op: Any) -> str:
    target = python_value(op.attributes["call_target_name"])
    known = (*_ANNOTATIONS, "shape_assertion", DYNAMIC_REDUCE_WINDOW)
    return "" if target in known else f"it calls '{target}'"
