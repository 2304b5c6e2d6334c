"""Memory over many calls: what is kept is bounded, by the process's resident size."""

import gc
import random
import threading
from pathlib import Path

import native_code
import numpy as np
import pytest

from relax_mlir.runtime import VirtualMachine
from relax_mlir.runtime.device.memory import POOL_MAX_BYTES, PooledAllocator

STATUS = Path("/proc/self/statm")


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return int(STATUS.read_text().split()[1]) * 4096


@pytest.mark.skipif(not STATUS.exists(), reason="needs /proc")
@pytest.mark.parametrize(("memory", "calls"), [("pooled", 100_000), ("naive", 20_000)])
@pytest.mark.slow
def test_no_growth_over_calls_with_random_shapes(memory: str, calls: int) -> None:
    vm = VirtualMachine(native_code.add_one_model(), memory_cfg=memory)
    main, rng = vm["main"], random.Random(0)
    x = np.zeros(20_000, "float32")
    # All size classes first.
    for n in range(1, len(x), 97):
        main(x[:n])
    before = resident()
    for i in range(calls):
        n = rng.randrange(len(x))
        assert main(x[:n]).shape == (n,)
        if i % 1000 == 0:
            # New shapes leave nothing behind in the caches of anybody.
            main(x[: 1 + i % 7].reshape(-1))
    assert resident() - before < 4 << 20
    assert getattr(vm.state.allocators[0], "kept", 0) < 4 << 20


def test_the_pool_is_bounded_and_gives_up_the_oldest() -> None:
    pool = PooledAllocator(max_bytes=1 << 20)
    rng = random.Random(1)
    held = []
    for _ in range(5000):
        held.append(pool.alloc(rng.randrange(1 << rng.randrange(1, 19))))
        if len(held) > 30:
            held.pop(rng.randrange(len(held)))
        assert 0 <= pool.kept <= pool.max_bytes
        assert pool.kept == sum(b.nbytes for blocks in pool._free.values() for b in blocks)
    held.clear()
    pool.release()
    assert pool.kept == 0
    # Used again and again, one size stays while others come and go.
    address = pool.alloc(1000).ctypes.data
    for i in range(200):
        pool.alloc(70_000 + 5000 * (i % 9))
        assert pool.alloc(1000).ctypes.data == address
    pool.alloc(2 << 20)
    assert pool.kept <= pool.max_bytes < POOL_MAX_BYTES


def test_the_pool_with_threads() -> None:
    pool, wrong = PooledAllocator(max_bytes=1 << 18), []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(1000):
            storage = pool.alloc(rng.randrange(1, 40_000))
            storage[:] = seed
            if not (storage == seed).all():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 0 <= pool.kept <= pool.max_bytes


@pytest.mark.parametrize("memory", ["pooled", "naive", None])
@pytest.mark.parametrize("n", [0, 1, 100, 50_000])
def test_results_stay_valid(memory: str | None, n: int) -> None:
    vm = VirtualMachine(native_code.add_one_model(), memory_cfg=memory)
    kept = [vm["main"](np.full(n, i, "float32")) for i in range(20)]
    assert all((result == i + 1).all() for i, result in enumerate(kept))
    del vm
    gc.collect()
    assert all((result == i + 1).all() for i, result in enumerate(kept))
