"""The samples of the study guide: a network in the graph executor, and its picture.

The guide's Relay is Relax here: operators are in `relax.op`, and parameters have types.
"""

import numpy as np
import pytest

from relax_mlir import cpu, nd, relax, transform
from relax_mlir.contrib import graph_executor
from relax_mlir.relax import ExprFunctor
from relax_mlir.relax.op import nn

SHAPE, CHANNELS = (1, 3, 224, 224), 32


def _var(name, *shape):
    return relax.var(name, relax.TensorType(shape, "float32"))


def batch_norm(data, **kwargs):
    name = kwargs.pop("name")
    stats = [
        _var(f"{name}_{each}", CHANNELS) for each in ("gamma", "beta", "moving_mean", "moving_var")
    ]
    return nn.batch_norm(data, *stats, axis=1, training=False, **kwargs)[0]


def conv2d(data, **kwargs):
    name = kwargs.pop("name")
    return nn.conv2d(data, _var(name + "_weight", CHANNELS, 3, 3, 3), **kwargs)


def simplenet(data, name, strides=(1, 1), padding=(1, 1), epsilon=1e-5):
    conv = conv2d(
        data=data, strides=strides, padding=padding, data_layout="NCHW", name=name + "_conv"
    )
    bn = batch_norm(data=conv, epsilon=epsilon, name=name + "_bn")
    return nn.relu(bn)


@pytest.fixture(scope="module")
def func():
    data = _var("data", *SHAPE)
    act = simplenet(data, "graph", strides=(2, 2))
    return relax.Function(relax.analysis.free_vars(act), act)


def test_the_graph_executor_runs_a_network(func) -> None:
    rng = np.random.default_rng(0)
    np_data = rng.uniform(-1, 1, SHAPE).astype("f4")
    weights = rng.uniform(-1, 1, (CHANNELS, 3, 3, 3)).astype("f4")
    stats = {name: rng.uniform(0.5, 1, CHANNELS).astype("f4")
             for name in ("gamma", "beta", "moving_mean", "moving_var")}  # fmt: skip
    params = {"graph_conv_weight": nd.array(weights)}
    params |= {f"graph_bn_{name}": nd.array(value) for name, value in stats.items()}
    with transform.PassContext(opt_level=10):
        lib = relax.build(func, "llvm", params=params)
    m = graph_executor.GraphModule(lib["default"](cpu(0)))
    m.set_input("data", nd.array(np_data))
    m.run()
    tvm_output = m.get_output(0)
    padded = np.pad(np_data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    conv = np.einsum("nchwij,ocij->nohw", windows, weights, optimize=True)
    gamma, beta, mean, var = (each[:, None, None] for each in stats.values())
    expected = np.maximum((conv - mean) / np.sqrt(var + 1e-5) * gamma + beta, 0)
    np.testing.assert_allclose(tvm_output.asnumpy(), expected, rtol=1e-4, atol=1e-5)


class VisualizeExpr(ExprFunctor):
    """Nodes by name with their style, and edges with their label."""

    def __init__(self):
        self.nodes, self.edges, self.counter = {}, [], 0

    def viz(self, func):
        for param in func.params:
            self.visit_expr(param)
        return self.visit_expr(func.body)

    def visit_constant_(self, const):
        return None

    def visit_var_(self, var):
        self.nodes[var.name_hint] = "mistyrose"
        return var.name_hint

    def visit_seq_expr_(self, seq):
        return self.visit_expr(seq.body)

    def visit_tuple_getitem_(self, get_item):
        return self.visit_expr(get_item.tuple_value)

    def visit_call_(self, call):
        parents = [self.visit_expr(arg) for arg in call.args]
        name = f"{call.op.name.removeprefix('relax.')}({self.counter})"
        self.counter += 1
        self.nodes[name] = "turquoise"
        self.edges += [(parent, name, f"arg{i}") for i, parent in enumerate(parents)]
        return name


def test_a_functor_draws_a_network(func) -> None:
    visualizer = VisualizeExpr()
    data = _var("data", *SHAPE)
    visualizer.visit_expr(simplenet(data, "graph"))
    names = [name.rpartition(".")[2] for name in visualizer.nodes]
    assert names == [
        "data", "graph_conv_weight", "conv2d(0)", "graph_bn_gamma", "graph_bn_beta",
        "graph_bn_moving_mean", "graph_bn_moving_var", "batch_norm(1)", "relu(2)",
    ]  # fmt: skip
    assert ("data", "arg0") in {(source, label) for source, _, label in visualizer.edges}
    dot = relax.analysis.to_dot(func)
    for text in ("conv2d(0)", "graph_bn_beta", "fillcolor=turquoise", 'label="arg0"'):
        assert text in dot


def test_expressions_are_refused_by_kind_and_as_nothing() -> None:
    with pytest.raises(TypeError, match="no default for a Call"):
        ExprFunctor().visit_expr(nn.relu(_var("x", 3)))
    with pytest.raises(TypeError, match=r"null|None"):
        ExprFunctor().visit_expr(None)
