"""Caches of keys and values in pages, for serving several sequences at a time.

The interface is that of TVM's `PagedAttentionKVCache` (src/runtime/vm/kv_state.h): `begin_forward`
says which sequences get how many tokens, and attention of each layer then appends their keys and
values and attends to the whole sequences.
"""

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, StatefulCallError
from relax_mlir.runtime.bytecode.builtins import PREFIX
from relax_mlir.runtime.bytecode.page_table import Batch, PageTable, int32, prefix_sums
from relax_mlir.runtime.values.convert import describe

# The kernels that are called, and where they are among the arguments of TVM's constructor.
_KERNELS = {
    "transpose_append": 0, "prefill": 3, "decode": 4, "prefill_sliding": 5, "decode_sliding": 6,
    "tree": 7, "split_rotary": 11, "copy_page": 12, "get_kv": 13, "compact": 14,
}  # fmt: skip


class AttnKind(enum.IntEnum):
    """What a layer attends to: all tokens, or as many as the window of such layers has."""

    MHA = 0
    MHA_SLIDING = 3


class RopeMode(enum.IntEnum):
    """Where rotary embeddings are applied: nowhere, before keys are cached, or in attention."""

    NONE = 0
    NORMAL = 1
    INLINE = 2


class PagedAttentionKVCache:
    """Pages of keys and values for all layers, and the sequences that they belong to.

    Args:
        sizes: most sequences, most tokens of all sequences, most tokens of a forward pass, tokens
            of a page, whether windows of sequences may slide, and the window of layers that slide.
        heads: number of query heads, and of heads of keys and values.
        dim: size of a head.
        kinds: `AttnKind` of each layer.
        rope: `RopeMode`, scale and base of rotary embeddings.
        dtype: of keys and values.
        kernels: what moves keys and values, and attends, by the names of `_KERNELS`; the prim funcs
            of `frontend.nn.llm.kv_cache`.

    Raises:
        StatefulCallError: windows of sequences together with windows of layers or with rotary
            embeddings of cached keys, whose positions would change.
    """

    def __init__(
        self, sizes: Sequence[int], heads: tuple[int, int], dim: int, kinds: Sequence[int],
        rope: tuple[int, float, float], dtype: np.dtype, kernels: dict[str, Callable[..., Any]],
    ) -> None:  # fmt: skip
        most, capacity, chunk, page_size, sliding = map(int, sizes[:5])
        self._sliding = bool(sliding)
        self._window = int(sizes[5]) if len(sizes) > 5 else 0
        self._heads, self._dim, self._kernels = heads, dim, kernels
        self._kinds = [AttnKind(kind) for kind in kinds]
        self._rope = RopeMode(rope[0]), float(rope[1]), float(rope[2])
        windows = AttnKind.MHA_SLIDING in self._kinds
        if self._sliding and (windows or self._rope[0] is RopeMode.NORMAL):
            raise StatefulCallError(
                "windows of sequences need layers without their own, and RopeMode.INLINE or NONE"
            )
        if windows and self._window < 1:
            raise StatefulCallError("layers with a window need its size, the sixth of the sizes")
        # One more, for a page that is copied while the cache is full.
        count = -(-capacity // page_size) + 1
        shape = (count, 2, heads[1], page_size, dim)
        self._pages = [np.zeros(shape, dtype) for _ in kinds]
        self.table = PageTable(most, count, page_size, chunk, self._copy_page)
        self._batch: Batch | None = None

    def _copy_page(self, source: int, target: int) -> None:
        for pages in self._pages:
            self._kernels["copy_page"](pages, source, target, self.table.page_size)

    def _current(self) -> Batch:
        if self._batch is None:
            raise StatefulCallError("no forward pass has begun: call begin_forward first")
        return self._batch

    def enable_sliding_window(self, name: int, window: int, sink: int = 0) -> None:
        """Keep only the first `sink` and the last tokens of a sequence, `window` in all.

        Raises:
            StatefulCallError: the cache was made without windows, there is one already, or it
                holds no more than the first tokens.
        """
        tokens = self.table.get(name)
        if not self._sliding or not 0 <= sink < window:
            raise StatefulCallError(
                f"windows are larger than what they keep first, got {window} and {sink}"
                if self._sliding
                else "the cache was made without windows of sequences"
            )
        if tokens.window or tokens.offset != tokens.sink:
            raise StatefulCallError(f"sequence {name} has a window already, or a part of one")
        tokens.window, tokens.sink, tokens.offset = int(window), int(sink), int(sink)

    def pop(self, name: int, count: int) -> None:
        """Remove the last tokens of a sequence.

        Raises:
            StatefulCallError: there is no such sequence, it has fewer, or ends with a token tree.
        """
        tokens = self.table.get(name)
        if not 0 <= count <= tokens.length:
            raise StatefulCallError(f"sequence {name} has {tokens.length} tokens, not {count}")
        self.table.cut(tokens, tokens.length - count)

    def begin_forward(
        self, names: Sequence[int], counts: Sequence[int], parents: Sequence[int] | None = None
    ) -> None:
        """Make room for the tokens of a forward pass; arguments and errors as `PageTable.begin`.

        Raises:
            StatefulCallError: a token tree besides windows or rotary embeddings in attention.
        """
        if parents is not None and (
            self._sliding or self._rope[0] is RopeMode.INLINE or AttnKind.MHA_SLIDING in self._kinds
        ):
            raise StatefulCallError("token trees go neither with windows nor with RopeMode.INLINE")
        self._batch = self.table.begin(names, counts, parents)

    def end_forward(self) -> None:
        """End a forward pass: windows slide.

        Raises:
            StatefulCallError: none has begun.
        """
        for tokens in self._current().sequences:
            self.table.slide(tokens)
        self._batch = None

    def commit_tree(self, names: Sequence[int], leaves: Sequence[int]) -> None:
        """Keep of the token tree of each sequence the path to a node, or nothing for -1.

        Raises:
            StatefulCallError: there is no such sequence or node.
        """
        sources: list[int] = []
        targets: list[int] = []
        counts: list[int] = []
        chosen = [
            (self.table.get(n, with_tree=True), int(leaf))
            for n, leaf in zip(names, leaves, strict=True)
        ]
        for tokens, leaf in chosen:
            if not -1 <= leaf < len(tokens.tree):
                raise StatefulCallError(
                    f"a token tree has {len(tokens.tree)} nodes, no node {leaf}"
                )
        for tokens, leaf in chosen:
            start = tokens.length - len(tokens.tree)
            path: list[int] = []
            while leaf != -1:
                path.insert(0, leaf)
                leaf = tokens.tree[leaf]
            self.table.own(tokens, tokens.slot(start))
            sources += self.table.places(tokens, [start + node for node in path])
            targets += self.table.places(tokens, range(start, start + len(path)))
            counts.append(len(path))
            self.table.cut(tokens, start + len(path))
            tokens.tree = []
        if sources != targets:
            moves = prefix_sums(counts), int32([sources, targets]), len(counts)
            for pages in self._pages:
                self._kernels["compact"](pages, *moves)

    def attention_with_fused_qkv(
        self, layer: int, scale: float, qkv: np.ndarray, output: np.ndarray
    ) -> None:
        """Append the keys and values of a forward pass to a layer, and attend.

        Args:
            layer: the layer.
            scale: what products of queries and keys are multiplied by.
            qkv: (tokens, heads of queries, keys and values, head dimension).
            output: (tokens, query heads, head dimension), written to.

        Raises:
            StatefulCallError: no forward pass has begun.
            ArgumentTypeError: `qkv` has another shape.
        """
        batch, (queries, keys) = self._current(), self._heads
        expected = len(batch.positions), queries + 2 * keys, self._dim
        if qkv.shape != expected:
            raise ArgumentTypeError(f"qkv has shape {expected}, got {describe(qkv)}")
        q, k, v = (np.empty((expected[0], n, self._dim), qkv.dtype) for n in (queries, keys, keys))
        rotated = int(self._rope[0] is RopeMode.NORMAL)
        self._kernels["split_rotary"](qkv, batch.positions, q, k, v, rotated)
        self._kernels["transpose_append"](self._pages[layer], k, v, batch.places)
        batch.appended.add(int(layer))
        self._attend(layer, scale, q, output)

    def attention_with_shared_kv(
        self, layer: int, scale: float, q: np.ndarray, k: Any, v: Any, output: np.ndarray
    ) -> None:
        """Attend to keys and values of another layer, which has those of this pass, `k` and `v`.

        Raises:
            StatefulCallError: no forward pass has begun, or the layer has not run in it.
        """
        if int(layer) not in self._current().appended:
            raise StatefulCallError(f"layer {layer} has not run in this forward pass")
        self._attend(layer, scale, q, output)

    def _attend(self, layer: int, scale: float, q: np.ndarray, output: np.ndarray) -> None:
        batch = self._current()
        windowed = self._kinds[layer] is AttnKind.MHA_SLIDING
        suffix = "_sliding" if windowed or self._sliding else ""
        tree = bool(len(batch.tree_order))
        decode = not tree and len(batch.positions) == len(batch.sequences)
        page_size = self.table.page_size
        info = int32([
            [(t.slots - 1) % page_size + 1, t.offset, t.sink] for t in batch.sequences
        ]).T.copy()  # fmt: skip
        begin = np.zeros(len(batch.sequences), np.int32)
        if windowed and decode:
            lengths = int32([tokens.length for tokens in batch.sequences])
            begin = info[1] = np.maximum(lengths - self._window, 0)
        lse = np.empty(q.shape[:2], np.float32)
        arguments = [
            q, *([] if decode else [batch.indptr]), self._pages[layer], batch.page_indptr,
            batch.page_values, info if suffix else info[0], begin, batch.positions, output, lse,
        ]  # fmt: skip
        mode, factor, theta = self._rope
        numbers = int(mode is RopeMode.INLINE), factor, theta, float(scale)
        if tree:
            self._kernels["tree"](*arguments, *numbers, batch.tree_indptr, batch.tree_order)
        elif decode:
            self._kernels["decode" + suffix](*arguments, *numbers)
        else:
            # 2 asks for the window of the layer as well.
            self._kernels["prefill" + suffix](*arguments, 2 if windowed else 1, *numbers)

    def get_kv(self, name: int, start: int, end: int, k: np.ndarray, v: np.ndarray) -> None:
        """Copy keys and values of tokens of a sequence to (layers, tokens, heads, head dimension).

        Raises:
            StatefulCallError: there is no such sequence, or it has not so many tokens.
        """
        tokens = self.table.get(name, with_tree=True)
        if not 0 <= start <= end <= tokens.length:
            raise StatefulCallError(f"sequence {name} has {tokens.length} tokens, not {end}")
        places = int32(self.table.places(tokens, range(start, end)))
        for layer, pages in enumerate(self._pages):
            self._kernels["get_kv"](pages, places, k, v, layer)


def create(
    sizes: Sequence[int], layers: Sequence[int], heads: int, kv_heads: int, dim: int, v_dim: int,
    kinds: Sequence[int], transfer: bool, rope_mode: int, rope_scale: float, rope_theta: float,
    rope_factors: Any, like: np.ndarray, *kernels: Any,
) -> PagedAttentionKVCache:  # fmt: skip
    """Return a cache, by the arguments of TVM's `vm.builtin.paged_attention_kv_cache_create`.

    Args:
        sizes: as for the class.
        layers: the first layer, and the one behind the last.
        heads: number of query heads.
        kv_heads: number of heads of keys and values.
        dim: size of a head.
        v_dim: size of a head of values, which must be the same.
        kinds: of each layer.
        transfer: whether pages go to other machines, which is not supported.
        rope_mode: a `RopeMode`.
        rope_scale: what positions are multiplied by.
        rope_theta: base of the frequencies.
        rope_factors: factors of frequencies, which are not supported.
        like: a tensor of the dtype of keys and values.
        kernels: TVM's 15 kernels; those of attention are pairs of `"tirx"` and a function. Those
            for packed keys are not used, as attention reads the keys of a pass from its pages.

    Raises:
        ArgumentTypeError: an argument is not supported, or a kernel is missing.
    """
    if (
        transfer
        or isinstance(rope_factors, np.ndarray)
        or v_dim != dim
        or len(kinds) != layers[1] - layers[0]
    ):
        raise ArgumentTypeError(
            "a paged cache takes one stage of layers, values as large as keys, no transfer and no "
            "factors of frequencies"
        )
    found = {}
    for name, place in _KERNELS.items():
        given = kernels[place] if place < len(kernels) else None
        kind, func = (
            given if isinstance(given, (tuple, list)) and len(given) == 2 else ("tirx", given)
        )
        if kind != "tirx" or not callable(func):
            raise ArgumentTypeError(
                f"kernel {place}, {name}, is a function or 'tirx' and one, got {describe(given)}"
            )
        found[name] = func
    return PagedAttentionKVCache(
        sizes, (heads, kv_heads), dim, kinds, (rope_mode, rope_scale, rope_theta), like.dtype, found
    )


def _clear(cache: PagedAttentionKVCache) -> None:
    cache.table.clear()
    cache._batch = None


def _checked(func: Callable[..., Any]) -> Callable[..., Any]:
    def call(cache: Any, *args: Any) -> Any:
        if not isinstance(cache, PagedAttentionKVCache):
            raise ArgumentTypeError(f"a paged cache is needed, got {describe(cache)}")
        return func(cache, *args)

    return call


PAGED_KV_CACHE: dict[str, Callable[..., Any]] = {PREFIX + "paged_attention_kv_cache_create": create}
PAGED_KV_CACHE |= {
    PREFIX + name: _checked(func)
    for name, func in {
        "kv_state_clear": _clear,
        "kv_state_add_sequence": lambda cache, name: cache.table.add(name),
        "kv_state_remove_sequence": lambda cache, name: cache.table.remove(name),
        "kv_state_fork_sequence": lambda cache, *args: cache.table.fork(*args),
        "kv_state_popn": PagedAttentionKVCache.pop,
        "kv_state_begin_forward": PagedAttentionKVCache.begin_forward,
        "kv_state_end_forward": PagedAttentionKVCache.end_forward,
    }.items()
}
PAGED_KV_CACHE |= {
    f"{PREFIX}attention_kv_cache_{name}": _checked(func)
    for name, func in {
        "enable_sliding_window_for_seq": PagedAttentionKVCache.enable_sliding_window,
        "commit_accepted_token_tree_nodes": PagedAttentionKVCache.commit_tree,
        "empty": lambda cache: cache.table.empty,
        "get_num_available_pages": lambda cache: cache.table.available,
        "get_total_sequence_length": lambda cache: cache.table.total_length,
        "get_query_positions": lambda cache: cache._current().positions,
        "debug_get_kv": PagedAttentionKVCache.get_kv,
        "attention_with_fused_qkv": PagedAttentionKVCache.attention_with_fused_qkv,
        "attention_with_shared_kv": PagedAttentionKVCache.attention_with_shared_kv,
    }.items()
}
