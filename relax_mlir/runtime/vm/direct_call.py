"""Calls that run a function's Python code themselves, where arguments need no conversion."""

from collections.abc import Callable
from sys import getrecursionlimit
from typing import Any

from relax_mlir.runtime.values.ndarray import Tensor
from relax_mlir.runtime.vm.call_depth import TRUSTED_LIMIT

# Longer functions take so long that one call more does not show.
_MAX_LINES = 50
# Globals of the calls that are not those of `translate`'s functions too.
NAMES: dict[str, Any] = {
    "Tensor": Tensor,
    "getrecursionlimit": getrecursionlimit,
    "missing": object(),
    "watched": False,
}


def direct_call(
    index: int,
    lines: list[str],
    count: int,
    namespace: dict[str, Any],
    general: Callable[..., Any],
    too_deep: Callable[[RecursionError], Exception],
) -> Callable[..., Any]:
    """Return a call of a function that returns a tensor of its own; `general` where it is longer.

    Positional arguments that are arrays as machine code takes them need no conversion: contiguous,
    aligned, writeable and of native bytes. All others, and programs that somebody watches, take the
    general way, whose calls take 1.6 us in place of 1.3 (`benchmarks/bench_overhead.py`).

    Args:
        index: the function's number.
        lines: its source, as `translate` writes it; line numbers stay.
        count: its parameters.
        namespace: its globals, `NAMES` among them; `watched` is true where calls are watched.
        general: what takes any arguments.
        too_deep: makes an error of one of Python's recursion limit.
    """
    if len(lines) > _MAX_LINES:
        return general
    args = [f"r{i}" for i in range(count)]
    params = "".join(f"{arg}=missing, " for arg in args) + ("/, " if args else "")
    odd = [
        f"type({arg} := {arg}.view(ndarray) if type({arg}) is Tensor else {arg}) is not ndarray"
        f" or not {arg}.flags.carray or not {arg}.dtype.isnative"
        for arg in args
    ]
    tests = " or ".join(
        ["rest", "kwargs", "watched", f"getrecursionlimit() > {TRUSTED_LIMIT}", *odd]
    )
    given = f"*[arg for arg in ({''.join(f'{arg}, ' for arg in args)}) if arg is not missing]"
    namespace |= {f"general{index}": general, f"too_deep{index}": too_deep}
    changed = {
        lines[0]: f"def call({params}*rest, **kwargs):",
        lines[1]: f" if {tests}: return general{index}({given}, *rest, **kwargs)",
        " except RecursionError:": " except RecursionError as error:",
        "  raise": f"  raise too_deep{index}(error) from error",
    }
    source = []
    for line in lines:
        source.append(changed.pop(line, line))
        if line.startswith("  return r"):
            source[-1] += ".view(Tensor)"
    scope: dict[str, Any] = {}
    exec(compile("\n".join(source), f"<vm function {index}>", "exec"), namespace, scope)
    return scope["call"]
