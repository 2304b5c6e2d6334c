"""Sampling: what can come, what a decision says, seeds."""

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scheduled_programs import DYNAMIC, ELEMENTWISE, MATMUL
from schedules import refused, replays

from relax_mlir.tir import Schedule
from relax_mlir.tir.schedule.primitives.sampling import divisors, tiles


def test_categorical() -> None:
    sch = Schedule(ELEMENTWISE.module, seed=3)
    found = Counter(sch.get(sch.sample_categorical([2, 4, 8], [0.5, 0.5, 0.0])) for _ in range(60))
    assert set(found) == {2, 4}
    assert sch.get(sch.sample_categorical([2, 4, 8], [0.1, 0.1, 0.8], decision=1)) == 4
    replays(sch, ELEMENTWISE.module)
    refused(sch, lambda: sch.sample_categorical([1, 2], [1.0]), "as many probabilities")
    refused(sch, lambda: sch.sample_categorical([], []), "as many probabilities")
    refused(sch, lambda: sch.sample_categorical([1], [-1.0]), "not negative")
    refused(sch, lambda: sch.sample_categorical([1], [float("nan")]), "not negative")
    refused(sch, lambda: sch.sample_categorical([1], [0.0]), "a positive number, these to 0")
    refused(sch, lambda: sch.sample_categorical([1, 2], [1e308, 1e308]), "these to inf")
    assert sch.get(sch.sample_categorical([2, 4], [0.0, 7.5])) == 4
    refused(sch, lambda: sch.sample_categorical([1], [1.0], decision=1), "a position among 1")


@settings(max_examples=60)
@given(
    extent=st.integers(1, 5000), n=st.integers(1, 5), most=st.integers(1, 64), seed=st.integers()
)
def test_tiles_multiply_to_the_extent(extent: int, n: int, most: int, seed: int) -> None:
    found = tiles(Random(seed), extent, n, most)
    assert len(found) == n
    assert math.prod(found) == extent
    assert n == 1 or found[-1] <= most or found[-1] == 1


def test_every_tiling_can_come() -> None:
    rng = Random(1)
    found = {tuple(tiles(rng, 12, 3, 12)) for _ in range(3000)}
    want = {(12 // b // c, b, c) for c in divisors(12) for b in divisors(12 // c)}
    assert found == want
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
    assert divisors(16) == [1, 2, 4, 8, 16]


def test_perfect_tile() -> None:
    sch = Schedule(MATMUL.module, seed=11)
    i, j, k = sch.get_loops("C")
    for loop, extent in ((i, 6), (j, 10), (k, 8)):
        factors = sch.sample_perfect_tile(loop, n=3, max_innermost_factor=4)
        assert math.prod(sch.get(f) for f in factors) == extent
        sch.split(loop, factors)
    assert "T.where" not in sch.mod.script()
    replays(sch, MATMUL.module)


def test_a_decision_for_another_extent_is_put_right() -> None:
    sch = Schedule(MATMUL.module)
    j = sch.get_loops("C")[1]
    assert [sch.get(f) for f in sch.sample_perfect_tile(j, 2, decision=[5, 2])] == [5, 2]
    assert [sch.get(f) for f in sch.sample_perfect_tile(j, 2, decision=[64, 4])] == [1, 10]
    refused(sch, lambda: sch.sample_perfect_tile(j, 2, decision=[1, 2, 5]), "2 positive integers")
    refused(sch, lambda: sch.sample_perfect_tile(j, 0), "at least one tile")


def test_partitioned_tile() -> None:
    sch = Schedule(MATMUL.module, seed=4)
    k = sch.get_loops("C")[2]
    for _ in range(30):
        factors = [sch.get(f) for f in sch.sample_partitioned_tile(k, 3, 1, 4)]
        assert math.prod(factors) == 8
        assert math.prod(factors[1:]) % 4 == 0
    refused(sch, lambda: sch.sample_partitioned_tile(k, 2, 3, 4), "clash")
    replays(sch, MATMUL.module)


def test_symbolic_extents_have_no_perfect_tiles() -> None:
    sch = Schedule(DYNAMIC.module)
    i = sch.get_loops("B")[0]
    refused(sch, lambda: sch.sample_perfect_tile(i, 2), "the extent of loop 'i', n, is not known")


@pytest.mark.parametrize("seed", [1, 42])
def test_a_seed_says_what_comes(seed: int) -> None:
    texts = set()
    for _ in range(2):
        sch = Schedule(MATMUL.module, seed=seed)
        for loop in sch.get_loops("C"):
            sch.split(loop, sch.sample_perfect_tile(loop, 2))
        texts.add(str(sch.trace))
    assert len(texts) == 1
