"""What a build changes of Python's interpreter is as before after it, also of several at once."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from relax_mlir.interpreter import tuned_for_builds


def test_settings_are_restored_after_the_last_build() -> None:
    before = gc.isenabled(), sys.getswitchinterval()
    both_in, one_out = Barrier(2, timeout=60), Barrier(2, timeout=60)

    def first() -> None:
        with tuned_for_builds():
            both_in.wait()
        one_out.wait()

    with ThreadPoolExecutor(1) as pool, tuned_for_builds():
        result = pool.submit(first)
        both_in.wait()
        one_out.wait()
        assert not gc.isenabled()
        assert sys.getswitchinterval() < before[1]
        result.result()
    assert (gc.isenabled(), sys.getswitchinterval()) == before
