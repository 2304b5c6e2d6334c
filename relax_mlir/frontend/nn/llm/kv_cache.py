"""Paged caches of keys and values: TVM's `frontend.nn.llm.kv_cache`, for CPUs.

A model takes a cache as an input, `nn.spec.Object(object_type=PagedKVCache)`, that
`create_paged_kv_cache` makes. Between two calls of the model the builtins `vm.builtin.kv_state_*`
say which sequences get tokens.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.relax.constants import numpy_dtype
from relax_mlir.frontend.nn.core import Object
from relax_mlir.frontend.nn.llm.attention import (
    _attention_decode_cpu,
    _attention_prefill_cpu,
    _attention_prefill_ragged_cpu,
    _merge_state_inplace_cpu,
    tree_attn_cpu,
    tree_attn_with_paged_kv_cache_cpu,
)
from relax_mlir.frontend.nn.llm.pages import (
    _compact_kv_copy_cpu,
    _copy_single_page_cpu,
    _kv_cache_debug_get_kv,
    _kv_cache_transpose_append,
)
from relax_mlir.frontend.nn.llm.position_embedding import llama_rope_with_position_map
from relax_mlir.frontend.nn.tensor import Tensor, current_builder
from relax_mlir.ir import IRModule
from relax_mlir.relax import op
from relax_mlir.relax.expr import PrimValue, TensorType, const
from relax_mlir.runtime.bytecode.paged_kv_cache import AttnKind, PagedAttentionKVCache, RopeMode
from relax_mlir.tir.lowering import build

__all__ = [
    "AttnKind", "PagedKVCache", "RopeMode", "_attention_decode_cpu", "_attention_prefill_cpu",
    "_attention_prefill_ragged_cpu", "_compact_kv_copy_cpu", "_copy_single_page_cpu",
    "_kv_cache_debug_get_kv", "_kv_cache_transpose_append", "_merge_state_inplace_cpu",
    "create_paged_kv_cache", "llama_rope_with_position_map", "tree_attn_cpu",
    "tree_attn_with_paged_kv_cache_cpu",
]  # fmt: skip

_PREFIX = "vm.builtin.attention_kv_cache_"


class PagedKVCache(Object):
    """A paged cache as an input of a model."""

    def attention_with_fused_qkv(
        self, layer_id: int, qkv: Tensor, num_qo_heads: int, sm_scale: float
    ) -> Tensor:
        """Append keys and values to a layer, and attend.

        Args:
            layer_id: the layer.
            qkv: (1, tokens, heads, head dimension), or (sequences, 1, ...) where each gets one;
                heads of queries, then of keys, then of values. Rotary embeddings are applied here.
            num_qo_heads: number of query heads.
            sm_scale: what products of queries and keys are multiplied by.

        Returns:
            (1, tokens, num_qo_heads, head dimension), or (sequences, 1, ...).
        """
        b, s, heads, dim = qkv.shape
        return self._attend(
            "attention_with_fused_qkv", layer_id, sm_scale,
            [qkv.reshape(b * s, heads, dim)], num_qo_heads, (b, s),
        )  # fmt: skip

    def attention_with_shared_kv(
        self, source_layer_id: int, q: Tensor, current_k: Tensor, current_v: Tensor, sm_scale: float
    ) -> Tensor:
        """Attend to the keys and values of another layer, which has run in this forward pass.

        Args:
            source_layer_id: the other layer.
            q: (1, tokens, query heads, head dimension), or (sequences, 1, ...).
            current_k: its keys of this pass, of the same form.
            current_v: its values of this pass.
            sm_scale: what products of queries and keys are multiplied by.

        Returns:
            Of the shape of `q`.
        """
        b, s, heads, _ = q.shape
        flat = [t.reshape(b * s, *t.shape[2:]) for t in (q, current_k, current_v)]
        return self._attend(
            "attention_with_shared_kv", source_layer_id, sm_scale, flat, heads, (b, s)
        )

    def get_query_positions(self, total_length: Any) -> Tensor:
        """Return the position of each token of the forward pass in its sequence, int32."""
        made = op.call_pure_packed(
            _PREFIX + "get_query_positions", self._expr,
            sinfo_args=TensorType((total_length,), "int32"),
        )  # fmt: skip
        return Tensor(_expr=current_builder().emit(made))

    def _attend(
        self, name: str, layer: int, scale: float, tensors: list[Tensor], heads: int, lead: Any
    ) -> Tensor:
        b, s = lead
        dim = tensors[-1].shape[-1]
        arguments = [self._expr, PrimValue(layer), const(scale, "float64")]
        made = op.call_dps_packed(
            _PREFIX + name, [*arguments, *(each._expr for each in tensors)],
            TensorType((b * s, heads, dim), tensors[0].dtype),
        )  # fmt: skip
        return Tensor(_expr=current_builder().emit(made)).reshape(b, s, heads, dim)


def create_paged_kv_cache(
    attn_kind: str | Sequence[str],
    max_batch_size: int,
    max_total_seq_len: int,
    prefill_chunk_size: int,
    page_size: int,
    support_sliding_window: bool,
    num_hidden_layers: int,
    num_attention_heads: int,
    num_key_value_heads: int,
    head_dim: int,
    rope_mode: RopeMode,
    rope_scale: float = 1.0,
    rope_theta: float = 10000.0,
    rope_scaling: dict[str, Any] | None = None,
    rotary_dim: int | None = None,
    dtype: str = "float32",
    target: Any = None,
    *,
    layer_sliding_window_size: int = 1024,
) -> PagedAttentionKVCache:
    """Compile the kernels of a paged cache, and make it.

    Args:
        attn_kind: `mha` or `mha_sliding`, or one of them for each layer.
        max_batch_size: most sequences.
        max_total_seq_len: most tokens of all sequences.
        prefill_chunk_size: most tokens of a forward pass.
        page_size: tokens of a page.
        support_sliding_window: whether single sequences may get a window.
        num_hidden_layers: number of layers.
        num_attention_heads: number of query heads.
        num_key_value_heads: number of heads of keys and values.
        head_dim: size of a head.
        rope_mode: where rotary embeddings are applied.
        rope_scale: what positions are multiplied by.
        rope_theta: base of the frequencies.
        rope_scaling: how they are scaled, as in the configuration of a model.
        rotary_dim: how many features of a head are rotated, all if left out.
        dtype: of keys and values.
        target: what the kernels are compiled for.
        layer_sliding_window_size: how many tokens layers of the kind `mha_sliding` see.

    Raises:
        StatefulCallError: the windows and embeddings do not go together.
        ModelError: a `rope_type` that is not known.
    """
    heads, kv, size, scaling = (
        num_attention_heads,
        num_key_value_heads,
        head_dim,
        rope_scaling or {},
    )
    funcs = {
        "transpose_append": _kv_cache_transpose_append(kv, size, dtype, page_size),
        "tree": tree_attn_with_paged_kv_cache_cpu(kv, heads, size, dtype, scaling, page_size),
        "split_rotary": llama_rope_with_position_map(
            rope_theta, rope_scale, size, heads, kv, dtype, scaling, rotary_dim
        ),
        "copy_page": _copy_single_page_cpu(kv, page_size, size, dtype),
        "get_kv": _kv_cache_debug_get_kv(num_hidden_layers, kv, size, dtype),
        "compact": _compact_kv_copy_cpu(kv, size, dtype, page_size),
    }
    for suffix, sliding in (("", False), ("_sliding", True)):
        funcs["prefill" + suffix] = _attention_prefill_cpu(
            kv, heads, size, dtype, sliding, scaling, page_size, layer_sliding_window_size
        )
        funcs["decode" + suffix] = _attention_decode_cpu(
            kv, heads, size, dtype, sliding, scaling, page_size
        )
    built = build(IRModule(funcs), target)
    kinds = [attn_kind] * num_hidden_layers if isinstance(attn_kind, str) else list(attn_kind)
    return PagedAttentionKVCache(
        (max_batch_size, max_total_seq_len, prefill_chunk_size, page_size,
         int(support_sliding_window), layer_sliding_window_size),
        (heads, kv), size, [AttnKind[kind.upper()] for kind in kinds],
        (rope_mode, rope_scale, rope_theta), numpy_dtype(dtype),
        {name: built[name] for name in funcs},
    )  # fmt: skip
