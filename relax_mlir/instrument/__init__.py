"""Instruments: what can watch and steer passes from a PassContext."""

from relax_mlir.instrument.base import PassInstrument, pass_instrument
from relax_mlir.instrument.printing import (
    PassPrintingInstrument,
    PrintAfter,
    PrintAfterAll,
    PrintAll,
    PrintBefore,
    PrintBeforeAll,
)
from relax_mlir.instrument.timing import PassTimingInstrument

__all__ = [
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfter",
    "PrintAfterAll",
    "PrintAll",
    "PrintBefore",
    "PrintBeforeAll",
    "pass_instrument",
]
