"""Liveness and memory estimates of Relax functions."""

import pytest

from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir import IRModule
from relax_mlir.relax import analysis
from relax_mlir.relax.expr import functions
from relax_mlir.script import from_source

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n"


def main(body, params='x: R.Tensor((8, 4), "float32"), flag: R.Tensor((), "bool")'):
    lines = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    return functions(from_source(f"{HEAD}    @R.function\n    def main({params}):\n{lines}"))[
        "main"
    ]


def ranges(func):
    found = analysis.liveness(func)
    return {var.name_hint: found.live_range(var) for var in found.variables}


CHAIN = """
with R.dataflow():
    a = R.exp(x)
    b = R.abs(a)
    c = R.add(a, b)
    R.output(c)
d = R.exp(c)
return d
"""


def test_ranges_of_a_chain():
    func = main(CHAIN)
    assert ranges(func) == {
        "x": (-1, 0), "flag": (-1, -1), "a": (0, 2), "b": (1, 2), "c": (2, 4), "d": (4, 5),
    }  # fmt: skip
    found = analysis.liveness(func)
    bindings = [b for block in func.body.blocks for b in block.bindings]
    live = [[var.name_hint for var in found.live_in(binding)] for binding in bindings]
    assert live == [["x"], ["a"], ["a", "b"], ["c"]]
    steps = [[var.name_hint for var in alive] for _, alive in found.live_sets()]
    assert steps == live
    assert found.last_use(func.params[1]) is None
    dying = {at: [var.name_hint for var in each] for at, each in found.dies_at().items()}
    assert dying[2] == ["a", "b"]


def test_branches():
    func = main("""
a = R.exp(x)
b = R.abs(x)
if flag:
    c = R.exp(a)
    r = R.abs(c)
else:
    r = R.exp(b)
return r
""")
    found = ranges(func)
    assert found["a"] == (0, 3)
    assert found["b"] == (1, 6)
    assert found["c"] == (3, 4)


def test_what_is_not_there():
    func, other = main(CHAIN), main(CHAIN)
    found = analysis.liveness(func)
    with pytest.raises(ExprError, match="not in this function"):
        found.live_range(other.params[0])
    with pytest.raises(ExprTypeError):
        analysis.liveness(func.params[0])


LOOP = """
func.func @main(%x: tensor<4xf32>, %n: i64) -> tensor<4xf32> attributes {relax.function} {
  %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %bounds = builtin.unrealized_conversion_cast %n, %n, %n : i64, i64, i64 to tuple<i64, i64, i64>
  %t = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %r = "relax.for"(%bounds, %t) ({
  ^bb0(%i: i64 loc("i"), %v: tensor<4xf32> loc("v")):
    %b = "relax.add"(%a, %v) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("b")
    %c = "relax.exp"(%b) : (tensor<4xf32>) -> tensor<4xf32> loc("c")
    %u = builtin.unrealized_conversion_cast %c : tensor<4xf32> to tuple<tensor<4xf32>>
    "relax.yield"(%u) : (tuple<tensor<4xf32>>) -> ()
  }) : (tuple<i64, i64, i64>, tuple<tensor<4xf32>>) -> tuple<tensor<4xf32>> loc("r")
  return %x : tensor<4xf32>
}
"""


def test_loops_keep_what_comes_into_them():
    found = ranges(functions(IRModule.parse(LOOP))["main"])
    # Position 1 is the loop, 2 to 4 are in it: `a` is needed until its last turn ends.
    assert found["a"] == (0, 4)
    assert found["b"] == (2, 3)
    assert found["c"] == (3, 4)


def test_memory_of_a_chain():
    usage = analysis.estimate_memory_usage(main(CHAIN))
    (one,) = usage
    assert one.name == "main"
    assert one.constant_sizes == [128] * 4
    assert one.total == 512
    # `a` and `b` are needed at once, and with them `c`; `d` takes the place of one of them.
    assert one.planned == 384
    assert usage["main"] is one
    with pytest.raises(KeyError):
        usage["other"]
    text = str(usage)
    assert text.startswith("Memory usage estimation:\n- Function main:\n")
    assert "Without memory planning: 4 allocations, 512 bytes" in text
    assert "With memory planning: 3 allocations, 384 bytes" in text
    assert "75.0%" in text


def test_symbolic_and_unknown_sizes():
    func = main(
        """
a = R.exp(x)
b = R.abs(a)
c = R.exp(b)
d = R.exp(y)
return (c, d)
""",
        'x: R.Tensor(("n", 4), "float32"), y: R.Tensor("float32", ndim=2)',
    )
    (one,) = analysis.estimate_memory_usage(func)
    assert str(one.total) == "n * 48"
    assert str(one.planned) == "n * 32"
    assert one.unknown == 1
    assert "unknown size: 1 tensor." in str(one)


def test_smaller_tensors_use_what_is_free():
    func = main(
        """
a = R.concat((x, x), axis=0)
b = R.sum(a, axis=[0])
c = R.exp(b)
d = R.exp(c)
return d
"""
    )
    (one,) = analysis.estimate_memory_usage(func)
    assert one.total == 256 + 16 * 3
    assert one.planned == 256 + 16


def test_fields_of_tuples_keep_their_tuple():
    func = main(
        """
a = R.exp(x)
t = (a, x)
b = R.exp(x)
c = R.abs(b)
u = t[0]
d = R.exp(u)
return (c, d)
"""
    )
    (one,) = analysis.estimate_memory_usage(func)
    # Were `a` taken for dead after the tuple, two would do.
    assert one.planned == 128 * 3


def test_a_module():
    source = "".join(
        f'    @R.function\n    def f{i}(x: R.Tensor(({i}, 4), "float32")):\n'
        "        y = R.exp(x)\n        return y\n"
        for i in range(3)
    )
    usage = analysis.estimate_memory_usage(from_source(HEAD + source))
    assert [one.total for one in usage] == [0, 16, 32]
