"""Instruments of bytecode calls: `vm.set_instrument` (TVM's semantics)."""

import enum
from collections.abc import Callable
from typing import Any

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.values.convert import describe
from relax_mlir.runtime.values.ndarray import as_tensors


class VMInstrumentReturnKind(enum.IntEnum):
    """What an instrument's call before a function may return."""

    NO_OP = 0
    SKIP_RUN = 1


def instrumented(
    instrument: Callable[..., Any], name: str, func: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function that calls an instrument around each call of `func`.

    The instrument is called as `instrument(func, name, before_run, result, *args)`: before with
    `before_run` true and no result, and after with the result. When the first one returns
    `VMInstrumentReturnKind.SKIP_RUN`, the function is not called, its result is None, and there is
    no second one.
    """

    def call(*args: Any) -> Any:
        seen = [as_tensors(a) for a in args]
        kind = instrument(func, name, True, None, *seen)
        if kind is not None and kind != VMInstrumentReturnKind.NO_OP:
            if kind == VMInstrumentReturnKind.SKIP_RUN:
                return None
            raise ArgumentTypeError(
                f"an instrument returns None or a VMInstrumentReturnKind, got {describe(kind)}"
            )
        result = func(*args)
        instrument(func, name, False, as_tensors(result), *seen)
        return result

    return call
