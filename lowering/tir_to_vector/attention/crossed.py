"""Scores from fewer multiply-adds: of every four products two are taken as one of sums.

`x0 y0 + x1 y1 = (x0 + y1) (x1 + y0) - x0 x1 - y0 y1` (S. Winograd, 1968). What is subtracted
depends on a query or on a key alone, so it is computed once for each. Additions go beside
multiply-adds where a core has adders of their own.

A sum of a query's element and a key's keeps no more digits than the larger one has. So both are
multiplied by factors of one size, and crossed only where no length is above `FURTHEST`'s root:
scores are off by as little then as those that are `FURTHEST` are anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.near import FURTHEST, is_less
from relax_mlir.lowering.tir_to_vector.attention.tile import Arithmetic, Lines, sum_products
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Of so many elements two are crossed: their 2 additions go beside the 3 multiply-adds of all.
GROUP = 4


def can_cross(machine: Machine, steps: Index) -> bool:
    """Whether additions of a product over so many elements go beside its multiply-adds.

    They do where registers are twice as wide as what computes, so that a core starts one
    multiply-add of such vectors in a cycle. Where it is not known how many elements there are, rows
    would have as many addresses, and a second form for what is left takes longer to compile.
    """
    whole = isinstance(steps, int) and steps > 0 and steps % GROUP == 0
    return machine.isa.tables and machine.fma_units == 1 and whole


@dataclass(frozen=True)
class Crossing:
    """What crossing takes from the scores of a head's keys and of a block's queries.

    Attributes:
        use: the arithmetic.
        steps: elements of a query, and of a key: a multiple of GROUP.
        of_keys: for each key of a head.
        of_queries: for each query of a block, less than zero, where they are crossed.
    """

    use: Arithmetic
    steps: int
    of_keys: ir.Value
    of_queries: ir.Value

    def note_keys(self, keys: ir.Value, count: Index, width: int) -> None:
        """Store what is taken from the scores of keys.

        Args:
            keys: their panels, one after the other.
            count: how many keys.
            width: keys of a panel.
        """
        use, emit = self.use, self.use.emit
        zero, vectors = emit.constant(use.vector, 0), range(width // use.lanes)
        with emit.loop(0, count, width) as panel:
            base = emit.mul(panel.counter, self.steps)
            with emit.loop(0, self.steps, GROUP, [zero for _ in vectors]) as step:
                at = emit.add(base, emit.mul(step.counter, width))
                places = [emit.add(at, h * use.lanes) for h in vectors]
                pairs = [(use.load(keys, x), use.load(keys, emit.add(x, width))) for x in places]
                sums = zip(pairs, step.carried, strict=True)
                step.carry([use.multiply_add(*pair, total) for pair, total in sums])
            for h, total in enumerate(step.results):
                emit.vector_store(total, self.of_keys, [emit.add(panel.counter, h * use.lanes)])

    def note_queries(
        self, queries: Lines, rows: Index, longest: Sequence[ir.Value], near: ir.Value
    ) -> ir.Value:
        """Store what is taken from the scores of a block's queries if they are crossed.

        Args:
            queries: where they are, with zeros up to the end of a vector.
            rows: how many.
            longest: no less than the squares of the lengths of each, and of each key.
            near: whether scores are near, an i1.

        Returns:
            Whether they are, an i1.
        """
        use, emit = self.use, self.use.emit
        element, lanes = use.vector.element_type, use.lanes
        for square in longest:
            near = emit.both(near, is_less(use, square, FURTHEST))
        zero = emit.constant(use.vector, 0)
        # Each product is in two lanes.
        halves = [-0.5 if i % GROUP < 2 else 0.0 for i in range(lanes)]
        halves = [ir.FloatAttr.get(element, half) for half in halves]
        half = emit.constant_of(use.vector, ir.DenseElementsAttr.get(halves, use.vector))
        with emit.when(near), emit.loop(0, rows) as row:
            start = emit.add(queries.offset, emit.mul(row.counter, queries.stride))
            with emit.loop(0, self.steps, lanes, [zero]) as column:
                value = use.load(queries.base, emit.add(start, column.counter))
                other = emit.shuffle(value, value, [i ^ 1 for i in range(lanes)])
                column.carry([use.multiply_add(value, other, column.carried[0])])
            total = emit.op("arith.mulf", [column.results[0], half], use.vector)
            emit.store(use.across(total, use.add), self.of_queries, [row.counter])
        return near

    def sums(
        self, shape: tuple[int, int], queries: Lines, keys: Lines, at: tuple[Index, Index],
        crossed: ir.Value,
    ) -> list[list[ir.Value]]:  # fmt: skip
        """Return the scores of a tile.

        Args:
            shape: rows, and two vectors of keys.
            queries: where they are.
            keys: a line for each element.
            at: the first query, counted from the block's first, and the first key.
            crossed: whether they are crossed, an i1.
        """
        use, emit = self.use, self.use.emit
        rows, vectors = shape

        def fewer() -> list[ir.Value]:
            places = [emit.add(at[1], h * use.lanes) for h in range(vectors)]
            of_keys = [use.load(self.of_keys, place) for place in places]
            sums = []
            for row in range(rows):
                of_row = use.splat(emit.load(self.of_queries, [emit.add(at[0], row)]))
                sums += [emit.op("arith.subf", [of_row, key], use.vector) for key in of_keys]
            return _sum_crossed(use, queries, keys, self.steps, sums)

        def all_() -> list[ir.Value]:
            sums = sum_products(use, shape, queries, keys, self.steps)
            return [total for each in sums for total in each]

        sums = emit.either(crossed, [use.vector] * (rows * vectors), fewer, all_)
        return [sums[row * vectors : (row + 1) * vectors] for row in range(rows)]


def equal_factors(use: Arithmetic, factor: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return what queries and keys are to be multiplied by, of one size, and its product."""
    emit, vector = use.emit, use.vector
    root = emit.op("math.sqrt", [emit.op("math.absf", [factor], vector)], vector)
    return root, emit.op("math.copysign", [root, factor], vector)


# A step of a row, whose elements are so many bytes from {at} on: the first two are crossed with {x}
# and {y}, and another one is multiplied by {v} and {w}.
_STEP = """
vaddps {first}({at}){{1to16}}, {y}, {s}
vaddps {second}({at}){{1to16}}, {x}, {t}
vfmadd231ps {s}, {t}, {crossed}
vfmadd231ps {other}({at}){{1to16}}, {v}, {left}
vfmadd231ps {other}({at}){{1to16}}, {w}, {right}
"""


def _sum_crossed(
    use: Arithmetic, a: Lines, b: Lines, steps: int, sums: Sequence[ir.Value]
) -> list[ir.Value]:
    """Write the sums over k of `a[row][k] * b[k][column]`, with what crossing adds to them.

    It is written in instructions. As operations on vectors, elements of `a` and splats of them
    would be so many that attention took a tenth longer to compile; and a splat that two
    instructions read becomes one more, which takes the place of additions.

    Args:
        use: the arithmetic.
        a: rows, a known number of elements apart, adjacent along k.
        b: a line for each k, two vectors of columns adjacent.
        steps: how many k, a multiple of GROUP.
        sums: what they begin with, two vectors for each row.

    Returns:
        The sums.
    """
    emit, lanes = use.emit, use.lanes
    assert isinstance(a.stride, int)  # as steps are known
    size = use.vector.element_type.width // 8
    start = emit.op("memref.extract_aligned_pointer_as_index", [a.base], emit.index_type)
    start = emit.add(start, emit.mul(a.offset, size))
    with emit.loop(0, steps, GROUP, sums) as loop:
        at = emit.add(b.offset, emit.mul(loop.counter, b.stride))
        place = emit.add(start, emit.mul(loop.counter, size))
        place = emit.op("arith.index_cast", [place], ir.IntegerType.get_signless(64))
        sums = list(loop.carried)
        # With each of the other elements one vector of columns is crossed.
        for half, other in enumerate((2, 3)):
            lines = ((0, half), (1, half), (other, 0), (other, 1))
            columns = [
                use.load(b.base, emit.add(at, k * b.stride + h * lanes)) for k, h in lines
            ]  # fmt: skip
            sums = _step(use, place, columns, sums, a.stride * size, half)
        loop.carry(sums)
    return list(loop.results)


def _step(
    use: Arithmetic, place: ir.Value, columns: Sequence[ir.Value], sums: Sequence[ir.Value],
    stride: int, half: int,
) -> list[ir.Value]:  # fmt: skip
    """Write a step of all rows, a number of bytes apart; one half of columns is crossed."""
    emit, count, size = use.emit, len(sums), use.vector.element_type.width // 8
    names = [f"${i}" for i in range(count + 2 + 1 + len(columns))]
    scratch = dict(zip("st", names[count:], strict=False))
    read = dict(zip(("at", *"xyvw"), names[count + 2 :], strict=True))
    text = []
    for row in range(count // 2):
        pair, first = names[2 * row : 2 * row + 2], row * stride
        places = {"first": first, "second": first + size, "other": first + (2 + half) * size}
        to = {"crossed": pair[half], "left": pair[0], "right": pair[1]}
        text.append(_STEP.format(**scratch, **read, **places, **to))
    made = ir.Type.parse(f"!llvm.struct<({', '.join([str(use.vector)] * (count + 2))})>")
    # Results are written before all is read; sums begin where they end.
    constraints = [*["=&v"] * (count + 2), "r", *"v" * len(columns), *map(str, range(count))]
    results = emit.op(
        "llvm.inline_asm", [place, *columns, *sums], made,
        asm_string=ir.StringAttr.get("".join(text)),
        constraints=ir.StringAttr.get(",".join([*constraints, "~{memory}"])),
    )  # fmt: skip
    return [
        emit.op("llvm.extractvalue", [results], use.vector, position=ir.DenseI64ArrayAttr.get([i]))
        for i in range(count)
    ]
