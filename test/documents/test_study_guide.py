"""The samples of the study guide: a network in the graph executor, and its picture.

They are the guide's, but for imports; its picture is drawn by a graph of the few methods of
networkx that it uses, and written by `viz`.
"""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import viz
from relax_mlir.contrib import graph_executor, relay
from relax_mlir.contrib.relay import ExprFunctor


def batch_norm(data, gamma=None, beta=None, moving_mean=None, moving_var=None, **kwargs):
    name = kwargs.get("name")
    kwargs.pop("name")
    if not gamma:
        gamma = relay.var(name + "_gamma")
    if not beta:
        beta = relay.var(name + "_beta")
    if not moving_mean:
        moving_mean = relay.var(name + "_moving_mean")
    if not moving_var:
        moving_var = relay.var(name + "_moving_var")
    return relay.nn.batch_norm(
        data, gamma=gamma, beta=beta, moving_mean=moving_mean, moving_var=moving_var, **kwargs
    )[0]


def conv2d(data, weight=None, **kwargs):
    name = kwargs.get("name")
    kwargs.pop("name")
    if not weight:
        weight = relay.var(name + "_weight")
    return relay.nn.conv2d(data, weight, **kwargs)


def simplenet(
    data, name, channels, kernel_size=(3, 3), strides=(1, 1), padding=(1, 1), epsilon=1e-5
):
    conv = conv2d(
        data=data,
        channels=channels,
        kernel_size=kernel_size,
        strides=strides,
        padding=padding,
        data_layout="NCHW",
        name=name + "_conv",
    )
    bn = batch_norm(data=conv, epsilon=epsilon, name=name + "_bn")
    return relay.nn.relu(data=bn)


data_shape = (1, 3, 224, 224)
dtype = "float32"


@pytest.fixture(scope="module")
def func():
    data = relay.var("data", shape=data_shape, dtype=dtype)
    act = simplenet(data, "graph", 32, strides=(2, 2))
    return relay.Function(relay.analysis.free_vars(act), act)


def test_the_graph_executor_runs_a_network(func) -> None:
    np_data = np.random.uniform(-1, 1, (1, 3, 224, 224))
    params = {
        "graph_conv_weight": tvm.nd.array(np.random.uniform(-1, 1, (32, 3, 3, 3)).astype(dtype)),
        "graph_bn_gamma": tvm.nd.array(np.random.uniform(-1, 1, (32)).astype(dtype)),
        "graph_bn_beta": tvm.nd.array(np.random.uniform(-1, 1, (32)).astype(dtype)),
        "graph_bn_moving_mean": tvm.nd.array(np.random.uniform(-1, 1, (32)).astype(dtype)),
        # The guide's variances are negative too, whose roots are no numbers.
        "graph_bn_moving_var": tvm.nd.array(np.random.uniform(0, 1, (32)).astype(dtype)),
    }
    with tvm.transform.PassContext(opt_level=10):
        lib = relay.build(func, "llvm", params=params)
    dev = tvm.cpu(0)
    m = graph_executor.GraphModule(lib["default"](dev))
    m.set_input("data", tvm.nd.array(np_data.astype(dtype)))
    m.run()
    tvm_output = m.get_output(0)
    padded = np.pad(np_data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    weights, *stats = (each.asnumpy() for each in params.values())
    conv = np.einsum("nchwij,ocij->nohw", windows, weights, optimize=True)
    gamma, beta, mean, var = (each[:, None, None] for each in stats)
    expected = np.maximum((conv - mean) / np.sqrt(var + 1e-5) * gamma + beta, 0)
    np.testing.assert_allclose(tvm_output.asnumpy(), expected, rtol=1e-3, atol=1e-4)


class DiGraph(SimpleNamespace):
    def add_node(self, name):
        self.nodes[name] = {}

    def add_edges_from(self, edges):
        self.edges += edges


class VisualizeExpr(ExprFunctor):
    def __init__(self):
        super().__init__()
        self.graph = DiGraph(nodes={}, edges=[])
        self.counter = 0

    def viz(self, expr):
        for param in expr.params:
            self.visit(param)
        return self.visit(expr.body)

    def visit_constant(self, const):  # overload this!
        pass

    def visit_var(self, var):
        name = var.name_hint
        self.graph.add_node(name)
        self.graph.nodes[name]["style"] = "filled"
        self.graph.nodes[name]["fillcolor"] = "mistyrose"
        return var.name_hint

    def visit_tuple_getitem(self, get_item):
        return self.visit(get_item.tuple_value)

    def visit_call(self, call):
        parents = []
        for arg in call.args:
            parents.append(self.visit(arg))
        name = f"{call.op.name}({self.counter})"
        self.counter += 1
        self.graph.add_node(name)
        self.graph.nodes[name]["style"] = "filled"
        self.graph.nodes[name]["fillcolor"] = "turquoise"
        self.graph.nodes[name]["shape"] = "diamond"
        edges = []
        for i, parent in enumerate(parents):
            edges.append((parent, name, {"label": f"arg{i}"}))
        self.graph.add_edges_from(edges)
        return name


def test_a_functor_draws_a_network(func, tmp_path: Path) -> None:
    visualizer = VisualizeExpr()
    assert visualizer.viz(func) == "relax.nn.relu(2)"
    params = ["data", "graph_conv_weight", "graph_bn_gamma", "graph_bn_beta",
              "graph_bn_moving_mean", "graph_bn_moving_var"]  # fmt: skip
    ops = ["relax.nn.conv2d(0)", "relax.nn.batch_norm(1)", "relax.nn.relu(2)"]
    assert list(visualizer.graph.nodes) == [*params, *ops]
    edges = [(*params[:2], ops[0]), (ops[0], *params[2:], ops[1]), (ops[1], ops[2])]
    assert visualizer.graph.edges == [
        (source, op, {"label": f"arg{i}"})
        for *sources, op in edges
        for i, source in enumerate(sources)
    ]
    dot = relay.analysis.to_dot(func)
    for text in ("conv2d(0)", "graph_bn_beta", "fillcolor=turquoise", 'label="arg0"'):
        assert text in dot
    if shutil.which("dot"):
        picture = tmp_path / "relay_ir.png"
        viz.graph(func).save(picture)
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_weights_of_a_convolution_get_their_types() -> None:
    data = relay.var("data", shape=(1, 8, 8, 4))
    weight = relay.var("weight")
    with pytest.raises(tvm.TVMError, match="needs channels, kernel_size"):
        relay.nn.conv2d(data, weight)
    options = {"groups": 2, "data_layout": "NHWC", "kernel_layout": "HWIO"}
    relay.nn.conv2d(data, weight, channels=6, kernel_size=(3, 5), **options)
    assert weight.ty == relay.TensorType((3, 5, 2, 6), "float32")
    with pytest.raises(AttributeError, match="no_such"):
        _ = relay.no_such


def test_expressions_are_refused_by_kind_and_as_nothing() -> None:
    with pytest.raises(TypeError, match="no default for a Call"):
        relay.expr_functor.ExprFunctor().visit_expr(relay.nn.relu(relay.var("x", shape=(3,))))
    with pytest.raises(TypeError, match=r"null|None"):
        relay.expr_functor.ExprFunctor().visit_expr(None)
    with pytest.raises(TypeError, match="ExprFunctor has no visit_call"):
        ExprFunctor().visit(relay.nn.relu(relay.var("x", shape=(3,))))
