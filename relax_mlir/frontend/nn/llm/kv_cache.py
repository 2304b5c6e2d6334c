"""Paged caches of keys and values: TVM's `frontend.nn.llm.kv_cache`, for CPUs.

A method of a model makes a cache, `TIRPagedKVCache`, and others take it, as
`nn.spec.Object(object_type=PagedKVCache)`. Between two calls of them the builtins
`vm.builtin.kv_state_*` say which sequences get tokens.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import ModelError
from relax_mlir.frontend.nn.core import Object
from relax_mlir.frontend.nn.llm.attention import (
    _attention_decode_cpu,
    _attention_prefill_cpu,
    _attention_prefill_ragged_cpu,
    _merge_state_inplace_cpu,
)
from relax_mlir.frontend.nn.llm.pages import (
    _compact_kv_copy_cpu,
    _copy_single_page_cpu,
    _kv_cache_debug_get_kv,
    _kv_cache_transpose_append,
)
from relax_mlir.frontend.nn.llm.position_embedding import llama_rope_with_position_map
from relax_mlir.frontend.nn.llm.tree_attn import tree_attn_cpu, tree_attn_with_paged_kv_cache_cpu
from relax_mlir.frontend.nn.tensor import Tensor, current_builder
from relax_mlir.relax import op
from relax_mlir.relax.expr import (
    ObjectType,
    PrimValue,
    ShapeExpr,
    StringImm,
    TensorType,
    Tuple,
    const,
)
from relax_mlir.runtime.bytecode.paged_kv_cache import AttnKind, RopeMode

__all__ = [
    "AttnKind", "PagedKVCache", "RopeMode", "TIRPagedKVCache", "_attention_decode_cpu",
    "_attention_prefill_cpu", "_attention_prefill_ragged_cpu", "_compact_kv_copy_cpu",
    "_copy_single_page_cpu", "_kv_cache_debug_get_kv", "_kv_cache_transpose_append",
    "_merge_state_inplace_cpu", "llama_rope_with_position_map", "tree_attn_cpu",
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


class TIRPagedKVCache(PagedKVCache):
    """A cache that the program makes, with the prim funcs of this package as its kernels.

    Args:
        attn_kind: `mha` or `mha_sliding`, or one of them for each layer.
        max_batch_size: most sequences; this and the next four may be symbolic.
        max_total_seq_len: most tokens of all sequences.
        prefill_chunk_size: most tokens of a forward pass.
        page_size: tokens of a page, 16 where it is symbolic.
        support_sliding_window: 1 if single sequences may get a window, else 0.
        layer_partition: the first layer and the one behind the last.
        num_hidden_layers: number of layers.
        num_attention_heads: number of query heads.
        num_key_value_heads: number of heads of keys and values.
        qk_head_dim: size of a head of queries and keys.
        v_head_dim: size of a head of values, the same.
        mla_original_qk_head_dim: of latent attention, which is not supported.
        mla_original_v_head_dim: likewise.
        rope_mode: where rotary embeddings are applied.
        rope_scale: what positions are multiplied by.
        rope_theta: base of the frequencies.
        rope_scaling: how they are scaled, as in the configuration of a model.
        rope_ext_factors: factors of frequencies, which are not supported; `PrimValue(0)` for none.
        rotary_dim: how many features of a head are rotated.
        enable_disaggregation: whether pages go to other machines, which is not supported.
        dtype: of keys and values.
        target: what the program is compiled for.
        name: of the variable.
        layer_sliding_window_size: how many tokens layers of the kind `mha_sliding` see.

    Raises:
        ModelError: another kind of attention, or a `rope_type` that is not known.
    """

    def __init__(
        self, attn_kind: str | Sequence[str], max_batch_size: Any, max_total_seq_len: Any,
        prefill_chunk_size: Any, page_size: Any, support_sliding_window: Any, layer_partition: Any,
        num_hidden_layers: int, num_attention_heads: int, num_key_value_heads: int,
        qk_head_dim: int, v_head_dim: int, mla_original_qk_head_dim: int,
        mla_original_v_head_dim: int, rope_mode: RopeMode, rope_scale: float, rope_theta: float,
        rope_scaling: dict[str, Any], rope_ext_factors: Any, rotary_dim: int,
        enable_disaggregation: bool, dtype: str, target: Any = None, name: str = "paged_kv_cache",
        *, layer_sliding_window_size: int = 1024,
    ) -> None:  # fmt: skip
        heads, kv, dim = num_attention_heads, num_key_value_heads, qk_head_dim
        size = page_size if isinstance(page_size, int) else 16
        kinds = [attn_kind] * num_hidden_layers if isinstance(attn_kind, str) else attn_kind
        if unknown := set(kinds) - {"mha", "mha_sliding"}:
            raise ModelError(f"attn_kind is mha or mha_sliding, got {', '.join(sorted(unknown))}")
        shape = dim, dtype
        attention = kv, heads, dim, dtype

        def kernel(func: Any) -> Any:
            return current_builder().add_func(func, func.name)

        def attend(func: Any) -> Tuple:
            return Tuple([StringImm("tirx"), kernel(func)])

        none = Tuple([])
        window = layer_sliding_window_size
        sizes = (max_batch_size, max_total_seq_len, prefill_chunk_size, page_size,
                 support_sliding_window, window)  # fmt: skip
        made = op.call_pure_packed(
            "vm.builtin.paged_attention_kv_cache_create",
            ShapeExpr(sizes), layer_partition, PrimValue(heads), PrimValue(kv), PrimValue(dim),
            PrimValue(v_head_dim), ShapeExpr([int(AttnKind[kind.upper()]) for kind in kinds]),
            PrimValue(int(enable_disaggregation)), PrimValue(int(rope_mode)),
            const(float(rope_scale), "float64"), const(float(rope_theta), "float64"),
            rope_ext_factors, op.zeros((), dtype),
            kernel(_kv_cache_transpose_append(kv, *shape, size)), none, none,
            attend(_attention_prefill_cpu(*attention, False, rope_scaling, size)),
            attend(_attention_decode_cpu(*attention, False, rope_scaling, size)),
            attend(_attention_prefill_cpu(*attention, True, rope_scaling, size, window)),
            attend(_attention_decode_cpu(*attention, True, rope_scaling, size)),
            attend(tree_attn_with_paged_kv_cache_cpu(*attention, rope_scaling, size)),
            none, none, none,
            kernel(llama_rope_with_position_map(
                rope_theta, rope_scale, dim, heads, kv, dtype, rope_scaling, rotary_dim
            )),
            kernel(_copy_single_page_cpu(kv, size, *shape)),
            kernel(_kv_cache_debug_get_kv(num_hidden_layers, kv, *shape)),
            kernel(_compact_kv_copy_cpu(kv, *shape, size)),
            sinfo_args=ObjectType(),
        )  # fmt: skip
        super().__init__(_expr=made, _name=name)
