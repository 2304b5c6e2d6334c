"""When a pass fails: the reproducer it leaves, running that again, and making a module smaller."""

import shlex
import subprocess
import sys

import pytest

from relax_mlir import relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError, PipelineError
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.instrument import PassInstrument
from relax_mlir.pass_infra.registry import register_pass, unregister_pass
from relax_mlir.pass_infra.text.reproducer import read_pipeline, write_reproducer
from relax_mlir.tools.relax_opt import __main__ as relax_opt
from relax_mlir.tools.relax_reduce import __main__ as relax_reduce
from relax_mlir.tools.relax_reduce.reduction import reduce_module, size
from relax_mlir.transform import (
    FoldScaleAxis,
    PassContext,
    Sequential,
    get_pass,
    mlir,
    module_pass,
)

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""

USERS_FILE = """
from relax_mlir.errors import PassError
from relax_mlir.transform import module_pass, register_pass

@module_pass(opt_level=0, name="UsersOwn")
def users_own(mod, ctx):
    mod["main"].mlir_op.location.emit_error("not @main")
    raise PassError("UsersOwn", "no")

@register_pass("UsersOwn")
def make():
    return users_own
"""


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse(TEXT)


@pytest.fixture
def fail():
    """A registered pass that changes the module and then fails."""

    @module_pass(opt_level=0, name="TestFail")
    def run(mod, ctx):
        mod["main"].mlir_op.regions[0].blocks[0].operations[0].location.emit_error("not this one")
        mod["main"].mlir_op.erase()
        raise PassError("TestFail", "cannot")

    register_pass("TestFail", lambda: run)
    yield run
    unregister_pass("TestFail")


class TestReproducer:
    """`PassContext(config={"reproducer": path})`."""

    def test_module_before_the_failing_pass_and_what_remained(self, mod, fail, tmp_path):
        path = tmp_path / "r.mlir"
        inner = Sequential([fail, mlir("canonicalize")])
        with (
            PassContext(config={"reproducer": str(path)}),
            pytest.raises(PassError, match=f"reproducer: {path}") as caught,
        ):
            Sequential([mlir("cse"), inner, mlir("symbol-dce")])(mod)
        assert str(caught.value).count("reproducer:") == 1
        text = path.read_text()
        assert read_pipeline(text) == "builtin.module(test-fail,canonicalize,symbol-dce)"
        # The module after CSE, before the failing pass erased everything; it reads as it is.
        assert str(IRModule.parse(text)) == str(mlir("cse")(mod))

    def test_required_and_disabled_passes(self, mod, fail, tmp_path):
        path = tmp_path / "r.mlir"
        last = module_pass(lambda mod, ctx: mod, opt_level=0, name="Last", required=["cse-too"])
        off = module_pass(lambda mod, ctx: mod, opt_level=9, name="Off")
        register_pass("CseToo", lambda: mlir("cse"))
        try:
            with PassContext(config={"reproducer": str(path)}), pytest.raises(PassError):
                Sequential([fail, off, last])(mod)
        finally:
            unregister_pass("CseToo")
        assert read_pipeline(path.read_text()) == "builtin.module(test-fail,cse-too,last)"

    def test_nothing_is_left_when_nothing_fails(self, mod, tmp_path):
        path = tmp_path / "r.mlir"
        with PassContext(config={"reproducer": path}):
            Sequential([mlir("cse"), mlir("canonicalize")])(mod)
        assert not path.exists()

    def test_the_option_is_a_path(self):
        with pytest.raises(TypeError, match="config option 'reproducer': expected str"):
            PassContext(config={"reproducer": 3})

    def test_it_is_there_while_a_pass_runs(self, mod, tmp_path):
        # So it is also when the pass takes the process down.
        path, seen = tmp_path / "r.mlir", []

        @module_pass(opt_level=0, name="Look")
        def look(mod, ctx):
            seen.append(read_pipeline(path.read_text()))
            return mlir("cse")(mod)

        with PassContext(config={"reproducer": str(path)}):
            Sequential([look, mlir("cse")])(mod)
        assert seen == ["builtin.module(look,cse)"]

    def test_passes_that_a_pass_calls_are_its_own_business(self, mod, fail, tmp_path):
        path = tmp_path / "r.mlir"

        @module_pass(opt_level=0, name="Outer")
        def outer(mod, ctx):
            return Sequential([mlir("cse"), fail])(mod)

        with PassContext(config={"reproducer": str(path)}), pytest.raises(PassError):
            outer(mod)
        assert read_pipeline(path.read_text()) == "builtin.module(outer)"
        assert str(IRModule.parse(path.read_text())) == str(mod)

    def test_of_relax_build(self, mod, fail, tmp_path):
        path = tmp_path / "r.mlir"
        pipeline = ["LegalizeOps", "TestFail", "ToNonDataflow", "symbol-dce"]
        with PassContext(config={"reproducer": str(path)}):
            with pytest.raises(PassError, match="reproducer: "):
                relax.build(mod, relax_pipeline=pipeline)
            text = path.read_text()
            relax.build(mod)
        assert read_pipeline(text) == "builtin.module(test-fail,to-non-dataflow,symbol-dce)"
        assert "relax.call_tir" in text
        assert not path.exists()

    def test_options_with_quotes_survive(self, mod, tmp_path):
        path = tmp_path / "r.mlir"
        pipeline = 'builtin.module(print-ir{label="a \\"b\\" c"})'
        write_reproducer(path, mod.mlir_module, pipeline)
        assert read_pipeline(path.read_text()) == pipeline

    def test_run_reproducer(self, mod, fail, tmp_path, capfd):
        path = tmp_path / "r.mlir"
        with PassContext(config={"reproducer": str(path)}), pytest.raises(PassError):
            Sequential([mlir("cse"), fail])(mod)
        assert relax_opt.main([str(path), "--run-reproducer"]) == 1
        err = capfd.readouterr().err
        assert "error: not this one" in err
        assert "external resources" not in err

    def test_of_relax_opt(self, fail, tmp_path, capfd):
        source, path = tmp_path / "in.mlir", tmp_path / "r.mlir"
        source.write_text(TEXT)
        flag = f"--mlir-pass-pipeline-crash-reproducer={path}"
        assert relax_opt.main([str(source), "--cse", "--test-fail", "--symbol-dce", flag]) == 1
        assert read_pipeline(path.read_text()) == "builtin.module(test-fail,symbol-dce)"
        # Where the passes stood in the source is still known.
        assert f"{source}:3:8: error: not this one" in capfd.readouterr().err
        assert relax_opt.main([str(path), "--run-reproducer"]) == 1
        assert f"{source}:3:8: error: not this one" in capfd.readouterr().err

    def test_it_survives_the_process(self, tmp_path):
        source, path = tmp_path / "in.mlir", tmp_path / "r.mlir"
        source.write_text(TEXT)
        program = f"""
import os
from relax_mlir.tools.relax_opt import __main__ as relax_opt
from relax_mlir.transform import module_pass, register_pass
crash = module_pass(lambda mod, ctx: os.abort(), opt_level=0, name="Crash")
register_pass("Crash", lambda: crash)
relax_opt.main([{str(source)!r}, "--cse", "--crash", "--symbol-dce",
                "--mlir-pass-pipeline-crash-reproducer={path}"])
"""
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert run.returncode < 0
        assert read_pipeline(path.read_text()) == "builtin.module(crash,symbol-dce)"
        assert path.read_text().count("relax.exp") == 1

    def test_upstream_passes_begin_with_the_one_that_failed(self, mod, tmp_path):
        path = tmp_path / "r.mlir"
        passes = mlir("cse,func.func(canonicalize,cse),one-shot-bufferize,symbol-dce")
        with (
            PassContext(config={"reproducer": str(path)}),
            pytest.raises(PassError, match=f"reproducer: {path}"),
        ):
            Sequential([passes, mlir("canonicalize")])(mod)
        pipeline = read_pipeline(path.read_text())
        assert pipeline == "builtin.module(one-shot-bufferize,symbol-dce,canonicalize)"
        assert path.read_text().count("relax.exp") == 1
        with PassContext(config={"reproducer": str(path)}):
            out = mlir("func.func(cse,canonicalize)")(mod)
        assert not path.exists()
        assert str(out) == str(mlir("func.func(cse,canonicalize)")(mod))

    def test_what_remained_is_what_the_context_enables(self, mod, fail, tmp_path):
        path = tmp_path / "r.mlir"
        inner = Sequential([FoldScaleAxis(), mlir("symbol-dce")])
        with PassContext(config={"reproducer": str(path)}), pytest.raises(PassError):
            Sequential([fail, inner, Sequential([mlir("cse")], opt_level=3)])(mod)
        assert read_pipeline(path.read_text()) == "builtin.module(test-fail,symbol-dce)"

    @pytest.mark.slow
    def test_it_says_what_to_load(self, mod, tmp_path, capfd):
        mine = tmp_path / "my passes.py"
        mine.write_text(USERS_FILE)
        source, path = tmp_path / "in.mlir", tmp_path / "r.mlir"
        source.write_text(TEXT)
        flags = [f"--load={mine}", f"--mlir-pass-pipeline-crash-reproducer={path}"]
        assert relax_opt.main([str(source), "--cse", "--users-own", *flags]) == 1
        assert "error: not @main" in capfd.readouterr().err
        first = path.read_text().splitlines()[0]
        assert first == f"// relax-opt {path} --load='{mine}' --run-reproducer"
        # The words after the comment's slashes are the command, in a new process.
        command = [sys.executable, "-m", "relax_mlir.tools.relax_opt", *shlex.split(first)[2:]]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 1
        assert "error: not @main" in run.stderr
        command = [word for word in command if not word.startswith("--load")]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.stderr == (
            f"error: unknown pass 'users-own'; the reproducer says: {first.removeprefix('// ')}\n"
        )

    def test_it_says_what_cannot_be_loaded(self, mod, tmp_path):
        path = tmp_path / "r.mlir"
        exec(compile(USERS_FILE, "<stdin>", "exec"), {"__name__": "x"})
        unknown = module_pass(lambda mod, ctx: 1 / 0, opt_level=0, name="Unknown")
        try:
            for each, line in (
                (get_pass("UsersOwn"), "pass 'users-own' was registered by no file"),
                (unknown, "pass 'unknown' is not registered: a call of register_pass is missing"),
            ):
                with PassContext(config={"reproducer": str(path)}), pytest.raises(PassError):
                    each(mod)
                assert path.read_text().splitlines()[1].startswith(f"// {line}")
                assert str(IRModule.parse(path.read_text())) == str(mod)
        finally:
            unregister_pass("UsersOwn")

    def test_a_folder_that_is_not_there(self, mod, tmp_path, capfd):
        path = tmp_path / "no" / "r.mlir"
        with (
            PassContext(config={"reproducer": str(path)}),
            pytest.raises(
                PipelineError,
                match=r"r.mlir' cannot be written: No such file or directory; option 'reproducer'",
            ),
        ):
            mlir("cse")(mod)
        source = tmp_path / "in.mlir"
        source.write_text(TEXT)
        flag = f"--mlir-pass-pipeline-crash-reproducer={path}"
        assert relax_opt.main([str(source), "--cse", flag]) == 1
        assert capfd.readouterr().err.startswith(f"error: the reproducer '{path}' cannot be")

    def test_what_is_no_reproducer(self):
        with pytest.raises(PipelineError, match="is not a reproducer"):
            read_pipeline(TEXT)


class TestReduction:
    """A smaller module of which something is still true."""

    @staticmethod
    def chain(count, special):
        body = "\n".join(
            f'  %{i + 1} = "relax.{"sin" if i == special else "exp"}"(%{i}) '
            ": (tensor<4xf32>) -> tensor<4xf32>"
            for i in range(count)
        )
        return (
            "func.func @NAME(%0: tensor<4xf32>, %unused: tensor<5xf32>) -> tensor<4xf32> "
            f"attributes {{relax.function}} {{\n{body}\n  return %{count} : tensor<4xf32>\n}}\n"
        )

    def test_functions_bindings_results_and_parameters(self):
        text = self.chain(40, 23)
        mod = IRModule.parse(text.replace("NAME", "a") + text.replace("NAME", "b"))
        before, asked = str(mod), []

        def has_sin(candidate):
            asked.append(1)
            return "relax.sin" in str(candidate)

        smaller = reduce_module(mod, has_sin)
        assert size(mod) == 84
        lines = [line.strip() for line in str(smaller).splitlines() if line]
        assert lines[1].startswith("func.func @a(%arg0: tensor<4xf32>) -> tensor<4xf32>")
        sin = '%0 = "relax.sin"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>'
        assert lines[2:] == [sin, "return %0 : tensor<4xf32>", "}", "}"]
        assert len(asked) < 100
        assert str(mod) == before

    def test_bindings_and_outputs_of_a_dataflow_block(self):
        mod = IRModule.parse("""
          func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
            %r = "relax.dataflow"() ({
              %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
              %b = "relax.sin"(%a) : (tensor<4xf32>) -> tensor<4xf32>
              %c = "relax.cos"(%b) : (tensor<4xf32>) -> tensor<4xf32>
              %t = builtin.unrealized_conversion_cast %b, %c
                : tensor<4xf32>, tensor<4xf32> to tuple<tensor<4xf32>, tensor<4xf32>>
              "relax.output"(%t) : (tuple<tensor<4xf32>, tensor<4xf32>>) -> ()
            }) : () -> tuple<tensor<4xf32>, tensor<4xf32>>
            %g = "relax.tuple_get_item"(%r) {index = 1 : i64}
              : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
            return %g : tensor<4xf32>
          }""")
        smaller = reduce_module(mod, lambda mod: "relax.cos" in str(mod) and "dataflow" in str(mod))
        names = [word for word in str(smaller).split() if word.startswith('"relax.')]
        assert len(names) == 3
        assert "tuple<" not in str(smaller)

    def test_callers_keep_what_they_call(self):
        mod = IRModule.parse("""
          func.func private @callee(%x: f32, %y: f32) -> f32 attributes {relax.function} {
            %0 = arith.addf %x, %x : f32
            return %0 : f32
          }
          func.func @main(%x: f32) -> f32 attributes {relax.function} {
            %0 = func.call @callee(%x, %x) : (f32, f32) -> f32
            return %0 : f32
          }""")
        smaller = reduce_module(mod, lambda mod: "call @callee" in str(mod))
        smaller.verify()
        assert "func private @callee" in str(smaller)

    def test_names_of_parameters_keep_step(self):
        mod = IRModule.parse("""
          func.func @main(%a: tensor<4xf32>, %b: tensor<5xf32>, %c: tensor<4xf32>) -> tensor<4xf32>
              attributes {relax.function, relax.params = ["a", "b", "c"]} {
            %0 = "relax.exp"(%c) : (tensor<4xf32>) -> tensor<4xf32>
            %1 = "relax.sin"(%0) : (tensor<4xf32>) -> tensor<4xf32>
            return %1 : tensor<4xf32>
          }""")
        seen = set()

        def has_sin(candidate):
            for function in candidate.mlir_module.body.operations:
                names = [ir.StringAttr(n).value for n in function.attributes["relax.params"]]
                seen.add(tuple(names))
                assert len(names) == len(function.regions[0].blocks[0].arguments)
                assert len(set(names)) == len(names)
            return "relax.sin" in str(candidate)

        assert '["c"]' in str(reduce_module(mod, has_sin))
        assert any("p3" in names for names in seen)

    def test_a_module_that_does_not_fail(self, mod):
        with pytest.raises(ValueError, match="does not fail to begin with"):
            reduce_module(mod, lambda mod: False)

    def test_a_limit_of_tests(self):
        mod = IRModule.parse(self.chain(40, 23))
        asked = []
        reduce_module(mod, lambda mod: asked.append(1) or "sin" in str(mod), max_tests=5)
        assert len(asked) <= 5


class Refuse(PassInstrument):
    flag = "--check-well-formed"

    def run_after_pass(self, mod, info):
        raise PassError(info.name, "it is wrong")


def test_a_pass_found_wrong_afterwards_leaves_a_reproducer_to_be_reduced(mod, tmp_path):
    file, smaller = tmp_path / "bad.mlir", tmp_path / "smaller.mlir"
    context = PassContext(instruments=[Refuse()], config={"reproducer": str(file)})
    with context, pytest.raises(PassError, match=r"it is wrong\nreproducer: .*bad\.mlir"):
        mlir("cse")(mod)
    text = file.read_text()
    assert text.splitlines()[0].endswith("--run-reproducer --check-well-formed")
    test = "sh -c '! grep -q mlir_reproducer {}'"
    assert relax_reduce.main([str(file), "--test", test, "-o", str(smaller), "-q"]) == 0
    assert read_pipeline(smaller.read_text()) == read_pipeline(text) == "builtin.module(cse)"
    assert "relax.exp" not in smaller.read_text()
