"""`relax.op.nn`: the operations of neural networks under the names that TVM gives them."""

from typing import Any

from relax_mlir.relax import op


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name in op.GROUPS:
        raise AttributeError(name)
    value = getattr(op, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [name for name in dir(op) if name not in op.GROUPS]
