"""Pass classes and decorators: what each may change, value semantics and errors."""

import gc

import pytest
from pass_programs import SEVERAL

from relax_mlir import transform
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.errors import PassError, PipelineError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import (
    FunctionPass,
    ModulePass,
    PassContext,
    PrimFuncPass,
    PrintIR,
    Sequential,
    function_pass,
    mlir,
    module_pass,
    prim_func_pass,
)


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse(SEVERAL)


def symbols(mod):
    return [each.attributes["sym_name"].value for each in mod.mlir_module.body.operations]


def symbol(func):
    return func.attributes["sym_name"].value


def mark(func, name="test.mark"):
    func.attributes[name] = ir.UnitAttr.get()
    return func


def test_what_is_taken_out_of_a_module_keeps_it():
    context = make_context()
    context.allow_unregistered_dialects = True
    with pytest.raises(KeyError, match=r"'g' is no function but a 'x\.y'"):
        IRModule.parse('"x.y"() {sym_name = "g"} : () -> ()', context)["g"]
    gc.collect()
    before = context._get_live_module_count()
    taken = IRModule.parse("func.func private @g()", context)["g"]
    gc.collect()
    assert context._get_live_module_count() == before + 1
    assert taken.name == "g"
    del taken
    # Nothing goes round in a circle: it ends with the last that holds it.
    assert context._get_live_module_count() == before


class TestModulePass:
    """A module pass may do anything to the module."""

    def test_adds_a_function(self, mod):
        @module_pass(opt_level=2, name="AddAbs")
        def add_abs(mod, ctx):
            mod.mlir_module.body.append(ir.Operation.parse("func.func private @abs(f32) -> f32"))
            return mod

        assert symbols(add_abs(mod)) == ["main", "other", "prim", "abs"]
        assert symbols(mod) == ["main", "other", "prim"]

    def test_removes_a_function(self, mod):
        @module_pass(opt_level=0)
        def drop(mod, ctx):
            mod.mlir_module.body.operations[1].operation.erase()
            return mod

        assert symbols(drop(mod)) == ["main", "prim"]

    def test_returns_another_module(self, mod):
        other = IRModule.parse("module attributes {test.x} { func.func private @new() }")
        replaced = module_pass(lambda mod, ctx: other, opt_level=0, name="New")(mod)
        assert str(replaced) == str(other)
        assert replaced.mlir_module != other.mlir_module

    def test_calls_other_passes(self, mod):
        @module_pass(opt_level=0)
        def both(mod, ctx):
            return mlir("canonicalize")(mlir("cse")(mod))

        assert str(both(mod)).count("arith.addf") == 1

    def test_module_attributes_stay(self):
        text = "module @m attributes {test.x = 1 : i64} {\n  func.func private @f()\n}\n"
        assert str(mlir("cse")(IRModule.parse(text))) == text

    def test_takes_a_raw_module(self, mod):
        out = mlir("cse")(mod.mlir_module)
        assert isinstance(out, ir.Module)
        assert str(out).count("arith.addf") == 1
        assert str(mod).count("arith.addf") == 2

    def test_wrong_argument(self):
        with pytest.raises(TypeError, match="runs on an IRModule, got str"):
            mlir("cse")("module {}")

    @pytest.mark.parametrize("result", [None, 3])
    def test_wrong_result(self, mod, result):
        with pytest.raises(PassError, match="a module pass returns a module, got"):
            module_pass(lambda mod, ctx: result, opt_level=0, name="Bad")(mod)

    def test_module_of_another_context(self, mod):
        with ir.Context():
            foreign = ir.Module.parse("func.func private @f()")
        out = module_pass(lambda mod, ctx: foreign, opt_level=0, name="Move")(mod)
        assert out.context == mod.context
        assert str(out) == str(foreign)


class TestFunctionPass:
    """One function at a time."""

    def test_sees_every_relax_function_and_no_prim_func(self, mod):
        seen = []

        @function_pass(opt_level=0)
        def look(func, mod, ctx):
            seen.append(func.attributes["sym_name"].value)
            return func

        assert str(look(mod)) == str(mod)
        assert seen == ["main", "other"]

    @pytest.mark.parametrize(
        "attribute",
        ["SkipOptimization", "SkipOptimization = true", "relax.SkipOptimization", 'Codegen = "x"'],
    )
    def test_skips_what_another_owns(self, attribute):
        mod = IRModule.parse(
            SEVERAL.replace("{relax.function}", f"{{relax.function, {attribute}}}", 1)
        )
        out = function_pass(lambda func, mod, ctx: mark(func), opt_level=0, name="Mark")(mod)
        assert str(out).count("test.mark") == 1

    def test_a_false_skip_attribute_does_not_skip(self):
        mod = IRModule.parse(
            SEVERAL.replace("relax.function", "relax.function, SkipOptimization = false")
        )
        out = function_pass(lambda func, mod, ctx: mark(func), opt_level=0, name="Mark")(mod)
        assert str(out).count("test.mark") == 2

    def test_all_calls_see_the_module_as_it_was(self, mod):
        seen = []

        @function_pass(opt_level=0)
        def look(func, mod, ctx):
            seen.append("test.mark" in str(mod.mlir_module))
            return mark(func)

        assert str(look(mod)).count("test.mark") == 2
        assert seen == [False, False]

    def test_another_function_takes_the_place_and_order_stays(self, mod):
        @function_pass(opt_level=0)
        def replace(func, mod, ctx):
            name = func.attributes["sym_name"].value
            return ir.Operation.parse(
                f"func.func @{name}(%x: f32) -> f32 attributes {{relax.function, new}} "
                "{ return %x : f32 }"
            )

        out = replace(mod)
        assert symbols(out) == ["main", "other", "prim"]
        assert str(out).count("new") == 2
        assert out.mlir_module.operation.verify()

    def test_another_function_of_the_module_is_copied(self):
        mod = IRModule.parse(SEVERAL)

        @function_pass(opt_level=0)
        def same(func, mod, ctx):
            return mod.mlir_module.body.operations[0 if "mulf" in str(func) else 1]

        assert str(same(mod)) == str(mod)

    def test_cannot_add(self, mod):
        @function_pass(opt_level=0, name="Add")
        def add(func, mod, ctx):
            mod.mlir_module.body.append(ir.Operation.parse("func.func private @abs(f32) -> f32"))
            return func

        with pytest.raises(PassError, match="cannot add or remove functions"):
            add(mod)
        assert symbols(mod) == ["main", "other", "prim"]

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            (lambda mod: mark(mod["prim"].mlir_op), "it changed '@prim'"),
            (lambda mod: mark(mod["main"].mlir_op), "it changed '@main'"),
            (lambda mod: mod["other"].params[0].mlir_value.set_type(ir.F64Type.get()), None),
            (lambda mod: mark(mod.mlir_module.operation), "it changed the module's attributes"),
        ],
    )
    def test_cannot_change_the_module_around(self, mod, change, what):
        @function_pass(opt_level=0)
        def sneak(func, mod, ctx):
            change(mod)
            return func

        before = str(mod)
        with pytest.raises(PassError, match=what or "it changed '@other'"):
            sneak(mod)
        assert str(mod) == before

    def test_a_function_of_a_module_that_nobody_holds(self, mod):
        text = "func.func @other(%x: f32) -> f32 attributes {relax.function, test.new} {"
        text += "%0 = arith.negf %x : f32 return %0 : f32 }"

        @function_pass(opt_level=0)
        def replace(func, mod, ctx):
            return IRModule.parse(text)["other"] if symbol(func) == "other" else func

        assert str(replace(mod)).count("arith.negf") == 1

    def test_function_of_another_context_moves(self, mod):
        foreign = IRModule.parse(SEVERAL, make_context())

        @function_pass(opt_level=0)
        def replace(func, mod, ctx):
            function = foreign[symbol(func)].mlir_op.clone(ip=False).operation
            with foreign.context:
                function.attributes["test.foreign"] = ir.UnitAttr.get()
            return function

        out = replace(mod)
        assert out.context == mod.context
        assert str(out).count("test.foreign") == 2
        out.verify()

    def test_the_error_says_in_which_function_and_where(self, mod):
        with pytest.raises(PassError, match="pass 'Bug' failed: ZeroDivisionError") as caught:
            function_pass(lambda func, mod, ctx: 1 / 0, opt_level=0, name="Bug")(mod)
        assert caught.value.diagnostics == (
            "-:2:1: error: 'func.func' op @main: ZeroDivisionError: division by zero",
        )

    def test_cannot_remove(self, mod):
        with pytest.raises(PassError, match="a function pass returns a function, got None"):
            function_pass(lambda func, mod, ctx: None, opt_level=0, name="Drop")(mod)

    def test_cannot_rename(self, mod):
        @function_pass(opt_level=0)
        def rename(func, mod, ctx):
            func.attributes["sym_name"] = ir.StringAttr.get("abs")
            return func

        with pytest.raises(PassError, match="cannot rename '@main' to '@abs'"):
            rename(mod)

    def test_prim_func_pass_sees_prim_funcs_and_may_remove(self, mod):
        out = prim_func_pass(lambda func, mod, ctx: mark(func), opt_level=0, name="Mark")(mod)
        assert "@prim(memref<4xf32>) attributes {test.mark, tir.prim_func}" in str(out)
        assert symbols(prim_func_pass(lambda *_: None, opt_level=0, name="Drop")(mod)) == [
            "main",
            "other",
        ]

    def test_prim_func_pass_cannot_remove_what_is_called(self):
        mod = IRModule.parse("""
          func.func private @g(%x: memref<4xf32> {tir.name = "x", tir.dtype = "float32"})
            attributes {tir.prim_func} { return }
          func.func @main(%x: memref<4xf32>) {
            func.call @g(%x) : (memref<4xf32>) -> ()
            return
          }""")
        remove = prim_func_pass(lambda func, mod, ctx: None, opt_level=0, name="Remove")
        with pytest.raises(PassError) as caught:
            remove(mod)
        assert str(caught.value).splitlines()[:2] == [
            "pass 'Remove' failed: ValueError: a prim func pass cannot remove '@g': '@main' still "
            "calls it",
            "-:5:13: error: 'func.call' op refers to '@g', which the pass removed",
        ]


class TestDecorators:
    """Decorators on functions and on classes."""

    @pytest.mark.parametrize(
        ("decorator", "kind"),
        [(module_pass, ModulePass), (function_pass, FunctionPass), (prim_func_pass, PrimFuncPass)],
    )
    def test_on_a_function(self, decorator, kind):
        @decorator(opt_level=2, required=["A"])
        def transform(*args):
            return args[0]

        assert isinstance(transform, kind)
        assert (transform.info.name, transform.info.opt_level) == ("transform", 2)
        assert list(transform.info.required) == ["A"]

    def test_module_pass_on_a_class(self, mod):
        @module_pass(opt_level=2)
        class Rename:
            """Renames."""

            def __init__(self, new, suffix=""):
                self.new = new + suffix

            def transform_module(self, mod, ctx):
                mod.mlir_module.body.operations[2].attributes["sym_name"] = ir.StringAttr.get(
                    self.new
                )
                return mod

        rename = Rename("abs", suffix="_2")
        assert isinstance(rename, ModulePass)
        assert (rename.info.name, rename.new, Rename.__doc__) == ("Rename", "abs_2", "Renames.")
        assert symbols(rename(mod)) == ["main", "other", "abs_2"]
        with pytest.raises(AttributeError):
            _ = rename.nothing

    def test_p19_test_replace_func(self, mod):
        @function_pass(opt_level=1)
        class TestReplaceFunc:
            def __init__(self, new_func):
                self.new_func = new_func

            def transform_function(self, func, mod, ctx):
                if func.attributes["sym_name"].value != "other":
                    return func
                return ir.Operation.parse(self.new_func)

        new = "func.func @other() -> f32 attributes {relax.function, new} { ub.unreachable }"
        out = TestReplaceFunc(new)(mod)
        assert symbols(out) == ["main", "other", "prim"]
        assert "@other() -> f32" in str(out)

    def test_a_class_needs_the_method(self):
        with pytest.raises(TypeError, match="needs a method 'transform_function'"):

            @function_pass(opt_level=0)
            class Nothing:
                pass

    @pytest.mark.parametrize("decorator", [module_pass, function_pass, prim_func_pass])
    def test_wrong_arguments(self, decorator):
        with pytest.raises(ValueError, match="opt_level"):
            decorator(lambda mod, ctx: mod)
        with pytest.raises(TypeError, match="list/tuple"):
            decorator(opt_level=0, required="A")
        with pytest.raises(TypeError, match="callable"):
            decorator(opt_level=0)(3)


class TestValueSemantics:
    """`pass(mod)` never changes `mod`."""

    def test_argument_stays(self, mod):
        before = str(mod)
        out = Sequential([mlir("cse"), mlir("canonicalize")])(mod)
        assert str(out) != before
        assert str(mod) == before

    def test_argument_stays_when_a_pass_fails_half_way(self, mod):
        before = str(mod)

        @module_pass(opt_level=0)
        def half(mod, ctx):
            mod.mlir_module.body.operations[0].operation.erase()
            raise ValueError("half way")

        with pytest.raises(PassError):
            Sequential([mlir("cse"), half])(mod)
        assert str(mod) == before

    def test_one_clone_per_sequential(self, mod, monkeypatch):
        clones = []
        clone = IRModule.clone
        monkeypatch.setattr(IRModule, "clone", lambda self: clones.append(1) or clone(self))
        Sequential([mlir("cse"), Sequential([mlir("cse"), mlir("canonicalize")])])(mod)
        assert len(clones) == 1


class TestMLIR:
    """Upstream passes as passes."""

    @pytest.mark.parametrize(
        "pipeline", ["cse", "func.func(cse)", "builtin.module(func.func(cse))", "any(cse)"]
    )
    def test_spellings(self, mod, pipeline):
        assert str(mlir(pipeline)(mod)).count("arith.addf") == 1

    def test_unknown(self, mod):
        with pytest.raises(PipelineError, match=r"unknown pass 'csee'; did you mean 'cse'\?"):
            mlir("csee")(mod)

    def test_sequential_prints_its_pipeline(self, mod):
        passes = Sequential([mlir("func.func(cse)"), transform.ToNonDataflow()])
        assert passes.pipeline == "builtin.module(func.func(cse),to-non-dataflow)"


def test_p21_print_ir(mod, capsys):
    out = Sequential([PrintIR("before"), mlir("cse"), PrintIR("after")])(mod)
    printed = capsys.readouterr().err
    assert printed == f"PrintIR(before):\n{mod}\nPrintIR(after):\n{out}\n"


def test_p19_one_pass_disabled_under_level_three(mod):
    @module_pass(opt_level=3, name="Cleanup")
    def cleanup(mod, ctx):
        return mlir("canonicalize")(mod)

    passes = Sequential([mlir("cse", name="EliminateCommonSubexpr"), cleanup])
    with PassContext(opt_level=3):
        assert str(passes(mod)).count("arith.addf") == 1
    with PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
        assert str(passes(mod)).count("arith.addf") == 2
