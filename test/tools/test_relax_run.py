"""relax-run: programs and executables, arguments, results, timings, profiles, names for perf."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from relax_mlir import relax, script
from relax_mlir.runtime import Executable, NativeObject, VirtualMachine
from relax_mlir.runtime.profiling.costs import Cost, KernelCosts, expression
from relax_mlir.runtime.profiling.perf_map import function_symbols, map_lines
from relax_mlir.runtime.profiling.roofline import machine_peak
from relax_mlir.runtime.vm.signature import parameters
from relax_mlir.tools.relax_run.__main__ import main
from relax_mlir.transform import PassContext

PROGRAM = """
@I.ir_module
class Model:
    @R.function
    def main(
        x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 32), "float32"),
        b: R.Tensor((32,), "float32")
    ):
        with R.dataflow():
            y = R.add(R.matmul(x, w), b)
            s = R.nn.softmax(y)
            R.output(s)
        return s

    @R.function
    def pair(x: R.Tensor((2, 3), "int32"), c: R.Tensor((), "bool")):
        return (x, (c, R.shape([2, 3])))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    (path / "model.py").write_text("from relax_mlir.script import ir as I, relax as R\n" + PROGRAM)
    relax.build(script.from_source(PROGRAM)).save(path / "model.rxe")
    return path


def _run(*argv: object) -> int:
    return main([str(a) for a in argv])


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_arguments_from_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    x, w, b = (rng.random(s, "float32") for s in ((5, 64), (64, 32), (32,)))
    np.save(folder / "x.npy", x)
    np.savez(folder / "rest.npz", w=w, b=b)
    out = folder / "out.npz"
    rest = folder / "rest.npz"
    flags = ["--input", f"x={folder / 'x.npy'}", f"--input=w={rest}:w", f"--input=b={rest}:b"]
    assert _run(folder / "model.rxe", *flags, "--output", out) == 0
    assert capsys.readouterr().out.startswith("output: float32[5, 32] min ")
    with np.load(out) as found:
        np.testing.assert_allclose(found["output"], _softmax(x @ w + b), rtol=1e-5)
    assert _run(folder / "model.rxe", *flags, "--output", folder / "out.npy") == 0
    np.testing.assert_array_equal(np.load(folder / "out.npy"), np.load(out)["output"])


def test_random_arguments(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for seed in (0, 0, 1):
        assert _run(folder / "model.rxe", "--dim=n=3", f"--seed={seed}", "--print=values") == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2]
    assert printed[0].count("[") > 2
    assert _run(folder / "model.rxe", "--input=random:7x64", "--input", "b=zeros") == 0
    assert "float32[7, 32]" in capsys.readouterr().out
    assert _run(folder / "model.rxe", "--function=pair", "--input=c=ones::bool") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("output_0: int32[2, 3] min ")
    assert lines[1:] == ["output_1_0: bool[] true 1 of 1", "output_1_1: a shape (2, 3)"]
    assert _run(folder / "model.rxe", "--function=pair", "--print=none") == 0
    assert capsys.readouterr().out == ""


def test_a_program_is_compiled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = folder / "trace.json"
    flags = ["--dim=n=4", "--benchmark", "--profile", "--trace", trace, "--repeat=5", "--threads=1"]
    assert _run(folder / "model.py", *flags) == 0
    text = capsys.readouterr().out
    assert "latency of 5 calls in us: mean " in text
    assert all(f" p{p} " in text for p in (50, 90, 99))
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert rows["matmul_add"][1:3] == ["native", "5"]
    assert "softmax" in rows
    header = next(line for line in text.splitlines() if line.startswith("function"))
    assert header.split("  ")[-4:] != []
    for column in ("GFLOP/s", "% of peak", "GB/s", "% of copy"):
        assert column in header
    events = json.loads(trace.read_text())["traceEvents"]
    products = [e for e in events if e["name"] == "matmul_add"]
    assert len(products) == 5
    assert products[0]["args"]["flops"] == 2 * 4 * 64 * 32 + 4 * 32


def test_merged_kernels_are_said_to_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(folder / "model.rxe", "--dim=n=4", "--profile", "--no-peak", "--builtins") == 0
    text = capsys.readouterr().out
    assert "main_native is one native call of " in text
    assert "matmul" in text
    assert "compile without the pass OutlineNative" in text
    assert "% of peak" not in text
    assert "vm.builtin.check_tensor" in text


def test_standard_output_is_an_array(folder: Path) -> None:
    command = [sys.executable, "-m", "relax_mlir.tools.relax_run", folder / "model.rxe"]
    done = subprocess.run(
        [*command, "--dim=n=2", "--output=-", "--perf-map"], capture_output=True, check=True
    )
    assert np.load(io.BytesIO(done.stdout)).shape == (2, 32)
    path = Path(done.stderr.decode().split()[-1])
    lines = path.read_text().splitlines()
    path.unlink()
    named = {line.split()[2]: line.split() for line in lines}
    address, size, _ = named["main_native"]
    assert int(address, 16) > 0
    assert int(size, 16) > 16
    assert any(name.startswith("relax_kernel_matmul") for name in named)


def test_running_needs_no_mlir(folder: Path) -> None:
    code = (
        "import sys; sys.modules['torch_mlir'] = sys.modules['mlir'] = None\n"
        "from relax_mlir.tools.relax_run.__main__ import main\n"
        f"sys.exit(main([{str(folder / 'model.rxe')!r}, '--dim=n=2', '--profile']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_in_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(folder / "model.rxe", "--list-functions") == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        'main(x: R.Tensor((n, 64), "float32"), w: R.Tensor((64, 32), "float32"), '
        'b: R.Tensor((32,), "float32"))'
    )
    assert _run(folder / "model.rxe", "--show") == 0
    assert "@main:" in capsys.readouterr().out
    assert _run("--help") == _run("--version") == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--outpt=x"], "unknown flag '--outpt'; did you mean '--output'?"),
        ([], "argument 'x': its shape is not static, declared R.Tensor((n, 64), \"float32\")"),
        (["--dim=n"], "flag '--dim' wants name=size, got 'n'"),
        (["--dim=m=3"], "'main' has no symbolic dimension 'm' (it has: n)"),
        (["--input=x=random:-4x64"], "argument 'x': '-4x64' is no shape"),
        (["--input=y=random"], "'main' has no parameter 'y' (it has: x, w, b)"),
        (["--input=x=random:4xa"], "argument 'x': '4xa' is no shape"),
        (["--input=x=random:4x64:flot32"], "argument 'x': unknown dtype 'flot32'"),
        (["--input=x=random:999999x9999999"], "argument 'x': a tensor of shape"),
        (["--input=x=missing.npy"], "argument 'x': there is no file 'missing.npy'"),
        (["--input=x=what"], "argument 'x': 'what' is neither a .npy or .npz file nor one of"),
        (["--input=x=int:q"], "argument 'x': 'q' is no int"),
        (["--input=x=ones", "--input=x=ones"], "gives 'x' twice"),
        (["--input=ones:2x64", *["--input=ones"] * 3], "'main' takes 3 arguments: x, w, b"),
        (["--input=x=ones:2x65"], "dimension 1 is 65, expected 64"),
        (["--function=mian"], "no function 'mian'; did you mean 'main'?"),
        (["--print=vales"], "argument --print: cannot be 'vales'; did you mean 'values'?"),
        (["--repeat=0"], "argument --repeat: must be 1 or more, got 0"),
        (["--threads=0"], "argument --threads: must be 1 or more, got 0"),
        (["--seed=-1"], "argument --seed: must be 0 or more, got -1"),
        (["--memory=pool"], "argument --memory: cannot be 'pool'; did you mean 'pooled'?"),
        (["--output=x.txt"], "'--output' writes .npy or .npz, got 'x.txt'"),
        (["--function=pair", "--output=x.npy"], "there are 3 results: write them to an .npz"),
    ],
)
def test_errors_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    assert _run(folder / "model.rxe", *flags) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert "Traceback" not in error


def test_files_that_cannot_be_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.rxe").write_bytes((folder / "model.rxe").read_bytes()[:100])
    (folder / "bad.npy").write_bytes(b"no array")
    (folder / "bad.mlir").write_text("func.func @main(")
    for name in ("missing.rxe", "missing.mlir", "bad.rxe", "bad.mlir"):
        assert _run(folder / name) == 1
        assert "error: " in capsys.readouterr().err
    assert _run(folder / "model.rxe", f"--input=x={folder / 'bad.npy'}") == 1
    assert "bad.npy' is no .npy file: numpy.save writes them" in capsys.readouterr().err
    (folder / "bad.npy").write_bytes(b"\x93NUMPY\x01\0\x09\0{'descr':")
    assert _run(folder / "model.rxe", f"--input=x={folder / 'bad.npy'}") == 1
    assert "cannot read" in capsys.readouterr().err
    assert _run(folder / "model.py", "--target=llvm -mcp=x") == 1
    assert "error: " in capsys.readouterr().err


# Estimates


def _costs(without: tuple[str, ...] = ()) -> KernelCosts:
    with PassContext(disabled_pass=list(without)):
        return KernelCosts(relax.build(script.from_source(PROGRAM)).metadata)


def test_estimates_of_kernels() -> None:
    apart, merged = _costs(("OutlineNative", "FuseKernels")), _costs()
    assert apart.of("matmul", [(5, 64), (64, 32), (5, 32)]) == Cost(
        2 * 5 * 64 * 32, 4 * (5 * 64 + 64 * 32 + 5 * 32)
    )
    assert apart.of("add", [(5, 32), (32,), (5, 32)]) == Cost(160, 4 * (160 + 32 + 160))
    softmax = apart.of("softmax", [(5, 32), (5, 32)])
    # The largest, differences, powers, the sum, its reciprocal, shares.
    assert softmax == Cost(5 * 160 + 5, 4 * 320)
    assert merged.parts("main_native")[0] == "matmul_add"
    whole = merged.of("main_native", [(5, 64), (64, 32), (32,), (5, 32), (4096,)])
    assert whole.flops == 2 * 5 * 64 * 32 + 160 + 5 * 160 + 5
    assert whole.bytes == 4 * (5 * 64 + 64 * 32 + 32 + 5 * 32)
    assert apart.of("nobody", []) == Cost(None, None)


def test_estimates_survive_a_file(folder: Path) -> None:
    loaded = Executable.load(folder / "model.rxe")
    assert KernelCosts(loaded.metadata).names >= {"main_native"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * n + m", 11),
        ("n // 2 * -1", -2),
        ("max(n, m, 7) - min(n, 2)", 5),
        (12, 12),
        ("n % 0", None),
        ("k", None),
        ("n * 1.5", None),
        ("n ** 9999999", None),
        ("__import__('os').getpid()", None),
        ("(lambda: n)()", None),
        ("n if n else m", None),
        ("n.real", None),
        ("(" * 5000, None),
        (None, None),
        (True, None),
        ("max(n)", None),
    ],
)
def test_expressions_are_arithmetic_and_nothing_else(text: object, value: int | None) -> None:
    assert expression(text)({"n": 4, "m": 3}) == value


@pytest.mark.parametrize("table", [None, 3, [], {"f": 3}, {"f": {}}, {"f": {"params": 4}}])
def test_estimates_of_strange_metadata(table: object) -> None:
    costs = KernelCosts({"kernels": table})
    assert costs.of("f", [(2, 3), 4]) == Cost(None, None)
    assert costs.parts("f") == []


def test_parameters_are_what_the_checks_say(folder: Path) -> None:
    ex = Executable.load(folder / "model.rxe")
    x, w, b = parameters(ex, ex.function("main"))
    assert (x.name, x.dtype, x.dims, x.is_static) == ("x", "float32", (-1, 64), False)
    assert (w.dims, w.is_static, b.declared) == ((64, 32), True, 'R.Tensor((32,), "float32")')


# Names for perf, the machine


def test_symbols_of_objects(folder: Path) -> None:
    ex = Executable.load(folder / "model.rxe")
    obj = ex.native[0]
    symbols = function_symbols(obj.data)
    assert {f"__tvm_ffi_{name}" for name in obj.symbols} <= {s.name for s in symbols}
    rng = np.random.default_rng(0)
    for _ in range(300):
        data = bytearray(obj.data)
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        exports = [f"__tvm_ffi_{name}" for name in obj.symbols]
        map_lines([NativeObject("x", bytes(data), obj.symbols)], dict.fromkeys(exports, 4096))
    for size in range(0, len(obj.data), 97):
        function_symbols(obj.data[:size])
    assert function_symbols(b"") == function_symbols(b"MZ" * 100) == []


def test_the_peak_is_measured_once() -> None:
    peak = machine_peak()
    assert peak is machine_peak()
    assert 1e8 < peak.flops < 1e13
    assert 1e8 < peak.bandwidth < 1e13


def test_profile_of_a_compiled_model(folder: Path) -> None:
    vm = VirtualMachine(folder / "model.rxe")
    args = [np.ones(s, "float32") for s in ((5, 64), (64, 32), (32,))]
    report = vm.profile("main", *args, repeat=2)
    rows = {row.name: row for row in report.rows()}
    assert rows["main_native"].calls == 2
    assert rows["main_native"].flops == 2 * (2 * 5 * 64 * 32 + 160 + 5 * 160 + 5)
    assert report.parts["main_native"][0] == "matmul_add"
    assert report.threads == 1


def test_a_file_with_packed_functions_is_loaded_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(
        "import relax_mlir\n"
        "@relax_mlir.register_func('test.relax_run.negative')\n"
        "def negative(a):\n"
        "    return relax_mlir.runtime.tensor(-a.numpy())\n"
    )
    builder = relax.ExecBuilder()
    with builder.function("main", 1):
        builder.emit_call("test.relax_run.negative", [builder.r(0)], builder.r(1))
        builder.emit_ret(builder.r(1))
    file = tmp_path / "program.rxe"
    builder.get().save(file)
    arguments = [str(file), "--input", "ones:2", "--print", "values"]
    assert main(arguments) == 1
    assert "'test.relax_run.negative' is not registered" in capsys.readouterr().err
    assert main([*arguments, "--load", str(tmp_path / "mine.py")]) == 0
    assert "[-1. -1.]" in capsys.readouterr().out
    assert main([*arguments, f"--load={tmp_path / 'none.py'}"]) == 1
    assert "there is no such file" in capsys.readouterr().err
