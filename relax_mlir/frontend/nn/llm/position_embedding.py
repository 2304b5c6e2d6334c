# ruff: noqa: ANN001, ANN202, F821
# pyright: reportUndefinedVariable=false, reportAssignmentType=false
# pyright: reportArgumentType=false, reportIndexIssue=false
"""Rotary position embeddings (RoPE) in prim funcs."""

import math
from typing import Any

from relax_mlir.errors import ModelError
from relax_mlir.script import tir as T

# Which numbers of a configuration each kind of scaling needs.
_SCALINGS: dict[str, tuple[str, ...]] = {
    "default": (),
    "gptj": (),
    "llama3": (
        "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"
    ),
}  # fmt: skip


def rotary_macros(dim: int, rope_scaling: dict[str, Any]) -> tuple[Any, Any]:
    """Return two macros: what writes the frequencies of a head, and what rotates one row.

    Args:
        dim: how many features of a head are rotated.
        rope_scaling: as in the configuration of a model: `rope_type` (none or `default`; `gptj`,
            which pairs neighbours; `llama3`, which stretches long waves) and what that needs.

    Raises:
        ModelError: the kind is not known, or a number is missing.
    """
    kind = rope_scaling.get("rope_type", "default")
    if kind not in _SCALINGS:
        raise ModelError(f"rope_type is one of {', '.join(_SCALINGS)}, got '{kind}'")
    if missing := [name for name in _SCALINGS[kind] if name not in rope_scaling]:
        raise ModelError(f"rope_type '{kind}' needs {', '.join(missing)}")
    step, distance = (2, 1) if kind == "gptj" else (1, dim // 2)
    llama3 = kind == "llama3"
    factor, low, high, length = (
        [float(rope_scaling[name]) for name in _SCALINGS[kind]] if llama3 else [1.0] * 4
    )
    # Waves longer than `length / low` are stretched by `factor`, shorter than `length / high` kept.
    slope = 1.0 / (high - low) if high != low else 0.0
    turns = length / (2 * math.pi)

    @T.macro
    def frequencies(freq, theta, scale):
        for j in range(dim // 2):
            freq[j] = 1.0 / T.pow(theta, T.Cast("float32", 2 * j) / T.float32(dim))
            if llama3:
                smooth: T.float32 = T.max(
                    T.min((freq[j] * turns - low) * slope, T.float32(1)), T.float32(0)
                )
                freq[j] = freq[j] * (smooth + (1.0 - smooth) / factor)
            freq[j] = freq[j] * scale

    @T.macro
    def rotate(row, freq, position):
        for j in range(dim // 2):
            angle: T.float32 = T.Cast("float32", position) * freq[j]
            x: T.float32 = row[j * step]
            y: T.float32 = row[j * step + distance]
            row[j * step] = x * T.cos(angle) - y * T.sin(angle)
            row[j * step + distance] = y * T.cos(angle) + x * T.sin(angle)

    return frequencies, rotate


def llama_rope_with_position_map(
    theta: float,
    scale: float,
    head_dim: int,
    num_q_heads: int,
    num_kv_heads: int,
    dtype: str,
    rope_scaling: dict[str, Any],
    rotary_dim: int | None = None,
) -> Any:
    """Return the prim func that splits fused queries, keys and values, and rotates the first two.

    It takes qkv (tokens, heads, head_dim), the position of each token, q, k and v to write to, and
    whether it rotates.

    Args:
        theta: base of the frequencies.
        scale: what positions are multiplied by.
        head_dim: size of a head.
        num_q_heads: number of query heads.
        num_kv_heads: number of heads of keys and values.
        dtype: of all tensors.
        rope_scaling: as for `rotary_macros`.
        rotary_dim: how many features of a head are rotated, all if left out.

    Raises:
        ModelError: a `rope_type` that is not known.
    """
    rotated = head_dim if rotary_dim is None else rotary_dim
    frequencies, rotate = rotary_macros(rotated, rope_scaling)
    heads, both = num_q_heads + 2 * num_kv_heads, num_q_heads + num_kv_heads

    @T.prim_func
    def fused_rope(
        qkv: T.Buffer(("total", heads, head_dim), dtype),
        position_map: T.Buffer(("total",), "int32"),
        q: T.Buffer(("total", num_q_heads, head_dim), dtype),
        k: T.Buffer(("total", num_kv_heads, head_dim), dtype),
        v: T.Buffer(("total", num_kv_heads, head_dim), dtype),
        apply_rope: T.int64,
    ):
        for s in T.parallel(total):
            freq = T.alloc_buffer((rotated // 2,), "float32")
            row = T.alloc_buffer((head_dim,), "float32")
            frequencies(freq, T.float32(theta), T.float32(scale))
            for h in range(both):
                for d in range(head_dim):
                    row[d] = T.Cast("float32", qkv[s, h, d])
                if apply_rope > 0:
                    rotate(row, freq, position_map[s])
                if h < num_q_heads:
                    for d in range(head_dim):
                        q[s, h, d] = T.Cast(dtype, row[d])
                else:
                    for d in range(head_dim):
                        k[s, h - num_q_heads, d] = T.Cast(dtype, row[d])
            for h in range(num_kv_heads):
                for d in range(head_dim):
                    v[s, h, d] = qkv[s, both + h, d]

    return fused_rope
