"""Building, visiting and rewriting long functions: nanoseconds per binding stay the same.

`python benchmarks/bench_visitors.py` prints one line per size; `--million` adds the largest, which
takes minutes.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable
from typing import Any

from relax_mlir import relax
from relax_mlir.relax.expr import Call, Op, functions
from relax_mlir.relax.expr_functor import PyExprMutator, PyExprVisitor
from relax_mlir.script import relax as R

SIZES = (10_000, 100_000)
MILLION = 1_000_000
EXP = Op.get("relax.exp")


def build(size: int) -> Any:
    """Return a module of one dataflow block of that many bindings."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            value = x
            for index in range(size - 1):
                value = bb.emit(relax.op.exp(value) if index % 2 else relax.op.add(value, x))
            output = bb.emit_output(relax.op.abs(value))
        bb.emit_func_output(output)
    return bb.get()


class Count(PyExprVisitor):
    """Visits everything and counts calls."""

    def __init__(self) -> None:
        self.calls = 0

    def visit_call_(self, call: Call) -> None:
        """Count, and visit the arguments."""
        self.calls += 1
        super().visit_call_(call)


class Same(PyExprMutator):
    """Rewrites nothing."""


class One(PyExprMutator):
    """Rewrites the first of its kind."""

    done = False

    def visit_call_(self, call: Call) -> Any:
        """Rewrite once."""
        if self.done or call.op != EXP:
            return self.visit_expr_post_order(call)
        self.done = True
        return relax.op.negative(call.args[0])


class Half(PyExprMutator):
    """Rewrites every other binding."""

    def visit_call_(self, call: Call) -> Any:
        """Rewrite what is an `exp`."""
        call = self.visit_expr_post_order(call)
        return relax.op.negative(call.args[0]) if call.op == EXP else call


def timed(work: Callable[[], Any], size: int) -> tuple[float, Any]:
    """Return nanoseconds of the processor per binding, and the result."""
    gc.collect()
    start = time.process_time()
    found = work()
    return (time.process_time() - start) / size * 1e9, found


def main(argv: list[str] | None = None) -> int:
    """Measure each size once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of bindings")
    parser.add_argument("--million", action="store_true", help="a million bindings too")
    given = parser.parse_args(argv)
    sizes = [int(size) for size in given.sizes.split(",")] + [MILLION] * given.million
    names = ("build", "visit", "mutate nothing", "mutate one", "mutate half")
    print("  ".join(["bindings".rjust(9), *(name.rjust(14) for name in names)]), "(ns per binding)")
    for size in sizes:
        spent, mod = timed(lambda size=size: build(size), size)
        times = [spent]
        func = functions(mod)["main"]
        visitor = Count()
        spent, _ = timed(lambda v=visitor, f=func: v.visit_expr(f), size)
        assert visitor.calls == size
        times.append(spent)
        for cls in (Same, One, Half):
            spent, found = timed(lambda c=cls, f=func: c().visit_expr(f), size)
            assert (found is func) == (cls is Same)
            times.append(spent)
            del found
        print("  ".join([f"{size:9d}", *(f"{each:14.0f}" for each in times)]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
