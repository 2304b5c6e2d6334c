"""A decoder of language models, written for TVM's Module API, against numpy."""

import numpy as np

import relax_mlir
from relax_mlir import relax, te, tir
from relax_mlir.frontend import nn

HIDDEN, HEADS, GROUPS, DEPTH, INNER, VOCABULARY, LAYERS = 32, 4, 2, 8, 48, 19, 2
THETA = 10000.0


def _rotate(x, offset):
    """Rotate pairs of numbers, half a head apart, by angles that grow with the place."""

    def rotated(x, total):
        length, half = x.shape[1], DEPTH // 2

        def element(b, s, h, d):
            power = tir.Cast("float32", d % half) * (2.0 / DEPTH)
            place = tir.Cast("float32", total - length + s)
            angle = place / tir.power(tir.const(THETA, "float32"), power)
            other = tir.if_then_else(d < half, -x[b, s, h, d + half], x[b, s, h, d - half])
            return x[b, s, h, d] * tir.cos(angle) + other * tir.sin(angle)

        return te.compute(x.shape, element, name="rope")

    return nn.tensor_expr_op(rotated, "rope", [x, offset])


class Attention(nn.Module):
    def __init__(self):
        self.q = nn.Linear(HIDDEN, HEADS * DEPTH, bias=False)
        self.kv = nn.Linear(HIDDEN, 2 * GROUPS * DEPTH, bias=False)
        self.out = nn.Linear(HEADS * DEPTH, HIDDEN, bias=False)
        self.keys = nn.KVCache(4, [GROUPS, DEPTH])
        self.values = nn.KVCache(4, [GROUPS, DEPTH])

    def forward(self, x, mask, total):
        b, s, _ = x.shape
        q = _rotate(self.q(x).reshape(b, s, HEADS, DEPTH), total)
        k, v = nn.split(self.kv(x).reshape(b, s, 2 * GROUPS, DEPTH), 2, axis=2)
        self.keys.append(nn.squeeze(_rotate(k, total), axis=0))
        self.values.append(nn.squeeze(v, axis=0))
        k = nn.unsqueeze(self.keys.view(total), 0)
        v = nn.unsqueeze(self.values.view(total), 0)
        k, v = (each.repeat(HEADS // GROUPS, axis=2) for each in (k, v))
        q, k, v = (each.permute_dims(0, 2, 1, 3) for each in (q, k, v))
        scores = nn.matmul(q, k.permute_dims(0, 1, 3, 2)) / DEPTH**0.5
        scores = nn.softmax(scores.maximum(-3e38) + mask, axis=-1)
        made = nn.matmul(scores, v).permute_dims(0, 2, 1, 3)
        return self.out(made.reshape(b, s, HEADS * DEPTH))


class Layer(nn.Module):
    def __init__(self):
        self.attention_norm = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.attention = Attention()
        self.norm = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.gate_up = nn.Linear(HIDDEN, 2 * INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x, mask, total):
        x = x + self.attention(self.attention_norm(x), mask, total)
        gate, up = nn.split(self.gate_up(self.norm(x)), 2, axis=-1)
        return x + self.down(nn.silu(gate) * up)


class Decoder(nn.Module):
    def __init__(self):
        self.embed = nn.Embedding("vocabulary", HIDDEN)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.head = nn.Linear(HIDDEN, "vocabulary", bias=False)

    def _scores(self, tokens, mask, total):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, mask, total)
        return self.head(self.norm(x))

    def prefill(self, tokens, total):
        length = tokens.shape[1]
        mask = nn.triu(nn.full((1, 1, length, total), -3e38), 1)
        return self._scores(tokens, mask, total)

    def decode(self, tokens, total):
        return self._scores(tokens, nn.zeros((1, 1, 1, total)), total)


def _norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def _rotated(x):
    half = DEPTH // 2
    angles = np.arange(len(x))[:, None] / THETA ** (np.arange(half) * 2 / DEPTH)
    sines, cosines = (np.tile(f(angles), 2)[:, None] for f in (np.sin, np.cos))
    return x * cosines + np.concatenate([-x[..., half:], x[..., :half]], -1) * sines


def _expected(tokens, w):
    x = w["embed.weight"][tokens].astype("float64")
    count = len(tokens)
    for i in range(LAYERS):
        p = {k.removeprefix(f"layers.{i}."): v for k, v in w.items() if f"layers.{i}." in k}
        y = _norm(x, p["attention_norm.weight"])
        q = _rotated((y @ p["attention.q.weight"].T).reshape(count, HEADS, DEPTH))
        kv = (y @ p["attention.kv.weight"].T).reshape(count, 2 * GROUPS, DEPTH)
        k, v = _rotated(kv[:, :GROUPS]), kv[:, GROUPS:]
        k, v = (np.repeat(each, HEADS // GROUPS, 1) for each in (k, v))
        scores = np.einsum("shd,thd->hst", q, k) / DEPTH**0.5
        scores = np.where(np.tri(count, dtype=bool), scores, -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        made = np.einsum("hst,thd->shd", scores / scores.sum(-1, keepdims=True), v)
        x = x + made.reshape(count, -1) @ p["attention.out.weight"].T
        gate, up = np.split(_norm(x, p["norm.weight"]) @ p["gate_up.weight"].T, 2, -1)
        x = x + (gate / (1 + np.exp(-gate)) * up) @ p["down.weight"].T
    return _norm(x, w["norm.weight"]) @ w["head.weight"].T


def test_a_decoder_with_a_cache_gives_what_numpy_gives():
    spec = {"tokens": nn.spec.Tensor([1, "length"], "int32"), "total": int}
    one = {"tokens": nn.spec.Tensor([1, 1], "int32"), "total": int}
    modes = {"param_mode": "packed", "effect_mode": "packed"}
    module, params = Decoder().export_tvm({
        "prefill": {**spec, "$": modes}, "decode": {**one, "$": modes},
    })  # fmt: skip
    assert [name for name, _ in params][:2] == ["embed.weight", "layers.0.attention_norm.weight"]
    rng = np.random.default_rng(0)
    weights = {
        name: rng.normal(
            scale=0.2, size=[d if isinstance(d, int) else VOCABULARY for d in param.shape]
        ).astype("float32")
        for name, param in params
    }
    vm = relax.VirtualMachine(relax_mlir.compile(module))
    tokens = rng.integers(0, VOCABULARY, 9).astype("int32")
    packed = tuple(weights.values())
    state = vm["_initialize_effect"]()
    scores, state = vm["prefill"](tokens[None, :5], (5,), state, packed)
    found = [np.asarray(scores)[0]]
    for count in range(5, len(tokens)):
        scores, state = vm["decode"](tokens[None, count : count + 1], (count + 1,), state, packed)
        found.append(np.asarray(scores)[0])
    np.testing.assert_allclose(np.concatenate(found), _expected(tokens, weights), 1e-4, 1e-5)
