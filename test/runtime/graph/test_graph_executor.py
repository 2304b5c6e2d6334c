"""The graph executor: the study guide's simplenet, graphs, inputs, outputs, refusals."""

import json
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, runtime, script
from relax_mlir.contrib import graph_executor
from relax_mlir.errors import (
    ArgumentTypeError,
    DeviceError,
    ExecutableFormatError,
    FunctionNotFoundError,
    ShapeMismatchError,
    VMError,
)
from relax_mlir.runtime import ExecBuilder, Executable, GraphModule
from relax_mlir.transform import PassContext

SIMPLENET = """
@I.ir_module
class SimpleNet:
    @R.function
    def main(
        data: R.Tensor((1, 3, 224, 224), "float32"),
        graph_conv_weight: R.Tensor((32, 3, 3, 3), "float32"),
        graph_bn_gamma: R.Tensor((32,), "float32"),
        graph_bn_beta: R.Tensor((32,), "float32"),
        graph_bn_moving_mean: R.Tensor((32,), "float32"),
        graph_bn_moving_var: R.Tensor((32,), "float32"),
    ):
        with R.dataflow():
            conv = R.nn.conv2d(data, graph_conv_weight, strides=(2, 2), padding=(1, 1))
            bn = R.nn.batch_norm(
                conv, graph_bn_gamma, graph_bn_beta, graph_bn_moving_mean, graph_bn_moving_var,
                axis=1, epsilon=1e-5, training=False,
            )
            act = R.nn.relu(bn[0])
            R.output(act)
        return act
"""
CHAIN = """
@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((4, 6), "float32"), y: R.Tensor((6,), "float32")):
        with R.dataflow():
            a = R.matmul(x, R.permute_dims(x))
            b = R.nn.softmax(a)
            c = R.matmul(b, x)
            d = R.nn.softmax(R.add(c, y))
            R.output(b, d)
        return (d, b)

    @R.function
    def dynamic(x: R.Tensor(("n", 6), "float32")):
        with R.dataflow():
            a = R.exp(x)
            R.output(a)
        return a

    @R.function
    def choose(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        if c:
            r = R.exp(x)
        else:
            r = R.negative(x)
        return r

    @R.function
    def packed(x: R.Tensor((4,), "float32")):
        r = R.call_packed("test.graph.made", x, sinfo_args=R.Tensor((4,), "float32"))
        return r
"""


@pytest.fixture(scope="module", params=["merged", "apart"])
def chain(request: pytest.FixtureRequest) -> Executable:
    without = ["OutlineNative"] if request.param == "apart" else []
    with PassContext(disabled_pass=without):
        return relax.build(script.from_source(CHAIN))


def _module(lib: Executable) -> GraphModule:
    return GraphModule(lib["default"](runtime.cpu(0)))


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _chain(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    b = _softmax(x @ x.T)
    return _softmax(b @ x + y), b


def _values(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.random((4, 6), "float32"), "y": rng.random(6, "float32")}


def _conv(data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    return np.einsum("nchwij,ocij->nohw", windows, weight, optimize=True)


@pytest.mark.parametrize("merged", [True, False])
def test_simplenet_of_the_study_guide(merged: bool) -> None:
    mod = script.from_source(SIMPLENET)
    without = [] if merged else ["OutlineNative"]
    with PassContext(opt_level=10, disabled_pass=without):
        lib = relax.build(mod, "llvm")
    rng = np.random.default_rng(0)
    shapes = {"weight": (32, 3, 3, 3)}
    names = ("conv_weight", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var")
    params = {
        f"graph_{n}": rng.uniform(0, 1, shapes.get(n.partition("_")[2], (32,))).astype("float32")
        for n in names
    }
    data = rng.uniform(-1, 1, (1, 3, 224, 224)).astype("float32")
    m = GraphModule(lib["default"](runtime.cpu(0)))
    m.set_input("data", data)
    m.set_input(**params)
    m.run()
    out = m.get_output(0)
    weight, gamma, beta, mean, var = (p.astype("float64") for p in params.values())
    each = (slice(None), None, None)
    normal = (_conv(data.astype("float64"), weight) - mean[each]) / np.sqrt(var[each] + 1e-5)
    want = np.maximum(normal * gamma[each] + beta[each], 0)
    assert out.shape == (1, 32, 112, 112)
    np.testing.assert_allclose(out, want, rtol=1e-3, atol=1e-4)
    assert (m.get_num_inputs(), m.get_num_outputs()) == (6, 1)


def test_runs_match_the_virtual_machine(chain: Executable) -> None:
    m = _module(chain)
    vm = relax.VirtualMachine(chain)
    kept = []
    for seed in range(3):
        values = _values(seed)
        m.run(**values)
        outputs = [m.get_output(i) for i in range(m.get_num_outputs())]
        for got, machine, want in zip(outputs, vm["main"](**values), _chain(**values), strict=True):
            np.testing.assert_array_equal(got, machine)
            np.testing.assert_allclose(got, want, rtol=1e-5)
        kept.append((values, outputs))
    # Outputs are copies, which later runs leave alone.
    for values, outputs in kept:
        np.testing.assert_allclose(outputs[0], _chain(**values)[0], rtol=1e-5)


def test_graph_json_is_readable(chain: Executable) -> None:
    text = chain["get_graph_json"]()
    assert text == _module(chain).get_graph_json()
    assert len(text.splitlines()) < 40
    graph = json.loads(text)
    assert [graph["nodes"][i]["name"] for i in graph["arg_nodes"]] == ["x", "y"]
    attrs = {name: values for name, (_, values) in graph["attrs"].items()}
    count = graph["node_row_ptr"][-1]
    for name in ("dltype", "shape", "storage_id", "storage_offset"):
        assert len(attrs[name]) == count
    assert attrs["shape"][0] == [4, 6]
    assert len(graph["heads"]) == 2
    calls = [node for node in graph["nodes"] if node["op"] == "tvm_op"]
    if len(calls) == 1:
        assert len(calls[0]["attrs"]["parts"]) >= 4
    else:
        # Tensors that are not needed at a time share storage.
        assert len(attrs["storage_size"]) < count
        assert {"matmul_add", "softmax"} <= {node["attrs"]["func_name"] for node in calls}


def test_a_graph_is_made_again_of_its_json(chain: Executable) -> None:
    lib = Executable.from_bytes(chain.to_bytes())
    m = graph_executor.create(chain["get_graph_json"](), lib, "cpu")
    values = _values()
    m.run(**values)
    np.testing.assert_allclose(m.get_output(0), _chain(**values)[0], rtol=1e-5)
    with pytest.raises(TypeError, match="GraphModule takes lib"):
        GraphModule(lib)  # type: ignore[arg-type]
    for wrong in ("{}", "[]", "nonsense", '{"nodes": 3}'):
        with pytest.raises(VMError, match="no graph of a graph executor"):
            graph_executor.create(wrong, lib)


def test_damaged_graphs_are_errors(chain: Executable) -> None:
    text = chain["get_graph_json"]()
    rng = np.random.default_rng(0)
    for _ in range(200):
        at = int(rng.integers(len(text)))
        damaged = text[:at] + str(rng.integers(10)) + text[at + 1 :]
        try:
            m = graph_executor.create(damaged, chain)
            m.run(**_values())
        except VMError:
            pass


def test_inputs(chain: Executable) -> None:
    m = _module(chain)
    values = _values()
    m.set_input(0, values["x"])
    m.set_input("y", np.repeat(values["y"], 2)[::2])
    np.testing.assert_array_equal(m.get_input("x"), values["x"])
    np.testing.assert_array_equal(m.get_input(1), values["y"])
    out = np.empty((4, 6), "float32")
    assert m.get_input(0, out) is out
    assert (m.get_input_index("y"), m.get_input_index("z")) == (1, -1)
    shapes, dtypes = m.get_input_info()
    assert shapes == {"x": (4, 6), "y": (6,)}
    assert set(dtypes.values()) == {"float32"}
    with pytest.raises(ArgumentTypeError, match=r"no input 'z' \(it has: x, y\)"):
        m.set_input("z", values["x"])
    with pytest.raises(ArgumentTypeError, match="no input 2"):
        m.get_input(2)
    with pytest.raises(ArgumentTypeError, match="'x' must be float32, got a float64"):
        m.set_input("x", np.zeros((4, 6)))
    with pytest.raises(ShapeMismatchError, match=r"'x' must have the shape \(4, 6\)"):
        m.set_input(x=np.zeros((6, 4), "float32"))
    with pytest.raises(ArgumentTypeError, match="'x' must be a tensor, got the Python int"):
        m.set_input("x", 3)


def test_inputs_without_a_copy(chain: Executable) -> None:
    m = _module(chain)
    values = _values()
    m.set_input(**values)
    x = values["x"].copy()
    m.set_input_zero_copy("x", x)
    for seed in range(2):
        x[...] = _values(seed)["x"]
        m.run()
        np.testing.assert_allclose(m.get_output(0), _chain(x, values["y"])[0], rtol=1e-5)
    with pytest.raises(ArgumentTypeError, match="needs a copy"):
        m.set_input_zero_copy("x", np.zeros((6, 4), "float32").T)


def test_outputs(chain: Executable) -> None:
    m = _module(chain)
    m.run(**_values())
    out = np.empty((4, 6), "float32")
    assert m.get_output(0, out) is out
    np.testing.assert_array_equal(out, m.get_output(0))
    for index in (-1, 2, "x", None):
        with pytest.raises(ArgumentTypeError, match="there is no output"):
            m.get_output(index)
    with pytest.raises(ShapeMismatchError, match="'out' must be a float32 tensor"):
        m.get_output(0, np.empty(3, "float32"))
    with pytest.raises(ArgumentTypeError, match="'out' must be a float32 tensor"):
        m.get_output(0, np.empty((4, 6)))


def test_parameters_as_bytes_and_shared(chain: Executable) -> None:
    a, b = _module(chain), _module(chain)
    values = _values()
    data = runtime.save_param_dict({"y": values["y"]})
    np.testing.assert_array_equal(runtime.load_param_dict(data)["y"], values["y"])
    a.load_params(data)
    b.share_params(a, data)
    assert np.shares_memory(a.get_input("y"), b.get_input("y"))
    b.run(x=values["x"])
    np.testing.assert_allclose(b.get_output(0), _chain(**values)[0], rtol=1e-5)
    for damaged in (b"", data[:-1], data[:20], b"\xff" * 40):
        with pytest.raises(ExecutableFormatError):
            a.load_params(damaged)
    with pytest.raises(ArgumentTypeError, match="no input 'z'"):
        a.load_params(runtime.save_param_dict({"z": values["y"]}))
    with pytest.raises(ArgumentTypeError, match="parameter 'y' must be a tensor"):
        runtime.save_param_dict({"y": 3})
    with pytest.raises(ArgumentTypeError, match="parameters are bytes"):
        runtime.load_param_dict("text")  # type: ignore[arg-type]


def test_benchmark(chain: Executable) -> None:
    m = _module(chain)
    m.set_input(**_values())
    result = m.benchmark(runtime.cpu(0), repeat=3, number=2)
    assert len(result.results) == 3
    assert m.benchmark(end_to_end=True, **_values()).min > 0
    assert m["get_num_inputs"]() == 2
    with pytest.raises(AttributeError, match="no attribute 'benchmrk'"):
        m.benchmrk
    assert {"run", "benchmark", "get_output"} <= set(dir(m))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("dynamic", "has inputs whose shape is not static|does not say the shape|alloc_shape_heap"),
        ("choose", "has control flow"),
        ("packed", "calls 'test.graph.made', which makes its result itself"),
    ],
)
def test_dynamic_functions_are_for_the_virtual_machine(
    chain: Executable, function: str, reason: str
) -> None:
    with pytest.raises(VMError, match=f"({reason}).*: run it by relax.VirtualMachine"):
        chain["get_graph_json"](function)
    with pytest.raises(FunctionNotFoundError, match="no function 'mian'; did you mean 'main'"):
        chain["get_graph_json"]("mian")


def test_other_devices_are_refused(chain: Executable) -> None:
    with pytest.raises(DeviceError):
        chain["default"]("cuda:0")


def _bytecode() -> Executable:
    """Build a function by hand: a constant, a reshape, tuples, a function of its own, packed."""
    ib = ExecBuilder()
    shape = (2, 3)
    with ib.function("inner", 1):
        ib.emit_call("vm.builtin.alloc_storage", [24, "cpu"], dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(1), 0, shape, "float32"], dst=ib.r(2))
        ib.emit_call("test.graph.twice", [ib.r(0), ib.r(2)])
        ib.emit_ret(ib.r(2))
    with ib.function("main", 1, ["x"]):
        check = [ib.r(0), 2, "float32", "main: argument 'x'", shape]
        ib.emit_call("vm.builtin.check_tensor", check)
        ib.emit_call("inner", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("inner", [np.ones(shape, "float32")], dst=ib.r(2))
        ib.emit_call("vm.builtin.make_tuple", [ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_call("vm.builtin.tuple_getitem", [ib.r(3), 0], dst=ib.r(4))
        ib.emit_call("vm.builtin.reshape", [ib.r(4), (6,)], dst=ib.r(5))
        ib.emit_call("vm.builtin.make_tuple", [ib.r(3), ib.r(5)], dst=ib.r(6))
        ib.emit_ret(ib.r(6))
    return ib.get()


def test_graphs_of_bytecode_made_by_hand() -> None:
    def twice(x: Any, out: Any) -> None:
        if x[0, 0] < 0:
            raise ValueError("negative")
        np.multiply(x, 2, out=out)

    runtime.register_func("test.graph.twice", twice, override=True)
    lib = _bytecode()
    m = _module(lib)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    m.run(x=x)
    want = [2 * x, np.full((2, 3), 2), 2 * x.ravel()]
    for i, each in enumerate(want):
        np.testing.assert_array_equal(m.get_output(i), each)
    assert (m.get_num_inputs(), m.get_num_outputs()) == (1, 3)
    with pytest.raises(ArgumentTypeError, match="'p0' is a constant of the executable"):
        m.set_input("p0", x)
    with pytest.raises(ValueError, match="negative"):
        m.run(x=-1 - x)
    m.run(x=x)
    np.testing.assert_array_equal(m.get_output(0), 2 * x)
    runtime.remove_global_func("test.graph.twice")
    with pytest.raises(FunctionNotFoundError, match=r"test\.graph\.twice"):
        _module(lib)
