"""Loops and branches of scf, calls' ends, and checks."""

from typing import Any

from relax_mlir.frontend.mlir.stablehlo.control import branches, carry
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import of_expr, of_ints


@converts("scf", "for")
def _for(m: Any) -> Any:
    bounds = [size for index in range(3) for size in m.sizes(index)]
    first = [m.value(index) for index in range(3, len(m.op.operands))]
    body = m.op.regions[0]
    with m.builder.for_(bounds, carry(m, first)) as loop, loop.body() as (at, *values):
        made = m.run_region(body, [of_ints(at.value), *(of_expr(each) for each in values)])
        loop.yield_(*carry(m, made))
    return list(loop.results)


@converts("scf", "if")
def _if(m: Any) -> Any:
    regions = [lambda region=region: m.run_region(region, []) for region in m.op.regions]
    return branches(m, m.emit(m.x(0)), regions)


@converts("cf", "assert")
def _assert(m: Any) -> Any:
    return m.check(m.value(0), m.attr("msg"))
