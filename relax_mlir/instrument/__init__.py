"""Instruments: what can watch and steer passes from a PassContext."""

from relax_mlir.instrument.bisect import Culprit, PassBisect, PassLimit, find_culprit
from relax_mlir.instrument.change import ChangeInstrument
from relax_mlir.instrument.diff import IRDiff
from relax_mlir.instrument.dump import DumpIR
from relax_mlir.instrument.equivalence import EquivalenceCheck
from relax_mlir.instrument.immutable import ImmutableModule
from relax_mlir.instrument.printing import (
    PassPrintingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    PrintOnChange,
    PrintOnFailure,
)
from relax_mlir.instrument.shape_check import ShapeCheck
from relax_mlir.instrument.statistics import StatisticsInstrument
from relax_mlir.instrument.timing import PassTimingInstrument
from relax_mlir.instrument.well_formed import WellFormedInstrument
from relax_mlir.pass_infra.instrument import PassInstrument, pass_instrument

__all__ = [
    "ChangeInstrument",
    "Culprit",
    "DumpIR",
    "EquivalenceCheck",
    "IRDiff",
    "ImmutableModule",
    "PassBisect",
    "PassInstrument",
    "PassLimit",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "PrintOnChange",
    "PrintOnFailure",
    "ShapeCheck",
    "StatisticsInstrument",
    "WellFormedInstrument",
    "find_culprit",
    "pass_instrument",
]
