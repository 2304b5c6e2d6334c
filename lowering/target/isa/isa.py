"""What code needs to know of an instruction set: one declarative object for each."""

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
    """An instruction set, as vector code sees it.

    Attributes:
        name: what it is called.
        architectures: first parts of LLVM's triples.
        vector_bits: width of a register.
        vector_registers: how many there are.
        needs: features without which it is not there.
        fma: the feature with which a fused multiply-add is one instruction; "" where it always is.
        masked_bits: sizes of elements that loads and stores have masks for.
        free_masks: whether masks have registers of their own and take no time: one loop then does
            whole vectors and what is left.
        tables: whether one instruction picks lanes of two registers by a third.
        float_parts: features with which exponents and fractions of floats are taken apart, scaled
            and looked up by instructions of 64 bytes; None where there are none.
        gathers: whether lanes can be loaded from places of their own.
        slow_gathers: a feature of processors on which that is slower than one by one.
        dot_products: instructions for products of small numbers, the best first.
        dot_needs: features that all of those take.
        assembly: how a value is held in a register; None where that is not known.
        nontemporal: whether stores can go past the cache.
        store_fence: the intrinsic that orders such stores; "" where nothing has to.
        line_bytes: of a cache's line.
    """

    name: str
    architectures: tuple[str, ...]
    vector_bits: int
    vector_registers: int
    needs: tuple[str, ...] = ()
    fma: str = ""
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
        """Whether a processor has it, by its architecture and what says which features it has."""
        known = not self.architectures or arch in self.architectures
        return known and all(map(has, self.needs))

    @property
    def streams_lines(self) -> bool:
        """Whether one store past the cache fills a line; parts of one would wait for the rest."""
        return self.nontemporal and self.vector_bits == 8 * self.line_bytes

    def lanes(self, bits: int) -> int:
        """Return how many elements of so many bits a register holds."""
        return max(1, self.vector_bits // bits)

    def line(self, bits: int) -> int:
        """Return how many elements of so many bits a cache's line holds."""
        return self.line_bytes * 8 // bits

    def intrinsic(self, kind: str) -> str | None:
        """Return LLVM's name of an instruction for products of small numbers, None without one."""
        return next((each.intrinsic for each in self.dot_products if each.kind == kind), None)
