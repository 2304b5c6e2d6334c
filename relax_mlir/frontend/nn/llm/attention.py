# ruff: noqa: ANN001, ANN202, F821
# pyright: reportUndefinedVariable=false, reportAssignmentType=false
# pyright: reportArgumentType=false, reportIndexIssue=false
"""Prim funcs of attention over keys and values that are packed or in pages, for CPUs.

Queries, and packed keys and values, are those of several sequences one after another, (tokens,
heads, head dimension); a prefix sum of lengths, `indptr`, says where each begins. Pages have the
shape (pages, 2, heads, page size, head dimension). `lse` gets the logarithm of the sum of each row
of the softmax, to the base 2 as in TVM.
"""

import math
from typing import Any

from relax_mlir.frontend.nn.llm.position_embedding import rotary_macros
from relax_mlir.script import tir as T

LOG2E = math.log2(math.e)
LEAST = -3.0e38
# How many keys are read before queries meet them.
TILE = 16


def _attend(
    heads: int,
    group: int,
    dims: tuple[int, int],
    dtype: str,
    rope_scaling: dict[str, Any],
    parts: Any,
) -> Any:
    """Return the macro that attention consists of; it names the buffers of what calls it.

    Keys are read once for each sequence and head of keys, some at a time, and each query that sees
    them folds them into its running maximum, sum and weighted sum of values.

    Args:
        heads: number of heads of keys and values.
        group: number of query heads for each of them.
        dims: size of a head of queries and keys, and of values.
        dtype: of the tensors.
        rope_scaling: as for `rotary_macros`.
        parts: macros: what writes the number of keys of a sequence to `count[0]`; a key, its
            position and its value to `key`, `position[0]` and `value`; and whether a query sees a
            key to `seen[0]`.
    """
    length, load, see = parts
    dim, dim_v = dims
    # How many numbers are added up next to each other, as vectors do it.
    lanes, lanes_v = math.gcd(dim, 16), math.gcd(dim_v, 16)
    frequencies, rotate = rotary_macros(dim, rope_scaling)

    @T.macro(hygienic=False)
    def attend():
        weighted = T.alloc_buffer((total, heads * group, dim_v), "float32")
        queries = T.alloc_buffer((total, heads * group, dim), "float32")
        highest = T.alloc_buffer((total, heads * group), "float32")
        sums = T.alloc_buffer((total, heads * group), "float32")
        for task in T.parallel(batch * heads):
            freq = T.alloc_buffer((dim // 2,), "float32")
            row = T.alloc_buffer((dim,), "float32")
            key = T.alloc_buffer((dim,), "float32")
            value = T.alloc_buffer((dim_v,), "float32")
            position = T.alloc_buffer((1,), "int32")
            keys = T.alloc_buffer((TILE, dim), "float32")
            values = T.alloc_buffer((TILE, dim_v), "float32")
            scores = T.alloc_buffer((TILE,), "float32")
            part = T.alloc_buffer((lanes,), "float32")
            part_v = T.alloc_buffer((lanes_v,), "float32")
            best = T.alloc_buffer((1,), "float32")
            factor = T.alloc_buffer((1,), "float32")
            count = T.alloc_buffer((1,), "int32")
            seen = T.alloc_buffer((1,), "bool")
            sequence: T.int32 = task // heads
            head: T.int32 = task % heads
            first: T.int32 = q_indptr[sequence]
            last: T.int32 = q_indptr[sequence + 1]
            if rotary_mode == 1:
                frequencies(freq, rope_theta, rope_scale)
            length(sequence)
            for i in range(first, last):
                for g in range(head * group, (head + 1) * group):
                    highest[i, g] = LEAST
                    sums[i, g] = 0.0
                    for d in range(dim):
                        row[d] = T.Cast("float32", q[i, g, d]) * (sm_scale * LOG2E)
                    for d in range(dim_v):
                        weighted[i, g, d] = 0.0
                    if rotary_mode == 1:
                        rotate(row, freq, q_rope_position[i])
                    for d in range(dim):
                        queries[i, g, d] = row[d]
            for o in range((count[0] + TILE - 1) // TILE):
                for u in range(TILE):
                    for d in range(dim_v):
                        values[u, d] = 0.0
                    if o * TILE + u < count[0]:
                        load(sequence, head, o * TILE + u)
                        if rotary_mode == 1:
                            rotate(key, freq, position[0])
                        for d in range(dim):
                            keys[u, d] = key[d]
                        for d in range(dim_v):
                            values[u, d] = value[d]
                for i in range(first, last):
                    for g in range(head * group, (head + 1) * group):
                        best[0] = highest[i, g]
                        for u in range(TILE):
                            scores[u] = LEAST
                            if o * TILE + u < count[0]:
                                see(sequence, i - first, last - first, o * TILE + u)
                                if seen[0]:
                                    for n in range(lanes):
                                        part[n] = 0.0
                                    for d in range(dim // lanes):
                                        for n in T.vectorized(lanes):
                                            part[n] = part[n] + (
                                                queries[i, g, d * lanes + n]
                                                * keys[u, d * lanes + n]
                                            )
                                    scores[u] = 0.0
                                    for n in range(lanes):
                                        scores[u] = scores[u] + part[n]
                                    best[0] = T.max(best[0], scores[u])
                        if best[0] > LEAST:
                            factor[0] = T.exp2(highest[i, g] - best[0])
                            highest[i, g] = best[0]
                            for u in T.vectorized(TILE):
                                scores[u] = T.exp2(scores[u] - best[0])
                            sums[i, g] = sums[i, g] * factor[0]
                            for u in range(TILE):
                                sums[i, g] = sums[i, g] + scores[u]
                            for d in range(dim_v // lanes_v):
                                for n in T.vectorized(lanes_v):
                                    part_v[n] = weighted[i, g, d * lanes_v + n] * factor[0]
                                for u in range(TILE):
                                    for n in T.vectorized(lanes_v):
                                        part_v[n] = part_v[n] + (
                                            scores[u] * values[u, d * lanes_v + n]
                                        )
                                for n in T.vectorized(lanes_v):
                                    weighted[i, g, d * lanes_v + n] = part_v[n]
            for i in range(first, last):
                for g in range(head * group, (head + 1) * group):
                    # Where nothing is seen the result is 0.
                    lse[i, g] = T.if_then_else(
                        sums[i, g] > 0.0, highest[i, g] + T.log2(sums[i, g]), LEAST
                    )
                    sums[i, g] = T.max(sums[i, g], T.float32(1e-38))
                    for d in range(dim_v):
                        output[i, g, d] = T.Cast(dtype, weighted[i, g, d] / sums[i, g])

    return attend


def _page_parts(dim: int, page_size: int, sliding: bool, see: Any) -> tuple[Any, Any, Any]:
    """Return the macros of `_attend` for keys and values in pages.

    The first `length_info[2]` tokens of a sequence that slides are the first ones of its pages, the
    others begin at `length_info[1]`; its last page has `length_info[0]`.
    """

    @T.macro(hygienic=False)
    def length(b):
        full: T.int32 = (page_indptr[b + 1] - page_indptr[b] - 1) * page_size
        if page_indptr[b + 1] == page_indptr[b]:
            count[0] = 0
        else:
            if sliding:
                count[0] = full + length_info[0, b] - length_info[1, b] + length_info[2, b]
            else:
                count[0] = full + length_info[b]

    @T.macro(hygienic=False)
    def load(b, h, t):
        slot = T.alloc_buffer((1,), "int32")
        slot[0] = t
        if sliding:
            slot[0] = T.if_then_else(
                t >= length_info[2, b], t - length_info[2, b] + length_info[1, b], t
            )
        page: T.int32 = page_values[page_indptr[b] + slot[0] // page_size]
        position[0] = k_rope_pos_offset[b] + t
        for e in range(dim):
            key[e] = T.Cast("float32", pages[page, 0, h, slot[0] % page_size, e])
            value[e] = T.Cast("float32", pages[page, 1, h, slot[0] % page_size, e])

    return length, load, see


def _packed_parts(dims: tuple[int, int], in_tree: bool, see: Any) -> tuple[Any, Any, Any]:
    """Return the macros of `_attend` for packed keys and values, which may be those of trees."""
    dim, dim_v = dims

    @T.macro(hygienic=False)
    def length(b):
        count[0] = kv_indptr[b + 1] - kv_indptr[b]

    @T.macro(hygienic=False)
    def load(b, h, t):
        if in_tree:
            position[0] = q_rope_position[kv_indptr[b] + t]
        else:
            position[0] = k_rope_pos_offset[b] + t
        for e in range(dim):
            key[e] = T.Cast("float32", k[kv_indptr[b] + t, h, e])
        for e in range(dim_v):
            value[e] = T.Cast("float32", v[kv_indptr[b] + t, h, e])

    return length, load, see


def _causal(window: int) -> Any:
    """Return the macro of `_attend` for `causal`: 0 no mask, 1 a mask, 2 a window besides."""

    @T.macro(hygienic=False)
    def see(b, i, n, t):
        seen[0] = causal == 0 or t <= count[0] - n + i
        if causal == 2:
            seen[0] = t <= count[0] - n + i and t > count[0] - n + i - window

    return see


@T.macro(hygienic=False)
def _all(b, i, n, t):
    """Write that a key is seen."""
    seen[0] = True


def _attention_prefill_cpu(
    h_kv: int,
    h_q: int,
    d: int,
    dtype: str,
    sliding_window: bool,
    rope_scaling: dict[str, Any],
    page_size: int = 16,
    sliding_window_size: int = 1024,
) -> Any:
    """Return the prim func of attention of several queries of each sequence to its pages.

    Args:
        h_kv: number of heads of keys and values.
        h_q: number of query heads.
        d: size of a head.
        dtype: of all tensors.
        sliding_window: whether `length_info` has three rows: tokens of the last page, where the
            window begins, first tokens that are kept.
        rope_scaling: as for `llama_rope_with_position_map`.
        page_size: tokens of a page.
        sliding_window_size: how many keys a query sees where `causal` is 2.

    Raises:
        ModelError: a `rope_type` that is not known.
    """
    parts = _page_parts(d, page_size, sliding_window, _causal(sliding_window_size))
    attend = _attend(h_kv, h_q // h_kv, (d, d), dtype, rope_scaling, parts)
    rows = (3,) if sliding_window else ()

    @T.prim_func
    def batch_prefill_paged_kv_cpu(
        q: T.Buffer(("total", h_q, d), dtype),
        q_indptr: T.Buffer(("batch + 1",), "int32"),
        pages: T.Buffer(("num_pages", 2, h_kv, page_size, d), dtype),
        page_indptr: T.Buffer(("batch + 1",), "int32"),
        page_values: T.Buffer(("used",), "int32"),
        length_info: T.Buffer((*rows, "batch"), "int32"),
        k_rope_pos_offset: T.Buffer(("batch",), "int32"),
        q_rope_position: T.Buffer(("total",), "int32"),
        output: T.Buffer(("total", h_q, d), dtype),
        lse: T.Buffer(("total", h_q), "float32"),
        causal: T.int32,
        rotary_mode: T.int32,
        rope_scale: T.float32,
        rope_theta: T.float32,
        sm_scale: T.float32,
    ):
        attend()

    return batch_prefill_paged_kv_cpu


def _attention_decode_cpu(
    num_kv_heads: int,
    num_qo_heads: int,
    head_dim: int,
    qkv_dtype: str,
    sliding_window: bool,
    rope_scaling: dict[str, Any],
    page_size: int = 16,
) -> Any:
    """Return the prim func of attention of one query of each sequence to its pages.

    Args:
        num_kv_heads: number of heads of keys and values.
        num_qo_heads: number of query heads.
        head_dim: size of a head.
        qkv_dtype: of all tensors.
        sliding_window: as for `_attention_prefill_cpu`.
        rope_scaling: as for `llama_rope_with_position_map`.
        page_size: tokens of a page.

    Raises:
        ModelError: a `rope_type` that is not known.
    """
    parts = _page_parts(head_dim, page_size, sliding_window, _all)
    attend = _attend(
        num_kv_heads,
        num_qo_heads // num_kv_heads,
        (head_dim, head_dim),
        qkv_dtype,
        rope_scaling,
        parts,
    )
    rows = (3,) if sliding_window else ()

    @T.prim_func
    def batch_decode_paged_kv_cpu(
        q: T.Buffer(("total", num_qo_heads, head_dim), qkv_dtype),
        pages: T.Buffer(("num_pages", 2, num_kv_heads, page_size, head_dim), qkv_dtype),
        page_indptr: T.Buffer(("batch + 1",), "int32"),
        page_values: T.Buffer(("used",), "int32"),
        length_info: T.Buffer((*rows, "batch"), "int32"),
        k_rope_pos_offset: T.Buffer(("batch",), "int32"),
        q_rope_position: T.Buffer(("total",), "int32"),
        output: T.Buffer(("total", num_qo_heads, head_dim), qkv_dtype),
        lse: T.Buffer(("total", num_qo_heads), "float32"),
        rotary_mode: T.int32,
        rope_scale: T.float32,
        rope_theta: T.float32,
        sm_scale: T.float32,
    ):
        q_indptr = T.alloc_buffer((batch + 1,), "int32")
        for b in range(batch + 1):
            q_indptr[b] = T.Cast("int32", b)
        attend()

    return batch_decode_paged_kv_cpu


def _attention_prefill_ragged_cpu(
    h_kv: int, h_q: int, d_qk: int, d_v: int, dtype: str, rope_scaling: dict[str, Any]
) -> Any:
    """Return the prim func of attention of queries to packed keys and values.

    Args:
        h_kv: number of heads of keys and values.
        h_q: number of query heads.
        d_qk: size of a head of queries and keys.
        d_v: size of a head of values.
        dtype: of all tensors.
        rope_scaling: as for `llama_rope_with_position_map`.

    Raises:
        ModelError: a `rope_type` that is not known.
    """
    attend = _attend(
        h_kv, h_q // h_kv, (d_qk, d_v), dtype, rope_scaling,
        _packed_parts((d_qk, d_v), False, _causal(0)),
    )  # fmt: skip

    @T.prim_func
    def batch_prefill_ragged_kv_cpu(
        q: T.Buffer(("total", h_q, d_qk), dtype),
        q_indptr: T.Buffer(("batch + 1",), "int32"),
        k: T.Buffer(("kv_total", h_kv, d_qk), dtype),
        v: T.Buffer(("kv_total", h_kv, d_v), dtype),
        kv_indptr: T.Buffer(("batch + 1",), "int32"),
        q_rope_position: T.Buffer(("total",), "int32"),
        k_rope_pos_offset: T.Buffer(("batch",), "int32"),
        output: T.Buffer(("total", h_q, d_v), dtype),
        lse: T.Buffer(("total", h_q), "float32"),
        causal: T.int32,
        rotary_mode: T.int32,
        rope_scale: T.float32,
        rope_theta: T.float32,
        sm_scale: T.float32,
    ):
        attend()

    return batch_prefill_ragged_kv_cpu


def _merge_state_inplace_cpu(v_dtype: str) -> Any:
    """Return the prim func that merges attention to some keys with attention to others.

    It takes the output (tokens, heads, head dimension) and `lse` of both, and writes to the first.
    """

    @T.prim_func
    def merge_state_inplace_cpu(
        v: T.Buffer(("total", "heads", "dim"), v_dtype),
        s: T.Buffer(("total", "heads"), "float32"),
        v_other: T.Buffer(("total", "heads", "dim"), v_dtype),
        s_other: T.Buffer(("total", "heads"), "float32"),
    ):
        for i, h in T.grid(total, heads):
            highest: T.float32 = T.max(s[i, h], s_other[i, h])
            mine: T.float32 = T.exp2(s[i, h] - highest)
            other: T.float32 = T.exp2(s_other[i, h] - highest)
            for d in range(dim):
                v[i, h, d] = T.Cast(
                    v_dtype,
                    (
                        T.Cast("float32", v[i, h, d]) * mine
                        + T.Cast("float32", v_other[i, h, d]) * other
                    )
                    / (mine + other),
                )
            s[i, h] = highest + T.log2(mine + other)

    return merge_state_inplace_cpu
