"""Forms of TVM 0.27's scripts: scalars, meta variables, storages, gradients, grids."""

import numpy as np
import pytest

from relax_mlir import ir, relax
from relax_mlir.errors import ExprError, ScriptError
from relax_mlir.relax.expr import PrimType
from relax_mlir.script import from_source
from relax_mlir.script import tir as T

EXP = """
    @T.prim_func
    def exp(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2, 4), "float32")):
        for ij in T.grid(2, 4):
            with T.block("exp"):
                vi, vj = T.axis.remap("SS", ij)
                B[vi, vj] = T.exp(A[vi, vj])

    @T.prim_func
    def twice(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2, 4), "float32")):
        for i, j in T.grid(*A.shape):
            with T.block("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + A[vi, vj]
"""
X = 'x: R.Tensor((2, 4), "float32")'


def module(body: str, signature: str = X, head: str = "@R.function", result: str = "") -> str:
    lines = "\n".join(f"        {line}" for line in body.strip().split("\n"))
    text = f"@I.ir_module\nclass Module:\n{EXP}\n    {head}\n    def main({signature}){result}:\n"
    return text + lines


BODIES = {
    "storages": """
storage = R.memory.alloc_storage(R.shape([8]), 0, "global", "float32")
y: R.Tensor((2, 4), dtype="float32") = R.memory.alloc_tensor(
    storage, R.prim_value(0), R.shape([2, 4]), R.dtype("float32")
)
_: R.Tuple() = cls.exp(x, y)
z = R.emit_with_ty(
    "relax.builtin.alloc_tensor", (R.shape([2, 4]), R.dtype("float32"), R.prim_value(0)), (x.ty,)
)
cls.twice(y, z)
_1 = R.memory.kill_tensor(y)
R.memory.kill_storage(storage)
return z
""",
    "storages of the machine": """
storage = R.vm.alloc_storage(R.shape([32]), runtime_device_index=0, dtype="uint8")
y = R.vm.alloc_tensor(storage, offset=0, shape=R.shape([2, 4]), dtype="float32")
cls.exp(x, y)
z = R.call_tir(cls.twice, (y,), out_ty=R.Tensor((2, 4), "float32"))
_: R.Tuple = R.vm.kill_object(y)
return z
""",
    "arguments that are left out": """
x1 = R.emit_with_type("relax.nn.relu", x)
y = R.memory.view(x1, R.shape([2, 4]), R.tuple(), R.tuple())
z = R.call_tir(cls.exp, (y,), out_ty=R.Tensor((2, 4), "float32"))
w = R.call_tir(cls.twice, (z,), out_ty=R.Tensor((2, 4), "float32"))
return w
""",
    "gradients": """
y = R.call_tir_with_grad(
    cls.exp, (x,), out_ty=x.ty, te_grad_name="exp_grad", te_grad_kwargs={"k": 1.0}
)
return R.call_tir(cls.twice, (y,), out_ty=y.ty)
""",
    "names": """
two, shape = I.meta_var(2), T.meta_var((2, 4))
y = relax.op.exp(x)
pair = R.tuple(x, y)
z = R.TupleGetItem(pair, 1)
return R.multiply(R.reshape(z, shape), R.const(4.0 / 2.0, "float32"))
""",
    "prim values": """
y = R.clip(R.exp(x), R.prim_value(T.float64("-inf")), R.prim_value(T.float64("inf")))
z = R.assert_op(R.prim_value(x.shape[0] % 2 == 0))
return y + y
""",
}  # fmt: skip


@pytest.mark.codegen
@pytest.mark.parametrize("name", BODIES)
def test_forms_are_read_printed_and_run(name: str) -> None:
    made = from_source(module(BODIES[name]))
    ir.assert_structural_equal(from_source(made.script()), made)
    x = np.random.default_rng(0).random((2, 4), dtype="float32")
    vm = relax.VirtualMachine(relax.build(made))
    np.testing.assert_allclose(np.asarray(vm["main"](x)), 2 * np.exp(x), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool"])
def test_scalars_have_every_dtype(dtype: str) -> None:
    text = f'@R.function\ndef main(s: R.Prim("{dtype}")) -> R.Prim("{dtype}"):\n    return s'
    made = from_source(text)
    same = from_source(text.replace(f'R.Prim("{dtype}")', f"T.{dtype}"))
    ir.assert_structural_equal(same, made)
    ir.assert_structural_equal(from_source(made.script()), made)
    assert made["main"].params[0].ty == PrimType(dtype)


def test_packed_functions_take_texts_and_are_named_once() -> None:
    body = """
shout = R.ExternFunc("shout")
y = R.call_dps_packed(shout, (x,), out_ty=R.Tensor((2, 4), "float32"))
z = R.call_packed(shout, y, "loud", R.str("twice"), R.dtype("float32"), ty_args=[y.ty])
return z
"""
    made = from_source(module(body))
    assert 'static_args=["loud", "twice", "float32"]' in made.script()
    ir.assert_structural_equal(from_source(made.script()), made)


def test_a_variable_may_stand_for_a_dtype() -> None:
    body = """
dtype = R.dtype("int32")
y: R.Tensor((2, 4), "int32") = R.memory.view(x, dtype={})
return y
"""
    ir.assert_structural_equal(
        from_source(module(body.format("dtype"))), from_source(module(body.format('"int32"')))
    )


def test_calls_with_gradients_are_built_as_they_are_written() -> None:
    made = from_source(module(BODIES["gradients"]))
    call = made["main"].body.blocks[0].bindings[0].value
    gradient = {"te_grad_name": "exp_grad", "te_grad_kwargs": {"k": 1.0}}
    assert call.attrs == gradient
    x, exp = made["main"].params[0], made.get_global_var("exp")
    bb = relax.BlockBuilder(from_source(module("return x")))
    x = relax.Var("x", x.ty)
    with bb.function("built", [x]):
        y = bb.emit(relax.call_tir_with_grad(exp, x, out_ty=x.ty, **gradient))
        bb.emit_func_output(bb.emit(relax.call_tir("twice", y, y.ty)))
    ir.assert_structural_equal(bb.get()["built"], made["main"])
    with pytest.raises(ExprError, match="needs argument 'te_grad_name'"):
        relax.call_tir_with_grad(exp, x, out_ty=x.ty)


def test_functions_inside_do_not_make_a_function_impure() -> None:
    body = """
@R.function
def shout(y: R.Any) -> R.Any:
    return R.call_packed("shout", y)

return x
"""
    assert from_source(module(body))["main"].is_pure
    assert not from_source(module(body.replace("return x", "return shout(x)")))["main"].is_pure


def test_a_private_function_has_no_global_symbol() -> None:
    text = module(
        'R.func_attr({"global_symbol": "main"})\nreturn x', head="@R.function(private=True)"
    )
    with pytest.raises(ScriptError, match="is private, so it has no global_symbol"):
        from_source(text)


def test_calls_of_closures_keep_what_they_are() -> None:
    signature = "f: R.Callable([R.Any], R.Tuple([]), purity=False), g: R.Any, x: R.Any"
    body = """
f(x)
y = R.invoke_pure_closure(g, (x,), ty_args=R.Tensor((), "int32"))
return y
"""
    made = from_source(module(body, signature))
    ir.assert_structural_equal(from_source(made.script()), made)
    assert "R.invoke_pure_closure(g, (x,)" in made.script()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return cls.exp(x)", "'exp' is a prim func; call it by R.call_tir(cls.exp, (...)"),
        ("y = R.builtin.alloc_tensor(R.shape([3, 4]), 'float32')\ncls.exp(x, y)\nreturn y",
         "buffer 1 of 'exp', 'B', is R.Tensor((2, 4), \"float32\")"),
        ("with R.dataflow():\n    cls.exp(x, x)\n    R.output()\nreturn x", "has a side effect"),
        ("return R.memory.alloc_tensor(x, 0, R.shape([2]), 'float32')", "expected a storage"),
        ("return R.call_tir_with_grad(cls.exp, (x,), out_ty=x.ty)", "argument 'te_grad_name'"),
        ("y: R.Tensor((2, 4), 'float32', 'cuda') = x\nreturn y", "there is no device 'cuda'"),
        ("y: z.ty = x\nreturn y", "'z' is no variable, which has a type"),
        ("return R.const(1 / 0, 'float32')", "division by zero"),
        ("return R.TupleGetItem(R.tuple(x), 'a')", "the index of a tuple is an integer"),
        ("return R.const(T.float32('many'))", "could not convert string to float"),
        ("n = I.meta_var()\nreturn x", "takes what the name stands for"),
        ("n = T.int32()\nreturn x", "a symbol of shapes is an int64"),
        ("R.add(x, x)\nreturn x", "no effect but its result"),
    ],
)  # fmt: skip
def test_mistakes(body: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        from_source(module(body))
    assert message in caught.value.message


def test_integers_name_dimensions_of_later_parameters() -> None:
    text = '@R.function\ndef main(n: {}, x: R.Tensor(["n + 1"], "float32")):\n    return x'
    made = from_source(text.format('R.Prim("int64")'))
    same = from_source(text.format('R.Prim(value="n")'))
    ir.assert_structural_equal(made, same)


def test_a_dataflow_block_may_return() -> None:
    text = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    with R.dataflow():\n"
    returned = from_source(text + "        y = x + x\n        return y * y")
    output = from_source(
        text + "        y = x + x\n        z = y * y\n        R.output(z)\n    return z"
    )
    ir.assert_structural_equal(returned, output)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'x: R.Tensor(["n"], "float32"), n: R.Prim("int64")',
            "is a dimension of a parameter before",
        ),
        ('n: R.Prim("int32"), x: R.Tensor(["n"], "float32")', "which is an int64, not int32"),
    ],
)
def test_integers_that_are_no_dimensions(text: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        from_source(f"@R.function\ndef main({text}):\n    return x")
    assert message in caught.value.message


def test_extents_of_a_grid() -> None:
    with pytest.raises(ScriptError, match=r"'\*' takes the shape of a buffer"):
        from_source(module("return x").replace("*A.shape", "*A"))


def test_buffers_of_handles_anywhere_in_the_body() -> None:
    late = from_source("""
        @T.prim_func
        def f(a: T.handle, b: T.handle):
            A = T.match_buffer(a, (4,))
            C = T.alloc_buffer((4,))
            B = T.match_buffer(b, (4,))
            for i in range(4):
                C[i] = A[i] * 2.0
            for i in range(4):
                B[i] = C[i]
    """)
    first = from_source("""
        @T.prim_func
        def f(A: T.buffer((4,)), B: T.Buffer((4,))):
            C = T.alloc_buffer((4,))
            for i in range(4):
                C[i] = A[i] * 2.0
            for i in range(4):
                B[i] = C[i]
    """)
    ir.assert_structural_equal(late, first)


def test_what_python_knows_of_prim_funcs() -> None:
    dims, flag = (3, 4), True

    @T.prim_func
    def short(a: T.handle):
        A = T.match_buffer(a, [2, *dims])
        if flag:
            A[0, 0, 0] = 1.0
        else:
            A[0, 0, 0] = 2.0

    @T.prim_func
    def long(A: T.Buffer((2, 3, 4))):
        A[0, 0, 0] = 1.0

    ir.assert_structural_equal(short.with_attr("global_symbol", "long"), long)
    with pytest.raises(ScriptError, match=r"'\*' takes a Python sequence of dimensions"):
        from_source("@T.prim_func\ndef f(a: T.handle):\n  A = T.match_buffer(a, (2, *a))")


@pytest.mark.parametrize(
    "axes",
    ["vi = T.axis.S(4, i)\n        vi = T.axis.S(4, i)", 'vi, vi = T.axis.remap("SS", [i, i])'],
)
def test_iterators_have_names_of_their_own(axes: str) -> None:
    text = f"@T.prim_func\ndef f():\n  for i in range(4):\n    with T.block():\n        {axes}"
    with pytest.raises(ScriptError, match="there is already an iterator 'vi'"):
        from_source(text)


IMPURE = "@R.function(pure=False)"


def test_external_functions_are_called() -> None:
    called = """
f = R.ExternFunc("test.f")
y = f(x, ty_args=R.Tensor((2, 4), "float32"))
return R.ExternFunc("test.g")(y, 3, ty_args=[R.Tensor((2, 4), "float32")])
"""
    packed = """
y = R.call_packed("test.f", x, ty_args=R.Tensor((2, 4), "float32"))
return R.call_packed("test.g", y, 3, ty_args=R.Tensor((2, 4), "float32"))
"""
    ir.assert_structural_equal(
        from_source(module(called, head=IMPURE)), from_source(module(packed, head=IMPURE))
    )


HEAP = """
heap = R.call_builtin_with_ctx(
    "vm.builtin.alloc_shape_heap", [R.prim_value(2)], ty_args=[R.Tensor(ndim=1, dtype="int64")]
)
_ = R.call_packed("vm.builtin.match_shape", x, heap, 2, 1, 0, 1, 1, "", ty_args=[R.Tuple()])
shape = R.ExternFunc("vm.builtin.make_shape")
return shape(heap, 2, 1, 1, 0, 7, ty_args=[R.Shape(ndim=2)])
"""


def test_builtins_of_the_machine() -> None:
    vm = relax.VirtualMachine(relax.build(from_source(module(HEAP, head=IMPURE))))
    assert tuple(vm["main"](np.zeros((2, 4), "float32"))) == (4, 7)
    with pytest.raises(ScriptError, match="takes a builtin's name and its arguments"):
        from_source(module('return R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", 2)'))


def test_calls_of_made_closures_stay_pure() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def add(x: R.Any, y: R.Any):
        return R.call_pure_packed("add", x, y, ty_args=R.Any)

    @R.function
    def main(x: R.Any):
        return R.invoke_pure_closure(R.make_closure(Module.add, (x,)), (x,), ty_args=R.Any)
"""
    made = from_source(text)
    ir.assert_structural_equal(from_source(made.script()), made)


def test_numbers_of_branches_have_dtypes() -> None:
    body = "if b:\n    size = n\nelse:\n    size = m\nreturn size"
    signature = 'b: R.Prim("bool"), n: R.Prim("int64"), m: R.Prim("int64")'
    made = from_source(module(body, signature))
    assert made.script(show_all_ty=False).count("size: T.int64 = ") == 2
    ir.assert_structural_equal(from_source(made.script()), made)


def test_immediates_of_tir() -> None:
    body = """
scale = I.meta_var(T.FloatImm("float32", 0.5))
return R.clip(x, T.IntImm("int64", 0), scale)
"""
    text = from_source(module(body, 'x: R.Tensor((3,), "float32")')).script()
    assert "R.clip(x, min=0, max=0.5)" in text


def test_call_tir_dyn_names_its_function_first() -> None:
    body = """
out = R.builtin.alloc_tensor(R.shape([2, 4]), "float32")
done = R.vm.call_tir_dyn("f", (x, out, R.shape([2, 4])))
R.vm.call_tir_dyn(Module.exp, (x, out, R.shape([2, 4])))
return out, done
"""
    made = from_source(module(body))
    text = made.script()
    for function in ("f", "exp"):
        assert f'R.vm.call_tir_dyn(x, out, R.shape([2, 4]), func="{function}")' in text
    ir.assert_structural_equal(from_source(text), made)
    with pytest.raises(ScriptError, match="the name of one"):
        from_source(module(body.replace('"f"', "3")))


def test_sizes_that_are_computed_have_their_dtype() -> None:
    body = "more = n + 1\nsame = R.prim_value(n)\nreturn more, same"
    made = from_source(module(body, 'n: R.Prim("int64")'))
    assert "more: T.int64 = n + 1" in made.script()
    ir.assert_structural_equal(from_source(made.script()), made)


def test_arguments_that_were_left_out() -> None:
    """As TVM prints them: a value where something takes it, and no binding by itself."""
    mod = from_source("""
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class M:
    @R.function
    def main(A: R.Tensor((4096,), "float32")):
        _: R.Any = R.null_value()
        b = R.memory.view(A, R.shape([64, 64]), _, _)
        c = R.call_pure_packed("f", _, A, ty_args=R.Any)
        return b, c
""")
    text = mod.script()
    assert "R.memory.view(A, R.shape([64, 64]))" in text
    assert text.count("null_value") == 1
    assert ir.structural_equal(from_source(text), mod)
    unused = "@R.function\ndef f(x: R.Tensor((4,), 'int8')):\n    {}return x\n"
    header = "from relax_mlir.script import relax as R\n"
    plain, with_one = (
        from_source(header + unused.format(each)) for each in ("", "_ = R.null_value()\n    ")
    )
    assert ir.structural_equal(plain, with_one)
