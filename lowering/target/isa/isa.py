"""The description of an instruction set: one declarative object for each."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Instruction:
    """An instruction that multiplies groups of small numbers and adds the products up.

    Attributes:
        kind: which product, as `Machine.dot_products` names it.
        intrinsic: LLVM's name; a part in braces says whose signs count.
        needs: features that it takes besides those of its instruction set.
        cpus: on which it pays, by LLVM's names; none for all.
        matrices: whether its registers hold matrices, which the system may have to grant.
    """

    kind: str
    intrinsic: str
    needs: tuple[str, ...] = ()
    cpus: tuple[str, ...] = ()
    matrices: bool = False


@dataclass(frozen=True)
class Assembly:
    """How empty assembly code holds values in registers, so that LLVM computes them there.

    Attributes:
        vector, mask: LLVM's constraints for a register of a vector and of a mask.
    """

    vector: str
    mask: str


@dataclass(frozen=True)
class Isa:
    """The properties of an instruction set that vector code depends on.

    Attributes:
        name: its name.
        architectures: first parts of LLVM's triples.
        vector_bits: width of a vector register.
        vector_registers: their number.
        needs: features that it consists of.
        fma: the feature of FMA; "" if it is always there.
        fma_by_lane: whether FMAs multiply by a lane of a vector, so that no splat is needed.
        masked_bits: sizes of elements that have masked loads and stores.
        free_masks: whether masks have registers of their own and cost nothing: tails then need no
            loop of their own.
        tables: whether there are permutes from tables of two registers.
        float_parts: features of instructions on exponents and fractions of floats; None without
            them.
        gathers: whether there are gathers.
        slow_gathers: a feature of processors whose gathers are slower than scalar loads.
        dot_products: dot-product instructions, the best first.
        dot_needs: features that all of them need.
        assembly: the assembly constraints of vector and mask registers, or None.
        nontemporal: whether there are non-temporal stores, two of which fill a cache line at most.
        store_fence: the intrinsic that orders them; "" if none is needed.
        line_bytes: bytes of a cache line.
    """

    name: str
    architectures: tuple[str, ...]
    vector_bits: int
    vector_registers: int
    needs: tuple[str, ...] = ()
    fma: str = ""
    fma_by_lane: bool = False
    masked_bits: tuple[int, ...] = ()
    free_masks: bool = False
    tables: bool = False
    float_parts: tuple[str, ...] | None = None
    gathers: bool = False
    slow_gathers: str = ""
    dot_products: tuple[Instruction, ...] = ()
    dot_needs: tuple[str, ...] = ()
    assembly: Assembly | None = None
    nontemporal: bool = False
    store_fence: str = ""
    line_bytes: int = 64

    def is_on(self, arch: str, has: Callable[[str], bool]) -> bool:
        """Whether a processor has it, by its architecture and its features."""
        known = not self.architectures or arch in self.architectures
        return known and all(map(has, self.needs))

    def lanes(self, bits: int) -> int:
        """Return the elements of a vector register."""
        return max(1, self.vector_bits // bits)

    def line(self, bits: int) -> int:
        """Return the elements of a cache line."""
        return self.line_bytes * 8 // bits

    def intrinsic(self, kind: str) -> str | None:
        """Return the LLVM intrinsic of a dot-product instruction, None without one."""
        return next((each.intrinsic for each in self.dot_products if each.kind == kind), None)
