"""relax-opt as a function: what needs a pass that misbehaves, and what must stay cheap."""

import subprocess
import sys

import pytest

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError
from relax_mlir.pass_infra.registry import register_pass, unregister_pass
from relax_mlir.tools.relax_opt import __main__ as relax_opt
from relax_mlir.transform import module_pass

TEXT = "func.func @f(%x: f32) -> f32 {\n  return %x : f32\n}\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "in.mlir"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def misbehave():
    """Return a function that registers `--misbehave` doing what it is given."""

    def register(action):
        def run(mod, ctx):
            action(mod.mlir_module)
            return mod

        register_pass("Misbehave", lambda: module_pass(run, opt_level=0, name="Misbehave"))

    yield register
    unregister_pass("Misbehave")


def erase_terminator(module):
    module.body.operations[0].regions[0].blocks[0].operations[0].operation.erase()


def test_a_pass_of_mine_is_a_flag(file, misbehave, capfdbinary):
    seen = []
    misbehave(lambda module: seen.append(str(module)))
    assert relax_opt.main(["--misbehave", file, "--cse"]) == 0
    assert len(seen) == 1
    assert b"func.func @f" in capfdbinary.readouterr().out


def test_the_verifier_runs_after_each_pass(file, misbehave, capfd):
    misbehave(erase_terminator)
    assert relax_opt.main(["--misbehave", file]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"{file}:1:1: error: empty block: expect at least a terminator")


def test_verify_each_off(file, misbehave, capfd):
    misbehave(erase_terminator)
    assert relax_opt.main(["--misbehave", file, "--verify-each=false"]) == 0
    assert "func.func" in capfd.readouterr().out


def test_a_pass_that_refuses(file, misbehave, capfd):
    def refuse(module):
        raise PassError("Misbehave", "cannot do this")

    misbehave(refuse)
    assert relax_opt.main(["--misbehave", file]) == 1
    assert capfd.readouterr().err == "error: pass 'Misbehave' failed: cannot do this\n"


def test_a_pass_that_refuses_with_a_place(file, misbehave, capfd):
    def refuse(module):
        operation = module.body.operations[0].regions[0].blocks[0].operations[0]
        operation.location.emit_error("'func.return' op is not wanted")
        raise PassError("Misbehave", "cannot do this")

    misbehave(refuse)
    assert relax_opt.main(["--misbehave", file]) == 1
    assert capfd.readouterr().err == (
        f"{file}:2:3: error: 'func.return' op is not wanted\n  return %x : f32\n  ^\n"
    )


def test_diagnostics_of_a_pass_are_verified(tmp_path, misbehave, capfd):
    def complain(module):
        module.body.operations[0].location.emit_error("not wanted")

    misbehave(complain)
    file = tmp_path / "in.mlir"
    file.write_text("// expected-error@+1 {{not wanted}}\nfunc.func private @f()\n")
    assert relax_opt.main(["--misbehave", "--verify-diagnostics", str(file)]) == 0
    assert capfd.readouterr().err == ""
    file.write_text("func.func private @f()\n")
    assert relax_opt.main(["--misbehave", "--verify-diagnostics", str(file)]) == 1
    assert f"{file}:1:1: error: unexpected error: not wanted" in capfd.readouterr().err


def test_a_bug_in_a_pass_is_one_line(file, misbehave, capfd):
    misbehave(lambda module: module.nothing)
    assert relax_opt.main(["--misbehave", file]) == 1
    err = capfd.readouterr().err
    assert err.startswith("error: pass 'Misbehave' failed: AttributeError: ")
    assert err.count("\n") == 1


def test_a_bug_in_a_pass_with_its_stack_on_request(file, misbehave, capfd):
    misbehave(lambda module: module.nothing)
    assert relax_opt.main(["--misbehave", file, "--print-stacktrace"]) == 1
    assert "Traceback" in capfd.readouterr().err


def test_interrupt(file, misbehave):
    def interrupt(module):
        raise KeyboardInterrupt

    misbehave(interrupt)
    assert relax_opt.main(["--misbehave", file]) == 130


def test_a_bad_part_does_not_stop_the_passes_on_the_next(tmp_path, misbehave, capfd):
    def refuse_bad(module):
        if "@bad" in str(module):
            raise PassError("Misbehave", "bad")
        with ir.InsertionPoint(module.body):
            module.body.append(ir.Operation.parse("func.func private @new()"))

    misbehave(refuse_bad)
    file = tmp_path / "in.mlir"
    file.write_text("func.func private @bad()\n// -----\nfunc.func private @good()\n")
    assert relax_opt.main(["--misbehave", "--split-input-file", str(file)]) == 1
    out, err = capfd.readouterr()
    assert "@good" in out
    assert "@new" in out
    assert "@bad" not in out
    assert err == "error: pass 'Misbehave' failed: bad\n"


def test_help_loads_no_mlir():
    code = (
        "import sys; from relax_mlir.tools.relax_opt.__main__ import main; main(['--help']); "
        "sys.exit(any('mlir_libs' in name for name in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert run.returncode == 0
