"""Packed functions as members of modules that Python makes."""

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import IRModule, relax
from relax_mlir.errors import ExprError, ScriptError
from relax_mlir.ir import assert_structural_equal, structural_equal
from relax_mlir.relax import transform
from relax_mlir.runtime import VirtualMachine, register_func
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

TYPE = relax.FuncType([relax.TensorType(("n",), "float32")], relax.TensorType(("n",), "float32"))


@pytest.mark.parametrize("type_", [None, TYPE, relax.FuncType(None, TYPE.ret, purity=True)])
def test_module_holds_extern_func(type_: relax.FuncType | None) -> None:
    mod = IRModule({"f": relax.ExternFunc("lib.f", type_)})
    assert isinstance(mod["f"], relax.ExternFunc)
    assert mod["f"].global_symbol == "lib.f"
    assert list(mod.functions.values()) == [relax.ExternFunc("lib.f")]
    assert type_ is None or mod["f"].ty == type_
    assert_structural_equal(from_source(mod.script()), mod)
    assert not structural_equal(mod, IRModule({"f": relax.ExternFunc("lib.g", type_)}))
    assert structural_equal(mod, IRModule({"f": relax.ExternFunc("lib.f")})) == (type_ is None)


def test_builder_adds_extern_func() -> None:
    builder = relax.BlockBuilder()
    assert builder.add_func(relax.extern("lib.f"), "f").name_hint == "f"
    assert builder.add_func(relax.extern("lib.f"), "again").name_hint == "f"
    mod = builder.get()
    for each in (transform.DeadCodeElimination(), transform.FuseOps(), transform.FuseTIR()):
        assert_structural_equal(each(mod), mod)
    assert relax.analysis.well_formed(mod)


def test_type_must_be_function() -> None:
    with pytest.raises(TypeError, match="is a FuncType, got "):
        relax.ExternFunc("f", relax.TensorType())


def test_module_with_extern_func_runs() -> None:
    @register_func("test.extern_func.double", override=True)
    def double(x: object) -> np.ndarray:
        return np.asarray(x) * 2

    @I.ir_module
    class Module:
        double = R.ExternFunc(
            "test.extern_func.double",
            R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",), "float32"), True),
        )

        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            return R.add(Module.double(x), x)

    x = np.arange(3, dtype="float32")
    vm = VirtualMachine(rm.relax.build(Module), rm.cpu())
    np.testing.assert_array_equal(np.asarray(vm["main"](x)), 3 * x)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("M.f(x, x)", "'lib.f' takes 1 argument, got 2"),
        ("M.f(R.reshape(x, (1, 3)))", "argument 0 of 'lib.f' must be R.Tensor"),
        ("M.g", "'g' is a packed function, which is called, not passed"),
    ],
)
def test_wrong_call_is_an_error(body: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message):
        from_source(f"""
@I.ir_module
class M:
    f = R.ExternFunc("lib.f", R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",))))
    g = R.ExternFunc("lib.g")

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        return {body}
""")


def test_name_is_taken_once() -> None:
    with pytest.raises(ScriptError, match="there is already a function 'f'"):
        from_source("""
@I.ir_module
class M:
    f = R.ExternFunc("lib.f")
    f = R.ExternFunc("lib.g")
""")


def test_calls_have_attributes() -> None:
    parsed = from_source("""
@R.function
def main(x: R.Tensor((3,), "float32")):
    y = R.call_packed("f", x, test_attr=True, sizes=[1, 2], word="w")
    return R.call_pure_packed("f", y, ty_args=R.Tensor((3,), "float32"), level=1.5)
""")
    assert_structural_equal(from_source(parsed.script()), parsed)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    with builder.function("main", [x]):
        y = builder.emit(relax.op.call_packed("f", x, test_attr=True, sizes=[1, 2], word="w"))
        pure = relax.op.call_pure_packed("f", y, ty_args=x.ty, level=1.5)
        builder.emit_func_output(builder.emit(pure))
    assert_structural_equal(builder.get(), parsed)
    first, second = (binding.value for binding in parsed["main"].body.blocks[0].bindings)
    assert first.attrs == {"test_attr": True, "sizes": [1, 2], "word": "w"}
    assert second.attrs == {"level": 1.5}


@pytest.mark.parametrize("word", ["ty_arg", "func", "static_arg"])
def test_near_misses_are_no_attributes(word: str) -> None:
    with pytest.raises(ScriptError, match=f"R.call_packed has no argument '{word}'"):
        from_source(f"""
@R.function
def main(x: R.Tensor((3,), "float32")):
    return R.call_packed("f", x, {word}=1)
""")


@pytest.mark.parametrize("rule", ["tvm.relax.type.infer_view_ty", "no.such_rule"])
def test_types_of_results_follow_from_arguments(rule: str) -> None:
    text = f"""
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "uint8")):
        return R.ExternFunc("f", R.Callable(derive_func="{rule}", purity=True))(
            x, R.shape([2]), R.dtype("int16"), R.prim_value(0)
        )
"""
    type_ = relax.FuncType.opaque_func(derive_func=rule, purity=True)
    x = relax.Var("x", R.Tensor((4,), "uint8"))
    args = [x, relax.ShapeExpr([2]), relax.DataTypeImm("int16"), relax.PrimValue(0)]
    call = relax.Call(relax.ExternFunc("f", type_), args)
    if rule.startswith("no"):
        with pytest.raises(ScriptError, match=r"there is no derive_func 'no\.such_rule'"):
            from_source(text)
        with pytest.raises(ExprError, match=r"there is no derive_func 'no\.such_rule'"):
            call.ty
        return
    wanted = relax.TensorType((2,), "int16")
    assert from_source(text)["main"].ret_type == call.ty == wanted
    assert relax.Function([x], call, is_pure=False).ret_type == wanted
    with pytest.raises(ExprError, match="takes a tensor, a shape, a dtype and an offset, got 1"):
        relax.Call(call.op, [x]).ty
