"""Operations as Python functions: `relax.op.add(x, y)` is a call that `BlockBuilder.emit` emits.

One function for each operation of the dialect, made from the dialect's table on first use, under
the names of TVM; `relax.op.nn` has the same, as `relax.op.nn.softmax`, `relax.op.image` those on
images, `relax.op.vision` those on boxes and regions.
"""

import importlib
from typing import Any

_CALLS = (
    "assert_op", "call_builtin_with_ctx", "call_dps_packed", "call_inplace_packed", "call_packed",
    "call_pure_packed", "call_tir", "call_tir_dyn", "call_tir_inplace", "call_tir_with_grad",
    "invoke_closure", "make_closure", "null_value", "print", "shape", "shape_of",
)  # fmt: skip


GROUPS = ("builtin", "ccl", "grad", "image", "inspect", "memory", "nn", "random", "vision", "vm")


def _names() -> dict[str, str]:
    """Return every name of an operation with the dialect's."""
    from relax_mlir.dialects.relax.op_names import ALIASES
    from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS

    aliases = {name.removeprefix("nn."): op for name, op in ALIASES.items() if op in COMPUTE_OPS}
    plain = {name: op for name, op in aliases.items() if "." not in name}
    return {**plain, **{name: name for name in COMPUTE_OPS}}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in GROUPS:
        return importlib.import_module(f"relax_mlir.relax.op.{name}")
    if name in _CALLS:
        value = getattr(importlib.import_module("relax_mlir.relax.op.calls"), name)
    elif name == "const":
        value = importlib.import_module("relax_mlir.relax.expr").const
    else:
        value = _operation(name)
    globals()[name] = value
    return value


def _operation(name: str) -> Any:
    names = _names()
    if name not in names:
        from relax_mlir.errors import did_you_mean

        near = did_you_mean(name, [*names, *_CALLS])
        raise AttributeError(f"there is no operation relax.op.{name}{near}")
    from relax_mlir.relax.op.make import function_of

    return function_of(names[name])


def __dir__() -> list[str]:
    return sorted({*_names(), *_CALLS, *GROUPS, "const"})
