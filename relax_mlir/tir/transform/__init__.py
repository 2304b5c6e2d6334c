"""Passes over prim funcs under TVM's names: `tir.transform.UnrollLoop()`."""

import importlib
from collections.abc import Callable
from typing import Any

from relax_mlir.errors import did_you_mean
from relax_mlir.pass_infra import registry
from relax_mlir.tir.transform.table import TIR_PASSES
from relax_mlir.tir.transform.unsupported import UNSUPPORTED

_EXPORTS = {
    **dict.fromkeys(
        ("UnrollLoopConfig", "LoopPartitionConfig", "HoistIfThenElseConfig"),
        "relax_mlir.pass_infra.tir_config",
    ),
    **dict.fromkeys(("Apply", "Filter"), "relax_mlir.tir.transform.user"),
    "prim_func_pass": "relax_mlir.pass_infra.kinds.decorators",
}
_NAMES = {spec.name: spec for spec in TIR_PASSES.values()}


def __getattr__(name: str) -> Callable[..., Any]:
    """Return a pass's constructor, or one of the classes of this package.

    Raises:
        AttributeError: there is no such pass; says why, or names the closest.
    """
    package = "relax_mlir.tir.transform"
    if name in _EXPORTS:
        value = getattr(importlib.import_module(_EXPORTS[name]), name)
    elif name in _NAMES:
        value = registry.lookup(name).make
    else:
        if name in UNSUPPORTED:
            raise AttributeError(
                f"tir.transform has no pass {name}: {UNSUPPORTED[name]}", name=name
            )
        hint = "" if name.startswith("_") else did_you_mean(name, __dir__())
        raise AttributeError(f"module '{package}' has no attribute '{name}'{hint}", name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS, *_NAMES])
