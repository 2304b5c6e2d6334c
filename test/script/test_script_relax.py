"""The Relax language: operators, call forms, blocks, branches, what is captured from Python."""

# ruff: noqa: E501

import numpy as np
import pytest
from scripts import assembly

import relax_mlir
from relax_mlir import relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.errors import ScriptError
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.structural.compare import structural_equal
from relax_mlir.script import from_source

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n"


def function(body: str, params: str = 'x: R.Tensor(("n", 4), "float32")', **variables) -> IRModule:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return from_source(f"{HEAD}@R.function\ndef f({params}):\n{lines}", variables)


def operations(module: IRModule) -> list[ir.Operation]:
    block = module.mlir_module.body.operations[0].regions[0].blocks[0]
    return [op.operation for op in block.operations]


def names(module: IRModule) -> list[str]:
    return [op.name for op in operations(module)]


@pytest.mark.parametrize(
    ("expression", "op"),
    [
        ("x + y", "add"), ("x - y", "subtract"), ("x * y", "multiply"), ("x / y", "divide"),
        ("x // y", "floor_divide"), ("x ** y", "power"), ("x == y", "equal"), ("x < y", "less"),
        ("x >= y", "greater_equal"), ("-x", "negative"), ("R.nn.relu(x)", "relu"),
        ("R.relu(x)", "relu"), ("R.ewise_add(x, y)", "add"), ("R.nn.gelu(x)", "gelu"),
        ("R.maximum(x1=x, x2=y)", "maximum"), ("R.sum(x, axis=1)", "sum"),
        ("R.mean(x, [0, -1], True)", "mean"), ("R.nn.softmax(x, axis=0)", "softmax"),
        ('R.astype(x, "int32")', "astype"), ("R.permute_dims(x, 1, 0)", "permute_dims"),
    ],
)  # fmt: skip
def test_operators_and_operations(expression: str, op: str) -> None:
    params = 'x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")'
    assert names(function(f"z = {expression}\nreturn z", params))[-2] == f"relax.{op}"


def test_matmul_operator_and_a_nested_expression() -> None:
    module = function("return R.nn.relu(x @ R.permute_dims(x)) * 2 + 1.0")
    found = [name.removeprefix("relax.") for name in names(module)]
    assert found == [
        "permute_dims", "matmul", "relu", "constant", "multiply", "constant", "add", "func.return",
    ]  # fmt: skip
    assert "value = dense<2.000000e+00> : tensor<f32>" in str(module.mlir_module)


def test_scalars_take_the_dtype_of_the_tensor() -> None:
    assert "tensor<i8>" in str(function("return x + 1", 'x: R.Tensor((3,), "int8")').mlir_module)


def test_names_and_positions_are_locations() -> None:
    module = function("lv0 = R.exp(x)\nreturn lv0")
    location = operations(module)[0].location
    assert location.name_str == "lv0"
    assert (location.child_loc.filename, location.child_loc.start_line) == ("<str>", 4)
    assert location.child_loc.start_col == 11
    asm = module.mlir_module.operation.get_asm(use_name_loc_as_prefix=True)
    assert '%lv0 = "relax.exp"(%x)' in asm


def test_reshape_derives_one_dimension() -> None:
    text = assembly(function("return R.reshape(x, (-1, 2))"))
    assert "affine_map<()[s0] -> (s0 * 2, 2)>" in text


def test_arrays_of_python_become_constants() -> None:
    weights = np.arange(8, dtype="float32").reshape(4, 2)
    module = function("y = x @ w\nreturn y + store['b']", w=weights, store={"b": weights[0]})
    constants = [op for op in operations(module) if op.name == "relax.constant"]
    np.testing.assert_array_equal(constant_array(constants[0].attributes["value"]), weights)
    np.testing.assert_array_equal(constant_array(constants[1].attributes["value"]), weights[0])


def test_python_values_in_shapes_and_attributes() -> None:
    module = function("y = R.reshape(x, (n, k, 2))\nreturn R.sum(y, axes)", k=2, axes=(0, 2))
    assert "axis = array<i64: 0, 2>" in str(module.mlir_module)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint8", "int64", "bool"]
)
def test_const(dtype: str) -> None:
    module = function(f'return R.const([[0, 1], [1, 0]], "{dtype}")', "")
    array = constant_array(operations(module)[0].attributes["value"])
    assert array.dtype == dtype
    assert array.tolist() == [[0, 1], [1, 0]]


def test_every_order_of_call_tir() -> None:
    prim = """
    @T.prim_func
    def g(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (n, 4), "float64")
        for i, j in T.grid(n, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.cast(A[vi, vj], "float64")
"""
    texts = set()
    for call in (
        "R.call_tir((n, 4), g, [x])",
        "R.call_tir([n, 4], cls.g, (x,))",
        'R.call_tir((n, 4), "g", x)',
        'R.call_tir(M.g, (x,), out_sinfo=R.Tensor((n, 4), dtype="float64"))',
        'R.call_tir(cls.g, [x], out_ty=R.Tensor((n, 4), "float64"))',
        'R.call_tir(g, x, R.Tensor((n, 4), "float64"))',
    ):
        text = f'{HEAD}@I.ir_module\nclass M:{prim}\n    @R.function\n' \
            f'    def f(x: R.Tensor(("n", 4), "float32")):\n        return {call}\n'  # fmt: skip
        texts.add(assembly(from_source(text)))
    assert len(texts) == 1
    assert "tensor<?x4xf64" in texts.pop()


def test_several_outputs() -> None:
    body = """
a, b = R.call_dps_packed("split", (x,), out_sinfo=[R.Tensor((n, 2)), R.Tensor((n, 2), "int8")])
c = R.call_tir([(n, 2), (n, 2)], "split", [x])
return (a, c[1])"""
    text = assembly(function(body))
    assert text.count("relax.tuple_get_item") == 3
    assert text.count('func = "split"') == 2


def test_packed_calls() -> None:
    module = function(
        'R.call_packed("effect", x, 3, n * 2)\n'
        'y = R.call_packed("f", x, sinfo_args=(R.Tensor((n,), "int64"),))\n'
        'z: R.Tensor((n,), "int8") = R.call_pure_packed("g", y)\n'
        "R.print(z)\nreturn z"
    )
    text = str(module.mlir_module)
    assert 'func = "vm.builtin.print"' in text
    # What an annotation alone says of a packed function's result is checked.
    assert '"relax.match_cast"(%' in text
    assert text.count('"relax.prim_value"') == 2


@pytest.mark.parametrize(
    ("number", "dtype", "value"),
    [
        ("1.5", "float32", 1.5), ("-0.5", "float32", -0.5), ("True", "bool", True),
        ("T.float64(0.1)", "float64", 0.1), ("-T.float32(2)", "float32", -2.0),
        ("HALF", "float32", 0.5),
    ],
)  # fmt: skip
def test_prim_values_that_are_no_integers(number: str, dtype: str, value: float) -> None:
    module = function(f'R.call_packed("effect", x, R.prim_value({number}))\nreturn x', HALF=0.5)
    (made,) = (op for op in operations(module) if op.name == "relax.constant")
    array = constant_array(made.attributes["value"])
    assert (array.dtype, array.shape, array[()]) == (dtype, (), np.array(value, dtype))


def test_attributes_given_as_prim_values() -> None:
    module = function("return R.nn.leakyrelu(x, R.prim_value(0.25))")
    assert operations(module)[0].attributes["alpha"].value == 0.25
    with pytest.raises(ScriptError, match="'x' is not an integer"):
        function("return R.prim_value(x)")


def test_calls_express_results_in_the_callers_symbols() -> None:
    text = f"""{HEAD}
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("a", "b"), "float32")):
        return cls.helper(R.flatten(x), 3)
    @R.function(private=True)
    def helper(v: R.Tensor(("k",), "float32"), i: R.Prim("int64")):
        return R.reshape(v, (k, 1))
"""
    text = assembly(from_source(text))
    assert "affine_map<()[s0, s1] -> (s0 * s1, 1)>" in text
    assert "callee = @helper, pure" in text
    assert "func.func private @helper" in text
    assert text.index("@main") < text.index("@helper")


def test_floats_among_the_arguments_of_call_tir() -> None:
    text = f"""{HEAD}
@I.ir_module
class M:
    @T.prim_func
    def f(A: T.Buffer(("n",), "float32"), s: T.float32, k: T.int64, b: T.float64,
          B: T.Buffer(("n",), "float32")):
        for i in range(n):
            with T.block("b"):
                v = T.axis.spatial(n, i)
                B[v] = A[v] * s + T.Cast("float32", k) + T.Cast("float32", b)
    @R.function
    def main(x: R.Tensor(("n",), "float32"), s: R.Prim("float32")):
        y = R.call_tir(cls.f, (x, s, n, R.prim_value(T.float64(0.5))), R.Tensor((n,), "float32"))
        return R.call_tir(cls.f, (y, R.prim_value(2.0), 1, R.const(0, "float64")), R.Tensor((n,), "float32"))
"""
    vm = relax.VirtualMachine(relax_mlir.compile(from_source(text)), relax_mlir.cpu())
    x = np.arange(5, dtype="float32")
    np.testing.assert_allclose(vm["main"](x, 3.0), (x * 3 + 5.5) * 2 + 1)


def test_recursion_needs_a_declared_result() -> None:
    text = HEAD + "@R.function\ndef f(x: R.Tensor((3,), 'float32')){}:\n    return f(x)\n"
    with pytest.raises(ScriptError, match="must declare what it returns"):
        from_source(text.format(""))
    from_source(text.format(" -> R.Tensor((3,), 'float32')"))


def test_branches_bind_one_variable() -> None:
    module = function(
        "if c:\n    with R.dataflow():\n        y = R.exp(x)\n        R.output(y)\n"
        "elif d:\n    y = x\nelse:\n    y = R.sum(x, axis=1, keepdims=True)\nreturn y",
        'x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), d: R.Tensor((), "bool")',
    )
    assert operations(module)[0].results[0].type == ir.Type.parse("tensor<?x?xf32>", module.context)


def test_dataflow_outputs_escape_and_others_do_not() -> None:
    module = function(
        "with R.dataflow():\n    a = R.exp(x)\n    b = R.log(a)\n    R.output(a, b)\nreturn (b, a)"
    )
    assert names(module)[:3] == ["relax.dataflow", "relax.tuple_get_item", "relax.tuple_get_item"]


def test_declared_and_inferred_types_meet() -> None:
    exact = function('y: R.Tensor((n, 4), "float32") = R.exp(x)\nreturn y')
    vague = function("y: R.Tensor = R.exp(x)\nreturn y")
    assert assembly(exact) == assembly(vague)
    cast = function('y: R.Tensor((n, 5), "float32") = R.exp(x)\nreturn y', "x: R.Tensor((n, k))")
    assert "relax.match_cast" in names(cast)


def test_return_annotation_is_asserted() -> None:
    text = f'{HEAD}@R.function\ndef f(x: R.Tensor("float32")) -> R.Tensor((3,), "float32"):\n    return x\n'
    assert names(from_source(text)) == ["relax.match_cast", "func.return"]


def test_attributes_of_functions() -> None:
    module = function(
        'R.func_attr({"num_input": 1, "global_symbol": "f", "a.b": [1.5, "s"]})\nreturn x'
    )
    attributes = module.mlir_module.body.operations[0].attributes
    assert attributes["relax.num_input"].value == 1
    assert str(attributes["a.b"]) == '[1.500000e+00, "s"]'
    assert [ir.StringAttr(item).value for item in attributes["relax.params"]] == ["x"]


def test_pure_is_checked() -> None:
    text = (
        HEAD + '@R.function(pure=True)\ndef f(x: R.Object):\n    R.call_packed("g")\n    return x\n'
    )
    with pytest.raises(ScriptError, match="declared pure"):
        from_source(text)


@pytest.mark.parametrize(
    ("number", "dtype", "value"),
    [
        ("T.float32(0.5)", "float32", 0.5),
        ("T.bool(True)", "bool", True),
        ("T.int8(-3)", "int8", -3),
        ("T.int32(16)", "int32", 16),
    ],
)
def test_numbers_of_a_dtype_are_scalars(number: str, dtype: str, value: float) -> None:
    module = function(f"return (x, {number})")
    assert f"return (x, {number})" in module.script()
    assert structural_equal(from_source(module.script()), module)
    with pytest.raises(ScriptError, match="out of bounds"):
        function("return T.int8(1000)")


def test_an_int32_is_a_number_and_a_size() -> None:
    module = function("return (R.prim_value(T.int32(2)), R.shape([T.int32(2), 3]))")
    assert "R.Tuple(T.int32, R.Shape([2, 3]))" in module.script()
    assert "return (T.int32(2), R.shape([2, 3]))" in module.script()
    assert structural_equal(from_source(module.script()), module)
    infinite = function('return (x, T.float32("inf"))')
    assert structural_equal(from_source(infinite.script()), infinite)
