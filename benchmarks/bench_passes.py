"""The pass infrastructure: what the facade costs, how fast passes go, whether memory stays."""

import ctypes
import gc
import sys
from time import perf_counter

import harness

from relax_mlir import IRModule, relax
from relax_mlir.dialects.bindings import passmanager
from relax_mlir.dialects.relax import build
from relax_mlir.instrument.statistics import resident_bytes
from relax_mlir.transform import PassContext, Sequential, get_pass, mlir, module_pass, pattern
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
    """Return the best time of a few calls: these are long enough for the clock."""
    best = float("inf")
    for _ in range(rounds):
        start = perf_counter()
        function()
        best = min(best, perf_counter() - start)
    return best


def facade(passes=100):
    """What each further pass of a Sequential costs, beside MLIR's own PassManager."""
    mod = chain(1000)

    def bare(count, python):
        manager = passmanager.PassManager("builtin.module", mod.context)
        manager.enable_verifier(False)
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

    def each(make, python):
        few, many = (once(make(count, python), 7) for count in (1, passes + 1))
        return 1e6 * (many - few) / passes

    rows = []
    with PassContext(config=NO_VERIFIER):
        for kind, python in (("Python, does nothing", True), ("upstream, strip-debuginfo", False)):
            with_facade, without = each(ours, python), each(bare, python)
            rows.append(
                [kind, f"{without:.1f}", f"{with_facade:.1f}", f"{with_facade - without:.1f}"]
            )
    harness.table(["a pass on 1000 operations, us", "MLIR alone", "facade", "difference"], rows)
    clone = once(mod.clone, 7)
    verify = once(mod.verify, 3)
    print(
        f"\nThe copy of the module, once for a whole Sequential: {1e6 * clone:.0f} us. "
        f"MLIR's verifier, after each pass unless\n`transform.verify_each` is off: "
        f"{1e3 * verify:.1f} ms.\n"
    )


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
            for _ in range(3):
                working = mod.clone()
                start = perf_counter()
                each.run_in_place(working, ctx)
                seconds = min(seconds, perf_counter() - start)
            rate = "" if name == "no-op" else f"{count / seconds / 1e3:.0f}"
            rows.append([name, f"{1e3 * seconds:.2f}", rate])
    header = [f"a pass on {count} operations", "ms", "thousand operations/s"]
    harness.table(header, rows)
    print(f"\nThe copy of that module: {1e3 * once(mod.clone):.1f} ms.\n")


def memory(count=1000, warm=50):
    """How the process grows while it compiles so many different modules."""

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

    rows, kept, start = [], None, 0.0
    for i in range(warm + count + 1):
        if i == warm:
            start = measure()
        if i >= warm and (i - warm) % (count // 5) == 0:
            now = measure()
            rows.append([str(i - warm), f"{now:.1f}", f"{now - start:+.1f}"])
        kept = compile_one(i)
    del kept
    harness.table(["modules compiled", "resident MiB", "grown by"], rows)


def main():
    print(f"{harness.machine()}\n")
    facade()
    throughput()
    memory()


if __name__ == "__main__":
    main()
