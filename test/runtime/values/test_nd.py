"""`nd`, `runtime.tensor` and `target`: what programs for TVM begin with."""

from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax, runtime, te
from relax_mlir.errors import ArgumentTypeError, DeviceError, PipelineError, ShapeMismatchError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

X = np.arange(12, dtype="float32").reshape(3, 4)


def _add():
    n = te.var("n")
    a, b = te.placeholder((n, 4), name="a"), te.placeholder((n, 4), name="b")
    return te.create_prim_func([a, b, te.compute((n, 4), lambda i, j: a[i, j] + b[i, j])])


def test_arrays_are_arguments_that_a_prim_func_writes():
    dev = tvm.cpu(0)
    a, b = tvm.nd.array(X, dev), tvm.runtime.tensor(2 * X, device=dev)
    c = tvm.nd.empty((3, 4), "float32", dev)
    tvm.build(_add(), target="llvm")(a, b, c)
    np.testing.assert_array_equal(c.numpy(), 3 * X)
    np.testing.assert_array_equal(c, 3 * X)
    assert type(c.asnumpy()) is np.ndarray
    assert not np.shares_memory(c.numpy(), c)
    assert (c.shape, str(c.dtype), c.device) == ((3, 4), "float32", dev)


def test_arrays_are_arguments_of_relax_functions():
    @I.ir_module
    class Model:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            return R.add(x, x)

    vm = relax.VirtualMachine(relax.build(Model), tvm.cpu(), profile=True)
    np.testing.assert_array_equal(vm["main"](tvm.nd.array(X)), 2 * X)


def test_copies():
    a = tvm.nd.array(X)
    assert not np.shares_memory(a, X)
    b = tvm.nd.empty((3, 4))
    assert np.shares_memory(a.copyto(b), b)
    np.testing.assert_array_equal(b, X)
    np.testing.assert_array_equal(a.copyto(tvm.cpu()), X)
    np.testing.assert_array_equal(b.copyfrom(X.astype("float64") + 1), X + 1)
    np.testing.assert_array_equal(tvm.nd.array(X.T), X.T)
    assert tvm.nd.array([[1, 2]]).shape == (1, 2)


def test_views_share_the_memory_of_a_tensor():
    data = np.arange(24, dtype="int32")
    whole = tvm.runtime.tensor(data)
    half = whole._create_view([12], relative_byte_offset=48)
    for view, expected in (
        (whole._create_view([2, 12]), data.reshape(2, 12)),
        (half, data[12:]),
        (half._create_view((2, 3), relative_byte_offset=24), data[18:].reshape(2, 3)),
        (whole._create_view([48], "int16"), data.view("int16")),
        (whole._create_view([0], relative_byte_offset=96), data[:0]),
    ):
        np.testing.assert_array_equal(view.numpy(), expected)
        assert type(view) is tvm.runtime.Tensor
        assert view.size == 0 or np.shares_memory(view, whole)
    half[0] = 7
    assert whole[12] == 7
    assert whole.same_as(whole[:])
    assert not whole.same_as(half)
    assert not whole.same_as(whole.copy())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tvm.nd.array("abc"), ArgumentTypeError, "takes an array of numbers"),
        (lambda: tvm.nd.array([[1], [1, 2]]), ArgumentTypeError, "takes an array of numbers"),
        (lambda: tvm.nd.array(X, "gpu:0"), DeviceError, "gpu"),
        (lambda: tvm.nd.array(X, mem_scope="shared"), ArgumentTypeError, "scope 'shared'"),
        (lambda: tvm.nd.empty((3, -1)), ArgumentTypeError, "sizes of 0 and more, got"),
        (lambda: tvm.nd.empty((3,), "float31"), ArgumentTypeError, "unknown dtype 'float31'"),
        (lambda: tvm.nd.array(X).copyto(tvm.nd.empty((4, 3))), ShapeMismatchError, r"\(3, 4\)"),
        (lambda: tvm.nd.array(X).copyto(np.empty((3, 4))), ArgumentTypeError, "into float64"),
        (lambda: tvm.nd.array(X)._create_view([13]), ShapeMismatchError, "contains 48 bytes"),
        (lambda: tvm.nd.array(X)._create_view([2], None, -4), ShapeMismatchError, "bytes -4 <="),
        (lambda: tvm.nd.array(X).T._create_view([2]), ArgumentTypeError, "contiguous"),
        (lambda: tvm.nd.array(X).copyfrom(X[0]), ShapeMismatchError, r"is \(3, 4\), got \(4,\)"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_target_is_a_text_with_a_kind():
    target = tvm.target.Target("llvm -mcpu=x86-64-v3", host="llvm")
    assert str(target) == "llvm -mcpu=x86-64-v3"
    assert target == tvm.target.Target("llvm --mcpu=x86-64-v3") != tvm.target.Target("llvm")
    assert target.kind.name == "llvm"
    assert target.attrs == {"mcpu": "x86-64-v3"}
    assert tvm.target.Target(target.export()) == target
    assert tvm.target.Target.current() is None
    with target:
        assert tvm.target.Target.current() is target
        inside = relax.build(_add())
    assert inside.metadata["target"] == relax.build(_add(), target).metadata["target"]
    assert inside.metadata["target"].endswith("-mcpu=x86-64-v3")


def test_errors_of_targets():
    with pytest.raises(PipelineError, match="unknown target kind 'cuda'"):
        tvm.target.Target("cuda")
    with pytest.raises(PipelineError, match="unknown target kind 'cuda'"):
        tvm.target.Target("llvm", host="cuda")
    with pytest.raises(PipelineError, match=r"a target is a text .* got int 3"):
        tvm.target.Target(3)
    with pytest.raises(PipelineError, match="no current target"):
        tvm.target.Target.current(allow_none=False)


def test_errors_of_arguments_say_what_converts_them():
    add = tvm.build(_add())
    out = np.empty_like(X)
    for given, said in (
        (X.astype("float64"), r"expected float32, got float64; x.astype\(\.\.\.\) converts"),
        (X[0], r"expected 2 dimensions, got 1; x.reshape\(\.\.\.\)"),
        (X.tolist(), r"tensors are numpy arrays: np.asarray\(x\)"),
    ):
        with pytest.raises(ArgumentTypeError, match=said):
            add(given, X, out)


def test_results_and_arguments_of_packed_functions_are_tensors() -> None:
    seen: list[Any] = []

    @tvm.register_func("test.nd.double", override=True)
    def double(a: Any) -> Any:
        seen.append(a)
        return runtime.tensor(a.numpy() + a.asnumpy())

    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor(("n",), "float32")) -> R.Tuple(R.Tensor, R.Tensor):
            n = T.int64()
            y = R.call_packed("test.nd.double", x, ty_args=R.Tensor((n,), "float32"))
            return (y, R.add(y, x))

    vm = relax.VirtualMachine(relax.build(Module), tvm.cpu())
    instrumented: list[Any] = []
    for size in (0, 1, 7):
        x = np.arange(size, dtype="float32")
        for given in (x, runtime.tensor(x)):
            first, second = vm["main"](given)
            assert type(first) is type(second) is type(seen[-1]) is runtime.Tensor
            assert first.device == tvm.cpu()
            np.testing.assert_array_equal(np.from_dlpack(second), 3 * x)
            np.testing.assert_array_equal(vm["main"](first)[0].numpy(), 4 * x)
    vm.set_instrument(lambda func, name, before, result, *args: instrumented.extend(args))
    vm["main"](np.ones(2, "float32"))
    assert {runtime.Tensor} <= {*map(type, instrumented)}
    assert np.ndarray not in {*map(type, instrumented)}
    vm.set_input("main", np.ones(2, "float32"))
    vm.invoke_stateful("main")
    assert vm.get_outputs("main")[0].numpy().tolist() == [2, 2]
    assert type(tvm.get_global_func("vm.builtin.copy")(x)) is runtime.Tensor


def test_numpy_computes_plain_arrays_of_tensors() -> None:
    x = runtime.tensor(np.arange(6.0).reshape(2, 3))
    assert type(x + x) is type(np.exp(x)) is type(x.sum(axis=0)) is np.ndarray
    assert type(x.sum()) is np.float64
    assert type(x[0]) is runtime.Tensor


@pytest.mark.parametrize(
    ("dtype", "code", "bits", "lanes"),
    [("int32", 0, 32, 1), ("uint8", 1, 8, 1), ("float16", 2, 16, 1), ("bool", 6, 8, 1),
     ("bfloat", 4, 16, 1), ("float8_e4m3fn", 10, 8, 1), ("float32x4", 2, 32, 4)],
)  # fmt: skip
def test_inspected_tensors_may_have_any_dtype_and_offset(dtype, code, bits, lanes):
    fields = ("dtype_code", "dtype_bits", "dtype_lanes", "byte_offset", "elem_offset")
    x = relax.Var("x", relax.TensorType(dtype=""))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        calls = [getattr(relax.op.inspect, f"tensor_{field}")(x) for field in fields]
        bb.emit_func_output(bb.emit(relax.Tuple([bb.emit(call) for call in calls])))
    main = relax.VirtualMachine(relax.build(bb.get()))["main"]
    a = runtime.empty((16, 16), dtype)
    view = a._create_view((4,), relative_byte_offset=64)
    for array, offset in ((a, 0), (view, 64), (view[1:], 64 + bits * lanes // 8)):
        assert main(array) == (code, bits, lanes, offset, offset * 8 // (bits * lanes))
    # An array of numpy's has no storage that it could be a part of.
    assert main(np.ones(3)[1:])[3:] == (0, 0)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_small_floats_are_held(name: str) -> None:
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    numbers = np.array([[0.5, 1.0, 2.0], [-1.0, 0.0, 4.0]]).astype(dtype)
    held = runtime.tensor(numbers)
    assert held.dtype == name
    assert held.numpy().tobytes() == numbers.tobytes()
