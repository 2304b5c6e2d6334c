# ruff: noqa: ANN202, F821
# pyright: reportUndefinedVariable=false, reportAssignmentType=false
# pyright: reportArgumentType=false, reportIndexIssue=false
"""Prim funcs that move keys and values between tensors and the pages of a cache, for CPUs.

Pages have the shape (pages, 2, heads, page size, head dimension): keys at 0, values at 1. The place
of a token is its page times the page size plus where it is in the page.
"""

from typing import Any

from relax_mlir.script import tir as T


def _kv_cache_transpose_append(
    num_key_value_heads: int, head_dim: int, dtype: str, page_size: int = 16
) -> Any:
    """Return the prim func that puts keys and values (tokens, heads, head_dim) at their places.

    It takes pages, keys, values and places; a token of place -1 is left out.
    """

    @T.prim_func
    def kv_cache_transpose_append(
        pages: T.Buffer(("num_pages", 2, num_key_value_heads, page_size, head_dim), dtype),
        k: T.Buffer(("total", num_key_value_heads, head_dim), dtype),
        v: T.Buffer(("total", num_key_value_heads, head_dim), dtype),
        position_map: T.Buffer(("total",), "int32"),
    ):
        for i in range(total):
            place: T.int32 = position_map[i]
            if place != -1:
                for h in range(num_key_value_heads):
                    for d in range(head_dim):
                        pages[place // page_size, 0, h, place % page_size, d] = k[i, h, d]
                        pages[place // page_size, 1, h, place % page_size, d] = v[i, h, d]

    return kv_cache_transpose_append


def _kv_cache_debug_get_kv(
    num_hidden_layers: int, num_key_value_heads: int, head_dim: int, dtype: str
) -> Any:
    """Return the prim func that copies the keys and values at some places.

    It takes pages, places, keys and values to write to, (layers, tokens, heads, head_dim), and
    which layer these pages are of.
    """

    @T.prim_func
    def kv_cache_debug_get_kv(
        pages: T.Buffer(("num_pages", 2, num_key_value_heads, "page_size", head_dim), dtype),
        position_map: T.Buffer(("total",), "int32"),
        k: T.Buffer((num_hidden_layers, "total", num_key_value_heads, head_dim), dtype),
        v: T.Buffer((num_hidden_layers, "total", num_key_value_heads, head_dim), dtype),
        layer_id: T.int64,
    ):
        for i, h, d in T.grid(total, num_key_value_heads, head_dim):
            place: T.int64 = T.Cast("int64", position_map[i])
            k[layer_id, i, h, d] = pages[place // page_size, 0, h, place % page_size, d]
            v[layer_id, i, h, d] = pages[place // page_size, 1, h, place % page_size, d]

    return kv_cache_debug_get_kv


def _copy_single_page_cpu(num_heads: int, page_size: int, head_dim: int, dtype: str) -> Any:
    """Return the prim func that copies the first tokens of a page to another page."""

    @T.prim_func
    def copy_single_page_cpu(
        pages: T.Buffer(("num_pages", 2, num_heads, page_size, head_dim), dtype),
        src_page_id: T.int64,
        tgt_page_id: T.int64,
        copy_length: T.int64,
    ):
        for kv, h, p, d in T.grid(2, num_heads, copy_length, head_dim):
            pages[tgt_page_id, kv, h, p, d] = pages[src_page_id, kv, h, p, d]

    return copy_single_page_cpu


def _compact_kv_copy_cpu(num_heads: int, head_dim: int, dtype: str, page_size: int = 16) -> Any:
    """Return the prim func that moves tokens of several sequences to other places, in their order.

    It takes pages, where each sequence begins among the places, the places (from, to) and the
    number of sequences.
    """

    @T.prim_func
    def compact_kv_copy_cpu(
        pages: T.Buffer(("num_pages", 2, num_heads, page_size, head_dim), dtype),
        copy_length_indptr: T.Buffer(("bounds",), "int32"),
        copy_src_dst_pos: T.Buffer((2, "total"), "int32"),
        batch_size: T.int32,
    ):
        for i in range(copy_length_indptr[batch_size]):
            src: T.int32 = copy_src_dst_pos[0, i]
            dst: T.int32 = copy_src_dst_pos[1, i]
            for kv, h, d in T.grid(2, num_heads, head_dim):
                pages[dst // page_size, kv, h, dst % page_size, d] = pages[
                    src // page_size, kv, h, src % page_size, d
                ]

    return compact_kv_copy_cpu
