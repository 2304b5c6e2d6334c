"""The machine description that the vector lowering reads: caches, cores, bandwidth."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.isa.isa import Isa
from relax_mlir.lowering.target.target import Target

_VECTOR_TYPES = {"f32": 32, "f64": 64, "i32": 32, "i64": 64}


@dataclass(frozen=True)
class Machine:
    """An instruction set and the processor that runs it.

    Attributes:
        isa: the instruction set.
        fma: whether the target has FMA.
        threads: the maximal threads of a kernel.
        l1_bytes: size of L1d.
        l2_bytes: a core's share of L2.
        l3_bytes: size of L3, of which one program may have most.
        dot_products: dot-product instructions: "bf16" (pairs into f32), "u8s8" (four unsigned times
            signed bytes into i32), "s16" (pairs into i32); "amx_bf16" and "amx_int8" (the same on
            matrix tiles).
        gathers: whether gathers are faster than scalar loads.
        fma_units: FMAs of whole vectors that a core starts in a cycle.
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

    def panel(self, element: ir.Type, is_narrow: bool) -> int:
        """Return the columns of a panel of a packed operand.

        They are those of a register tile, so that a tile reads whole lines one after the other. Of
        what is narrower in memory than in registers a few rows read at least as many bytes.

        Args:
            element: of the sums.
            is_narrow: whether the operand's elements are narrower than those.
        """
        tile = self.product_tiles[-1][1] * (self.lanes(element) or self.isa.lanes(32))
        return max(tile, 2 * self.isa.line(32)) if is_narrow else tile

    def min_non_temporal_bytes(self, in_order: bool, *, slow: bool = False) -> int:
        """Return the bytes read and written from which on stores should be non-temporal.

        They save the read for ownership, for which one core waits. Several cores share the memory's
        bandwidth, and plain stores keep a part in cache; so does a computation that is slow. If
        stores are in another order than loads, lines leave the cache half used.

        Args:
            in_order: whether the elements are written in the order in which they are read.
            slow: whether the computation, not memory, is the limit.
        """
        return self.l3_bytes * (5 if in_order and (slow or self.threads > 1) else 3) // 4

    @property
    def far_bytes(self) -> int:
        """Bytes from which on data is not in a core's own caches."""
        return 2 * self.l2_bytes

    @property
    def vector_units(self) -> float:
        """Vector instructions of all kinds that a core runs in a cycle, in loops of functions.

        Vectors of a whole line take two units of most cores. Of three for shorter ones, two and a
        half are kept busy (Zen 4, exponentials and what uses them).
        """
        return 2 if self._fills_lines else 2.5

    @property
    def prefetches_l3(self) -> bool:
        """Whether rows and maps that are in L3 are to be prefetched.

        Loads of whole lines have enough of them under way, and prefetches take load slots.
        """
        return not self._fills_lines

    @property
    def _fills_lines(self) -> bool:
        """Whether a vector is a whole cache line."""
        return self.vector_bits >= 8 * self.isa.line_bytes

    @property
    def panel_bytes(self) -> int:
        """The maximal bytes of the packed panels of a block.

        Two FMAs of 64 bytes in a cycle read 14 bytes of panels, which only L2 delivers. One reads
        7, which L3 delivers too; larger blocks then reuse rows of A and sums more.
        """
        return self.l2_bytes // 2 if self.fma_units > 1 else self.l2_bytes * 4

    @property
    def row_tiles(self) -> tuple[int, ...]:
        """Rows of a register tile of two vectors: the largest, then those of tails.

        The largest fills the registers, less those for two vectors of B and a splat of A; it is a
        multiple of six, so that its halves and thirds are whole.
        """
        most = max(6, (self.registers - 3) // 2 // 6 * 6)
        return (most, most // 3, 1)

    @property
    def product_tiles(self) -> tuple[tuple[int, int], ...]:
        """Rows and vectors of a register tile of a GEMM, the best shape first.

        Three vectors need fewer loads for each FMA than two: with registers of 64 bytes a core that
        loads much runs at a lower clock. Their edges need masks.
        """
        two = (self.row_tiles[0], 2)
        rows = (self.registers - 4) // 3
        return ((rows, 3), two) if self.isa.free_masks and rows * 3 > two[0] * 2 else (two,)
