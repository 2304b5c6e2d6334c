"""The process of `kernels.py` that runs our code, and the one that measures the machine."""

import ctypes
import sys
import threading
from time import perf_counter

import llvmlite.binding as llvm
import numpy as np
import serving
from workloads import data

from relax_mlir import relax, tir
from relax_mlir.relax import op
from relax_mlir.script import relax as R

OPS = {
    "matmul": op.matmul,
    "conv": lambda x, w, strides, padding, groups: op.nn.conv2d(
        x, w, strides=strides, padding=padding, groups=groups
    ),
    "multiply": op.multiply,
    "add": op.add,
    "sigmoid": op.sigmoid,
    "tanh": op.tanh,
    "relu": op.nn.relu,
    "gelu": op.nn.gelu,
    "exp": op.exp,
    "clip": op.clip,
    "softmax": lambda x: op.nn.softmax(x, axis=-1),
    "layer_norm": lambda x, gamma, beta: op.nn.layer_norm(x, gamma, beta, axes=[-1]),
    "sum": lambda x, axes: op.sum(x, axis=axes),
    "max": lambda x, axes: op.max(x, axis=axes),
    "argmax": lambda x, axes: op.argmax(x, axis=axes[0]),
    "transpose": lambda x, axes: op.permute_dims(x, axes=list(axes)),
    "attention": lambda q, k, v, scale: op.nn.attention(q, k, v, scale=scale),
}


def module(work, weights, dynamic=False):
    """Return a workload as a module whose function is `main`."""
    symbols, params = {}, {}
    for name, shape in {**work.inputs, **work.native}.items():
        if dynamic:
            shape = [
                symbols.setdefault(size, tir.Var(size, "int64")) if isinstance(size, str) else size
                for size in work.symbols[name]
            ]
        params[name] = relax.Var(name, R.Tensor(tuple(shape), "float32"))
    values = {**params, **{name: relax.const(array) for name, array in weights.items()}}
    bb = relax.BlockBuilder()
    with bb.function("main", list(params.values())):
        with bb.dataflow():
            for i, node in enumerate(work.nodes):
                call = OPS[node.op](*(values[name] for name in node.args), **node.attrs)
                last = i + 1 == len(work.nodes)
                values[f"t{i}"] = bb.emit_output(call) if last else bb.emit(call)
        bb.emit_func_output(values[f"t{len(work.nodes) - 1}"])
    return bb.get()


def target(threads):
    """Return what to compile for."""
    return "llvm" if threads == 1 else f"llvm -num-threads={threads}"


def prepare(work, threads, dynamic):
    """Return a call of our compiled code, and what gives its result."""
    inputs, weights = data(work)
    built = relax.build(module(work, weights, dynamic), target(threads))
    main = relax.VirtualMachine(built)["main"]
    arrays = [array.reshape(work.native.get(name, array.shape)) for name, array in inputs.items()]
    return lambda: main(*arrays), lambda: main(*arrays)


# Chains of multiply-adds as long as it takes to keep every unit busy; `rounds` times all of them.
_FMA = """
define void @fma(i64 %rounds) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{phis}
{steps}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %rounds
  br i1 %more, label %loop, label %done
done:
{sums}
  %p = alloca <{lanes} x float>
  store volatile <{lanes} x float> %s{last}, ptr %p
  ret void
}}
declare <{lanes} x float> @llvm.fma.v{lanes}f32(<{lanes} x float>, <{lanes} x float>, <{lanes} x float>)
"""  # noqa: E501
_COPY = """
define void @{name}(ptr %to, ptr %from, i64 %bytes, i64 %rounds) {{
entry:
  br label %outer
outer:
  %r = phi i64 [0, %entry], [%r1, %again]
  br label %loop
loop:
  %i = phi i64 [0, %outer], [%i1, %loop]
{moves}
  %i1 = add i64 %i, 256
  %more = icmp ult i64 %i1, %bytes
  br i1 %more, label %loop, label %again
again:
  %r1 = add i64 %r, 1
  %turn = icmp ult i64 %r1, %rounds
  br i1 %turn, label %outer, label %done
done:
  fence seq_cst
  ret void
}}
"""
_CHAINS = 24


class Roofs:
    """The machine's limits, measured: multiply-adds and copying."""

    def __init__(self):
        wide = llvm.get_host_cpu_features().get("avx512f")
        self.lanes = 16 if wide else 8
        text = _FMA.format(
            lanes=self.lanes, last=_CHAINS - 1, phis=self._each(
                "%a{i} = phi <L x float> [splat (float 1.0), %entry], [%b{i}, %loop]"
            ), steps=self._each(
                "%b{i} = call <L x float> @llvm.fma.vLf32(<L x float> %a{i}, "
                "<L x float> splat (float 0.5), <L x float> splat (float 1.0))"
            ), sums="  %s0 = fadd <L x float> %b0, %b0\n".replace("L", str(self.lanes))
            + self._each("%s{i} = fadd <L x float> %b{i}, %s{j}", 1),
        )  # fmt: skip
        for name, hint in (("copy", ""), ("stream", ", !nontemporal !0")):
            moves = "".join(
                f"  %f{j} = getelementptr i8, ptr %from, i64 %i\n"
                f"  %g{j} = getelementptr i8, ptr %f{j}, i64 {64 * j}\n"
                f"  %t{j} = getelementptr i8, ptr %to, i64 %i\n"
                f"  %u{j} = getelementptr i8, ptr %t{j}, i64 {64 * j}\n"
                f"  %v{j} = load <16 x i32>, ptr %g{j}, align 64\n"
                f"  store <16 x i32> %v{j}, ptr %u{j}, align 64{hint}\n"
                for j in range(4)
            )
            text += _COPY.format(name=name, moves=moves)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        mod = llvm.parse_assembly(text + "!0 = !{i32 1}\n")
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten()
            + (",-prefer-256-bit" if wide else ""),
            opt=3,
        )
        self._engine = llvm.create_mcjit_compiler(mod, machine)
        self._engine.finalize_object()
        at = self._engine.get_function_address
        self._fma = ctypes.CFUNCTYPE(None, ctypes.c_int64)(at("fma"))
        four = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)
        self._copies = [four(at("copy")), four(at("stream"))]
        self._buffers = {}

    def _each(self, text, first=0):
        text = text.replace("L", str(self.lanes)).replace(f"%{self.lanes}oop", "%loop")
        return "".join(f"  {text.format(i=i, j=i - 1)}\n" for i in range(first, _CHAINS))

    @staticmethod
    def _rate(functions, amount):
        """Return amount per second of functions that run at once, each doing `amount`."""
        barrier, spans = threading.Barrier(len(functions)), []

        def run(function):
            barrier.wait()
            start = perf_counter()
            function()
            spans.append((start, perf_counter()))

        team = [threading.Thread(target=run, args=(function,)) for function in functions]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        span = max(end for _, end in spans) - min(start for start, _ in spans)
        return len(functions) * amount / span

    def flops(self, threads, seconds):
        """Return the most additions and multiplications in a second."""
        rounds = max(1000, int(seconds * 1e9 / 3 / _CHAINS * 2))
        amount = 2.0 * self.lanes * _CHAINS * rounds
        return self._rate([lambda: self._fma(rounds)] * threads, amount)

    def bandwidth(self, threads, total, seconds):
        """Return the most bytes, read and written, in a second, when `total` are in use."""
        size = max(1024, int(total / 2 / threads) // 256 * 256)
        key = (threads, size)
        if key not in self._buffers:
            self._buffers = {key: [self._pair(size) for _ in range(threads)]}
        best = 0.0
        for copy in self._copies:
            rounds = max(1, int(seconds / 2 * 2e10 / (2 * size)))
            calls = [
                lambda c=copy, p=pair: c(p[0].ctypes.data, p[1].ctypes.data, size, rounds)
                for pair in self._buffers[key]
            ]
            best = max(best, self._rate(calls, 2.0 * size * rounds))
        return best

    @staticmethod
    def _pair(size):
        found = []
        for _ in range(2):
            raw = np.zeros(size + 4096, "u1")
            raw += 1
            found.append(raw[-raw.ctypes.data % 4096 :][:size])
        return found


def main():
    if sys.argv[1] == "ours":
        serving.serve(prepare)
    roofs = Roofs()

    def special(order):
        found = {}
        if order["flops"]:
            found["flops"] = roofs.flops(order["threads"], order["seconds"])
        if order["bytes"]:
            found["bandwidth"] = roofs.bandwidth(
                order["threads"], order["bytes"], order["seconds"]
            )
        return found

    serving.serve(None, special)


if __name__ == "__main__":
    main()
