"""Winograd's dot product for scores: three multiply-adds for four products.

`x0 y0 + x1 y1 = (x0 + y1) (x1 + y0) - x0 x1 - y0 y1` (S. Winograd, 1968). What is subtracted
depends on a query or on a key alone, so it is computed once for each. Additions run next to
multiply-adds where a core has adders of their own.

A sum of a query's element and a key's keeps the digits of the larger one. So both are scaled to
equal sizes, and the identity is used only if no squared norm exceeds `MAX_BOUNDED_SCORE`: errors
are then those of a score of that size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.tile import (
    MAX_BOUNDED_SCORE,
    Arithmetic,
    sum_products,
)
from relax_mlir.lowering.tir_to_vector.emit import StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Two of four products are computed by Winograd's identity: 2 additions for 3 multiply-adds.
GROUP = 4


def winograd_dot_pays(machine: Machine, steps: Index) -> bool:
    """Whether a core runs the additions in parallel with the multiply-adds, for `steps` elements.

    That is so with one FMA unit for full vectors and separate adders. `steps` must be static: a
    dynamic one needs a pointer for each row and code for a tail.
    """
    whole = isinstance(steps, int) and steps > 0 and steps % GROUP == 0
    return machine.isa.tables and machine.fma_units == 1 and whole


@dataclass(frozen=True)
class WinogradDot:
    """The subtrahends of Winograd's dot product: one for each key and for each query.

    Attributes:
        use: the arithmetic.
        steps: elements of a query, and of a key: a multiple of GROUP.
        of_keys: the terms of a head's keys.
        of_queries: the negated terms of a block's queries.
    """

    use: Arithmetic
    steps: int
    of_keys: ir.Value
    of_queries: ir.Value

    def store_key_terms(self, keys: ir.Value, count: Index, width: int) -> None:
        """Store the terms of keys, which are in panels of `width`, one after the other."""
        use, emit = self.use, self.use.emit
        zero, vectors = emit.constant(use.vector, 0), range(width // use.lanes)
        with emit.loop(0, count, width) as panel:
            base = panel.counter * self.steps
            with emit.loop(0, self.steps, GROUP, [zero for _ in vectors]) as step:
                at = base + step.counter * width
                places = [at + h * use.lanes for h in vectors]
                pairs = [(use.load(keys, x), use.load(keys, x + width)) for x in places]
                sums = zip(pairs, step.carried, strict=True)
                step.carry([use.multiply_add(*pair, total) for pair, total in sums])
            for h, total in enumerate(step.results):
                emit.vector_store(total, self.of_keys, [panel.counter + h * use.lanes])

    def store_query_terms(
        self, queries: StridedRef, rows: Index, max_norm: Sequence[ir.Value], bounded: ir.Value
    ) -> ir.Value:
        """Store the terms of a block's queries, if norms are small enough.

        Args:
            queries: where they are, with zeros up to the end of a vector.
            rows: how many.
            max_norm: no less than the squares of the lengths of each, and of each key.
            bounded: whether scores are bounded, an i1.

        Returns:
            Whether they are, an i1.
        """
        use, emit = self.use, self.use.emit
        element, lanes = use.vector.element_type, use.lanes
        for square in max_norm:
            bounded &= use.is_less(square, MAX_BOUNDED_SCORE)
        zero = emit.constant(use.vector, 0)
        # Each product is in two lanes, hence the half.
        halves = [-0.5 if i % GROUP < 2 else 0.0 for i in range(lanes)]
        halves = [ir.FloatAttr.get(element, half) for half in halves]
        half = emit.constant_of(use.vector, ir.DenseElementsAttr.get(halves, use.vector))
        with emit.when(bounded), emit.loop(0, rows) as row:
            start = queries.offset + row.counter * queries.stride("m")
            with emit.loop(0, self.steps, lanes, [zero]) as column:
                value = use.load(queries.base, start + column.counter)
                other = emit.shuffle(value, value, [i ^ 1 for i in range(lanes)])
                column.carry([use.multiply_add(value, other, column.carried[0])])
            total = use.mul(column.results[0], half)
            emit.store(use.across(total, use.add), self.of_queries, [row.counter])
        return bounded

    def sums(
        self, shape: tuple[int, int], queries: StridedRef, keys: StridedRef,
        at: tuple[Index, Index], uses_winograd: ir.Value,
    ) -> list[list[ir.Value]]:  # fmt: skip
        """Return the scores of a tile.

        Args:
            shape: rows, and two vectors of keys.
            queries: where they are.
            keys: a line for each element.
            at: the first query, counted from the block's first, and the first key.
            uses_winograd: whether the dot product is Winograd's, an i1.
        """
        use, emit = self.use, self.use.emit
        rows, vectors = shape

        def fewer() -> list[ir.Value]:
            places = [at[1] + h * use.lanes for h in range(vectors)]
            of_keys = [use.load(self.of_keys, place) for place in places]
            sums = []
            for row in range(rows):
                of_row = use.splat(emit.load(self.of_queries, [at[0] + row]))
                sums += [use.sub(of_row, key) for key in of_keys]
            return _winograd_sums(use, queries, keys, self.steps, sums)

        def all_() -> list[ir.Value]:
            sums = sum_products(use, shape, queries, keys, self.steps)
            return [total for each in sums for total in each]

        sums = emit.either(uses_winograd, [use.vector] * (rows * vectors), fewer, all_)
        return [sums[row * vectors : (row + 1) * vectors] for row in range(rows)]


def balanced_factors(use: Arithmetic, factor: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return factors of equal size for queries and keys, whose product is the scale."""
    emit, vector = use.emit, use.vector
    root = emit.op("math.sqrt", [emit.op("math.absf", [factor], vector)], vector)
    return root, emit.op("math.copysign", [root, factor], vector)


# A step of a row: elements {first} and {second} go with columns {x} and {y} by the identity, and
# element {other} is multiplied by {v} and {w}.
_STEP = """
vaddps {first}({at}){{1to16}}, {y}, {s}
vaddps {second}({at}){{1to16}}, {x}, {t}
vfmadd231ps {s}, {t}, {winograd}
vfmadd231ps {other}({at}){{1to16}}, {v}, {left}
vfmadd231ps {other}({at}){{1to16}}, {w}, {right}
"""


def _winograd_sums(
    use: Arithmetic, a: StridedRef, b: StridedRef, steps: int, sums: Sequence[ir.Value]
) -> list[ir.Value]:
    """Write the sums over k of `a[row][k] * b[k][column]` by Winograd's identity.

    They are inline assembly. As vector operations, loads and splats of `a` make attention take a
    tenth longer to compile, and a splat with two uses becomes an instruction of its own.

    Args:
        use: the arithmetic.
        a: rows at a known distance of elements, adjacent along k.
        b: a line for each k, two vectors of columns adjacent.
        steps: how many k, a multiple of GROUP.
        sums: what they begin with, two vectors for each row.

    Returns:
        The sums.
    """
    emit, lanes = use.emit, use.lanes
    a_row, b_row = a.stride("m"), b.stride("k")
    size = use.vector.element_type.width // 8
    start = emit.address(a.base)
    start += a.offset * size
    with emit.loop(0, steps, GROUP, sums) as loop:
        at = b.offset + loop.counter * b_row
        place = start + loop.counter * size
        place = emit.op("arith.index_cast", [place], ir.IntegerType.get_signless(64))
        sums = list(loop.carried)
        # Each half uses the identity for one vector of columns.
        for half, other in enumerate((2, 3)):
            lines = ((0, half), (1, half), (other, 0), (other, 1))
            columns = [
                use.load(b.base, at + (k * b_row + h * lanes)) for k, h in lines
            ]  # fmt: skip
            sums = _step(use, place, columns, sums, a_row * size, half)
        loop.carry(sums)
    return list(loop.results)


def _step(
    use: Arithmetic, place: ir.Value, columns: Sequence[ir.Value], sums: Sequence[ir.Value],
    stride: int, half: int,
) -> list[ir.Value]:  # fmt: skip
    """Write a step of all rows, `stride` bytes each; one half of columns uses the identity."""
    emit, count, size = use.emit, len(sums), use.vector.element_type.width // 8
    names = [f"${i}" for i in range(count + 2 + 1 + len(columns))]
    scratch = dict(zip("st", names[count:], strict=False))
    read = dict(zip(("at", *"xyvw"), names[count + 2 :], strict=True))
    text = []
    for row in range(count // 2):
        pair, first = names[2 * row : 2 * row + 2], row * stride
        places = {"first": first, "second": first + size, "other": first + (2 + half) * size}
        to = {"winograd": pair[half], "left": pair[0], "right": pair[1]}
        text.append(_STEP.format(**scratch, **read, **places, **to))
    # Results are early-clobber; sums are read and written in the same registers.
    constraints = [*["=&v"] * (count + 2), "r", *"v" * len(columns), *map(str, range(count))]
    return emit.assembly(
        "".join(text), [*constraints, "~{memory}"], [place, *columns, *sums],
        [use.vector] * (count + 2), scratch=2,
    )  # fmt: skip
