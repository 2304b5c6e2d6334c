"""Keys of random numbers for programs that bring none: one seed for a process, a stream a call."""

import itertools
import os
import threading

import numpy as np

_LOCK = threading.Lock()
_SEED = int.from_bytes(os.urandom(8), "little")
_STREAMS = itertools.count()


def manual_seed(seed: int) -> None:
    """Set the seed of the keys that programs ask for from now on, the first one being stream 0.

    Programs with random numbers and without a key, such as models with training-mode dropout, give
    the same results after the same seed. The seed of a process that sets none is random.

    Args:
        seed: from 0 to 2**64 - 1.

    Raises:
        ValueError: another number.
    """
    global _SEED, _STREAMS
    if not 0 <= seed < 2**64:
        raise ValueError(f"a seed is a number from 0 to 2**64 - 1, got {seed}")
    with _LOCK:
        _SEED, _STREAMS = seed, itertools.count()


def next_key() -> np.ndarray:
    """Return a key as `relax.op.random` takes it, another one for each call."""
    with _LOCK:
        return np.array([_SEED, next(_STREAMS)], "uint64")
