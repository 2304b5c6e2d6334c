"""What the virtual machine costs: an instruction, a call of a compiled model, loading."""

import importlib.util
import tempfile
from pathlib import Path

import harness
import numpy as np

from relax_mlir import relax, script
from relax_mlir.runtime import ExecBuilder, VirtualMachine, register_func
from relax_mlir.runtime.native.loader import ffi_tensor
from relax_mlir.runtime.values.convert import to_value

INSTRUCTIONS = 4000
# What the project wants: microseconds at most.
GOALS = {"Call": 0.5, "If/Goto": 0.2, "static": 3.0, "dynamic": 10.0}
MODELS = """
@I.ir_module
class Models:
    @R.function
    def static(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            z = R.nn.softmax(y)
            R.output(z)
        return z

    @R.function
    def dynamic(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, "m"), "float32")):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            z = R.nn.softmax(y)
            R.output(z)
        return z
"""


def has_tvm():
    return importlib.util.find_spec("tvm") is not None


def emit(ib, prefix):
    """Emit the programs with a builder, ours or TVM's; they have the same methods."""
    with ib.function("call", num_inputs=1):
        for i in range(INSTRUCTIONS):
            ib.emit_call(f"{prefix}.same", args=[ib.r(i % 2)], dst=ib.r((i + 1) % 2))
        ib.emit_ret(ib.r(0))
    with ib.function("branch", num_inputs=1):
        # Of each three, one `if` and one `goto` run; both ways meet, as after any condition.
        for _ in range(INSTRUCTIONS // 2):
            ib.emit_if(ib.r(0), 2)
            ib.emit_goto(2)
            ib.emit_goto(1)
        ib.emit_ret(ib.r(0))
    return ib.get()


def instructions():
    register_func("bench.same", lambda x: x, override=True)
    ours = VirtualMachine(emit(ExecBuilder(), "bench"))
    machines = [("relax-mlir us", ours)]
    if has_tvm():
        import tvm
        from tvm import relax as tvm_relax

        tvm.register_global_func("bench.tvm.same", lambda x: x, override=True)
        executable = emit(tvm_relax.ExecBuilder(), "bench.tvm")
        machines.append(("TVM us", tvm_relax.VirtualMachine(executable, tvm.cpu())))
    programs = [("Call", "call", INSTRUCTIONS), ("If/Goto", "branch", INSTRUCTIONS)]
    rows = []
    for label, name, count in programs:
        calls = [lambda f=machine[name]: f(1) for _, machine in machines]
        times = harness.best_times(calls, seconds=1.0)
        rows.append(
            [f"{label}, {count} of them", f"{GOALS[label]:.1f}"]
            + [f"{1e6 * t / count:.3f}" for t in times]
        )
    harness.table(["one instruction", "goal us", *[label for label, _ in machines]], rows)


def kernels(executable, name, args):
    """Return a function that calls only a model's kernels, on tensors that are there already."""
    vm = VirtualMachine(executable)
    native, found = executable.load_native(), []

    def watch(_, called, before, result, *given):
        if before and called in native and called not in executable_functions:
            found.append((native[called], [ffi_tensor(v) for v in given]))

    executable_functions = {f.name for f in executable.global_funcs}
    vm.set_instrument(watch)
    vm[name](*args)
    calls = [(f, tuple(a)) for f, a in found]

    def run():
        for function, tensors in calls:
            function(*tensors)

    return run


def compiled():
    executable = relax.build(script.from_source(MODELS))
    vm = VirtualMachine(executable)
    rng = np.random.default_rng(0)
    args = [to_value(rng.random(shape, "float32")) for shape in ((4, 8), (8, 8))]
    columns = ["a model of three operators", "goal us", "adds us", "call us", "kernels us"]
    theirs = tvm_models(args)
    rows = []
    for name in ("static", "dynamic"):
        own = kernels(executable, name, args)
        run = vm[name]
        calls = [lambda run=run: run(*args), own, *([theirs[name]] if name in theirs else [])]
        times = harness.best_times(calls, seconds=1.0)
        row = [name, f"{GOALS[name]:.0f}", *[f"{1e6 * t:.2f}" for t in (times[0] - times[1],)]]
        rows.append([*row, *[f"{1e6 * t:.2f}" for t in times]])
    if theirs:
        columns.append("TVM's call us")
        rows = [[*row, *[""] * (len(columns) - len(row))] for row in rows]
    harness.table(columns, rows)


def tvm_models(args):
    """Return TVM's calls of the same models by name; nothing where it cannot compile them."""
    if not has_tvm():
        return {}
    import tvm
    from tvm import relax as tvm_relax
    from tvm import te

    tensor = getattr(tvm_relax, "TensorStructInfo", None) or tvm_relax.TensorType

    def build(n, m):
        bb = tvm_relax.BlockBuilder()
        x = tvm_relax.Var("x", tensor((n, 8), "float32"))
        w = tvm_relax.Var("w", tensor((8, m), "float32"))
        with bb.function("main", [x, w]):
            with bb.dataflow():
                y = bb.emit(tvm_relax.op.nn.relu(bb.emit(tvm_relax.op.matmul(x, w))))
                z = bb.emit_output(tvm_relax.op.nn.softmax(y))
            bb.emit_func_output(z)
        executable = tvm_relax.build(bb.get(), "llvm")
        return tvm_relax.VirtualMachine(executable, tvm.cpu())["main"]

    found = {}
    tensors = [tvm.runtime.tensor(a) for a in args]
    dynamic = (te.var("n", "int64"), te.var("m", "int64"))
    for name, dims in (("static", (4, 8)), ("dynamic", dynamic)):
        try:
            call = build(*dims)
            call(*tensors)
        except Exception as error:
            print(f"TVM does not compile the {name} model: {type(error).__name__}: {error}")
            continue
        found[name] = lambda call=call: call(*tensors)
    return found


def loading():
    ib = ExecBuilder()
    weights = np.zeros(100 << 20, "float32")
    with ib.function("main", 0):
        ib.emit_call("vm.builtin.shape_of", [weights], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.rxe"
        ib.get().save(path)
        seconds = harness.best_times([lambda: relax.Executable.load(path)], seconds=0.5)[0]
    harness.table(["loading", "ms"], [["a model of 400 MB", f"{1e3 * seconds:.2f}"]])


def main():
    print(f"{harness.machine()}\n")
    instructions()
    print()
    compiled()
    print()
    loading()


if __name__ == "__main__":
    main()
