"""What a PassContext carries for passes and their callers: config and diagnostics."""

import pytest
from pass_programs import MAIN

from relax_mlir import transform
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.errors import ConfigKeyError, PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import PassContext, module_pass


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse(MAIN)


class TestDiagnostics:
    """`diag_ctx` collects what is reported while passes run."""

    @staticmethod
    def complain(severity):
        @module_pass(opt_level=0, name="Complain")
        def run(mod, ctx):
            op = mod["main"].mlir_op.regions[0].blocks[0].operations[2]
            op.location.emit_error("not nice")
            if severity == "error":
                raise PassError("Complain", "cannot go on")
            return mod

        return run

    def test_of_a_pass_that_fails(self, mod):
        diagnostics = transform.DiagnosticContext()
        with pytest.raises(PassError), PassContext(diag_ctx=diagnostics):
            self.complain("error")(mod)
        assert diagnostics.render() == "-:5:8: error: not nice\n"
        assert [each.line for each in diagnostics.errors] == [5]

    def test_of_a_pass_that_succeeds(self, mod, capfd):
        ctx = PassContext()
        ctx.diag_ctx = transform.DiagnosticContext()
        self.complain("warning")(mod, ctx)
        assert ctx.diag_ctx.render() == "-:5:8: error: not nice\n"
        assert capfd.readouterr() == ("", "")

    def test_without_one_they_are_printed(self, mod, capfd):
        self.complain("warning")(mod)
        assert capfd.readouterr() == ("", "-:5:8: error: not nice\n")

    def test_the_source_is_underlined_where_it_is_at_hand(self, tmp_path):
        file = tmp_path / "in.mlir"
        file.write_text("func.func @f(%x: f32) {\n\treturn\n}\n")
        module = ir.Module.parseFile(str(file), default_context())

        @module_pass(opt_level=0, name="Refuse")
        def refuse(mod, ctx):
            mod["f"].mlir_op.regions[0].blocks[0].operations[0].location.emit_error("no")
            raise PassError("Refuse", "cannot")

        with pytest.raises(PassError) as caught:
            refuse(module)
        assert list(caught.value.diagnostics) == [f"{file}:2:2: error: no", "\treturn", "\t^"]


class TestConfig:
    """Options have a key, a type, a default and a description."""

    @pytest.fixture(autouse=True)
    def options(self):
        transform.register_config_option("test.depth", int, 8, "how deep")
        transform.register_config_option("test.unroll", _Unroll, None, "how to unroll")

    def test_values_are_kept(self):
        assert PassContext(config={"test.depth": 3}).config == {"test.depth": 3}

    def test_a_dict_becomes_the_config_object(self):
        config = PassContext(config={"test.unroll": {"steps": 4}}).config
        assert config["test.unroll"].steps == 4

    def test_unknown_key(self):
        with pytest.raises(AttributeError, match=r"Invalid config option 'test\.dept'.*candidates"):
            PassContext(config={"test.dept": 3})

    @pytest.mark.parametrize("value", [None, "3", True, 1.5])
    def test_wrong_value(self, value):
        with pytest.raises(TypeError, match=r"config option 'test\.depth'"):
            PassContext(config={"test.depth": value})

    def test_an_option_that_has_one_value_says_what_to_do(self):
        key = "relax.lift_transform_params.consume_params"
        assert PassContext(config={key: False}).config == {key: False}
        with pytest.raises(TypeError, match="LazyTransformParams gets them one"):
            PassContext(config={key: True})

    def test_list_configs(self):
        assert PassContext.list_configs()["test.depth"] == {
            "type": "int",
            "default": 8,
            "doc": "how deep",
        }

    def test_every_option_has_type_default_and_documentation(self):
        for key, option in PassContext.list_configs().items():
            if not key.startswith("test."):
                assert set(option) == {"type", "default", "doc"}
                assert option["doc"], key

    def test_option_is_the_value_or_the_default(self):
        ctx = PassContext(config={"test.depth": 3})
        assert (ctx.option("test.depth"), PassContext().option("test.depth")) == (3, 8)
        with pytest.raises(AttributeError, match=r"Invalid config option 'test\.dept'"):
            ctx.option("test.dept")

    def test_verify_each(self, mod):
        @module_pass(opt_level=0, name="Break")
        def break_it(mod, ctx):
            mod["main"].mlir_op.regions[0].blocks[0].operations[3].operation.erase()
            return mod

        with pytest.raises(PassError):
            break_it(mod)
        with PassContext(config={"transform.verify_each": False}):
            break_it(mod)

    def test_p36_immutable_module(self, mod):
        @module_pass(opt_level=0, name="Sneaky")
        def sneaky(_, ctx):
            mod["main"].mlir_op.attributes["test.x"] = ir.UnitAttr.get()
            return _

        sneaky(mod)
        del mod["main"].mlir_op.attributes["test.x"]
        with (
            PassContext(config={"testing.immutable_module": True}),
            pytest.raises(PassError, match="Immutable module has been modified in pass: Sneaky"),
        ):
            sneaky(mod)

    def test_the_type_of_a_key_is_fixed(self):
        with pytest.raises(ValueError, match="already registered"):
            transform.register_config_option("test.depth", str)


class _Unroll:
    def __init__(self, steps: int) -> None:
        self.steps = steps


def test_options_under_newer_names_of_tvm() -> None:
    config = PassContext(config={"tirx.UnrollLoop": {"auto_max_step": 10}}).config
    assert config["tirx.UnrollLoop"] is config["tir.UnrollLoop"]
    assert config["tirx.UnrollLoop"].auto_max_step == 10
    with pytest.raises(KeyError):
        config["tirx.LoopPartition"]
    with pytest.raises(ConfigKeyError, match=r"option 'tir\.Unrol'; did you mean"):
        PassContext(config={"tirx.Unrol": {}})
