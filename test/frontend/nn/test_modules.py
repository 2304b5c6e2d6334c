"""Modules, containers, parameters and operations of `frontend.nn`, under TVM's names."""

import inspect

import numpy as np
import pytest

import relax_mlir
from relax_mlir import register_func, relax, tir
from relax_mlir.errors import BuilderError, ExprTypeError, ShapeMismatchError
from relax_mlir.frontend import nn
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

RNG = np.random.default_rng(0)


class _Methods(nn.Module):
    """A module of functions: `_Methods(forward=lambda x: nn.exp(x))`."""

    def __init__(self, **methods):
        self.__dict__.update(methods)


def _run(method, *arrays):
    """Return what a function of tensors gives for arrays."""
    names = list(inspect.signature(method).parameters)
    inputs = {
        name: nn.spec.Tensor(array.shape, str(array.dtype))
        for name, array in zip(names, arrays, strict=False)
    }
    module, _ = _Methods(main=method).export_tvm({"main": inputs})
    with relax_mlir.transform.PassContext(opt_level=0):
        return relax_mlir.compile(module)(*arrays)


def test_linear_exports_what_tvm_exports():
    @I.ir_module
    class Expected:
        @R.function
        def forward(
            x: R.Tensor(("n", 3), "float32"),
            weight: R.Tensor((4, 3), "float32"),
            bias: R.Tensor((4,), "float32"),
        ) -> R.Tensor(("n", 4), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                transposed = R.permute_dims(weight)
                product = R.matmul(x, transposed)
                result = R.add(product, bias)
                R.output(result)
            return result

    layer = nn.Linear(3, 4)
    module, params = layer.export_tvm({"forward": {"x": nn.spec.Tensor(["n", 3], "float32")}})
    relax_mlir.ir.assert_structural_equal(module, Expected)
    assert [(name, param.shape) for name, param in params] == [("weight", [4, 3]), ("bias", [4])]


def test_methods_share_names_of_symbols_and_pack_parameters():
    modes = {"param_mode": "packed", "effect_mode": "none"}
    module, _ = nn.Embedding("n", 4).export_tvm(
        {"forward": {"x": nn.spec.Tensor(["batch", 2], "int32"), "$": modes}}
    )
    script = module.script()
    assert 'packed_params: R.Tuple(R.Tensor(("n", 4), dtype="float32"))' in script
    assert 'R.Tensor(("batch", 2, 4), dtype="float32")' in script


def test_state_dicts():
    one, other = nn.LayerNorm(3), nn.LayerNorm(3)
    for param in one.parameters():
        param.data = RNG.normal(size=3).astype("float32")
    assert other.load_state_dict(one.state_dict()) == ([], [])
    assert list(other.state_dict(prefix="norm.")) == ["norm.weight", "norm.bias"]
    np.testing.assert_array_equal(other.weight.data, one.weight.data)
    with pytest.raises(KeyError, match="Missing keys: \\['bias'\\]"):
        other.load_state_dict({"weight": one.weight})
    with pytest.raises(ValueError, match="Shape mismatch: expected \\(3,\\), got \\(4,\\)"):
        one.weight.data = np.zeros(4, "float32")
    with pytest.raises(ValueError, match="Dtype mismatch"):
        one.weight.data = np.zeros(3, "float64")
    with pytest.raises(ValueError, match="keeps its dtype"):
        one.to("float16")


def test_containers_and_mutators():
    class Model(nn.Module):
        def __init__(self):
            self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
            self.heads = nn.ModuleDict({"a": nn.Linear(2, 3, bias=False)})
            self.scales = nn.ParameterList([nn.Parameter((2,))])
            self.named = nn.ParameterDict({"b": nn.Parameter((3,))})

    class Halve(nn.Mutator):
        def __init__(self):
            self.seen = []

        def visit_param(self, name, node):
            self.seen.append(name)
            return nn.Parameter(node.shape, "float16")

        def visit_module(self, name, node):
            self.seen.append(name)
            return nn.SiLU() if isinstance(node, nn.ReLU) else self.visit(name, node)

    model, halve = Model(), Halve()
    model = halve.visit("", model)
    weights = ["layers.0.weight", "layers.0.bias", "heads.a.weight", "scales.0", "named.b"]
    assert [name for name, _ in model.named_parameters()] == weights
    assert {*weights, "layers.0", "layers.1", "heads.a"} == {*halve.seen}
    assert isinstance(model.layers[1], nn.SiLU)
    assert {param.dtype for param in model.parameters()} == {"float16"}
    with pytest.raises(TypeError, match="ParameterList elements must be nn"):
        model.scales.append(nn.ReLU())
    with pytest.raises(TypeError, match="ParameterDict keys must be strings, but got int"):
        model.named[1] = nn.Parameter((1,))


def test_operations_with_numbers_broadcasting_and_shapes():
    x = RNG.normal(size=(2, 6)).astype("float32")

    def forward(x):
        y = 1 - x * 2 + x / 4
        parts = nn.split(y, 3, axis=1)
        return nn.concat([*parts[1:], parts[0]], dim=1).reshape(3, -1).permute_dims(1, 0)

    y = 1 - x * 2 + x / 4
    expected = np.roll(y, -2, 1).reshape(3, -1).T
    np.testing.assert_allclose(_run(forward, x), expected, 1e-6)


@pytest.mark.parametrize(
    ("layer", "shape", "result"),
    [
        (nn.Conv1D(4, 6, 3, stride=2, groups=2), (1, 4, 9), (1, 6, 4)),
        (nn.Conv2D(4, 6, [3, 1], padding=1, data_layout="NHWC"), (1, 5, 5, 4), None),
        (nn.Conv3D(2, 3, 2, bias=False), (1, 2, 3, 3, 3), (1, 3, 2, 2, 2)),
        (nn.ConvTranspose1D(2, 3, 3, stride=2), (1, 2, 4), (1, 3, 9)),
        (nn.GroupNorm(2, 4), (1, 4, 3, 3), (1, 4, 3, 3)),
        (nn.RMSNorm(4, -1), (2, 4), (2, 4)),
        (nn.TimestepEmbedding(4, 8, cond_proj_dim=2), (3, 4), (3, 8)),
        (nn.Attention(8, heads=2, dim_head=4, norm_num_groups=2), (1, 5, 8), (1, 5, 8)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_layers_infer_shapes(layer, shape, result):
    name = {"TimestepEmbedding": "sample", "Attention": "hidden_states"}.get(type(layer).__name__)
    inputs = {name or "x": nn.spec.Tensor(shape, "float32")}
    if result is None:
        with pytest.raises(relax_mlir.errors.RelaxMLIRError, match="layout"):
            nn.Conv2D(4, 6, 3, data_layout="NNN").export_tvm({"forward": inputs})
        return
    module, _ = layer.export_tvm({"forward": inputs})
    dims = tuple(dim.value for dim in module["forward"].ret_ty.dims)
    assert dims == result


def test_timesteps_and_interpolation():
    t = np.arange(3, dtype="int32")
    angles = t[:, None] * np.exp(-np.log(10000) * np.arange(2) / 1)
    expected = np.pad(np.concatenate([np.sin(angles), np.cos(angles)], 1), ((0, 0), (0, 1)))
    found = _run(lambda x: nn.Timesteps(5)(x), t)
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
    image = RNG.normal(size=(1, 1, 4, 6)).astype("float32")
    found = _run(lambda x: nn.interpolate(x, scale_factor=0.5), image)
    np.testing.assert_array_equal(found, image[:, :, ::2, ::2])
    found = _run(lambda x: nn.interpolate(x, (1, 3), mode="bilinear"), image[:, :, :2])
    np.testing.assert_allclose(found, image[:, :, :2].reshape(1, 1, 1, 2, 3, 2).mean((3, 5)), 1e-5)


def test_masked_attention():
    q, k, v = (RNG.normal(size=(1, 3, 2, 4)).astype("float32") for _ in range(3))
    mask = np.tri(3, dtype=bool)[None, None]
    one = _run(lambda x, y, z, u: nn.scaled_dot_product_attention(x, y, z, u), q, k, v, mask)
    other = _run(lambda x, y, z: nn.scaled_dot_product_attention(x, y, z, is_causal=True), q, k, v)
    np.testing.assert_allclose(one, other, 1e-5, 1e-6)


def test_prim_funcs_and_packed_functions():
    @T.prim_func
    def scale(A: T.handle, factor: T.int64, B: T.handle):
        n = T.int64()
        a = T.match_buffer(A, (n,), "float32")
        b = T.match_buffer(B, (n,), "float32")
        for i in range(n):
            with T.block("scale"):
                v = T.axis.spatial(n, i)
                b[v] = a[v] * T.Cast("float32", factor)

    @register_func("test.nn.shift", override=True)
    def shift(x, by, result):
        result[:] = x + by

    def forward(x):
        out = nn.Tensor.placeholder(x.shape, "float32")
        scaled = nn.op.tensor_ir_op(scale, "scale", [x, tir.const(3, "int64").value], out)
        return nn.op.extern("test.nn.shift", [scaled, 2.0], out)

    x = RNG.normal(size=5).astype("float32")
    np.testing.assert_allclose(_run(forward, x), x * 3 + 2, 1e-6)


def test_sampling():
    prob = RNG.dirichlet(np.ones(7), 4).astype("float32")
    order = np.argsort(-prob, 1)
    ordered = np.take_along_axis(prob, order, 1)
    u = np.array([[0.0], [0.3], [0.7], [0.999]], "float32")
    found = _run(nn.multinomial_from_uniform, prob, u)
    np.testing.assert_array_equal(found, (prob.cumsum(1) <= u).sum(1, keepdims=True).clip(0, 6))
    top_p = np.array([[0.1], [0.5], [0.9], [1.0]], "float32")
    top_k = np.array([[3], [2], [7], [1]], "int32")
    kept = np.zeros_like(prob)
    for i in range(4):
        last = next(
            j for j in range(7)
            if j == 6 or not (ordered[i, : j + 1].sum() < top_p[i] and j + 1 < top_k[i])
        )  # fmt: skip
        kept[i, order[i, : last + 1]] = ordered[i, : last + 1]
    kept /= kept.sum(1, keepdims=True)
    found = _run(nn.renormalize_top_p_top_k_prob, prob, ordered, top_p, top_k)
    np.testing.assert_allclose(found, kept, 1e-5, 1e-6)
    found = _run(
        nn.sample_top_p_top_k_from_sorted_prob,
        ordered, order.astype("int32"), top_p, top_k, u,
    )  # fmt: skip
    assert (np.take_along_axis(kept, np.asarray(found), 1) > 0).all()


def test_subroutines_are_functions_of_their_own():
    class Activation(nn.Module):
        define_subroutine = True

        def forward(self, x):
            return nn.silu(x)

    class Layer(nn.Module):
        define_subroutine = True

        def __init__(self):
            self.linear = nn.Linear(4, 4, bias=False)
            self.activation = Activation()

        def forward(self, x):
            return self.activation(self.linear(x))

    class Model(nn.Module):
        def __init__(self):
            self.layers = nn.ModuleList([Layer(), Layer()])

        def forward(self, x):
            return self.layers(x)

    module, params = Model().export_tvm({"forward": {"x": nn.spec.Tensor(["n", 4], "float32")}})
    names = {gvar.name_hint for gvar in module.get_global_vars()}
    assert names == {"forward", "layer", "activation"}
    x, *weights = (RNG.normal(size=(4, 4)).astype("float32") for _ in range(3))
    expected = x
    for weight in weights:
        y = expected @ weight.T
        expected = y / (1 + np.exp(-y))
    found = relax.VirtualMachine(relax_mlir.compile(module))["forward"](x, *weights)
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
    assert len(params) == 2


def test_printing_in_the_order_of_the_program(capsys):
    class Model(nn.Module):
        def forward(self, x):
            nn.print_(x)
            nn.debug_func("test.nn.debug", x, 1, 2.0, "word")
            return x

    seen = []
    register_func("test.nn.debug", lambda *args: seen.append(args), override=True)
    spec = {"forward": {"x": nn.spec.Tensor([2], "float32")}}
    with pytest.raises(RuntimeError, match="debug mode"):
        Model().export_tvm(spec)
    module, _ = Model().export_tvm(spec, debug=True)
    vm = relax.VirtualMachine(relax_mlir.compile(module))
    vm["forward"](np.ones(2, "float32"), *vm["_initialize_effect"]())
    assert "test_modules.py" in capsys.readouterr().out
    place, x, one, two, word = seen[0]
    assert "test_modules.py:" in place
    assert (x.shape, int(one), float(two), word) == ((2,), 1, 2.0, "word")


def test_caches_refuse_what_they_do_not_hold():
    class Model(nn.Module):
        def __init__(self):
            self.cache = nn.KVCache(2, [3])

        def forward(self, x, n):
            self.cache.append(x)
            return self.cache.view(n)

    spec = {"x": nn.spec.Tensor(["m", 3], "float32"), "n": int}
    module, _ = Model().export_tvm({"forward": spec})
    vm = relax.VirtualMachine(relax_mlir.compile(module))
    (cache,) = vm["_initialize_effect"]()
    with pytest.raises(ShapeMismatchError, match="the cache has 1 elements of shape \\(3,\\)"):
        vm["forward"](np.ones((1, 3), "float32"), (2,), cache)
    with pytest.raises(TypeError, match="dtype"):
        Model().export_tvm({"forward": {**spec, "x": nn.spec.Tensor([1, 3], "float16")}})


def test_compiled_modules_take_and_give_torch_tensors():
    torch = pytest.importorskip("torch")
    layer = nn.Linear(3, 4)
    spec = {"forward": {"x": nn.spec.Tensor(["n", 3], "float32")}}
    with pytest.raises(ValueError, match="not set to any concrete values: weight, bias"):
        layer.jit(spec)
    theirs = torch.nn.Linear(3, 4)
    layer.weight.data, layer.bias.data = theirs.weight, theirs.bias
    x = torch.randn(5, 3)
    torch.testing.assert_close(layer.jit(spec)["forward"](x), theirs(x).detach())


def test_wrong_uses():
    with pytest.raises(BuilderError, match="run inside of export_tvm"):
        nn.exp(nn.Tensor.placeholder([1], "float32"))
    with pytest.raises(TypeError, match="Invalid spec for argument x: 3"):
        nn.ReLU().export_tvm({"forward": {"x": 3}})
    with pytest.raises(ExprTypeError, match="a method gives tensors"):
        _Methods(forward=lambda x: 3).export_tvm({"forward": {"x": nn.spec.Tensor([1], "int32")}})
    with pytest.raises(AttributeError, match="register_func makes functions callable"):
        _ = nn.SourceModule
