"""Constants, whose memory a context never frees: they are counted."""

import weakref

from relax_mlir.dialects.bindings import ir

# A context with so many bytes of constants is replaced by a new one.
MAX_BYTES = 64 << 20
_CONSTANT_BYTES: "weakref.WeakKeyDictionary[ir.Context, int]" = weakref.WeakKeyDictionary()


def count_constant(context: ir.Context, size: int) -> None:
    """Note that a context now holds so many more bytes of constants, until it dies."""
    _CONSTANT_BYTES[context] = _CONSTANT_BYTES.get(context, 0) + size


def is_full(context: ir.Context) -> bool:
    """Whether a context holds as many bytes of constants as one should."""
    return _CONSTANT_BYTES.get(context, 0) >= MAX_BYTES
