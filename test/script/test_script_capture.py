"""What a script takes from the Python program around it: values, functions, macros, modules."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from relax_mlir import register_func, relax, te, topi
from relax_mlir.errors import RelaxMLIRError, ScriptError
from relax_mlir.ir import VDevice, assert_structural_equal
from relax_mlir.runtime import VirtualMachine
from relax_mlir.script import from_source, script
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

SIZE = 4
WEIGHT = np.arange(4, dtype="float32")
DTYPE = "float32"


class Config:
    size = 4
    shape = (4,)


def padded(n: int, to: int = 4) -> int:
    return (n + to - 1) // to * to


@T.prim_func
def increment(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] + T.float32(1)


@R.function
def double(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return x + x


@I.ir_module
class Library:
    @R.function
    def helper(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x * R.const(2.0, "float32")

    @R.function
    def triple(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x + cls.helper(x)


@T.macro
def scaled(B, i, value, factor=2.0):
    B[i] = value * T.float32(factor)


@R.macro
def layer(x, w, activate):
    y = R.add(x, w)
    if activate:
        y = R.nn.relu(y)
    return y


@R.macro
def wrong(x):
    y = R.nonsense(x)
    return y


def test_values_and_functions() -> None:
    factor = 3.0

    @I.ir_module
    class Module:
        @T.prim_func
        def scale(A: T.Buffer((SIZE,), DTYPE), B: T.Buffer((Config.size,), DTYPE)):
            for i in range(padded(3)):
                scaled(B, i, A[i], factor=factor)

        @R.function
        def main(x: R.Tensor(Config.shape, DTYPE)):
            y = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((SIZE,), DTYPE))
            z = R.call_tir(increment, (y,), out_sinfo=R.Tensor((SIZE,), DTYPE))
            w = double(z)
            t = Library.triple(w)
            q = layer(t, R.const(WEIGHT), False)
            p = layer(q, R.const(-10.0, "float32"), True)
            return R.reshape(p, (padded(1), 1)) + R.const(math.sqrt(4.0), "float32")

    assert set(Module.function_names) == {
        "scale", "main", "increment", "double", "helper", "triple",
    }  # fmt: skip
    vm = relax.VirtualMachine(relax.build(Module))
    x = np.array([-4, -1, 0, 2], np.float32)
    wanted = np.maximum(6 * (3 * x + 1) + WEIGHT - 10, 0)[:, None] + 2
    np.testing.assert_allclose(vm["main"](x), wanted)


def test_functions_whose_names_are_taken_get_others() -> None:
    outer = double

    @I.ir_module
    class Module:
        @R.function
        def double(x: R.Tensor((3,), "float32")):
            y = outer(x)
            return outer(y)

    vm = relax.VirtualMachine(relax.build(Module))
    np.testing.assert_allclose(vm["double"](np.ones(3, np.float32)), np.full(3, 4.0))


def test_python_decides_branches_and_unrolls_loops() -> None:
    @R.function
    def f(x: R.Tensor((4,), "float32")):
        y = x
        for size in Config.shape:
            if size > 3:  # noqa: SIM108
                y = R.add(y, x)
            else:
                y = R.nonsense(y)
        return y

    assert str(f.module).count('"relax.add"') == 1
    assert '"relax.if"' not in str(f.module)


def gelu(x: relax.Expr) -> relax.Expr:
    return x * relax.op.sigmoid(x * relax.const(1.702, "float32"))


def other(x: relax.Expr) -> relax.Expr:
    return x + relax.const([1, 2, 3], "float32")


def halves(a: te.Tensor) -> list[te.Tensor]:
    return topi.split(a, 2)


MAPPED = """
@R.function
def f(x: R.Tensor((6, 8), "float32")):
    return R.layout_transform(x, index_map={})
"""


@pytest.mark.parametrize(
    ("index_map", "written", "shape"),
    [
        ("lambda i, j: (j // block, i, j % block)", "i1 // 4, i0, i1 % 4", "(2, 6, 4)"),
        ("T.index_map(lambda i, j: i * 8 + j, index_dtype='int32')", "i0 * 8 + i1,", "(48,)"),
        ("lambda i, j: (i, 0, j % T.int64(4) + 4 * (j // 4))", "i0, 0, i1 // 4 * 4 + i1 % 4",
         "(6, 1, 8)"),
        ("swapped", "i1, i0", "(8, 6)"),
    ],
)  # fmt: skip
def test_maps_of_indices(index_map: str, written: str, shape: str) -> None:
    known = {"block": 4, "swapped": lambda i, j: (j, i)}
    module = from_source(
        MAPPED.format(index_map),
        extra_vars=known,
    )
    text = module.script()
    assert f"index_map=T.index_map(lambda i0, i1: ({written}))" in text
    assert f'-> R.Tensor({shape}, dtype="float32")' in text
    assert from_source(text).script() == text


@pytest.mark.parametrize(
    ("index_map", "message"),
    [
        ("lambda i, j: (i + 1, j)", "does more than to split, order and join axes: 1"),
        ("lambda i, j: (i * 2, j)", "leaves gaps"),
        ("lambda i, j: (i + j,)", "leaves gaps"),
        ("lambda i, j: (i, j % 4)", "keeps 4 of 8 along axis 1"),
        ("lambda i, j: (i, i)", "does not map index 0 one to one"),
        ("lambda i, j: (i // 2, j)", "does not map index 0 one to one"),
        ("lambda i: (i,)", "takes 1 indices, got 2 dimensions"),
        ("lambda i, j: (k, j)", "'k' is none"),
        ("3", "expected a function of indices, got 3"),
        ("'i, j'", "'i, j' is no function of indices"),
    ],
)
def test_what_is_no_map_of_indices(index_map: str, message: str) -> None:
    with pytest.raises(ScriptError, match=re.escape(message)):
        from_source(MAPPED.format(index_map))


def test_names_of_numbers_are_dimensions() -> None:
    @R.function
    def main(x: R.Tensor("float32", ndim=2), y: R.Tensor("float32", ndim=1)):
        n, four = T.int64(), I.meta_var(T.int64(4))
        a = R.match_cast(x, R.Tensor((n, four * 2), "float32"))
        for size in (2, 4):
            y = R.match_cast(R.concat((y, y)), R.Tensor((size * 6,), "float32"))
        return a, y

    assert main.ret_ty == relax.TupleType(
        [relax.TensorType(("n", 8), "float32"), relax.TensorType((24,), "float32")]
    )


def test_texts_are_values() -> None:
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(f: R.Object, x: R.Tensor((2,), "float32")):
            y = f(R.str("first"), x)
            z = R.call_packed("test.joined", "second", y, R.const(np.ones(2).astype("float32")))
            return z

    assert from_source(Module.script()).script() == Module.script()
    register_func("test.joined", lambda text, y, z: text + y + str(z), override=True)
    vm = relax.VirtualMachine(relax.build(Module))
    assert vm["main"](lambda text, x: text + str(x), np.zeros(2, "float32")) == (
        "secondfirst[0. 0.][1. 1.]"
    )


def test_python_functions_take_and_give_expressions() -> None:
    blocks, bias, kind = [gelu, relax.op.nn.relu], relax.const(1.0, "float32"), "sum"

    @I.ir_module
    class Module:
        @T.prim_func
        def split(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
            B[0] = A[0]

        @R.function
        def main(x: R.Tensor((4,), "float32"), n: R.Prim("int64")):
            nonlocal blocks, bias
            with R.dataflow():
                y = gelu(x)
                for block in (0, 1):
                    y = blocks[block](y)
                z = relax.op.add(y, bias)
                pair = R.emit_te(halves, z)
                w = R.emit_te(topi.add, pair[0], pair[1], primfunc_name_hint=f"{kind!s}_{2:02d}")
                R.output(w)
            return w

    assert Module.script().count("R.sigmoid") == 2
    made = [name for name in Module.function_names if name not in ("split", "main")]
    assert made == ["halves", "sum_02"]
    assert from_source(Module.script()).script() == Module.script()
    vm = relax.VirtualMachine(relax.build(Module))
    x = np.array([-4, -1, 0, 2], np.float32)
    y = x / (1 + np.exp(-1.702 * x))
    y = np.maximum(y / (1 + np.exp(-1.702 * y)), 0) + 1
    np.testing.assert_allclose(vm["main"](x, 1), y[:2] + y[2:], rtol=1e-5)


def test_effects_of_expressions_from_python_are_seen() -> None:
    def shout(x: relax.Expr) -> relax.Expr:
        return relax.op.call_packed("shout", x, ty_args=R.Tensor((4,), "float32"))

    text = FUNCTION.replace("@R.function", "@R.function(pure=True)") + "shout(x)"
    assert "is declared pure and has side effects" in error_of(text, shout=shout).message
    text = FUNCTION.replace("return ", "with R.dataflow():\n        y = shout(x)\n")
    error = error_of(text + "        R.output(y)\n    return y", shout=shout)
    assert "dataflow block does not hold" in error.message


def error_of(text: str, **variables: object) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        from_source("from relax_mlir.script import relax as R, tir as T\n" + text, variables)
    return caught.value


FUNCTION = '@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    return '


@pytest.mark.parametrize(
    ("body", "underlined", "message"),
    [
        ("R.reshape(x, (padded(x), 1))", "(padded(x), 1)", "a shape is a tuple of integers"),
        ("R.const(padded(x))", "x", "expected a literal or a Python value"),
        ("gelu(x, x)", "gelu(x, x)", "'gelu' failed: TypeError"),
        ("other(x)", "other(x)", "relax.op.add: shapes"),
        ("gelu(*x)", "*x", "'*' takes a Python sequence"),
        ("gelu(**{'x': x})", "**{'x': x}", "write the arguments of gelu one by one"),
        ("R.emit_te(x, x)", "R.emit_te(x, x)", "R.emit_te takes a te function first"),
        ("R.emit_te()", "R.emit_te()", "R.emit_te takes a te function first"),
        ("R.call_packed('f', R.str(x))", "x", "expected a literal or a Python value"),
        ("R.emit_te(gelu, x)", "R.emit_te(gelu, x)", "'R.emit_te' failed"),
        ("R.const(padded('a'))", "padded('a')", "'padded' failed: TypeError"),
        ("layer(x)", "layer(x)", "the macro 'layer' needs argument 'w'"),
        ("layer(x, x, True, 1)", "layer(x, x, True, 1)", "the macro 'layer' takes 3 arguments"),
        ("layer(x, x, other=1)", "other=1", "the macro 'layer' has no argument 'other' left"),
        ("Library.missing(x)", "Library.missing", "undefined function 'Library.missing'"),
    ],
)
def test_refused(body: str, underlined: str, message: str) -> None:
    error = error_of(
        FUNCTION + body, padded=padded, layer=layer, Library=Library, gelu=gelu, other=other
    )
    assert error.source_line[error.col_offset : error.end_col_offset] == underlined
    assert error.message[: len(message)] == message


def test_errors_in_a_macro_show_its_own_line() -> None:
    error = error_of(FUNCTION + "wrong(x)", wrong=wrong)
    assert error.filename == __file__
    assert error.source_line.strip() == "y = R.nonsense(x)"


def test_a_macro_cannot_expand_for_ever() -> None:
    global forever

    @R.macro
    def forever(x):
        return forever(x)

    error = error_of(FUNCTION + "forever(x)", forever=forever)
    assert "expands more than 64 times" in error.message


def test_a_macro_is_no_python_function() -> None:
    with pytest.raises(TypeError, match="the macro 'layer' can only be used in a script"):
        layer(1, 2, 3)


def test_annotations_of_nothing() -> None:
    """A variable of Python that is None leaves the shape or the dtype of an annotation open."""
    shape, dtype = None, None

    @R.function
    def main(x: R.Tensor(shape, ndim=2, dtype=dtype), s: R.Shape(shape, ndim=1)):
        return x

    assert str(main.params[0].ty) == "R.Tensor(ndim=2)"
    assert str(main.params[1].ty) == "R.Shape(ndim=1)"


def test_functions_of_relax_op_are_those_of_scripts() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def negate(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = -A[i]

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Module
            return relax.call_tir(cls.negate, (x,), R.Tensor((4,), dtype="float32"))

    assert "R.call_tir(cls.negate, (x,)" in Module.script()


@pytest.mark.parametrize("device", ["DEVICE", "here"])
def test_virtual_devices_of_python_code(device: str) -> None:
    text = f"""
@R.function
def main(x: R.Tensor((3, 4), "float32")):
    here = VDevice("llvm", 0, "global")
    y = R.to_vdevice(x, {device})
    return y
"""
    given = {"VDevice": VDevice, "DEVICE": VDevice("llvm", 0, "global")}
    got = from_source(text, given)
    assert 'R.to_vdevice(x, dst_vdevice="llvm")' in script(got)
    assert_structural_equal(from_source(script(got)), got)


def test_devices_and_limits_of_dtypes() -> None:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        y = R.to_vdevice(R.hint_on_device(x, R.device(1, 0)), I.vdevice("llvm"))
        z = R.hint_on_device(y, R.cpu())
        low: R.Prim("int32") = np.iinfo("int32").min
        high = R.clip(z, np.finfo(np.float32).min, np.finfo(np.float32).max)
        return high, low

    text = main.script()
    for part in ('(x, dst_vdevice="cpu")', 'dst_vdevice="llvm")', "-2147483648", "3.4028234"):
        assert part in text
    assert_structural_equal(from_source(text), main)
    x = relax.Var("x", R.Tensor((3,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.emit(relax.op.to_vdevice(relax.op.hint_on_device(x, R.cpu()), I.vdevice("llvm")))
        bb.emit_func_output(y)
    assert 'hint_on_device(x, dst_vdevice="cpu")' in bb.get().script()
    with pytest.raises(ScriptError, match="number 4 is registered"):
        from_source("@R.function\ndef f(x: R.Any):\n    return R.hint_on_device(x, R.device(4, 2))")


def test_numbers_have_the_dtype_of_their_variable() -> None:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        whole: R.Prim("int32") = 2
        part: R.Prim("float32") = 2.5
        truth: R.Prim("bool") = True
        size: R.Prim("int64") = 2
        return whole, part, truth, size

    assert (
        str(main.ret_ty)
        == 'R.Tuple(R.Prim("int32"), R.Prim("float32"), R.Prim("bool"), R.Prim("int64"))'
    )
    assert_structural_equal(from_source(main.script()), main)


def test_meta_var_is_one_name() -> None:
    assert I.meta_var is T.meta_var


def test_global_var_of_a_module_that_the_function_is_put_into() -> None:
    @I.ir_module
    class Module:
        @R.function(private=True)
        def twice(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            return R.add(x, x)

        @R.function(pure=False)
        def shout(x: R.Tensor(("n",), "float32")) -> R.Object:
            return R.print(x)

    twice, shout = (Module.get_global_var(name) for name in ("twice", "shout"))

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        return twice(x)

    assert main.ret_type == relax.TensorType((3,), "float32")
    assert main.is_pure
    with pytest.raises(RelaxMLIRError, match="calls @twice, which is not in the module"):
        relax.build(main)
    text = main.script()
    with pytest.raises(ScriptError, match=r"'cls.twice'; .*extra_vars=.'twice': mod.get_global"):
        from_source(text)
    again = from_source(text, extra_vars={"twice": twice})
    assert_structural_equal(again["main"], main)
    Module["main"] = main
    x = np.arange(3, dtype="float32")
    run = VirtualMachine(relax.build(Module))["main"]
    np.testing.assert_array_equal(np.asarray(run(x)), 2 * x)

    with pytest.raises(ScriptError, match="'twice' takes 1 argument, got 2"):

        @R.function
        def wrong(x: R.Tensor((3,), "float32")):
            return twice(x, x)

    with pytest.raises(ScriptError, match="'shout' may have side effects"):

        @R.function
        def impure(x: R.Tensor((3,), "float32")):
            with R.dataflow():
                y = shout(x)
                R.output(y)
            return y
