"""Joining what follows a window to it: maps over its sums run before these are stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import Epilogue, follow
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.padding import Padded
from relax_mlir.lowering.tir_to_vector.flat import FlatNest


class HasFlat(Protocol):
    """A form that was recognised in a nest."""

    @property
    def flat(self) -> FlatNest:
        """The nest."""
        ...


Form = TypeVar("Form", bound=HasFlat)


@dataclass
class Joined(Generic[Form]):
    """A window with what follows it.

    Attributes:
        window: the window; its nest has the accesses of what follows too.
        epilogue: what follows, over the window's iterators.
        followers: the nests that the epilogue stands for.
    """

    window: Form
    epilogue: Epilogue
    followers: list[Nest]


def join_window(
    flat: FlatNest, rest: Sequence[ir.Operation], match: Callable[[FlatNest], Form | None],
    fits: Callable[[Form], bool],
) -> Joined[Form] | None:  # fmt: skip
    """Return a window with as many of the next nests as can run on its sums in registers.

    Args:
        flat: the window's nest, an iterator for each of its loops.
        rest: the loops and blocks after it.
        match: recognises the window.
        fits: whether all accesses of one suit its vectors.
    """
    # Sums that are added to what memory holds are not complete in registers.
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
    """Return all nests that a window stands for: what pads its image, itself, what follows."""
    before = () if padded is None else padded.nests
    return [*before, flat.nest, *followers]


def walks(flat: FlatNest, position: int) -> bool:
    """Whether what follows a window walks adjacent elements along an iterator, or stays."""
    own = (*flat.slice, flat.store, flat.total)
    for op, access in flat.accesses.items():
        stride = access.strides[position]
        if op in own or stride == 1 or (stride == 0 and op.name != "memref.store"):
            continue
        return False
    return True
