"""The supported instruction sets, and which of them a processor has."""

from collections.abc import Callable

from relax_mlir.lowering.target.isa.avx2 import AVX2
from relax_mlir.lowering.target.isa.avx512 import AVX512
from relax_mlir.lowering.target.isa.isa import Isa
from relax_mlir.lowering.target.isa.neon import NEON
from relax_mlir.lowering.target.isa.rvv import RVV256
from relax_mlir.lowering.target.isa.sse4_2 import SSE4_2

# Of an architecture that is not known: what LLVM makes of vectors of 128 bits.
_ANY = Isa(name="any", architectures=(), vector_bits=128, vector_registers=32)
# The first that a processor has is taken.
KNOWN = (AVX512, AVX2, SSE4_2, NEON, RVV256, _ANY)


def find_isa(arch: str, has: Callable[[str], bool]) -> Isa:
    """Return the best instruction set of a processor.

    Args:
        arch: the first part of its triple.
        has: whether it has one of LLVM's features.
    """
    return next(isa for isa in KNOWN if isa.is_on(arch, has))
