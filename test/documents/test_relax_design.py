"""The samples of Relax's design document that Python builds or runs.

Its scripts are in test/support/scripts.py: test/script/ parses and prints them, examples/ run them.
`asnumpy` and `tvm.nd` are the document's; handles in its samples of EmitTE have other names than
the buffers that are matched, which is the document's mistake.
"""

import numpy as np
import pytest

from relax_mlir import ir, nd, register_func, relax, te, tir, topi
from relax_mlir.runtime.registry import remove_global_func
from relax_mlir.script import tir as T

rx = relax


@pytest.fixture
def functions():
    @register_func("test.documents.move")
    def move(src):
        return src

    @register_func("vm.add")
    def add(a, b):
        ret = a.asnumpy() + b.asnumpy()
        return nd.array(ret)

    @register_func("vm.mul")
    def mul(a, b):
        ret = a.asnumpy() * b.asnumpy()
        return nd.array(ret)

    yield
    for name in ("test.documents.move", "vm.add", "vm.mul"):
        remove_global_func(name)


def test_a_builder_emits_instructions(functions) -> None:
    ib = rx.ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("test.documents.move", [nd.array(np.full(4, 3.0))], dst=ib.r(1))
        ib.emit_call("vm.add", [ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_call("vm.mul", [ib.r(2), ib.r(1)], dst=ib.r(10000))
        ib.emit_ret(ib.r(10000))
    executable = ib.get()
    assert executable.global_funcs[0].register_file_size == 4
    x = nd.array(np.arange(4.0))
    res = rx.VirtualMachine(executable)["main"](x)
    np.testing.assert_allclose(res.asnumpy(), (x.asnumpy() + 3) * 3)


def _one_call(inputs: int, read: tuple[int, int]) -> None:
    ib = rx.ExecBuilder()
    with ib.function("main", num_inputs=inputs):
        ib.emit_call("vm.add", [ib.r(i) for i in read], dst=ib.r(4))
        ib.emit_ret(ib.r(4))
    ib.get()


def test_registers_are_checked() -> None:
    with pytest.raises(ValueError, match="register %3 is used before it is defined"):
        _one_call(2, (0, 3))
    with pytest.warns(UserWarning, match="main"):
        _one_call(3, (0, 2))


def test_an_executable_as_text_and_as_python(capfd) -> None:
    ib = rx.ExecBuilder()
    with ib.function("func0", num_inputs=2):
        ib.emit_call("vm.op.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_call("vm.builtin.move", args=[ib.r(2)], dst=ib.r(3))
        ib.emit_call("vm.builtin.print", args=[ib.r(3)])
        ib.emit_ret(ib.r(3))
    exec0 = ib.get()
    stats = exec0.stats()
    for line in (
        "Relax VM executable statistics:",
        "Globals (#1): [func0]",
        "Packed functions (#3): [vm.op.add, vm.builtin.move, vm.builtin.print]",
    ):
        assert line in stats
    lines = [line.split() for line in exec0.astext().splitlines()]
    assert ["call", "vm.op.add", "in:", "%0,", "%1", "dst:", "%2"] in lines
    assert ["call", "vm.builtin.print", "in:", "%3", "dst:", "void"] in lines
    assert ["ret", "ret", "%3"] in lines
    scope: dict = {"constants": exec0.constants}
    exec(exec0.aspython(), scope)
    x = np.ones(3, "f4")
    assert rx.VirtualMachine(exec0)["func0"](x, x).tolist() == [2, 2, 2]
    (again,) = [v for v in scope.values() if isinstance(v, rx.Executable)] or [scope["ib"].get()]
    assert again.astext() == exec0.astext()
    capfd.readouterr()


def test_several_functions_in_one_executable(functions) -> None:
    ib = relax.ExecBuilder()
    with ib.function("func0", num_inputs=2):
        ib.emit_call("vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("func1", num_inputs=2):
        ib.emit_call("vm.mul", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    vm = relax.VirtualMachine(ib.get())
    rng = np.random.default_rng(0)
    a, b = nd.array(rng.random(4)), nd.array(rng.random(4))
    mul_res = vm["func1"](a, b)
    add_res = vm["func0"](a, b)
    np.testing.assert_allclose(add_res.asnumpy(), a.asnumpy() + b.asnumpy())
    np.testing.assert_allclose(mul_res.asnumpy(), a.asnumpy() * b.asnumpy())


def test_shapes_lie_on_a_heap() -> None:
    ib = relax.ExecBuilder()
    x = nd.array(np.random.default_rng(0).random((32, 16)))
    with ib.function("main", num_inputs=0):
        ib.emit_call("vm.builtin.alloc_shape_heap", args=[ib.imm(2)], dst=ib.r(0))
        ib.emit_call("vm.builtin.shape_of", args=[x], dst=ib.r(1))
        ib.emit_call("vm.builtin.store_shape", args=[ib.r(1), ib.r(0), ib.imm(0), ib.imm(1)])
        ib.emit_call("vm.builtin.load_shape", args=[ib.r(0), ib.imm(0), ib.imm(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    assert tuple(relax.VirtualMachine(ib.get())["main"]()) == (32, 16)


def test_tensor_expressions_become_prim_funcs() -> None:
    @T.prim_func
    def tir_element_wise(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (128, 128))
        B = T.match_buffer(c, (128, 128))
        for x, y in T.grid(128, 128):
            with T.block("B"):
                i, j = T.axis.remap("SS", [x, y])
                B[i, j] = A[i, j] * 2.0

    A = te.placeholder((128, 128), name="A")
    B = te.compute((128, 128), lambda x, y: A[x, y] * 2, name="B")
    func = te.create_prim_func([A, B])
    ir.assert_structural_equal(func, tir_element_wise.without_attr("global_symbol"))


def test_tensor_expressions_are_emitted() -> None:
    bb = rx.BlockBuilder()
    n, m = tir.var("n"), tir.var("m")
    x = rx.var("x", shape=[n, m])
    # The document emits outside of a function.
    with bb.function("main", [x]):
        a = bb.emit(x + 1)
        A = rx.te_tensor(a)
        b = bb.emit(te.compute((n, m), lambda x, y: A[x, y] * 2, name="B"))

        # The document's reads A and B, and is of 128 x 128.
        def te_func(X: te.Tensor, Y: te.Tensor):
            return te.compute((n, m), lambda x, y: X[x, y] + Y[x, y])

        c = bb.emit_te(te_func, b, a)
        bb.emit_func_output(bb.emit_te(topi.nn.relu, c))
    vm = relax.VirtualMachine(relax.build(bb.get()))
    given = np.linspace(-3, 3, 15, dtype="f4").reshape(3, 5)
    np.testing.assert_allclose(vm["main"](given), np.maximum(3 * (given + 1), 0), rtol=1e-6)


def test_compound_dimensions_pass_their_symbols() -> None:
    bb = rx.BlockBuilder()
    n, m = tir.var("n", "int64"), tir.var("m", "int64")
    even = 2 * tir.floordiv(m, 2)
    x = rx.var("x", shape=[n, even], dtype="float32")
    y = rx.var("y", shape=[m], dtype="float32")
    with bb.function("main", [x, y]):
        A = rx.te_tensor(x)
        B = bb.emit(te.compute([n, even], lambda i, j: A[i, j] + 1))
        bb.emit_func_output(B)
    mod = bb.get()
    (func,) = [f for f in mod.functions.values() if isinstance(f, tir.PrimFunc)]
    assert "m: T.int64" in func.script()
    main = relax.VirtualMachine(relax.build(mod))["main"]
    given = np.ones((3, 6), "f4")
    np.testing.assert_array_equal(main(given, np.zeros(7, "f4")), given + 1)


def test_expressions_are_te_tensors() -> None:
    bb = rx.BlockBuilder()
    n = tir.var("n")
    x, y = rx.var("x", shape=[n, 3]), rx.var("y", shape=[3])
    with bb.function("main", [x, y]):
        made = bb.emit(te.compute((n, 3), lambda i, j: x[i, j] * x[i, 2 - j] + rx.op.exp(y)[j]))
        bb.emit_func_output(made)
    main = relax.VirtualMachine(relax.build(bb.get()))["main"]
    a, b = np.arange(6, dtype="f4").reshape(2, 3), np.array([0, 1, 2], "f4")
    np.testing.assert_allclose(main(a, b), a * a[:, ::-1] + np.exp(b), rtol=1e-6)


def test_inference_broadcasts_symbolic_shapes() -> None:
    bb = rx.BlockBuilder()
    n, m = tir.var("n", "int64"), tir.var("m", "int64")
    a, b = (rx.var(name, shape=s, dtype="float32") for name, s in (("a", [n, 1, m]), ("b", [2, m])))
    with bb.function("main", [a, b]):
        c = bb.emit(relax.op.add(a, b))
        assert [str(each) for each in c.shape_.values] == ["n", "2", "m"]
        bb.emit_func_output(c)


def test_a_rule_calls_a_broadcast_of_shapes() -> None:
    @ir.register_op_attr("relax.add", "FInferShape")
    def finfer_shape(call):
        lhs = call.args[0].shape()
        rhs = call.args[1].shape()
        if isinstance(lhs, rx.ShapeExpr) and isinstance(rhs, rx.ShapeExpr):
            return lhs
        return call(ir.Op.get("binary_broadcast"), lhs, rhs)

    try:
        x, y = (rx.var(name, rx.DynTensorType(rank=2, dtype="float32")) for name in "xy")
        bb = rx.BlockBuilder()
        with bb.function("main", [x, y]):
            z = bb.emit(rx.op.add(x, y))
            assert "binary_broadcast, R.shape_of(x), R.shape_of(y)" in repr(z.shape_)
            bb.emit_func_output(rx.Tuple([z, z.shape_]))
        main = rx.VirtualMachine(rx.build(bb.get()))["main"]
    finally:
        ir.reset_op_attr("relax.add", "FInferShape")
    found, shape = main(np.ones((2, 1), "f4"), np.ones((1, 3), "f4"))
    assert found.shape == tuple(shape) == (2, 3)


def test_a_shape_that_run_time_knows() -> None:
    x = rx.Var("x", rx.RuntimeDepShape(), rx.DynTensorType(rank=2, dtype="float32"))
    assert isinstance(x.shape_, rx.RuntimeDepShape)
    assert x.checked_type_ == rx.DynTensorType(2, "float32")
    assert x.ty.rank == 2
    main = rx.VirtualMachine(rx.build(rx.Function([x], x + x)))["main"]
    assert main(np.ones((2, 3), "f4")).tolist() == [[2, 2, 2], [2, 2, 2]]
    with pytest.raises(TypeError, match="cannot be a value"):
        rx.build(rx.Function([x], rx.RuntimeDepShape()))
    # Sizes are constants as soon as they can be.
    assert int(tir.const(3, "int64") * 4) == 12
