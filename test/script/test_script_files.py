"""Scripts in files: constants beside them, options of printing, data of modules."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from relax_mlir import ir, relax
from relax_mlir.errors import ExecutableFormatError, ExprTypeError, ScriptError
from relax_mlir.ir import DummyGlobalInfo, VDevice
from relax_mlir.script import from_source, load_script, save_script
from relax_mlir.tools.relax_compile import __main__ as relax_compile
from relax_mlir.tools.relax_opt import __main__ as relax_opt

RNG = np.random.default_rng(0)
TEXT = """
@I.ir_module
class Module:
    @R.function(private=True)
    def half(x: R.Tensor(("n", "k"), "float32")):
        return x * R.const(0.5, "float32")

    @R.function
    def main(x: R.Tensor(("n", 13), "float32")):
        y = R.matmul(x, R.const(weight))
        z = cls.half(y + R.const(bias, "float32"))
        return z
"""


def arrays(dtype: type | str) -> list[np.ndarray]:
    return [RNG.normal(size=(13, 9)).astype(dtype), RNG.normal(size=(9,)).astype(dtype),
            np.zeros((0, 4), dtype), RNG.normal(size=(65,)).astype(dtype)]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", ml_dtypes.bfloat16])
def test_constants_are_beside_the_script(tmp_path: Path, dtype: type | str) -> None:
    lines = [f"    c{i} = R.const(a{i})" for i in range(4)]
    text = "\n".join(["@R.function", "def main():", *lines, "    return (c0, c1, c2, c3)"])
    module = from_source(text, {f"a{i}": array for i, array in enumerate(arrays(dtype))})
    path = tmp_path / "model.py"
    save_script(module, path)
    assert {each.name for each in tmp_path.iterdir()} == {"model.py", "model.safetensors"}
    ir.assert_structural_equal(load_script(path), module)
    with pytest.raises(ScriptError, match="save_script"):
        from_source(path.read_text())


def test_without_constants_there_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    save_script(from_source(TEXT, {"weight": np.ones((13, 9), "float32"), "bias": 1}), path)
    assert path.with_suffix(".safetensors").exists()
    small = from_source(TEXT, {"weight": np.ones((13, 1), "float32"), "bias": 1})
    save_script(small, path)
    assert [each.name for each in tmp_path.iterdir()] == ["model.py"]
    ir.assert_structural_equal(load_script(path), small)


def test_damaged_files_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    save_script(from_source(TEXT, {"weight": np.ones((13, 9), "float32"), "bias": 1}), path)
    path.with_suffix(".safetensors").write_bytes(b"nothing")
    with pytest.raises(ExecutableFormatError, match="no valid safetensors file"):
        load_script(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ScriptError, match="this is no text"):
        load_script(path)
    with pytest.raises(FileNotFoundError):
        load_script(tmp_path / "none.py")


@pytest.mark.codegen
def test_tools_read_the_constants(tmp_path: Path) -> None:
    weight, bias = RNG.normal(size=(13, 9)).astype("float32"), np.arange(9, dtype="float32")
    path = tmp_path / "model.py"
    save_script(from_source(TEXT, {"weight": weight, "bias": bias}), path)
    assert relax_opt.main([str(path), "-o", str(tmp_path / "model.mlir")]) == 0
    assert relax_compile.main([str(path), "-o", str(tmp_path / "model.rxe")]) == 0
    vm = relax.VirtualMachine(relax.build(load_script(path)))
    x = RNG.normal(size=(3, 13)).astype("float32")
    np.testing.assert_allclose(np.asarray(vm["main"](x)), (x @ weight + bias) / 2, rtol=1e-4)


def test_options() -> None:
    module = from_source(TEXT, {"weight": np.ones((13, 1), "float32"), "bias": 1})
    for options in ({"module_alias": ""}, {"module_alias": "mod"}, {"show_all_ty": False}):
        text = module.script(**options)
        ir.assert_structural_equal(from_source(text), module)
        assert text != module.script()
    assert "Module.half(lv" in module.script(module_alias="").replace("gv", "lv")
    assert "= R.matmul" in module.script(show_all_ty=False)
    assert ": R.Tensor" in module.script().split("= R.matmul")[0].splitlines()[-1]
    with pytest.raises(TypeError, match="colour"):
        module.script(colour=True)
    assert module.script(extra_config={"script.use_pep695": False}) == module.script()
    for config in ({"script.use_pep695": True}, {"colour": None}):
        with pytest.raises(TypeError, match="scripts are not printed with"):
            module.script(extra_config=config)


def test_data_of_modules_reads_back() -> None:
    text = TEXT.replace(
        "class Module:",
        """class Module:
    I.module_attrs({"attr": 10, "names": ["a", "b"]})
    I.module_global_infos({
        "vdevice": [I.vdevice("llvm"), I.vdevice({"kind": "cuda", "arch": "sm_80"}, 1, "shared")],
        "dummy": [I.dummy_global_info(), I.dummy_global_info()],
    })
""",
    )
    module = from_source(text, {"weight": np.ones((13, 1), "float32"), "bias": 1})
    assert module.attrs == {"attr": 10, "names": ["a", "b"]}
    vdevice = VDevice({"kind": "cuda", "arch": "sm_80"}, 1, "shared")
    assert module.global_infos == {
        "vdevice": [VDevice("llvm"), vdevice], "dummy": [DummyGlobalInfo(), DummyGlobalInfo()],
    }  # fmt: skip
    again = from_source(module.script())
    ir.assert_structural_equal(again, module)
    assert again.script() == module.script()
    other = from_source(text, {"weight": np.ones((13, 1), "float32"), "bias": 1})
    other.update_global_info("dummy", [DummyGlobalInfo()])
    assert not ir.structural_equal(other, module)
    assert hash(vdevice) == hash(VDevice({"kind": "cuda", "arch": "sm_80"}, 1, "shared"))
    with pytest.raises(ExprTypeError, match="expected DummyGlobalInfo or VDevice"):
        other.update_global_info("dummy", ["llvm"])


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("I.module_global_infos([])", "takes one dictionary"),
        ('I.module_global_infos({"vdevice": I.vdevice("llvm")})', "global infos are lists"),
        ('I.module_global_infos({"vdevice": ["llvm"]})', "expected I.vdevice(target)"),
        ('I.module_attributes({"a": 1})', "a module holds functions only"),
        ("x = 1", "a module holds functions only"),
    ],
)
def test_mistakes_in_data_of_modules(statement: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        from_source(TEXT.replace("class Module:", f"class Module:\n    {statement}"))
    assert message in caught.value.message
