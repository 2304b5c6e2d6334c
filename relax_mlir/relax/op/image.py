"""`relax.op.image`: the operations on images under the names that TVM gives them."""

from typing import Any

from relax_mlir.relax import op
from relax_mlir.script.parser.tables import IMAGE


def __getattr__(name: str) -> Any:
    if name not in IMAGE:
        from relax_mlir.errors import did_you_mean

        near = did_you_mean(name, IMAGE)
        raise AttributeError(f"there is no operation relax.op.image.{name}{near}")
    value = getattr(op, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(IMAGE)
