"""Operations and shape rules of users' own: `register_op`, `register_op_attr`."""

import threading

import numpy as np
import pytest

from relax_mlir import register_func, relax, tir
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.errors import PassError, ScriptError, ShapeMismatchError
from relax_mlir.ir import (
    IRModule,
    Op,
    call_shape_func,
    get_op_attr,
    register_op,
    register_op_attr,
    reset_op_attr,
)
from relax_mlir.relax.expr.values import ShapeExpr
from relax_mlir.script import from_source

ARRAY = np.arange(1, 4, dtype=np.float32)


def outer_shape(call):
    a, b = (arg.shape() for arg in call.args)
    if isinstance(a, ShapeExpr) and isinstance(b, ShapeExpr):
        return ShapeExpr([*a.values, *b.values])
    return call_shape_func("test_user_ops.concat", a, b, ndim=2)


def outer_kernel(builder, x, y, out, scale):
    with builder.nest("outer", [("spatial", dim) for dim in out.dims]) as (i, j):
        out.store(x[i] * y[j] * scale, (i, j))


@pytest.fixture(autouse=True)
def _operations() -> None:
    register_func("test_user_ops.concat", lambda a, b: (*a, *b), override=True)
    register_func("test_user_ops.twice", lambda x: np.concatenate([x, x]), override=True)

    def fill(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        out[...] = x[:, None] + y[None, :]

    register_func("test_user_ops.fill", fill, override=True)
    register_op(
        "relax.test_outer",
        ["x", "y", ("scale", "float", 2.0)],
        outer_shape,
        doc="Outer product.",
        prim=outer_kernel,
        library=lambda x, y, scale: np.outer(x, y) * np.float32(scale),
    )
    register_op("test_sums", ["x", "y"], outer_shape, dps_packed="test_user_ops.fill")
    register_op("test_twice", ["x"], lambda call: None, packed="test_user_ops.twice")
    register_op("test_nothing", ["x"], lambda call: call.args[0].shape())


def program(body: str) -> IRModule:
    return from_source(f"@I.ir_module\nclass Module:\n    @R.function\n    {body}\n")


def run(body: str, *args: np.ndarray):
    executable = relax.build(program(body))
    return relax.VirtualMachine(executable)["main"](*args), executable


SYMBOLIC = 'x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")'


def test_symbolic_case_is_a_kernel() -> None:
    body = f"def main({SYMBOLIC}): return R.test_outer(x, y)"
    module = program(body)
    assert 'R.Tensor(("n", "m"), dtype="float32") = R.test_outer(x, y)'.replace('"', "") in (
        module.script().replace('"', "")
    )
    result, executable = run(body, ARRAY, ARRAY)
    np.testing.assert_array_equal(result, np.outer(ARRAY, ARRAY) * 2)
    assert "test_outer" in executable.func_names
    assert "vm.op.test_outer" not in executable.func_names


def test_attributes_and_defaults() -> None:
    body = f"def main({SYMBOLIC}): return R.test_outer(x, y, scale=5.0)"
    assert "scale=5.0" in program(body).script()
    np.testing.assert_array_equal(run(body, ARRAY, ARRAY)[0], np.outer(ARRAY, ARRAY) * 5)


def test_shape_function_case() -> None:
    """The shape is computed by a packed function, and the kernel compiled for what it gives."""
    body = 'def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(dtype="float32", ndim=1)): ' \
        "return R.test_sums(x, R.unique(y))"  # fmt: skip
    twos = np.array([2, 2, 3], np.float32)
    result, executable = run(body, ARRAY, twos)
    np.testing.assert_array_equal(result, ARRAY[:, None] + np.array([2, 3], np.float32))
    assert "test_user_ops.concat" in executable.func_names


def test_shape_function_case_of_a_kernel() -> None:
    register_func("test_user_ops.half", lambda shape: (shape[0] // 2,), override=True)

    def every_second(builder, x, out):
        with builder.nest("every_second", [("spatial", out.dims[0])]) as (i,):
            out.store(x[i * 2], (i,))

    register_op(
        "test_every_second",
        ["x"],
        lambda call: call_shape_func("test_user_ops.half", call.args[0].shape(), ndim=1),
        prim=every_second,
    )
    body = 'def main(x: R.Tensor(("n",), "float32")): return R.exp(R.test_every_second(x))'
    result, executable = run(body, ARRAY.repeat(3))
    np.testing.assert_allclose(result, np.exp(ARRAY.repeat(3)[::2][:4]), rtol=1e-5)
    assert "test_every_second" in executable.func_names


def test_run_time_case() -> None:
    body = "def main(x: R.Tensor, y: R.Tensor): return R.test_outer(x, y)"
    result, executable = run(body, ARRAY, ARRAY)
    np.testing.assert_array_equal(result, np.outer(ARRAY, ARRAY) * 2)
    assert "vm.op.test_outer" in executable.func_names
    result, _ = run("def main(x: R.Tensor): return R.test_twice(x)", ARRAY)
    np.testing.assert_array_equal(result, [1, 2, 3, 1, 2, 3])


def test_declared_types_are_checked() -> None:
    body = (
        'def main(x: R.Tensor(("n",), "float32")): '
        'return R.match_cast(R.test_twice(x), R.Tensor(("n * 2",), "float32"))'
    )
    assert run(body, ARRAY)[0].shape == (6,)


def test_no_implementation() -> None:
    with pytest.raises(PassError, match="nothing takes unknown shapes"):
        relax.build(program("def main(x: R.Tensor): return R.test_nothing(x)"))


def test_mlir_text_and_other_threads() -> None:
    text = str(IRModule.parse(str(program(f"def main({SYMBOLIC}): return R.test_outer(x, y)"))))
    assert "relax.test_outer" in text
    assert str(IRModule.parse(text)) == text
    found: list[str] = []

    def parse() -> None:
        found.append(str(IRModule.parse(text)))

    thread = threading.Thread(target=parse)
    thread.start()
    thread.join()
    assert found == [text]
    with make_context():
        assert str(IRModule.parse(text)) == text


def test_verifier_uses_the_rule() -> None:
    with pytest.raises(ScriptError, match=r"R.test_outer"):
        program(f"def main({SYMBOLIC}): return R.test_outer(x)")
    with pytest.raises(ScriptError, match="x must be a tensor"):
        program(f"def main({SYMBOLIC}): return R.test_outer(R.shape([n]), y)")


def test_names_are_taken() -> None:
    with pytest.raises(ValueError, match=r"already an operation 'relax.add'"):
        register_op("relax.add", ["x"], outer_shape)
    with pytest.raises(ValueError, match=r"already an operation 'relax.test_outer'"):
        register_op("relax.test_outer", ["x"], outer_shape)
    with pytest.raises(ValueError, match="is an identifier"):
        register_op("relax.a-b", ["x"], outer_shape)
    with pytest.raises(KeyError, match=r"no operation .*relax.ad.*; did you mean"):
        register_op_attr("relax.ad", "FInferShape", outer_shape)


def test_rule_for_an_operation_of_ours() -> None:
    """The document's example: what the compiler cannot compare, a shape function decides."""

    @register_op_attr("relax.add", "FInferShape")
    def finfer_shape(call):
        lhs, rhs = call.args[0].shape(), call.args[1].shape()
        if isinstance(lhs, ShapeExpr) and isinstance(rhs, ShapeExpr):
            return lhs
        return call_shape_func("vm.binary_broadcast_shape_infer", lhs, rhs, ndim=1)

    try:
        assert get_op_attr("relax.add", "FInferShape") is finfer_shape
        body = f"def main({SYMBOLIC}): return R.add(x, y)"
        assert "R.Tensor((n,)" in program(body).script()
        np.testing.assert_array_equal(run(body, ARRAY, ARRAY)[0], ARRAY * 2)
        body = "def main(x: R.Tensor, y: R.Tensor): return R.add(x, y)"
        assert "R.Tensor(ndim=1)" in program(body).script()
    finally:
        reset_op_attr("relax.add", "FInferShape")
    assert (
        'R.Tensor(dtype="float32", ndim=1)'
        in program(f"def main({SYMBOLIC}): return R.add(x, y)").script()
    )


def test_rules_that_fail() -> None:
    def broken(call):
        raise IndexError("no such thing")

    def refusing(call):
        raise InferError("not on a Tuesday")

    for rule, message in (
        (broken, "its FInferShape failed: IndexError: no such thing"),
        (refusing, "not on a Tuesday"),
        (lambda call: ["n"], "its FInferShape returned"),
    ):
        register_op_attr("relax.add", "FInferShape", rule)
        try:
            with pytest.raises(ScriptError, match=message):
                program(f"def main({SYMBOLIC}): return R.add(x, y)")
        finally:
            reset_op_attr("relax.add", "FInferShape")


def test_other_attributes() -> None:
    register_op_attr("relax.add", "MyNote", "commutes")
    assert get_op_attr("relax.add", "MyNote") == "commutes"
    reset_op_attr("relax.add", "MyNote")
    assert get_op_attr("relax.add", "MyNote") is None


def _unknown():
    tensor = relax.TensorType
    x = relax.Var("x", tensor(ndim=2, dtype="float32"))
    return x, relax.Var("y", tensor(ndim=1, dtype="float32"))


def test_rules_of_our_operations_compute_shapes_at_run_time() -> None:
    """What the rule of a built-in operation says is `shape_`, is run, and checks the result."""
    seen = []

    def broadcast(a, b):
        seen.append((tuple(a), tuple(b)))
        return np.broadcast_shapes(a, b) if len(seen) < 2 else (7, 7)

    def rule(call):
        lhs, rhs = (arg.shape() for arg in call.args)
        if isinstance(lhs, ShapeExpr) and isinstance(rhs, ShapeExpr):
            return lhs
        return call_shape_func("test_user_ops.broadcast", lhs, rhs, ndim=2)

    register_func("test_user_ops.broadcast", broadcast, override=True)
    register_op_attr("relax.add", "FInferShape", rule)
    try:
        x, y = _unknown()
        bb = relax.BlockBuilder()
        with bb.function("main", [x, y]):
            total = bb.emit(relax.op.add(x, y))
            text = "R.call_pure_packed(test_user_ops.broadcast, R.shape_of(x), R.shape_of(y))"
            assert repr(total.shape_) == repr(relax.op.add(x, y).shape_) == text
            assert relax.expr.shape_kind(total) == "V1"
            bb.emit_func_output((relax.op.exp(total), total.shape_))
        run = relax.VirtualMachine(relax.build(bb.get()))["main"]
        found, shape = run(np.zeros((2, 3), np.float32), np.zeros(3, np.float32))
        assert seen == [((2, 3), (3,))]
        assert shape == found.shape == (2, 3)
        with pytest.raises(ShapeMismatchError):
            run(np.zeros((2, 3), np.float32), np.zeros(3, np.float32))
    finally:
        reset_op_attr("relax.add", "FInferShape")


def test_shapes_of_broadcasts() -> None:
    """Without rules of users, results of binary operations have a broadcast shape."""
    x, y = _unknown()
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        total = bb.emit(relax.op.multiply(x, y))
        assert repr(total.shape_) == "R.binary_broadcast(R.shape_of(x), R.shape_of(y))"
        assert total.shape_.ty == relax.ShapeType(ndim=2)
        bb.emit_func_output(total.shape_)
    run = relax.VirtualMachine(relax.build(bb.get()))["main"]
    assert run(np.zeros((2, 1), np.float32), np.zeros(3, np.float32)) == (2, 3)
    broadcast = relax.Call(Op.get("binary_broadcast"), [ShapeExpr(("n", 1)), ShapeExpr((4,))])
    assert broadcast.ty == relax.ShapeType(("n", 4))
    with pytest.raises(ValueError, match="binary_broadcast"):
        relax.Call(Op.get("binary_broadcast"), [ShapeExpr((3,)), ShapeExpr((4,))]).ty
    with pytest.raises(ValueError, match="takes two shapes"):
        relax.Call(Op.get("binary_broadcast"), [x, y]).ty
    assert call_shape_func(Op.get("binary_broadcast")).func == "vm.builtin.binary_broadcast"


def test_prim_funcs_with_symbolic_integers() -> None:
    """`call_tir_dyn` in the design document's order, in the builder and as an operation."""
    func = from_source("""
@T.prim_func
def plus_one(a: T.handle, b: T.handle, m: T.int64) -> None:
    n = T.int64()
    A = T.match_buffer(a, (n, 2 * (m // 2)))
    B = T.match_buffer(b, (n, 2 * (m // 2)))
    for i, j in T.grid(n, 2 * (m // 2)):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
""")["plus_one"]
    n, m = tir.var("n"), tir.var("m")
    shape = [n, 2 * tir.floordiv(m, 2)]
    x, sizes = relax.var("x", shape=shape, dtype="float32"), relax.Var("m", relax.ShapeType([m]))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, sizes]):
        y = bb.call_tir_dyn(shape, func, [x], ShapeExpr([m]))
        z = bb.emit(relax.op.call_tir_dyn(shape, relax.GlobalVar("plus_one"), [y], ShapeExpr([m])))
        bb.emit_func_output(relax.op.call_tir_dyn("plus_one", [z], z.ty, [m]))
    run = relax.VirtualMachine(relax.build(bb.get()))["main"]
    np.testing.assert_array_equal(run(np.zeros((2, 4), np.float32), (5,)), np.full((2, 4), 3))
