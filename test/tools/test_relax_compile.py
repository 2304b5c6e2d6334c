"""relax-compile as a function: what it writes runs, and what is wrong is one line."""

from pathlib import Path

import numpy as np
import pytest
from checkout import ROOT

from relax_mlir import relax
from relax_mlir.compiler import pipeline as builds
from relax_mlir.errors import PassError, PipelineError
from relax_mlir.ir.module import IRModule
from relax_mlir.tools.relax_compile import __main__ as relax_compile
from relax_mlir.tools.relax_run import __main__ as relax_run
from relax_mlir.transform import PassContext

TWICE = str(ROOT / "examples" / "twice.mlir")
RELU = str(ROOT / "test" / "tools" / "Inputs" / "relu.py")
X = np.linspace(-2, 2, 28, dtype="float32").reshape(7, 4)


def run(path, x=X):
    return relax.VirtualMachine(relax.Executable.load(path))["main"](x)


@pytest.mark.parametrize("rows", [0, 1, 7, 65])
def test_what_it_writes_runs(tmp_path, rows):
    out = tmp_path / "twice.rxe"
    assert relax_compile.main([TWICE, "-o", str(out)]) == 0
    x = np.linspace(-2, 2, rows * 4, dtype="float32").reshape(rows, 4)
    np.testing.assert_allclose(run(out, x), 2 * np.exp(x), rtol=1e-6)


@pytest.mark.parametrize(
    "flags",
    [
        ["--opt-level=0"],
        ["--opt-level=3"],
        ["--opt-level=0", "--required-pass=fuse-kernels"],
        ["--disable-pass=FuseKernels,OutlineNative", "--disable-pass=fold-constant"],
        ["--target=llvm -mcpu=x86-64 -O1"],
        ["--opt-bisect-limit=0"],
        ["--opt-bisect-limit=2", "--check-well-formed"],
        ["--pass-config=transform.verify_each=false"],
        [f"--pipeline=cse,{','.join(builds.DEFAULT_PIPELINE)}"],
    ],
    ids=lambda flags: " ".join(flags)[:40],
)
def test_flags_leave_the_result_alone(tmp_path, flags):
    out = tmp_path / "twice.rxe"
    assert relax_compile.main([TWICE, f"-o={out}", *flags]) == 0
    np.testing.assert_allclose(run(out), 2 * np.exp(X), rtol=1e-6)


def test_a_script_is_parsed_and_not_executed(tmp_path):
    out = tmp_path / "relu.rxe"
    assert relax_compile.main([RELU, "-o", str(out)]) == 0
    np.testing.assert_array_equal(run(out), 2 * np.maximum(X, 0))


@pytest.mark.parametrize(
    ("kind", "suffix", "start"),
    [
        ("exe", ".rxe", b""),
        ("obj", ".o", b"\x7fELF"),
        ("asm", ".s", b"\t.file"),
        ("llvm", ".ll", b"; ModuleID"),
    ],
)
def test_the_result_lies_beside_the_input(tmp_path, kind, suffix, start):
    source = tmp_path / "model.mlir"
    source.write_bytes((ROOT / "examples" / "twice.mlir").read_bytes())
    assert relax_compile.main([str(source), f"--emit={kind}"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"model.mlir", f"model{suffix}"}
    assert (tmp_path / f"model{suffix}").read_bytes().startswith(start)


def test_a_stage_can_be_compiled_on(tmp_path):
    half, out = tmp_path / "half.mlir", tmp_path / "twice.rxe"
    assert relax_compile.main([TWICE, "--to=FuseKernels", "-o", str(half)]) == 0
    assert "call_tir" in half.read_text()
    assert relax_compile.main([str(half), "-o", str(out)]) == 0
    np.testing.assert_allclose(run(out), 2 * np.exp(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--opt-levl=3"], "unknown flag '--opt-levl'; did you mean '--opt-level'?"),
        (["--opt-level=4"], "argument --opt-level: must be 0 to 3, got 4"),
        (["--opt-level=x"], "argument --opt-level: wants a number, got 'x'"),
        (["--emit=object"], "argument --emit: cannot be 'object'; did you mean 'obj'?"),
        (["--pipeline=legalise-ops"], "unknown pass 'legalise-ops'; did you mean 'legalize-ops'?"),
        (["--required-pass=FuseOp"], "unknown pass 'FuseOp'; did you mean 'FuseOps'?"),
        (["--pass-config=a"], "flag '--pass-config' wants key=value, got 'a'"),
        (
            ["--pass-config=transform.verify_each=maybe"],
            "flag '--pass-config': config option 'transform.verify_each' wants bool, "
            "got str 'maybe'",
        ),
        (["--target=llvm '"], "flag '--target': malformed target \"llvm '\": No closing"),
        (["--to=FuseKernel"], "unknown stage 'FuseKernel'; did you mean 'FuseKernels'?"),
        (
            ["--to=AlterOpLayout"],
            "stage 'AlterOpLayout' does not run at this level; see --list-stages",
        ),
        (["--to=FuseKernels", "--stats"], "give either '--to' or '--stats', not both: nothing is"),
        ([], "standard input has no name to write to: give one with -o"),
        (["/no/such.mlir"], "cannot open input file '/no/such.mlir': No such file or directory"),
        ([TWICE, "-o", "/no/x.rxe"], "cannot write output file '/no/x.rxe': No such file"),
        ([TWICE, "-o=x", "--pipeline=LegalizeOps"], "CodeGenVM: 'relax.dataflow' at "),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line(flags, message, capfd):
    assert relax_compile.main(flags) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1


def test_an_unknown_config_option_names_the_one_that_was_meant(capfd):
    assert relax_compile.main(["--pass-config=transform.verify_eac=1", TWICE]) == 1
    err = capfd.readouterr().err
    assert "did you mean 'transform.verify_each'?" in err
    assert err.count("\n") == 1


def test_a_mistake_in_a_script_is_underlined(tmp_path, capfd):
    script = tmp_path / "wrong.py"
    script.write_text(Path(RELU).read_text().replace("nn.relu(x)\n", "nn.rlu(x)\n"))
    assert relax_compile.main([str(script)]) == 1
    err = capfd.readouterr().err
    assert err.startswith(f"{script}:14:17: error: there is no operation R.nn.rlu; did you mean")
    assert list(tmp_path.iterdir()) == [script]


def test_a_program_without_kernels_has_no_object(tmp_path, capfd):
    source = tmp_path / "empty.mlir"
    source.write_text("// nothing\n")
    assert relax_compile.main([str(source), "--emit=obj"]) == 1
    assert capfd.readouterr().err == "error: the program has no native code to emit as obj\n"


def test_lower_leaves_the_module_and_names_the_stages():
    mod = IRModule.parse((ROOT / "examples" / "twice.mlir").read_bytes())
    before = str(mod)
    log = relax.BuildLog()
    lowered = builds.lower(mod, "LegalizeOps", log=log)
    assert "call_tir" in str(lowered)
    assert str(mod) == before
    assert [stage.name for stage in log.stages][-1] == "LegalizeOps"
    with pytest.raises(PipelineError, match="a build runs no stage 'FuseKernel'; did you mean"):
        builds.lower(mod, "FuseKernel")
    with PassContext(opt_level=0), pytest.raises(PipelineError, match="no stage 'FuseKernels'"):
        builds.lower(mod, "FuseKernels")


def test_lower_raises_what_a_pass_raises():
    text = (ROOT / "test" / "tools" / "Inputs" / "not_well_formed.mlir").read_text()
    with pytest.raises(PassError, match="symbol 'n'"):
        builds.lower(IRModule.parse(text), "WellFormed")


def test_upstream_dialects_and_shapes_of_inputs(tmp_path, capsys):
    source, out = tmp_path / "model.mlir", tmp_path / "model.rxe"
    source.write_text("""
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = stablehlo.exponential %x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}""")
    assert relax_compile.main([str(source), "-o", str(out)]) == 0
    np.testing.assert_allclose(run(out), np.exp(X), rtol=1e-6)
    assert relax_compile.main([str(source), "-o", str(out), "--shape", "arg0=n,4"]) == 0
    np.testing.assert_allclose(run(out), np.exp(X), rtol=1e-6)
    assert relax_run.main([str(out), "--info"]) == 0
    card = capsys.readouterr().out
    assert 'main(arg0: R.Tensor((n, 4), "float32"))' in card
    assert "symbols      n" in card
    given = [str(out), "--dim=n=3", "--seed=1"]
    assert relax_run.main([*given, "--compare", str(source)]) == 0
    assert "largest error" in capsys.readouterr().out
    source.write_text(source.read_text().replace("exponential", "tanh"))
    assert relax_run.main([*given, "--compare", str(source)]) == 1
    assert "DIFFERS" in capsys.readouterr().out


def test_models_of_other_frameworks(tmp_path, capsys):
    onnx = pytest.importorskip("onnx")
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 4])
    node = onnx.helper.make_node("Sin", ["x"], ["y"])
    path, out = str(tmp_path / "model.onnx"), str(tmp_path / "model.rxe")
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y])), path)
    assert relax_compile.main([path, "-o", out, "--shape=x=7,4"]) == 0
    np.testing.assert_allclose(run(out), np.sin(X), rtol=1e-5)
    assert relax_run.main([path, "--dim=n=3", "--compare", path]) == 0


@pytest.mark.parametrize(
    ("name", "data", "flags", "message"),
    [
        ("m.onnx", b"x", [], "m.onnx is no ONNX model"),
        ("m.onnx", None, [], "cannot open input file"),
        ("m.mlir", b"func.func @main(", [], "m.mlir:1:16: error: expected non-function type"),
        (
            "m.mlir",
            b"func.func @f(%x: tensor<4xf32>) { return }",
            ["--shape=y=3"],
            "shape_dict has",
        ),
        ("m.mlir", b"", ["--shape=x"], "flag '--shape' wants name=1,3,n,n, got 'x'"),
    ],
)
def test_models_that_cannot_be_read(tmp_path, capsys, name, data, flags, message):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    assert relax_compile.main([str(path), "-o", str(tmp_path / "out.rxe"), *flags]) == 1
    assert message in capsys.readouterr().err
