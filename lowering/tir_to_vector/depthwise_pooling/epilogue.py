"""Joining windows with their epilogues."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import Epilogue, follow
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.padding import Padded
from relax_mlir.lowering.tir_to_vector.flat import FlatNest


class HasFlat(Protocol):
    """A matched form of a nest."""

    @property
    def flat(self) -> FlatNest:
        """The nest."""
        ...


Form = TypeVar("Form", bound=HasFlat)


@dataclass
class Joined(Generic[Form]):
    """A window with its epilogue.

    Attributes:
        window: the window; its nest has the epilogue's accesses too.
        epilogue: over the window's iterators.
        followers: the nests that the epilogue replaces.
    """

    window: Form
    epilogue: Epilogue
    followers: list[Nest]


def join_window(
    flat: FlatNest, rest: Sequence[ir.Operation], match: Callable[[FlatNest], Form | None],
    fits: Callable[[Form], bool],
) -> Joined[Form] | None:  # fmt: skip
    """Return a window with as many of the next nests as can be its epilogue.

    Args:
        flat: the window's nest, an iterator for each of its loops.
        rest: the loops and blocks after it.
        match: matches the window.
        fits: whether all accesses suit its vectors.
    """
    # Sums that add to memory are not complete in registers.
    if flat.init is None:
        return None
    followers, flats = follow(flat, rest)
    while flats:
        accesses = dict(flat.accesses)
        for follower in flats:
            accesses.update(follower.accesses)
        window = match(replace(flat, accesses=accesses))
        if window is not None and fits(window):
            return Joined(window, _epilogue(window.flat, flats), followers)
        followers, flats = followers[:-1], flats[:-1]
    return None


def _epilogue(flat: FlatNest, flats: Sequence[FlatNest]) -> Epilogue:
    nests = [
        replace(f, iters=flat.iters, accesses={op: flat.accesses[op] for op in f.accesses})
        for f in flats
    ]
    return Epilogue(nests, None)


def window_nests(flat: FlatNest, padded: Padded | None, followers: Sequence[Nest]) -> list[Nest]:
    """Return the nests that a window replaces: padding, itself, epilogue."""
    before = () if padded is None else padded.nests
    return [*before, flat.nest, *followers]


def walks(flat: FlatNest, position: int) -> bool:
    """Whether the epilogue's accesses are adjacent along an iterator, or do not move."""
    own = (*flat.slice, flat.store, flat.total)
    for op, access in flat.accesses.items():
        stride = access.strides[position]
        if op in own or stride == 1 or (stride == 0 and op.name != "memref.store"):
            continue
        return False
    return True
