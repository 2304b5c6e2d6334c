"""Every kernel class with each buffer beside pages without access, on one thread and on several."""

import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[2] / "support"


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=SUPPORT, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_no_access_beside_a_buffer(threads: int) -> None:
    done = python("guarded_programs.py", str(threads))
    last = done.stdout.splitlines()[-1] if done.stdout else "nothing"
    assert done.returncode == 0, f"in {last}:\n{done.stderr}"
    assert last.startswith("all ran")


@pytest.mark.parametrize("at_end", [False, True])
def test_pages_are_guarded(at_end: bool) -> None:
    code = (
        "import ctypes, numpy as np; from guard_pages import GuardedPages\n"
        f"a = GuardedPages(np.arange(7, dtype='f4'), {at_end}).array\n"
        "print(a.sum(), flush=True)\n"
        f"ctypes.string_at(a.ctypes.data {'+ 28' if at_end else '- 1'}, 1)\n"
    )
    done = python("-c", code)
    assert done.stdout == "21.0\n"
    assert done.returncode < 0
