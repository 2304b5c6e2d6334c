"""The pass infrastructure: what the facade costs, how fast passes go, whether memory stays."""

import ctypes
import gc
import sys
from functools import partial
from time import perf_counter, process_time

import harness

from relax_mlir import IRModule, relax
from relax_mlir.dialects.bindings import passmanager
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.relax import build
from relax_mlir.dialects.verify import rules_changed
from relax_mlir.instrument.statistics import resident_bytes
from relax_mlir.transform import (
    PassContext,
    Sequential,
    dataflowblock_pass,
    function_pass,
    get_pass,
    mlir,
    module_pass,
    pattern,
)
from relax_mlir.transform import rewrite as rewriting

T = "tensor<4xf32>"
UNARY = ("exp", "sin", "cos", "tanh", "sqrt", "negative", "abs", "log", "floor", "ceil")
NO_VERIFIER = {"transform.verify_each": False}


def chain(count):
    """Return a module of so many operations: every fourth a copy, every fifth dead."""
    lines, last = [], "x"
    for i in range(count):
        operand = lines[-1][1] if i % 4 == 3 else last
        lines.append((f"v{i}", operand, UNARY[(i - (i % 4 == 3)) % len(UNARY)]))
        if i % 5 != 4:
            last = f"v{i}"
    body = "\n".join(f'  %{v} = "relax.{op}"(%{arg}) : ({T}) -> {T}' for v, arg, op in lines)
    return IRModule.parse(
        f"func.func @main(%x: {T}) -> {T} attributes {{relax.function}} {{\n{body}\n"
        f"  return %{last} : {T}\n}}"
    )


def noop(name="Noop"):
    return module_pass(lambda mod, ctx: mod, opt_level=0, name=name)


def once(function, rounds=3):
    """Return the best processor time of a few calls: these are long enough for the clock."""
    best = float("inf")
    for _ in range(rounds):
        start = process_time()
        function()
        best = min(best, process_time() - start)
    return best


def each_of_many(make, count, rounds):
    """Return what one pass more costs, in us: `make(n)` gives a function that runs n passes."""
    few, many = make(1), make(count + 1)
    # In turn, so that a machine that slows down does so for both.
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        best = [min(b, once(f, 1)) for b, f in zip(best, (few, many), strict=True)]
    return 1e6 * (best[1] - best[0]) / count


def facade():
    """What each further pass of a Sequential costs, next to MLIR's own PassManager.

    Both do the same: the passes, and after each MLIR's verifier or not. The difference is all that
    the facade adds: the context's rules, the instruments, the reproducer, diagnostics as data.
    """
    mod = chain(1000)

    def bare(count, python, verify):
        manager = passmanager.PassManager("builtin.module", mod.context)
        manager.enable_verifier(verify)
        for i in range(count):
            if python:
                manager.add(lambda op, external: None, f"P{i}")
            else:
                manager.add("strip-debuginfo")
        working = mod.clone()
        return lambda: manager.run(working.mlir_module.operation)

    def ours(count, python):
        made = [noop(f"P{i}") if python else mlir("strip-debuginfo") for i in range(count)]
        sequence = Sequential(made)
        return lambda: sequence(mod)

    rows = []
    for kind, python in (("Python, does nothing", True), ("upstream, strip-debuginfo", False)):
        for verify, count, rounds in ((False, 100, 30), (True, 5, 100)):
            with PassContext(config={"transform.verify_each": verify}):
                with_facade = each_of_many(partial(ours, python=python), count, rounds)
            without = each_of_many(partial(bare, python=python, verify=verify), count, rounds)
            rows.append(
                [
                    kind,
                    "yes" if verify else "no",
                    f"{without:.1f}",
                    f"{with_facade:.1f}",
                    f"{with_facade - without:+.1f}",
                ]
            )
    header = ["a pass on 1000 operations, us", "verified", "MLIR alone", "facade", "difference"]
    harness.table(header, rows)
    copy = 1e6 * once(mod.clone, 9)
    print(f"\nThe copy of the module, once for a whole Sequential: {copy:.0f} us.\n")


def verification():
    """What MLIR's verifier costs after a pass: ours is Python, asked once for equal operations."""
    plain = IRModule.parse(
        f"func.func @main(%0: {T}) -> {T} {{\n"
        + "\n".join(f"  %{i + 1} = math.exp %{i} : {T}" for i in range(1000))
        + f"\n  return %1000 : {T}\n}}"
    )
    ours, context = chain(1000), make_context()
    rules_changed()
    start = perf_counter()
    ours.verify()
    first = perf_counter() - start
    rows = [
        [
            "Relax, all equal but for their name",
            f"{1e3 * first:.1f}",
            f"{1e3 * once(ours.verify, 9):.1f}",
        ],
    ]
    different = IRModule.parse(
        "func.func @main() attributes {relax.function} {\n"
        + "\n".join(
            f'  %{i} = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], '
            f"affine_map<() -> ({i}, 2)>>>"
            for i in range(1000)
        )
        + "\n  return\n}",
        context,
    )
    rules_changed()
    start = perf_counter()
    different.verify()
    first = perf_counter() - start
    rows.append(
        ["Relax, no two equal", f"{1e3 * first:.1f}", f"{1e3 * once(different.verify, 9):.1f}"]
    )
    cpp = f"{1e3 * once(plain.verify, 9):.1f}"
    rows.append(["MLIR's own, in C++: math.exp", cpp, cpp])
    harness.table(["verifying 1000 operations, ms", "first time", "again"], rows)
    print()


def parts():
    """What passes over functions and dataflow blocks cost for each, however many there are."""
    each_function = function_pass(lambda func, mod, ctx: func, opt_level=0, name="Functions")
    each_block = dataflowblock_pass(lambda block, mod, ctx: block, opt_level=0, name="Blocks")
    rows = []
    for count in (500, 2000):
        functions = IRModule.parse(
            "\n".join(
                f"func.func @f{i}(%x: {T}) -> {T} attributes {{relax.function}} {{\n"
                f'  %0 = "relax.exp"(%x) : ({T}) -> {T}\n  return %0 : {T}\n}}'
                for i in range(count)
            )
        )
        lines = (
            f'  %b{i} = "relax.dataflow"() ({{\n    %a = "relax.exp"(%x) : ({T}) -> {T}\n'
            f'    "relax.output"(%a) : ({T}) -> ()\n  }}) : () -> {T}'
            for i in range(count)
        )
        blocks = IRModule.parse(
            f"func.func @main(%x: {T}) -> {T} attributes {{relax.function}} {{\n"
            + "\n".join(lines)
            + f"\n  return %b0 : {T}\n}}"
        )
        with PassContext(config=NO_VERIFIER):
            times = [once(partial(each_function, functions)), once(partial(each_block, blocks))]
        rows.append([str(count), *(f"{1e6 * seconds / count:.0f}" for seconds in times)])
    harness.table(["parts of a module", "us a function", "us a dataflow block"], rows)
    print()


def ten_patterns():
    """Nine that turn one kind of operation each into `negative`, one that undoes two of those."""

    def to_negative(name):
        return pattern(f"relax.{name}")(
            lambda op, rewriter: build("negative", [op.operands[0]], {})
        )

    @pattern("relax.negative")
    def twice(op, rewriter):
        inner = op.operands[0].owner
        if getattr(inner, "name", "") != "relax.negative":
            return None
        return inner.operands[0]

    return rewriting(*(to_negative(name) for name in UNARY if name != "negative"), twice)


def throughput(count=20_000):
    """How many operations a second go through a pass, the verifier left out."""
    mod = chain(count)
    passes = {
        "no-op": noop(),
        "cse (upstream)": mlir("cse"),
        "EliminateCommonSubexpr": get_pass("EliminateCommonSubexpr"),
        "DeadCodeElimination": get_pass("DeadCodeElimination"),
        "rewrite, ten Python patterns": ten_patterns(),
    }
    rows = []
    with PassContext(config=NO_VERIFIER) as ctx:
        for name, each in passes.items():
            seconds = float("inf")
            for _ in range(5):
                working = mod.clone()
                start = process_time()
                each.run_in_place(working, ctx)
                seconds = min(seconds, process_time() - start)
            rate = "" if name == "no-op" else f"{count / seconds / 1e3:.0f}"
            rows.append([name, f"{1e3 * seconds:.2f}", rate])
    header = [f"a pass on {count} operations", "ms", "thousand operations/s"]
    harness.table(header, rows)
    print(f"\nThe copy of that module: {1e3 * once(mod.clone):.1f} ms.\n")


def memory(count=1000, warm=50):
    """How the process grows while it compiles so many different modules and keeps a few others."""

    def compile_one(i):
        text = "\n".join(
            f"func.func @{name}{i}(%x: tensor<{i + 1}x{i % 7 + 2}xf32>) -> "
            f"tensor<{i + 1}x{i % 7 + 2}xf32> attributes {{relax.function}} {{\n"
            f'  %0 = "relax.{op}"(%x) : (tensor<{i + 1}x{i % 7 + 2}xf32>) -> '
            f"tensor<{i + 1}x{i % 7 + 2}xf32>\n"
            f"  return %0 : tensor<{i + 1}x{i % 7 + 2}xf32>\n}}"
            for name, op in (("f", "exp"), ("g", "tanh"))
        )
        return relax.build(IRModule.parse(text))

    def measure():
        gc.collect()
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
        return resident_bytes() / 2**20

    library = [compile_one(10_000 + i) for i in range(2)]
    library += [chain(10) for _ in range(2)]
    rows, kept, start = [], None, 0.0
    for i in range(warm + count + 1):
        if i == warm:
            start = measure()
        if i >= warm and (i - warm) % (count // 5) == 0:
            now = measure()
            rows.append([str(i - warm), f"{now:.1f}", f"{now - start:+.1f}"])
        kept = compile_one(i)
    del kept, library
    harness.table(["modules compiled", "resident MiB", "grown by"], rows)


def main():
    print(f"{harness.machine()}\n")
    facade()
    verification()
    parts()
    throughput()
    memory()


if __name__ == "__main__":
    main()
