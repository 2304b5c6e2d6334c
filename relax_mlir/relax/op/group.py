"""Modules that offer some of the operations, as `relax.op.image` does."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.relax import op


def members(
    group: str, names: Sequence[str], prefix: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return what `__getattr__` and `__dir__` are in the module of a group of operations.

    Args:
        group: the name of the module.
        names: the operations as the module calls them.
        prefix: what the dialect's names have before these.
    """

    def get(name: str) -> Any:
        if name not in names:
            from relax_mlir.errors import did_you_mean

            near = did_you_mean(name, names)
            raise AttributeError(f"there is no operation relax.op.{group}.{name}{near}")
        return getattr(op, prefix + name)

    return get, lambda: list(names)
