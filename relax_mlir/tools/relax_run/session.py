"""What relax-run does: load or compile, call, print, time, profile."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.errors import RelaxMLIRError, did_you_mean
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.native.threads import set_num_threads
from relax_mlir.runtime.profiling.evaluator import BenchmarkResult, evaluate
from relax_mlir.runtime.profiling.perf_map import write_perf_map
from relax_mlir.runtime.values.convert import describe
from relax_mlir.runtime.vm.signature import parameters
from relax_mlir.runtime.vm.virtual_machine import VirtualMachine
from relax_mlir.tools.common import streams
from relax_mlir.tools.common.flags import Options, UsageError
from relax_mlir.tools.relax_run.card import card, declared
from relax_mlir.tools.relax_run.inputs import Inputs
from relax_mlir.tools.relax_run.model import Model, warn

_PERCENTILES = (50, 90, 99)
_BENCHMARK_CALLS, _PROFILE_CALLS = 100, 10
_WARM_UP = 3


class Session:
    """One run of the tool.

    Raises:
        UsageError: a value on the command line is wrong.
        InputError: the file is missing or unreadable.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        if options["threads"] is not None:
            set_num_threads(options["threads"])
        self._inputs = Inputs(options["input"] or (), options["dim"] or (), options["seed"])
        self._check_output()
        self._model = Model(options)

    def process(self) -> int:
        """Do what the flags say; return the exit code."""
        options = self.options
        if options["perf-map"]:
            warn(f"perf map: {write_perf_map()}")
        executable = self._model.executable()
        if options["show"]:
            print(executable.stats(), executable.as_text(), sep="\n\n")
            return 0
        if options["info"]:
            print(card(executable))
            return 0
        if options["list-functions"]:
            print(_listing(executable))
            return 0
        machine = VirtualMachine(executable, memory_cfg=options["memory"])
        name = _function(executable, options["function"])
        args = self._arguments(executable, name)
        result = machine[name](*args)
        self._report(result)
        agrees = options["compare"] is None or self._compare(args, result)
        if options["benchmark"]:
            print(self._benchmark(machine, name, args))
        if options["profile"] or options["trace"]:
            self._profile(machine, name, args)
        return 0 if agrees else 1

    def _arguments(self, executable: Executable, name: str) -> list[Any]:
        if all(func.name != name for func in executable.global_funcs):
            return self._inputs.positional()
        func = executable.function(name)
        return self._inputs.arguments(name, parameters(executable, func))

    def _check_output(self) -> None:
        path = self.options["output"]
        if path is not None and path != "-" and not path.endswith((".npy", ".npz")):
            raise UsageError(f"'--output' writes .npy or .npz, got '{path}'")

    def _report(self, result: Any) -> None:
        leaves = _leaves("output", result)
        if self.options["output"] is not None:
            _write(self.options["output"], leaves)
        kind = self.options["print"]
        if kind == "none" or self.options["output"] == "-":
            return
        for name, value in leaves:
            print(f"{name}: {_summary(value)}")
            if kind == "values" and isinstance(value, np.ndarray):
                print(np.array2string(value, threshold=1000))

    def _compare(self, args: Sequence[Any], result: Any) -> bool:
        """Print how far results are from those of the model's own framework; whether they agree."""
        from relax_mlir.frontend.comparison import Comparison, difference
        from relax_mlir.frontend.loaders import run_source

        expected = run_source(self.options["compare"], [np.asarray(each) for each in args])
        leaves = _leaves("output", result)
        if len(leaves) != len(expected):
            raise RelaxMLIRError(
                f"the executable has {len(leaves)} results, the model {len(expected)}"
            )
        results = Comparison([
            difference(name, np.asarray(value), np.asarray(wanted), 1e-3, 1e-5)
            for (name, value), wanted in zip(leaves, expected, strict=True)
        ])  # fmt: skip
        print(results.table)
        return results.agrees

    def _benchmark(self, machine: VirtualMachine, name: str, args: Sequence[Any]) -> str:
        call = machine[name]
        for _ in range(_WARM_UP):
            call(*args)
        repeat = self.options["repeat"] or _BENCHMARK_CALLS
        return latency(evaluate(lambda: call(*args), number=1, repeat=repeat))

    def _profile(self, machine: VirtualMachine, name: str, args: Sequence[Any]) -> None:
        options = self.options
        if self._model.is_program:
            # Merged kernels are one native call: here they can still be had one by one.
            machine = VirtualMachine(self._model.executable(True), memory_cfg=options["memory"])
            print("profile of a build in which every kernel is a call (without OutlineNative):")
        report = machine.profile(name, *args, repeat=options["repeat"] or _PROFILE_CALLS)
        if options["profile"]:
            print(report.table(peak=not options["no-peak"], builtins=bool(options["builtins"])))
        if options["trace"]:
            with streams.naming_os_errors(f"write trace '{options['trace']}'"):
                Path(options["trace"]).write_text(report.chrome_trace())


def latency(result: BenchmarkResult) -> str:
    """Return what a benchmark found as text, one line."""
    parts = [("mean", result.mean), ("min", result.min)]
    parts += [(f"p{p}", result.percentile(p)) for p in _PERCENTILES]
    parts.append(("max", result.max))
    times = ", ".join(f"{name} {1e6 * seconds:.1f}" for name, seconds in parts)
    return f"latency of {len(result.results)} calls in us: {times}"


def _function(executable: Executable, wanted: str | None) -> str:
    names = list(executable.function_names())
    every = [f.name for f in executable.global_funcs]
    every += [symbol for obj in executable.native for symbol in obj.symbols]
    if wanted is None:
        public = [name for name in names if name in {f.name for f in executable.global_funcs}]
        wanted = "main" if "main" in every or len(public) != 1 else public[0]
    if wanted not in every:
        hint = did_you_mean(wanted, names) or f" (it has: {', '.join(names) or 'none'})"
        raise UsageError(f"the executable has no function '{wanted}'{hint}")
    return wanted


def _listing(executable: Executable) -> str:
    lines = []
    private = set(executable.metadata.get("private", ()))
    for func in executable.global_funcs:
        if func.name not in private:
            params = ", ".join(declared(p) for p in parameters(executable, func))
            lines.append(f"{func.name}({params})")
    return "\n".join(lines)


def _leaves(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return the tensors and other values of a result with names for them."""
    if isinstance(value, tuple) and not (value and all(type(v) is int for v in value)):
        return [leaf for i, v in enumerate(value) for leaf in _leaves(f"{name}_{i}", v)]
    return [(name, value)]


def _summary(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return describe(value)
    text = f"{value.dtype.name}{list(value.shape)}"
    if value.size == 0:
        return text
    if value.dtype.kind == "b":
        return f"{text} true {int(value.sum())} of {value.size}"
    numbers = value.astype("float64", copy=False)
    finite = numbers[np.isfinite(numbers)]
    if finite.size:
        text += f" min {finite.min():.6g} max {finite.max():.6g} mean {finite.mean():.6g}"
        text += f" std {finite.std():.6g}"
    if finite.size < value.size:
        text += f", {value.size - finite.size} not finite"
    return text


def _write(path: str, leaves: Sequence[tuple[str, Any]]) -> None:
    arrays = {}
    for name, value in leaves:
        if value is None:
            continue
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise RelaxMLIRError(f"{name} is {describe(value)}: a file of arrays cannot hold it")
        arrays[name] = array
    buffer = io.BytesIO()
    if path.endswith(".npz"):
        np.savez(buffer, **arrays)
    elif len(arrays) == 1:
        np.save(buffer, next(iter(arrays.values())), allow_pickle=False)
    else:
        raise RelaxMLIRError(f"there are {len(arrays)} results: write them to an .npz file")
    streams.write(path, buffer.getvalue())
