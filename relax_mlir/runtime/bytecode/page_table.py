"""Sequences of tokens in pages of a fixed size: which slots of which pages are whose.

Sequences that were forked share pages, counted by references, until one of them writes to a page.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_mlir.errors import StatefulCallError


@dataclass
class Tokens:
    """A sequence: the first `sink` slots of its pages, and those from `offset` to `slots`.

    `tree` has the parents of the nodes of a token tree at the end, until one of its paths is
    committed.
    """

    pages: list[int] = field(default_factory=list)
    slots: int = 0
    window: int = 0
    sink: int = 0
    offset: int = 0
    tree: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        """How many tokens are kept."""
        return self.slots if self.slots <= self.sink else self.slots - self.offset + self.sink

    def slot(self, position: int) -> int:
        """Return where in the pages a token is."""
        return position if position < self.sink else position - self.sink + self.offset


@dataclass
class Batch:
    """What kernels receive about a forward pass; prefix sums begin with 0."""

    sequences: list[Tokens]
    indptr: np.ndarray
    page_indptr: np.ndarray
    page_values: np.ndarray
    positions: np.ndarray
    places: np.ndarray
    tree_indptr: np.ndarray
    tree_order: np.ndarray
    # Layers whose keys and values of this pass are in their pages.
    appended: set[int] = field(default_factory=set)


def int32(values: Any) -> np.ndarray:
    """Return numbers as kernels take them."""
    return np.asarray(values, np.int32)


def prefix_sums(counts: Sequence[int]) -> np.ndarray:
    """Return where each of several sequences begins, and where the last one ends."""
    return int32(np.concatenate([[0], np.cumsum(counts)]))


class PageTable:
    """The pages of a cache and its sequences; methods raise where the numbers make no sense.

    Args:
        most: how many sequences there may be.
        pages: how many pages there are.
        page_size: how many tokens a page has.
        chunk: how many tokens a forward pass may have.
        copy_page: what copies the contents of a page to another one.
    """

    def __init__(
        self, most: int, pages: int, page_size: int, chunk: int,
        copy_page: Callable[[int, int], None],
    ) -> None:  # fmt: skip
        self.page_size = page_size
        self._most, self._count, self._chunk, self._copy = most, pages, chunk, copy_page
        self.clear()

    def clear(self) -> None:
        """Remove all sequences."""
        self._sequences: dict[int, Tokens] = {}
        self._free = list(range(self._count))[::-1]
        self._uses = [0] * self._count

    @property
    def available(self) -> int:
        """How many pages are free."""
        return len(self._free)

    @property
    def empty(self) -> bool:
        """Whether no page is in use."""
        return self.available == self._count

    @property
    def total_length(self) -> int:
        """How many tokens the sequences have, shared ones counted for each."""
        return sum(tokens.length for tokens in self._sequences.values())

    def get(self, name: int, with_tree: bool = False) -> Tokens:
        """Return a sequence.

        Raises:
            StatefulCallError: there is none of that number, or it ends with a token tree.
        """
        tokens = self._sequences.get(int(name))
        if tokens is None:
            raise StatefulCallError(f"the cache has no sequence {name}: add it first")
        if tokens.tree and not with_tree:
            raise StatefulCallError(f"sequence {name} ends with a token tree: commit a path first")
        return tokens

    def add(self, name: int, tokens: Tokens | None = None) -> None:
        """Add a sequence, an empty one if left out.

        Raises:
            StatefulCallError: there is one of that number, or no room for another.
        """
        if int(name) in self._sequences:
            raise StatefulCallError(f"the cache has sequence {name} already")
        if len(self._sequences) >= self._most:
            raise StatefulCallError(f"the cache was made for {self._most} sequences")
        self._sequences[int(name)] = tokens or Tokens()

    def remove(self, name: int) -> None:
        """Remove a sequence; pages that no other one shares are free then.

        Raises:
            StatefulCallError: there is no such sequence.
        """
        self._release(self.get(name, with_tree=True).pages)
        del self._sequences[int(name)]

    def fork(self, parent: int, child: int, position: int = -1) -> None:
        """Add a sequence of the first tokens of another one, all of them for -1.

        Raises:
            StatefulCallError: there is no such parent, it has fewer tokens, or the child exists.
        """
        tokens = self.get(parent)
        length = tokens.length if position == -1 else int(position)
        if not 0 <= length <= tokens.length:
            raise StatefulCallError(f"sequence {parent} has {tokens.length} tokens, not {length}")
        new = Tokens(list(tokens.pages), tokens.slots, 0, tokens.sink, tokens.offset)
        self.add(child, new)
        for page in new.pages:
            self._uses[page] += 1
        self.cut(new, length)

    def slide(self, tokens: Tokens) -> None:
        """Drop the tokens that are no longer in the window of a sequence."""
        over = tokens.length - tokens.window
        if not tokens.window or over <= 0:
            return
        tokens.offset += over
        first = -(-tokens.sink // self.page_size)
        dropped = max(tokens.offset // self.page_size - first, 0)
        self._release(tokens.pages[first : first + dropped])
        del tokens.pages[first : first + dropped]
        tokens.offset -= dropped * self.page_size
        tokens.slots -= dropped * self.page_size

    def cut(self, tokens: Tokens, length: int) -> None:
        """Keep so many tokens of a sequence."""
        if length <= tokens.sink:
            tokens.slots, tokens.offset = length, tokens.sink
        else:
            tokens.slots = tokens.slot(length - 1) + 1
        kept = -(-tokens.slots // self.page_size)
        self._release(tokens.pages[kept:])
        del tokens.pages[kept:]

    def begin(
        self, names: Sequence[int], counts: Sequence[int], parents: Sequence[int] | None = None
    ) -> Batch:
        """Make room for the tokens of a forward pass.

        Args:
            names: the sequences that get tokens.
            counts: how many each gets.
            parents: for each token its parent in the token tree at the end of its sequence, -1 for
                a root; without it tokens follow one another.

        Raises:
            StatefulCallError: a sequence does not exist or occurs twice, the pass is too long, the
                pages do not suffice, or a tree is none. Nothing changed then.
        """
        sequences = [self.get(name, with_tree=parents is not None) for name in names]
        counts = [int(count) for count in counts]
        if len({int(name) for name in names}) != len(counts) or len(names) != len(counts):
            raise StatefulCallError("a forward pass takes each sequence once, and how many tokens")
        if min(counts, default=0) < 1 or sum(counts) > self._chunk:
            raise StatefulCallError(f"a forward pass takes 1 to {self._chunk} tokens, got {counts}")
        trees = [list(tokens.tree) for tokens in sequences]
        if parents is not None:
            starts = prefix_sums(counts)
            if len(parents) != starts[-1]:
                raise StatefulCallError(f"{starts[-1]} tokens have {len(parents)} parents")
            for tree, start, end in zip(trees, starts, starts[1:], strict=False):
                tree += map(int, parents[start:end])
                if any(not -1 <= parent < node for node, parent in enumerate(tree)):
                    raise StatefulCallError(f"parents come before their children, got {tree}")
        needed = sum(
            -(-(tokens.slots + count) // self.page_size) - len(tokens.pages) + self._shared(tokens)
            for tokens, count in zip(sequences, counts, strict=True)
        )
        if needed > self.available:
            raise StatefulCallError(
                f"the cache has {self.available} free pages, {needed} are needed: remove sequences"
            )
        positions: list[int] = []
        places: list[int] = []
        for tokens, count, tree in zip(sequences, counts, trees, strict=True):
            begin = tokens.length
            root = begin - len(tokens.tree)
            new = range(begin, begin + count)
            positions += [root + depth for depth in _depths(tree)[-count:]] if tree else new
            tokens.tree = tree
            self.own(tokens, tokens.slots)
            tokens.slots += count
            while len(tokens.pages) * self.page_size < tokens.slots:
                tokens.pages.append(self._take())
            places += self.places(tokens, new)
        return Batch(
            sequences, prefix_sums(counts),
            prefix_sums([len(tokens.pages) for tokens in sequences]),
            int32([page for tokens in sequences for page in tokens.pages]),
            int32(positions), int32(places), prefix_sums([len(tree) for tree in trees]),
            int32([pair for tree in trees for pair in _intervals(tree)]).reshape(-1, 2),
        )  # fmt: skip

    def places(self, tokens: Tokens, positions: Iterable[int]) -> list[int]:
        """Return where tokens are in all pages."""
        found = (divmod(tokens.slot(position), self.page_size) for position in positions)
        return [tokens.pages[page] * self.page_size + rest for page, rest in found]

    def own(self, tokens: Tokens, slot: int) -> None:
        """Copy the pages from a slot on that other sequences share."""
        for i in range(slot // self.page_size, len(tokens.pages)):
            page = tokens.pages[i]
            if self._uses[page] > 1:
                tokens.pages[i] = self._take()
                self._copy(page, tokens.pages[i])
                self._release([page])

    def _shared(self, tokens: Tokens) -> bool:
        """Whether the page that the next token goes to is shared."""
        return tokens.slots % self.page_size != 0 and self._uses[tokens.pages[-1]] > 1

    def _take(self) -> int:
        if not self._free:
            raise StatefulCallError("the cache has no free page: remove sequences")
        page = self._free.pop()
        self._uses[page] = 1
        return page

    def _release(self, pages: Sequence[int]) -> None:
        for page in pages:
            self._uses[page] -= 1
            if not self._uses[page]:
                self._free.append(page)


def _depths(tree: list[int]) -> list[int]:
    depths: list[int] = []
    for parent in tree:
        depths.append(0 if parent == -1 else depths[parent] + 1)
    return depths


def _intervals(tree: list[int]) -> list[tuple[int, int]]:
    """Return for each node its number in preorder, and the first number behind its descendants."""
    sizes = [1] * len(tree)
    for node in range(len(tree) - 1, -1, -1):
        if tree[node] != -1:
            sizes[tree[node]] += sizes[node]
    begins: list[int] = []
    # Where the next child of each node begins; the last number is for roots.
    following = [0] * (len(tree) + 1)
    for node, parent in enumerate(tree):
        begins.append(following[parent])
        following[parent] += sizes[node]
        following[node] = begins[node] + 1
    return [(begin, begin + size) for begin, size in zip(begins, sizes, strict=True)]
