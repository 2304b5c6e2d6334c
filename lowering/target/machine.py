"""What the vector code needs to know of the machine."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.isa.isa import Isa
from relax_mlir.lowering.target.target import Target

_VECTOR_TYPES = {"f32": 32, "f64": 64, "i32": 32, "i64": 64}


@dataclass(frozen=True)
class Machine:
    """An instruction set and what runs it.

    Attributes:
        isa: the instruction set.
        fma: whether a fused multiply-add is one instruction.
        threads: most threads for one kernel.
        l1_bytes: size of a core's first-level data cache.
        l2_bytes: size of what a core has of the second-level cache.
        l3_bytes: size of the last-level cache, of which one program may have most.
        dot_products: instructions that add up products of small numbers: "bf16" (pairs into f32),
            "u8s8" (four unsigned times signed bytes into i32), "s16" (pairs into i32); "amx_bf16"
            and "amx_int8" (the same into registers that hold matrices).
        gathers: whether loading lanes from places of their own by one instruction is quicker than
            one by one.
        fma_units: multiply-adds of whole vectors that a core starts in a cycle.
    """

    isa: Isa
    fma: bool
    threads: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    dot_products: tuple[str, ...]
    gathers: bool
    fma_units: int

    @staticmethod
    def of(target: Target) -> "Machine":
        """Return the machine that a target is."""
        l1_bytes, l2_bytes, l3_bytes = target.cache_bytes
        return Machine(
            isa=target.isa,
            fma=target.has_fma,
            threads=target.threads,
            l1_bytes=l1_bytes,
            l2_bytes=l2_bytes,
            l3_bytes=l3_bytes,
            dot_products=target.dot_products,
            gathers=target.gathers,
            fma_units=target.fma_units,
        )

    @property
    def vector_bits(self) -> int:
        """Width of a vector register."""
        return self.isa.vector_bits

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return self.isa.vector_registers

    def lanes(self, element: ir.Type) -> int | None:
        """Return how many elements fit a register; None where they are not computed in vectors."""
        bits = _VECTOR_TYPES.get(str(element))
        return None if bits is None else self.isa.lanes(bits)

    def can_mask(self, bits: int) -> bool:
        """Whether loads and stores of elements of that size have masks."""
        return max(8, bits) in self.isa.masked_bits

    def panel(self, *, read_once: bool) -> int:
        """Return the columns of a panel of constants, by which sums of 32 bits are made.

        A register tile reads as many as it has, in their order. What few rows read once, from
        memory, is best read in pairs of lines.
        """
        tile = self.product_tiles[-1][1] * self.isa.lanes(32)
        return max(tile, 2 * self.isa.line(32)) if read_once else tile

    def past_cache(self, in_order: bool, *, slow: bool = False) -> int:
        """Return the bytes read and written from which on stores should go past the cache.

        One core alone waits for what plain stores read first. Several wait for memory together, to
        which less has to go while some of it stays in the cache, and what is slow to compute does
        not wait; but not where what is written is in another order than what is read, so that
        lines leave the cache half used.
        """
        return self.l3_bytes * (5 if in_order and (slow or self.threads > 1) else 3) // 4

    @property
    def far_bytes(self) -> int:
        """Bytes from which on what a core reads comes from beyond its own caches."""
        return 2 * self.l2_bytes

    @property
    def panel_bytes(self) -> int:
        """Bytes that the packed panels of a block take at most.

        Every tile of rows passes over them: two multiply-adds of 64 bytes a cycle take 14 bytes,
        which only the second-level cache gives. One takes 7, which the third level gives too; then
        rows are copied, and sums stored, for more columns at a time.
        """
        return self.l2_bytes // 2 if self.fma_units > 1 else self.l2_bytes * 4

    @property
    def row_tiles(self) -> tuple[int, ...]:
        """How many rows a register tile of a contraction has: the most first, then for remainders.

        The largest fills the registers with accumulators of two vectors, less those for the vectors
        and a splat; it is a multiple of six, so that halves and thirds of it are whole.
        """
        most = max(6, (self.registers - 3) // 2 // 6 * 6)
        return (most, most // 3, 1)

    @property
    def product_tiles(self) -> tuple[tuple[int, int], ...]:
        """Rows and vectors of a register tile of a matrix product, the best shape first.

        Three vectors take fewer loads for each multiply-add than two: with registers of 64 bytes
        a core that loads much runs at a lower clock. Their edges need masks.
        """
        two = (self.row_tiles[0], 2)
        rows = (self.registers - 4) // 3
        return ((rows, 3), two) if self.isa.free_masks and rows * 3 > two[0] * 2 else (two,)
