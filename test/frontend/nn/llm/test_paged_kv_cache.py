"""Paged caches against attention of numpy over whole sequences."""

import functools
import json
from typing import Any

import ml_dtypes  # noqa: F401
import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import ArgumentTypeError, ModelError, StatefulCallError
from relax_mlir.frontend import nn
from relax_mlir.frontend.nn.llm import attention
from relax_mlir.frontend.nn.llm.kv_cache import (
    PagedKVCache,
    RopeMode,
    TIRPagedKVCache,
    llama_rope_with_position_map,
)

LAYERS, HEADS, KV_HEADS, DIM, PAGE = 2, 6, 3, 8, 4
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip


def builtin(name: str, *args: Any) -> Any:
    return relax_mlir.get_global_func(f"vm.builtin.{name}")(*args)


def make(**options: Any) -> Any:
    given = {
        "attn_kind": "mha", "support_sliding_window": 0, "rope_mode": RopeMode.NONE,
        "rope_scaling": {}, "dtype": "float32", **options,
    }  # fmt: skip
    return program(json.dumps(given))["create"]((6,), (160,))


@functools.cache
def program(text: str) -> relax.VirtualMachine:
    given = json.loads(text)

    class Model(nn.Module):
        def create(self, max_batch_size: Any, max_total_seq_len: Any) -> TIRPagedKVCache:
            return TIRPagedKVCache(
                max_batch_size=max_batch_size, max_total_seq_len=max_total_seq_len,
                prefill_chunk_size=64, page_size=PAGE, layer_partition=relax.ShapeExpr([0, LAYERS]),
                num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS,
                qk_head_dim=DIM, v_head_dim=DIM, mla_original_qk_head_dim=0,
                mla_original_v_head_dim=0, rope_scale=1, rope_theta=100,
                rope_ext_factors=relax.PrimValue(0), rotary_dim=DIM, enable_disaggregation=False,
                **given,
            )  # fmt: skip

    mod, _ = Model().export_tvm({"create": {"max_batch_size": int, "max_total_seq_len": int}})
    return relax.VirtualMachine(relax_mlir.compile(mod), relax_mlir.cpu())


def frequencies(scaling: dict[str, Any]) -> np.ndarray:
    result = 100.0 ** (-np.arange(0, DIM, 2) / DIM)
    if scaling.get("rope_type") == "llama3":
        smooth = (result * 64 / (2 * np.pi) - 1.0) / (4.0 - 1.0)
        smooth = np.clip(smooth, 0.0, 1.0)
        result = result * (smooth + (1 - smooth) / 8.0)
    return result


def rotated(x: np.ndarray, positions: Any, scaling: dict[str, Any]) -> np.ndarray:
    angle = np.asarray(positions)[:, None, None] * frequencies(scaling)
    out = x.astype("float64")
    gptj = scaling.get("rope_type") == "gptj"
    low, high = (
        (slice(0, None, 2), slice(1, None, 2))
        if gptj
        else (slice(0, DIM // 2), slice(DIM // 2, None))
    )
    a, b = out[..., low].copy(), out[..., high].copy()
    out[..., low] = a * np.cos(angle) - b * np.sin(angle)
    out[..., high] = b * np.cos(angle) + a * np.sin(angle)
    return out


class Reference:
    """What a cache holds: for each sequence and layer the keys and values, one after another."""

    def __init__(self, cache: Any, mode: RopeMode, scaling: Any, dtype: str) -> None:
        self.cache, self.mode, self.scaling = cache, mode, scaling or {}
        self.dtype = np.dtype(dtype)
        self.tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-5)
        self.rng = np.random.default_rng(1)
        self.kv: dict[int, np.ndarray] = {}
        self.windows: dict[int, tuple[int, int]] = {}
        # For each layer how many of the last tokens a query sees.
        self.layers = [10**6] * LAYERS

    def add(self, name: int) -> None:
        builtin("kv_state_add_sequence", self.cache, name)
        self.kv[name] = np.zeros((2, LAYERS, 0, KV_HEADS, DIM), self.dtype)

    def fork(self, parent: int, child: int, position: int = -1) -> None:
        builtin("kv_state_fork_sequence", self.cache, parent, child, position)
        length = self.kv[parent].shape[2] if position == -1 else position
        self.kv[child] = self.kv[parent][:, :, :length]

    def pop(self, name: int, count: int) -> None:
        builtin("kv_state_popn", self.cache, name, count)
        self.kv[name] = self.kv[name][:, :, : self.kv[name].shape[2] - count]

    def window(self, name: int, size: int, sink: int) -> None:
        call = "attention_kv_cache_enable_sliding_window_for_seq"
        builtin(call, self.cache, name, size, sink)
        self.windows[name] = size, sink

    def forward(self, counts: dict[int, int], parents: dict[int, list[int]] | None = None) -> None:
        flat = (
            None
            if parents is None
            else [p for name in counts for p in parents[name][-counts[name] :]]
        )
        builtin("kv_state_begin_forward", self.cache, list(counts), list(counts.values()), flat)
        new = {
            n: self.rng.standard_normal((LAYERS, c, HEADS + 2 * KV_HEADS, DIM)).astype(self.dtype)
            for n, c in counts.items()
        }
        positions = {}
        for name, count in counts.items():
            begin = self.kv[name].shape[2]
            positions[name] = list(range(begin, begin + count))
            if parents is not None:
                tree = parents[name]
                depths = [len(path(tree, node)) - 1 for node in range(len(tree))]
                positions[name] = [begin + count - len(tree) + d for d in depths[-count:]]
            k = new[name][:, :, HEADS : HEADS + KV_HEADS]
            if self.mode is RopeMode.NORMAL:
                k = np.stack([rotated(each, positions[name], self.scaling) for each in k])
            v = new[name][:, :, HEADS + KV_HEADS :]
            added = np.stack([k, v]).astype(self.dtype)
            self.kv[name] = np.concatenate([self.kv[name], added], axis=2)
        found = builtin("attention_kv_cache_get_query_positions", self.cache)
        assert found.tolist() == [p for each in positions.values() for p in each]
        for layer in range(LAYERS):
            qkv = np.concatenate([new[name][layer] for name in counts])
            output = np.empty((len(qkv), HEADS, DIM), self.dtype)
            scale = DIM**-0.5
            builtin(
                "attention_kv_cache_attention_with_fused_qkv", self.cache, layer, scale, qkv, output
            )
            start = 0
            for name, count in counts.items():
                expected = self.attention(
                    name, layer, new[name][layer, :, :HEADS], positions[name],
                    None if parents is None else parents[name],
                )  # fmt: skip
                found = output[start : start + count].astype("float64")
                np.testing.assert_allclose(
                    found, expected, rtol=self.tolerance, atol=self.tolerance
                )
                start += count
        builtin("kv_state_end_forward", self.cache)
        for name in counts:
            size, sink = self.windows.get(name, (10**6, 0))
            kept = self.kv[name]
            if kept.shape[2] > size:
                last = kept[:, :, kept.shape[2] - size + sink :]
                self.kv[name] = np.concatenate([kept[:, :, :sink], last], axis=2)
        self.check()

    def attention(
        self, name: int, layer: int, q: np.ndarray, positions: Any, tree: list[int] | None
    ) -> np.ndarray:
        k, v = self.kv[name][:, layer].astype("float64")
        total, count = len(k), len(q)
        q = q.astype("float64")
        if self.mode is not RopeMode.NONE:
            q = rotated(q, positions, self.scaling)
        if self.mode is RopeMode.INLINE:
            k = rotated(k, np.arange(total), self.scaling)
        mine, theirs = np.arange(total - count, total)[:, None], np.arange(total)[None]
        seen = (theirs <= mine) & (theirs > mine - self.layers[layer])
        if tree is not None:
            first = total - len(tree)
            for i in range(count):
                ancestors = [first + node for node in path(tree, len(tree) - count + i)]
                seen[i] = (theirs[0] < first) | np.isin(theirs[0], ancestors)
        group = HEADS // KV_HEADS
        scores = np.einsum("qhd,khd->hqk", q, np.repeat(k, group, 1)) * DIM**-0.5
        weights = np.exp(scores - scores.max(-1, keepdims=True)) * seen
        weights /= weights.sum(-1, keepdims=True)
        return np.einsum("hqk,khd->qhd", weights, np.repeat(v, group, 1))

    def check(self) -> None:
        for name, kv in self.kv.items():
            k, v = (np.empty(kv.shape[1:], self.dtype) for _ in range(2))
            builtin("attention_kv_cache_debug_get_kv", self.cache, name, 0, kv.shape[2], k, v)
            found = np.stack([k, v]).astype("float64")
            np.testing.assert_allclose(found, kv.astype("float64"), rtol=self.tolerance, atol=1e-5)
        total = sum(kv.shape[2] for kv in self.kv.values())
        assert builtin("attention_kv_cache_get_total_sequence_length", self.cache) == total

    def remove_all(self) -> None:
        for name in list(self.kv):
            builtin("kv_state_remove_sequence", self.cache, name)
            del self.kv[name]
            self.check()
        assert builtin("attention_kv_cache_empty", self.cache)


def path(tree: list[int], node: int) -> list[int]:
    return [] if node == -1 else [*path(tree, tree[node]), node]


@pytest.mark.parametrize(
    ("mode", "scaling", "dtype"),
    [
        (RopeMode.NONE, None, "float32"),
        (RopeMode.NORMAL, LLAMA3, "float16"),
        (RopeMode.INLINE, {"rope_type": "gptj"}, "float32"),
    ],
)
@pytest.mark.slow
def test_sequences_grow_fork_and_shrink(mode: RopeMode, scaling: Any, dtype: str) -> None:
    window = int(mode is RopeMode.INLINE)
    cache = make(
        rope_mode=mode, rope_scaling=scaling or {}, dtype=dtype, support_sliding_window=window
    )  # fmt: skip
    reference = Reference(cache, mode, scaling, dtype)
    for name in range(3):
        reference.add(name)
    reference.forward({0: 7, 1: 1, 2: 4})
    reference.forward({0: 1, 1: 1, 2: 1})
    # Of a page in part, of whole pages, of all; and writes to pages that were shared.
    reference.fork(0, 3, 6)
    reference.fork(0, 4, 4)
    reference.fork(0, 5)
    reference.forward({3: 3, 5: 1, 0: 2})
    reference.pop(0, 5)
    reference.pop(4, 4)
    reference.forward({0: 1, 4: 9, 2: 1})
    reference.check()
    reference.remove_all()
    if mode is RopeMode.INLINE:
        return
    tree = [-1, 0, 0, 1, 1, -1, 5]
    for name, tokens in ((0, 5), (1, 6)):
        reference.add(name)
        reference.forward({name: tokens})
    reference.forward({0: 7, 1: 3}, {0: tree, 1: tree[:3]})
    # The tree of 1 grows in a second pass.
    with pytest.raises(StatefulCallError, match="commit a path"):
        builtin("kv_state_popn", cache, 1, 1)
    reference.forward({1: 2}, {1: tree[:5]})
    builtin("attention_kv_cache_commit_accepted_token_tree_nodes", cache, [0, 1], [6, 4])
    for name, nodes, first in ((0, [5, 6], 5), (1, [0, 1, 4], 6)):
        kept = [*range(first), *(first + node for node in nodes)]
        reference.kv[name] = reference.kv[name][:, :, kept]
    reference.check()
    reference.forward({0: 1, 1: 2})
    reference.remove_all()


@pytest.mark.slow
def test_windows_of_sequences_and_of_layers() -> None:
    mode, scaling = RopeMode.INLINE, {"rope_type": "gptj"}
    cache = make(rope_mode=mode, rope_scaling=scaling, support_sliding_window=1)
    reference = Reference(cache, mode, scaling, "float32")
    for name, (size, sink) in enumerate([(9, 0), (10, 6), (5, 4)]):
        reference.add(name)
        reference.window(name, size, sink)
    reference.add(3)
    reference.forward({0: 3, 1: 12, 2: 4, 3: 6})
    for count in (1, 5, 1, 1, 13, 1):
        reference.forward(dict.fromkeys(range(4), count))
    reference.fork(1, 4)
    reference.forward({1: 1, 4: 3})
    reference.remove_all()
    cache = make(
        attn_kind=["mha_sliding", "mha"], layer_sliding_window_size=5,
        rope_mode=RopeMode.NORMAL, dtype="bfloat16",
    )  # fmt: skip
    reference = Reference(cache, RopeMode.NORMAL, None, "bfloat16")
    reference.layers[0] = 5
    reference.add(0)
    for count in (3, 7, 1, 1):
        reference.forward({0: count})


def test_packed_attention_is_merged() -> None:
    rng = np.random.default_rng(2)
    f32 = np.float32
    q, k = (rng.standard_normal((9, n, DIM)).astype(f32) for n in (HEADS, KV_HEADS))
    v = rng.standard_normal((9, KV_HEADS, 5)).astype(f32)
    bounds = np.array([0, 2, 9], np.int32)
    ragged = relax_mlir.tir.build(
        attention._attention_prefill_ragged_cpu(KV_HEADS, HEADS, DIM, 5, "float32", {})
    )
    merge = relax_mlir.tir.build(attention._merge_state_inplace_cpu("float32"))
    zeros = np.zeros(9, np.int32)

    def attend(begin: np.ndarray, keys: np.ndarray, values: np.ndarray) -> list[np.ndarray]:
        out, lse = np.empty((9, HEADS, 5), f32), np.empty((9, HEADS), f32)
        ragged(q, bounds, keys, values, begin, zeros, zeros[:2], out, lse, 0, 0, 1.0, 1e4, 0.5)
        return [out, lse]

    whole = attend(bounds, k, v)
    # The first key of each sequence, and the others.
    first, rest = [0, 2], [1, 3, 4, 5, 6, 7, 8]
    parts = attend(np.array([0, 1, 2], np.int32), k[first], v[first])
    merge(*parts, *attend(np.array([0, 1, 7], np.int32), k[rest], v[rest]))
    np.testing.assert_allclose(parts[0], whole[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(parts[1], whole[1], rtol=1e-5, atol=1e-6)
    none = attend(np.zeros(3, np.int32), k[:0], v[:0])
    assert not none[0].any()


class Model(nn.Module):
    def attend(self, qkv: nn.Tensor, cache: PagedKVCache) -> nn.Tensor:
        result = cache.attention_with_fused_qkv(0, qkv, HEADS, DIM**-0.5)
        b, s = qkv.shape[:2]
        k, v = (nn.op.zeros((b, s, KV_HEADS, DIM), "float32") for _ in range(2))
        return cache.attention_with_shared_kv(0, result, k, v, DIM**-0.5)


def test_a_model_takes_a_cache() -> None:
    spec = {"attend": {"qkv": nn.spec.Tensor([1, "n", HEADS + 2 * KV_HEADS, DIM], "float32"),
                       "cache": nn.spec.Object(object_type=PagedKVCache)}}  # fmt: skip
    mod, _ = Model().export_tvm(spec)
    vm = relax.VirtualMachine(relax_mlir.compile(mod), relax_mlir.cpu())
    cache = make()
    reference = Reference(cache, RopeMode.NONE, None, "float32")
    reference.add(0)
    qkv = reference.rng.standard_normal((1, 5, HEADS + 2 * KV_HEADS, DIM)).astype("float32")
    builtin("kv_state_begin_forward", cache, [0], [5])
    found = vm["attend"](qkv, cache)
    q, k, v = np.split(qkv[0], [HEADS, HEADS + KV_HEADS], axis=1)
    reference.kv[0] = np.stack([k, v])[:, None]
    once = reference.attention(0, 0, q, None, None)
    np.testing.assert_allclose(found[0], reference.attention(0, 0, once, None, None), atol=1e-5)


@pytest.mark.slow
def test_mistakes() -> None:
    cache = make()
    reference = Reference(cache, RopeMode.NONE, None, "float32")
    reference.add(0)
    qkv = np.zeros((1, HEADS + 2 * KV_HEADS, DIM), "float32")
    out = np.zeros((1, HEADS, DIM), "float32")
    attend = "attention_kv_cache_attention_with_fused_qkv"
    for match, name, *args in [
        ("no forward pass", attend, 0, 1.0, qkv, out),
        ("no sequence 7", "kv_state_popn", 7, 1),
        ("0 tokens, not 1", "kv_state_popn", 0, 1),
        ("sequence 0 already", "kv_state_add_sequence", 0),
        ("without windows", "attention_kv_cache_enable_sliding_window_for_seq", 0, 4, 1),
        ("1 to 64 tokens", "kv_state_begin_forward", [0], [65]),
        ("once", "kv_state_begin_forward", [0, 0], [1, 1]),
        ("before their children", "kv_state_begin_forward", [0], [2], [1, -1]),
        ("0 nodes", "attention_kv_cache_commit_accepted_token_tree_nodes", [0], [0]),
    ]:
        with pytest.raises(StatefulCallError, match=match):
            builtin(name, cache, *args)
    for _ in range(2):
        reference.forward({0: 64})
    with pytest.raises(StatefulCallError, match="9 free pages, 16 are needed"):
        builtin("kv_state_begin_forward", cache, [0], [64])
    reference.forward({0: 3})
    builtin("kv_state_begin_forward", cache, [0], [2])
    with pytest.raises(ArgumentTypeError, match="qkv has shape"):
        builtin(attend, cache, 0, 1.0, qkv, out)
    name = "attention_kv_cache_attention_with_shared_kv"
    with pytest.raises(StatefulCallError, match="has not run"):
        builtin(name, cache, 1, 1.0, out, out, out, out)
    with pytest.raises(ArgumentTypeError, match="paged cache"):
        builtin("kv_state_clear", "cache")
    with pytest.raises(StatefulCallError, match="RopeMode"):
        make(support_sliding_window=1, rope_mode=RopeMode.NORMAL)
    with pytest.raises(ModelError, match="attn_kind is mha or mha_sliding, got mla"):
        make(attn_kind="mla")
    with pytest.raises(ModelError, match="rope_type is one of"):
        llama_rope_with_position_map(1e4, 1.0, DIM, 2, 1, "float32", {"rope_type": "yarn"})
