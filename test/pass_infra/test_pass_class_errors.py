"""What pass classes and decorators say when they are used wrongly, or a pass does wrong."""

import subprocess
import sys

import pytest
from pass_programs import SEVERAL

from relax_mlir import transform
from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError
from relax_mlir.instrument import PassBisect, PassLimit, PassTimingInstrument, find_culprit
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import (
    PassContext,
    PassInfo,
    Sequential,
    function_pass,
    mlir,
    module_pass,
)


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse(SEVERAL)


def mark(func, name="test.mark"):
    func.attributes[name] = ir.UnitAttr.get()
    return func


class TestErrors:
    """A PassError names the pass and holds MLIR's diagnostics with their places."""

    def test_ir_that_does_not_verify(self, mod):
        @module_pass(opt_level=0, name="Break")
        def break_it(mod, ctx):
            mod.mlir_module.body.operations[0].regions[0].blocks[0].operations[3].erase()
            return mod

        with pytest.raises(PassError, match="pass 'Break' failed") as caught:
            Sequential([mlir("canonicalize"), break_it])(mod)
        assert caught.value.pass_name == "Break"
        error, *notes = caught.value.diagnostics
        assert error.startswith("-:5:8: error: block with no terminator")
        assert "see current operation" in notes[0]

    def test_emitted_diagnostics_come_with_a_raised_error(self, mod):
        @module_pass(opt_level=0, name="Refuse")
        def refuse(mod, ctx):
            mod.mlir_module.body.operations[0].location.emit_error("not this one")
            raise PassError("Refuse", "cannot go on")

        with pytest.raises(PassError) as caught:
            refuse(mod)
        assert str(caught.value) == (
            "pass 'Refuse' failed: cannot go on\n-:2:1: error: not this one"
        )

    def test_a_python_error_is_the_cause(self, mod):
        @module_pass(opt_level=0, name="Bug")
        def bug(mod, ctx):
            return mod.nothing

        with pytest.raises(PassError, match="pass 'Bug' failed: AttributeError") as caught:
            bug(mod)
        assert isinstance(caught.value.__cause__, AttributeError)

    def test_interrupts_pass_through(self, mod):
        @module_pass(opt_level=0)
        def interrupted(mod, ctx):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted(mod)
        assert str(mlir("cse")(mod)).count("arith.addf") == 1

    def test_the_innermost_pass_is_named(self, mod):
        @module_pass(opt_level=0, name="Inner")
        def inner(mod, ctx):
            raise ValueError("deep")

        @module_pass(opt_level=0, name="Outer")
        def outer(mod, ctx):
            return Sequential([inner])(mod)

        with pytest.raises(PassError, match="pass 'Inner' failed: ValueError: deep"):
            outer(mod)

    def test_nothing_is_printed(self, mod, capfd):
        @module_pass(opt_level=0)
        def refuse(mod, ctx):
            mod.mlir_module.body.operations[0].location.emit_error("not this one")
            raise ValueError

        with pytest.raises(PassError):
            refuse(mod)
        assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PassContext("3"), "opt_level is an int, got str '3'"),
        (lambda: PassContext(2.5), "opt_level is an int, got float 2.5"),
        (
            lambda: PassContext(config=["a"]),
            r"config is a dict of options by key, got list \['a'\]",
        ),
        (lambda: PassContext(instruments=5), "instruments is a list of instruments, got int 5"),
        (
            lambda: PassContext(instruments=[PassTimingInstrument]),
            r"write PassTimingInstrument\(\)",
        ),
        (lambda: PassContext(diag_ctx=1), "diag_ctx is a DiagnosticContext, got int 1"),
        (lambda: PassInfo(5), "the name of a pass is a str, got int 5"),
        (lambda: PassInfo("A", "1"), "opt_level of 'A' is an int, got str '1'"),
        (lambda: PassInfo("A", 1, "cse"), "Required is expected to be the type of list/tuple"),
        (lambda: PassInfo("A", 1, [2]), "'A' requires passes by name, got int 2"),
        (lambda: module_pass(opt_level="2"), "opt_level is an int, got str '2'"),
        (lambda: module_pass(opt_level=2, name=5), "the name of a pass is a str, got int 5"),
        (lambda: function_pass(opt_level=2, required=[3]), "requires passes by name, got int 3"),
        (lambda: transform.get_pass(5), "a pass is found by its name, got int 5"),
        (lambda: transform.get_pass(mlir("cse")), "it is a pass already"),
        (lambda: mlir(5), "a pipeline is a str, got int 5"),
        (lambda: Sequential([], opt_level="a"), "opt_level of 'sequential' is an int"),
        (lambda: Sequential(["cse"]), r"got 'cse' in it; write get_pass\('cse'\)"),
        (lambda: Sequential([transform.FoldConstant]), r"make one of it: FoldConstant\(\)"),
        (lambda: Sequential([lambda mod, ctx: mod]), "is a decorator such as @module_pass missing"),
        (lambda: Sequential(mlir("cse")), "passes must be a list of Pass objects, got MLIRPass"),
        (lambda: transform.pattern(lambda op, rewriter: None), r"as in @pattern\('relax.add'\)"),
        (lambda: PassBisect("x"), "is_bad is a function of a module, got 'x'"),
        (lambda: PassLimit("x"), "limit is an int or None, got 'x'"),
        (lambda: find_culprit([], None, bool), r"passes is one pass, such as Sequential\("),
        (
            lambda: module_pass(lambda mod: mod, opt_level=0, name="A"),
            r"'A' takes \(mod\), and is called with \(mod, ctx\)",
        ),
        (
            lambda: function_pass(type("A", (), {"transform_function": lambda self: 0}), 0),
            r"'A.transform_function' takes \(self\), and is called with \(self, func, mod, ctx\)",
        ),
    ],
)
def test_arguments_of_the_wrong_kind(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_what_a_pass_forgets_is_said(mod):
    with pytest.raises(PassError, match="got NoneType; is `return mod` missing"):
        module_pass(lambda mod, ctx: None, opt_level=0, name="A")(mod)

    @function_pass(opt_level=0)
    def number(func, mod, ctx):
        func.attributes["large"] = 5
        return func

    with pytest.raises(PassError) as caught:
        number(mod)
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "pass 'number' failed: TypeError: __setitem__(): incompatible function arguments: it takes "
        "__setitem__(self, name: str, attr: Attribute) -> None; invoked with types: "
        "OpAttributeMap, str, int"
    )
    assert lines[1].endswith("OpAttributeMap, str, int")


def test_a_module_pass_may_delete_functions(mod):
    @module_pass(opt_level=0)
    def drop(mod, ctx):
        del mod["other"]
        return mod

    assert drop(mod).function_names == [name for name in mod.function_names if name != "other"]
    with pytest.raises(PassError, match="no function 'other'"):
        drop(drop(mod))


# A process of its own: the value was read after it was freed.
IN_NO_BLOCK = """
from relax_mlir.dialects.relax import build
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import function_pass

@function_pass(opt_level=0)
def to_sin(func, mod, ctx):
    op = func.regions[0].blocks[0].operations[0]
    op.results[0].replace_all_uses_with(build("sin", [op.operands[0]], {}))
    return func

@function_pass(opt_level=0)
def set_operand(func, mod, ctx):
    block = func.regions[0].blocks[0]
    block.operations[1].operands[0] = build("sin", [block.arguments[0]], {})
    return func

mod = IRModule.parse(TEXT)
for each in (to_sin, set_operand):
    try:
        print(each(mod))
    except PassError as error:
        print(str(error).splitlines()[0].partition("failed: ")[2])
"""


def test_a_value_of_no_block_takes_no_place():
    text = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
      %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    code = f"TEXT = '''{text}'''\n{IN_NO_BLOCK}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == 2 * (
        "ValueError: the new value's 'relax.sin' is in no block: make it "
        "inside `with ir.InsertionPoint(op):`, where `op` is what it stands in front of\n"
    )
