"""structural_equal, structural_hash and assert_structural_equal: programs modulo their names."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_mlir import ir
from relax_mlir.dialects.bindings import ir as mlir
from relax_mlir.dialects.context import default_context, make_context
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.relax.constants import constant_attribute
from relax_mlir.dialects.relax.types import tensor_type
from relax_mlir.errors import RelaxMLIRError, StructuralEqualError
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n"


def kernel(name="scale", n="n", i="i", block="b", a="A", factor=2, private=True):
    return f'''
    @T.prim_func(private={private})
    def {name}({a}: T.Buffer(("{n}", 4), "float32"), B: T.Buffer(("{n}", 4), "float32")):
        {n} = T.int64()
        for {i}, j in T.grid({n}, 4):
            with T.block("{block}"):
                vi, vj = T.axis.remap("SS", [{i}, j])
                B[vi, vj] = {a}[vi, vj] * T.float32({factor})
'''


def function(
    name="main", n="n", x="x", y="y", callee="scale", constant=2.0, last="exp", dims="n*4"
):
    dims = dims.replace("n", n)
    return f'''
    @R.function
    def {name}({x}: R.Tensor(("{n}", 4), "float32"), s: R.Prim(value="{n}")
            ) -> R.Tensor(("{n}*4",), "float32"):
        cls = Module
        {n} = T.int64()
        with R.dataflow():
            {y} = R.add({x}, R.const([1.0, {constant}, 3.0, 4.0]))
            w = R.call_tir(cls.{callee}, ({y},), R.Tensor(({n}, 4), "float32"))
            z = R.flatten(w)
            out = R.{last}(z)
            R.output(out)
        return out
'''


def module(*functions):
    return from_source(HEAD + "".join(functions))


def differ(lhs, rhs, **options):
    """Return the first difference of what must be different from both sides."""
    found = ir.get_first_structural_mismatch(lhs, rhs, **options)
    assert found is not None
    assert ir.get_first_structural_mismatch(rhs, lhs, **options) is not None
    assert not ir.structural_equal(lhs, rhs, **options)
    return found


def same(lhs, rhs, **options):
    ir.assert_structural_equal(lhs, rhs, **options)
    ir.assert_structural_equal(rhs, lhs, **options)
    assert ir.structural_hash(lhs, **options) == ir.structural_hash(rhs, **options)


BASE = (function(), kernel())


@pytest.mark.parametrize(
    "other",
    [
        BASE,
        (kernel(), function()),
        (function(x="a", y="b"), kernel()),
        (function(n="m"), kernel(n="k")),
        (function(n="zz"), kernel(i="ax0", block="other", a="X")),
        (function(callee="another"), kernel("another")),
    ],
    ids=["again", "order", "variables", "symbols", "loops and buffers", "private function"],
)
def test_names_do_not_count(other):
    same(module(*BASE), module(*other))
    same(module(*BASE)["main"], module(*other)["main"])


@pytest.mark.parametrize(
    ("other", "path", "what", "got", "expected"),
    [
        ((function(last="log"), kernel()), "function 'main', binding 0 'out' (relax.dataflow), "
         "binding 3 'out' (relax.exp)", "operation", "relax.exp", "relax.log"),
        ((function(constant=2.5), kernel()), "function 'main', binding 0 'out' (relax.dataflow), "
         "binding 0 'y' (relax.add)", "'relax.constant' 'value'", "2.0 as element 1",
         "2.5 as element 1"),
        ((function(), kernel(factor=3)), "prim func 'scale', statement 0 'i' (tir.for), "
         "statement 0 'j' (tir.for), statement 0 'b' (tir.block), body, binding 3 (arith.mulf)",
         "'arith.constant' 'value'", "2.0", "3.0"),
        ((function(name="other"), kernel()), "module", "public function 'main'", "@main", "none"),
        ((*BASE, kernel("idle", factor=7)), "module",
         "private function 'idle', which nothing public reaches", "none like it", "@idle"),
        ((function(), kernel(private=False)), "module", "public function 'scale'", "none",
         "@scale"),
    ],
    ids=["operation", "constant", "prim func", "public name", "unused function", "visibility"],
)  # fmt: skip
def test_the_first_difference(other, path, what, got, expected):
    found = differ(module(*BASE), module(*other))
    assert (found.path, found.what) == (path, what)
    assert got in found.got
    assert expected in found.expected


def test_the_error_says_where_and_shows_both_sides():
    lhs = tensors("%y = relax.flatten(%x) : tensor<2x4xf32> -> tensor<8xf32>")
    rhs = tensors("%y = relax.flatten(%x) : tensor<2x4xf32> -> tensor<?xf32>")
    with pytest.raises(StructuralEqualError) as caught:
        ir.assert_structural_equal(lhs, rhs)
    assert caught.value.path == "function 'main', binding 0 'y' (relax.flatten)"
    assert str(caught.value) == (
        "not structurally equal\nfunction 'main', binding 0 'y' (relax.flatten): result type: "
        'expected R.Tensor(ndim=1, dtype="float32"), got R.Tensor((8,), "float32")\n'
        '  access path: <root>["main"].body.blocks[0].bindings[0].value'
    )
    assert isinstance(caught.value, RelaxMLIRError)
    assert isinstance(caught.value, ValueError)


def tensors(line):
    """Return a module of one line `%y = op(%x) : T -> U`."""
    name, rest = line.split(" = ")
    op, types = rest.split("(%x) : ")
    source, target = types.split(" -> ")
    return IRModule.parse(
        f"func.func @main(%x: {source}) attributes {{relax.function}} {{\n"
        f'{name} = "{op}"(%x) : ({source}) -> {target} loc("{name[1:]}")\nreturn }}'
    )


def test_a_block_that_goes_on():
    short = tensors("%y = relax.exp(%x) : tensor<2xf32> -> tensor<2xf32>")
    text = str(short).replace("return", '%z = "relax.exp"(%y) : (tensor<2xf32>) -> tensor<2xf32>\n'
                              "return")  # fmt: skip
    found = differ(short, IRModule.parse(text))
    assert found.what == "operation"
    assert (found.got, found.expected) == ("func.return", "relax.exp")


def dims(text, names="n"):
    quoted = ", ".join(f'"{name}"' for name in names.split())
    symbols = ", ".join(f"s{i}" for i in range(len(names.split())))
    return f"#relax.dims<[{quoted}], affine_map<()[{symbols}] -> ({text})>>"


def signature(*types, body=""):
    parameters = ", ".join(f"%p{i}: {type_}" for i, type_ in enumerate(types))
    return IRModule.parse(
        f"func.func @main({parameters}) attributes {{relax.function}} {{ {body}\n return }}"
    )


def vector(text, names):
    return f"tensor<?xf32, {dims(text, names)}>"


def test_symbols_are_renamed_consistently():
    n, m = vector("s0", "n"), vector("s0", "m")
    same(signature(n, m), signature(m, n))
    differ(signature(n, m), signature(n, n))
    differ(signature(n, n), signature(n, m))
    sums = signature(n, m, vector("s0 * 2 + s1", "m n"))
    same(sums, signature(m, n, vector("s0 + s1 * 2", "m n")))
    differ(sums, signature(m, n, vector("s0 * 2 + s1", "m n")))


def test_symbols_in_an_expression_before_they_are_bound():
    n, m = vector("s0", "n"), vector("s0", "m")
    before = signature(vector("s0 * 2 + s1", "m n"), n, m)
    same(before, signature(vector("s0 + s1 * 2", "m n"), m, n))
    found = differ(before, signature(vector("s0 * 2 + s1", "m n"), m, n))
    assert found.path == "function 'main'"
    assert found.what == "type of parameter 0"


def test_symbols_that_nothing_binds_alone():
    same(signature(vector("s0 * 2", "n")), signature(vector("s0 * 2", "k")))
    differ(signature(vector("s0 * 2", "n")), signature(vector("s0 * 3", "n")))
    left = signature(vector("s0 * 2 + s1", "a b"), vector("s0 * 5", "b"))
    same(left, signature(vector("s0 + s1 * 2", "a b"), vector("s0 * 5", "a")))
    differ(left, signature(vector("s0 + s1 * 2", "a b"), vector("s0 * 5", "b")))


def bounded(symbol, bound, name="relax.tir_var_upper_bound"):
    mod = signature(vector("s0", symbol), vector("s0", "k"))
    with mod.context:
        attribute = mlir.Attribute.parse(f"{{{symbol} = {bound} : i64}}")
        mod["main"].mlir_op.attributes[name] = attribute
    return mod


def test_bounds_belong_to_their_symbols():
    same(bounded("n", 4), bounded("m", 4))
    assert differ(bounded("n", 4), bounded("m", 5)).what == "bounds of symbols"
    differ(bounded("n", 4), bounded("n", 4, "relax.tir_var_lower_bound"))


def branches(first, second, op="relax.match_cast"):
    body = ", ".join(
        f'{{ %{name} = "{which}"(%x) : (tensor<?xf32>) -> {type_} loc("{name}")\n'
        '"relax.yield"() : () -> () }'
        for name, which, type_ in (
            ("a", "relax.match_cast", vector("s0", first)),
            ("b", op, vector("s0", second) if op == "relax.match_cast" else "tensor<?xf32>"),
        )
    )
    return IRModule.parse(
        "func.func @main(%x: tensor<?xf32>, %c: tensor<i1>) attributes {relax.function} {\n"
        f'"relax.if"(%c) ({body}) : (tensor<i1>) -> ()\nreturn }}'
    )


def test_symbols_of_a_branch_end_with_it():
    same(branches("k", "k"), branches("a", "b"))
    found = differ(branches("k", "k"), branches("k", "k", "relax.exp"))
    assert found.path.endswith("(relax.if), else branch, binding 0 'b' (relax.match_cast)")


def test_constants_by_content():
    def of(array, name):
        with default_context(), mlir.Location.unknown():
            made = mlir.Module.create()
            with mlir.InsertionPoint(made.body):
                attribute = constant_attribute(array, name)
                for _ in range(2):
                    mlir.Operation.create(
                        "relax.constant", results=[attribute.type], attributes={"value": attribute}
                    )
        return IRModule(made)

    array = np.random.default_rng(0).standard_normal((300, 1000), dtype="float32")
    same(of(array, "a"), of(array.copy(), "b"))
    changed = array.copy()
    changed[299, 7] += 1
    assert differ(of(array, "a"), of(changed, "a")).what == "attribute 'value'"
    same(of(np.array([np.nan, 0.0]), "a"), of(np.array([np.nan, 0.0]), "b"))
    differ(of(np.array([1.0, 0.0]), "a"), of(np.array([1.0, -0.0]), "a"))
    differ(of(array[:1], "a"), of(array[:1].astype("float64"), "a"))
    differ(of(array[:1], "a"), of(array[0], "a"))


def test_where_a_constant_is_written_does_not_matter():
    head = "func.func @main(%x: tensor<f32>) attributes {relax.function} {\n"
    const = '"relax.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>'
    add = '"relax.add"(%{0}, %{1}) : (tensor<f32>, tensor<f32>) -> tensor<f32>'
    once = (
        f"{head}%c = {const}\n%a = {add.format('x', 'c')}\n%b = {add.format('a', 'c')}\nreturn }}"
    )
    twice = (
        f"{head}%c = {const}\n%a = {add.format('x', 'c')}\n%d = {const}\n"
        f"%b = {add.format('a', 'd')}\nreturn }}"
    )
    same(IRModule.parse(once), IRModule.parse(twice))
    unused = once.replace("return", f"%e = {const}\nreturn")
    differ(IRModule.parse(once), IRModule.parse(unused))


def test_modules_of_two_contexts():
    text = module(*BASE).as_text()
    same(module(*BASE), IRModule.parse(text, make_context()))
    found = differ(
        module(*BASE), IRModule.parse(text.replace("relax.exp", "relax.log"), make_context())
    )
    assert found.what == "operation"


def test_recursion_and_private_functions():
    def pair(first, second, calls):
        text = "module {\n"
        for name, callee in zip((first, second), calls, strict=True):
            text += (
                f"func.func private @{name}(%x: tensor<f32>) attributes {{relax.function}} {{\n"
                "%t = builtin.unrealized_conversion_cast %x : tensor<f32> to tuple<tensor<f32>>\n"
                f'%y = "relax.call"(%t) {{callee = @{callee}}} : (tuple<tensor<f32>>) -> '
                "tensor<f32>\nreturn }\n"
            )
        return IRModule.parse(text + "}")

    same(pair("f", "g", ["g", "f"]), pair("a", "b", ["b", "a"]))
    same(pair("f", "g", ["g", "f"]), pair("f", "g", ["g", "f"]))
    differ(pair("f", "g", ["g", "f"]), pair("f", "g", ["f", "g"]))
    same(pair("f", "g", ["f", "g"]), pair("x", "y", ["x", "y"]))


def test_functions_alone_types_and_expressions():
    lhs = module(*BASE)
    same(lhs["scale"], module(kernel("elsewhere"))["elsewhere"])
    same(lhs["main"], module(function(name="other", n="m"), kernel())["other"])
    assert differ(lhs["main"], lhs["scale"]).what == "kind"
    n, m = SymExpr.var("n"), SymExpr.var("m")
    with default_context(), mlir.Location.unknown():
        a, b = tensor_type([n * 4, 2], "float32"), tensor_type([m * 4, 2], "float32")
    differ(a, b)
    same(a, b, map_free_vars=True)
    same(a, a)
    differ(n + 1, m + 1)
    same(n + 1, m + 1, map_free_vars=True)
    differ(n + 1, n + 2, map_free_vars=True)
    assert not ir.structural_equal(a, n)


def test_operations_with_values_from_outside():
    modules = [module(*BASE) for _ in range(2)]
    add, same_add = (
        next(
            op.operation
            for op in each["main"].mlir_op.regions[0].blocks[0].operations[0].regions[0].blocks[0]
            if op.operation.name == "relax.add"
        )
        for each in modules
    )
    same(add, same_add, map_free_vars=True)
    assert not ir.structural_equal(add, same_add)
    assert ir.structural_equal(add, add)


def test_bad_arguments():
    for bad in (None, "text", 1.5, {1}):
        with pytest.raises(TypeError, match="can compare"):
            ir.structural_equal(bad, module(*BASE))
        with pytest.raises(TypeError, match="can compare"):
            ir.structural_hash(bad)


class Writer:
    """Writes a random program; the same choices under other names are the same program."""

    def __init__(self, seed, names, change=-1):
        self.rng, self.count, self.change = random.Random(seed), 0, change
        self.names = random.Random(names)
        self.renamed = {}

    def name(self, plain):
        if plain not in self.renamed:
            self.renamed[plain] = f"{self.names.choice('abcxyz')}{self.names.randrange(10**9)}"
        return self.renamed[plain]

    def pick(self, options, changes=False):
        """Return a random option, another one where the change is to be."""
        chosen = self.rng.randrange(len(options))
        if changes and len(options) > 1:
            self.count += 1
            if self.count == self.change:
                chosen = (chosen + 1) % len(options)
        return options[chosen]

    def write(self):
        functions = [self.function(f"f{i}") for i in range(self.rng.randint(1, 2))]
        names = [f"k{i}" for i in range(2)]
        functions += [
            kernel(self.name(k), self.name("n"), self.name("i"), factor=self.pick([2, 3], True))
            for k in names
        ]
        self.names.shuffle(functions)
        return from_source(HEAD + "".join(functions))

    def function(self, name):
        self.values = [self.name(f"{name}x"), self.name(f"{name}y")]
        n, m = self.name(f"{name}n"), self.name(f"{name}m")
        types = [f'R.Tensor(("{n}", 4), "float32")', f'R.Tensor(("{m}", 4), "float32")']
        params = ", ".join(f"{v}: {t}" for v, t in zip(self.values, types, strict=True))
        lines = [f"    @R.function\n    def {name}({params}):", "        cls = Module"]
        kinds = [n, m]
        for index in range(self.rng.randint(2, 8)):
            at = self.rng.randrange(len(self.values))
            source, value = self.values[at], self.name(f"{name}{index}")
            kind = self.rng.random()
            if kind < 0.5:
                op = self.pick(["exp", "tanh", "abs", "sqrt"], True)
                text = f"R.{op}({source})"
            elif kind < 0.75:
                numbers = [self.pick([1.0, 2.0, 3.0], True) for _ in range(4)]
                text = f"R.add({source}, R.const({numbers}))"
            else:
                callee = self.name(self.pick(["k0", "k1"]))
                shape = f'R.Tensor(({kinds[at]}, 4), "float32")'
                text = f"R.call_tir(cls.{callee}, ({source},), {shape})"
            lines.append(f"        {value} = {text}")
            self.values.append(value)
            kinds.append(kinds[at])
        lines[1:1] = [f"        {symbol} = T.int64()" for symbol in (n, m)]
        return "\n".join([*lines, f"        return {self.pick(self.values)}\n"])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), names=st.integers(0, 10**6), where=st.integers(1, 12))
@pytest.mark.slow
def test_random_programs(seed, names, where):
    lhs, rhs = Writer(seed, 0).write(), Writer(seed, names).write()
    same(lhs, rhs)
    changed = Writer(seed, names, where)
    other = changed.write()
    if changed.count < where:
        same(lhs, other)
        return
    # Both kernels may have become each other, or one that nobody tells apart.
    equal = ir.structural_equal(lhs, other)
    assert equal == ir.structural_equal(other, lhs)
    assert not equal or ir.structural_hash(lhs) == ir.structural_hash(other)


def test_a_long_program():
    def make(prefix, count=6000, odd=-1):
        type_ = "tensor<4xf32>"
        lines = [
            f'%{prefix}{i + 1} = "relax.{"log" if i == odd else "exp"}"(%{prefix}{i}) : '
            f"({type_}) -> {type_}"
            for i in range(count)
        ]
        return IRModule.parse(
            f"func.func @main(%{prefix}0: {type_}) attributes {{relax.function}} {{\n"
            + "\n".join(lines)
            + "\nreturn }"
        )

    same(make("a"), make("b"))
    assert "binding 5990" in differ(make("a"), make("b", odd=5990)).path


def test_functions_outside_of_modules():
    mod = module(*BASE)
    copies = [mod["main"].mlir_op.clone(ip=False) for _ in range(2)]
    same(*copies)
    other = module(function(last="log"), kernel())["main"].mlir_op.clone(ip=False)
    assert differ(copies[0], other).path.startswith("function 'main', binding 0 'out'")


def test_the_path_of_something_deep():
    type_ = "tensor<4xf32>"

    def make(op):
        body, value = f'%z = "relax.{op}"(%x) : ({type_}) -> {type_}\n', "%z"
        for i in range(50):
            body = (
                f'%r{i} = "relax.if"(%c) ({{ {body} "relax.yield"({value}) : ({type_}) -> () }}, '
                f'{{ "relax.yield"(%x) : ({type_}) -> () }}) : (tensor<i1>) -> {type_}\n'
            )
            value = f"%r{i}"
        return IRModule.parse(
            f"func.func @main(%x: {type_}, %c: tensor<i1>) attributes {{relax.function}} {{ {body}"
            "return }"
        )

    same(make("exp"), make("exp"))
    path = differ(make("exp"), make("log")).path
    assert path.startswith("function 'main', ..., ")
    assert path.endswith("then branch, binding 0 (relax.exp)")
    assert path.count(",") < 20
