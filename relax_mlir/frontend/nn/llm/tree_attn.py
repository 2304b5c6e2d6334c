# ruff: noqa: ANN001, ANN202, F821
# pyright: reportUndefinedVariable=false, reportAssignmentType=false
# pyright: reportArgumentType=false, reportIndexIssue=false
"""Prim funcs of attention of the nodes of token trees, as drafts of several continuations are."""

from typing import Any

from relax_mlir.frontend.nn.llm.attention import _attend, _packed_parts, _page_parts
from relax_mlir.script import tir as T


@T.macro(hygienic=False)
def _ancestors(b, i, n, t):
    """Write whether a key is of a token before the tree or of an ancestor."""
    size: T.int32 = tree_indptr[b + 1] - tree_indptr[b]
    node: T.int32 = t - (count[0] - size)
    seen[0] = True
    if node >= 0:
        mine: T.int32 = tree_order[tree_indptr[b] + size - n + i, 0]
        seen[0] = (
            mine >= tree_order[tree_indptr[b] + node, 0]
            and mine < tree_order[tree_indptr[b] + node, 1]
        )


def tree_attn_cpu(h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: dict[str, Any]) -> Any:
    """Return the prim func of attention of the nodes of token trees to packed keys and values.

    `mask` has for each node of each tree its number in preorder, and the first number behind its
    descendants; `mn_indptr` says where each tree begins. A node sees what is before its tree, its
    ancestors and itself.

    Args:
        h_kv: number of heads of keys and values.
        h_q: number of query heads.
        d: size of a head.
        dtype: of all tensors.
        rope_scaling: as for `llama_rope_with_position_map`.

    Raises:
        ModelError: a `rope_type` that is not known.
    """
    attend = _attend(
        h_kv, h_q // h_kv, (d, d), dtype, rope_scaling, _packed_parts((d, d), True, _ancestors)
    )

    @T.prim_func
    def batch_tree_attn_cpu(
        q: T.Buffer(("total", h_q, d), dtype),
        q_indptr: T.Buffer(("batch + 1",), "int32"),
        k: T.Buffer(("kv_total", h_kv, d), dtype),
        v: T.Buffer(("kv_total", h_kv, d), dtype),
        kv_indptr: T.Buffer(("batch + 1",), "int32"),
        q_rope_position: T.Buffer(("total",), "int32"),
        tree_indptr: T.Buffer(("batch + 1",), "int32"),
        tree_order: T.Buffer(("nodes", 2), "int32"),
        output: T.Buffer(("total", h_q, d), dtype),
        lse: T.Buffer(("total", h_q), "float32"),
        rotary_mode: T.int32,
        rope_scale: T.float32,
        rope_theta: T.float32,
        sm_scale: T.float32,
    ):
        attend()

    return batch_tree_attn_cpu


def tree_attn_with_paged_kv_cache_cpu(
    h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: dict[str, Any], page_size: int = 16
) -> Any:
    """Return the prim func of attention of the nodes of token trees to their pages.

    Args:
        h_kv: number of heads of keys and values.
        h_q: number of query heads.
        d: size of a head.
        dtype: of all tensors.
        rope_scaling: as for `tree_attn_cpu`, with the same order of nodes.
        page_size: tokens of a page.

    Raises:
        ModelError: a `rope_type` that is not known.
    """
    parts = _page_parts(d, page_size, False, _ancestors)
    attend = _attend(h_kv, h_q // h_kv, (d, d), dtype, rope_scaling, parts)

    @T.prim_func
    def tree_attn_paged_kv_cpu(
        q: T.Buffer(("total", h_q, d), dtype),
        q_indptr: T.Buffer(("batch + 1",), "int32"),
        pages: T.Buffer(("num_pages", 2, h_kv, page_size, d), dtype),
        page_indptr: T.Buffer(("batch + 1",), "int32"),
        page_values: T.Buffer(("used",), "int32"),
        length_info: T.Buffer(("batch",), "int32"),
        k_rope_pos_offset: T.Buffer(("batch",), "int32"),
        q_rope_position: T.Buffer(("total",), "int32"),
        output: T.Buffer(("total", h_q, d), dtype),
        lse: T.Buffer(("total", h_q), "float32"),
        rotary_mode: T.int32,
        rope_scale: T.float32,
        rope_theta: T.float32,
        sm_scale: T.float32,
        tree_indptr: T.Buffer(("batch + 1",), "int32"),
        tree_order: T.Buffer(("nodes", 2), "int32"),
    ):
        attend()

    return tree_attn_paged_kv_cpu
