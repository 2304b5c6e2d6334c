"""The pass `pack-weights`: constant matrices in micro-panels.

A register tile takes a run of columns for each step of the reduction. Where the right-hand matrix
is a constant, it is brought into that order once, at compile time, and the kernel reads it as it
lies: a matrix of K rows and N columns becomes N / P panels of K rows and P columns, those of a
register tile. Where P does not divide N, zeros fill the last panel. The kernel's sums then have as
many columns, of which what follows takes the first N; lowering makes one of both and stores no more
than those.

Small numbers stay as small as they are: kernels widen them as they read, and compute what they
stand for. Those in groups with scales of their own that fit in four bits lie two in a byte. Where
many rows are known to share what is only widened, it is left as it lies. Where the target
multiplies some steps of the reduction at once, those of a column are adjacent: of bytes
K / 4 rows of P groups of four.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.background_copy import (
    drop_copy,
    finish_copy,
    origin_of,
    release_pages,
)
from relax_mlir.dialects.relax.constants import (
    aligned,
    constant_array,
    constant_attribute,
    constant_op,
)
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, written_values
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import SIDE, DotProduct
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    Contraction,
    find_dot_product,
    match_contraction,
)
from relax_mlir.lowering.tir_to_vector.contraction.skinny_gemm import MAX_ROWS
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess
from relax_mlir.lowering.walk import named
from relax_mlir.transform.kernels.calls import (
    KernelMaker,
    TirCall,
    erase_call,
    kernel_calls,
    match_call,
)
from relax_mlir.transform.kernels.contraction import (
    ContractionKernel,
    KernelCloner,
    first_nest,
    match_contraction_kernel,
)
from relax_mlir.transform.packing.int4 import fits_int4, pack_int4, read_nibble
from relax_mlir.transform.packing.weight_provenance import (
    Source,
    computes,
    find_source,
    is_constant,
)
from relax_mlir.transform.relax.dead_code_elimination import remove_unused

# Smaller matrices are packed in no time, or read as they lie.
_MIN_ELEMENTS = 1 << 14
# Groups of fewer steps have halves that no loop walks.
_MIN_INT4_GROUP = 4
# A vector reads a matrix once: panels pay where it comes from beyond the second-level cache.
_MIN_GEMV_ELEMENTS = 1 << 20
# No rows read nothing.
_FEW_ROWS = 1
_DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16")
# Of a module: how many matrices were packed, bytes of panels, of originals, and of those freed.
_ACCOUNT = "relax.packed_weights"


@dataclass
class _Match:
    """A call with a constant right-hand matrix: its position, and the iterators of the nest."""

    kernel: ContractionKernel
    contraction: Contraction
    position: int
    layout: "_Layout"
    source: Source

    @property
    def group(self) -> int:
        """How many steps of k are a loop of their own, 1 for none."""
        return self.layout.group if self.source.grouped is None else self.source.grouped[1]


@dataclass(frozen=True)
class _Layout:
    """How a matrix is packed.

    Attributes:
        transposed: whether its columns are what the kernel takes for rows.
        panel: the columns of a panel.
        group: how many steps of k are adjacent.
        unit: groups along k are a multiple of this, zeros after the last.
        half: where a byte holds two numbers of four bits, how many steps of k lie between them;
            0 where it holds one.
    """

    transposed: bool
    panel: int
    group: int = 1
    unit: int = 1
    half: int = 0

    def pack(self, array: np.ndarray) -> np.ndarray:
        """Return the panels of a matrix, which a copy in the background may still fill."""
        matrix = array.T if self.transposed else array
        missing = -(len(matrix) // self.group) % self.unit * self.group
        rest = matrix.shape[1] % self.panel
        if self.half or missing or rest:
            # These read it now; otherwise only copies do, which are made in order.
            finish_copy(array)
        if self.half:
            matrix = pack_int4(matrix, self.half)
        if missing:
            matrix = np.pad(matrix, ((0, missing), (0, 0)))
        whole = matrix[:, : matrix.shape[1] - rest]
        pieces = [whole] if whole.size else []
        if rest:
            # By itself: a large matrix is not to be copied twice.
            last = matrix[:, -rest:]
            pieces.append(np.pad(last, ((0, 0), (0, self.panel - rest))))
        return aligned(*map(self._panels, pieces))

    def _panels(self, matrix: np.ndarray) -> np.ndarray:
        split = matrix.reshape(-1, self.group, matrix.shape[1] // self.panel, self.panel)
        panels = split.transpose(2, 0, 3, 1)
        return panels if self.group > 1 else panels[..., 0]


def pack_weights(module: ir.Operation, target: str = "") -> None:
    """Bring constant matrices that contractions multiply by into panels, in place.

    Args:
        module: a `builtin.module`, after prim funcs have been fused.
        target: what for; by default the module's (`target_of`).
    """
    packer = _Packer(module, Machine.of(target_of(module, target)))
    for function in functions_to_optimize(module):
        packer.function(function)
    packer.account()


def packed_weights(module: ir.Operation) -> str:
    """Return what the pass did to a module: how many matrices, and bytes; "" where it did nothing.

    Args:
        module: a `builtin.module` after the pass, or after later ones.
    """
    if _ACCOUNT not in module.attributes:
        return ""
    count, panels, originals, freed = ir.DenseI64ArrayAttr(module.attributes[_ACCOUNT])
    return (
        f"weights: {count} packed at compile time, {panels} bytes; "
        f"{freed} of the {originals} bytes they were made of are freed"
    )


class _Packer:
    def __init__(self, module: ir.Operation, machine: Machine) -> None:
        self._module, self._machine = module, machine
        self._kernels = KernelMaker(module)
        # By the prim func's name the contraction that it begins with.
        self._contractions: dict[str, Contraction | None] = {}
        # Constants by their attribute: what several calls share is packed once.
        self._constants: dict[tuple[str, _Layout], ir.Attribute] = {}
        # What was packed, by the attribute it was.
        self._sources: dict[str, np.ndarray] = {}

    def account(self) -> None:
        """Record on the module what was packed, and which of it is dead."""
        if not self._constants:
            return
        left = dict(self._sources)
        for op in named(self._module, ("relax.constant",)):
            left.pop(str(op.attributes["value"]), None)
        packed = (constant_array(each, filled=False) for each in self._constants.values())
        panels = sum(array.nbytes for array in packed)
        for array in left.values():
            drop_copy(array)
        made, freed = (sum(a.nbytes for a in each.values()) for each in (self._sources, left))
        numbers = len(self._constants), panels, made, freed
        self._module.attributes[_ACCOUNT] = ir.DenseI64ArrayAttr.get(numbers)

    def function(self, function: ir.Operation) -> None:
        """Pack what the calls of a function multiply by."""
        calls = kernel_calls(function)
        written = written_values(function) if calls else set()
        changed = False
        for op in calls:
            match = self._match(op, written)
            if match is not None:
                self._replace(match)
                changed = True
        if changed:
            remove_unused(function)

    def _match(self, op: ir.Operation, written: set[ir.Value]) -> _Match | None:
        call = match_call(op, self._kernels.symbols)
        if call is None:
            return None
        known = [*map(is_constant, call.arguments), *map(computes, call.arguments)]
        result = self._contraction(call) if any(known) else None
        if result is None:
            return None
        iters = result.flat.iters
        rows = SymExpr.const(1)
        if result.m is not None:
            rows = iters[result.m].extent.substitute(call.symbols)
        if rows.value is not None and rows.value < _FEW_ROWS:
            return None
        parameters = list(call.callee.entry_block.arguments)
        position = parameters.index(result.b.buffer) if result.b.buffer in parameters else -1
        if not 0 <= position < len(call.arguments):
            return None
        source = find_source(call.arguments[position], self._kernels.symbols)
        if source is None or any(value in written for value in (source.matrix, *source.inputs)):
            return None
        value = source.matrix
        dims = source.shape[::-1] if source.transposed else source.shape
        if len(dims) != 2 or T.tensor_dtype(value.type) not in _DTYPES:
            return None
        transposed = result.b.strides[result.k] == 1
        steps, columns = reversed(dims) if transposed else dims
        if columns * steps < _MIN_ELEMENTS or not _is_matrix(result, dims, transposed):
            return None
        if source.producer is not None:
            # What is outside of the matrix has no columns to fill a panel.
            layout = self._rows(result, transposed != source.transposed, is_narrow=True)
            along = source.grouped is None or source.grouped[0] == int(layout.transposed)
            layout = layout if columns % layout.panel == 0 and along else None
            layout = None if layout is None else replace(layout, half=_half_of(source))
        else:
            layout = self._layout(result, steps, transposed)
            few = rows.value is None or rows.value <= MAX_ROWS
            # Many rows share a copy of what is only widened, in other tiles than panels have.
            if layout is None or (layout.group == 1 and not few and result.widen[1] is not None):
                return None
        if result.m is None and not _pays_for_vectors(result, source, layout, steps * columns):
            return None
        if layout is None:
            return None
        if columns % layout.panel and not (
            steps > layout.group and _can_be_ragged(result, columns, layout.panel)
        ):
            return None
        return _Match(ContractionKernel(call), result, position, layout, source)

    def _layout(self, contraction: Contraction, steps: int, transposed: bool) -> _Layout | None:
        """Return how to pack a matrix, None where its steps do not fill groups."""
        dot: DotProduct | None = find_dot_product(contraction, self._machine)
        rows = self._rows(contraction, transposed, contraction.widen[1] is not None)
        if dot is None:
            return rows
        if steps % dot.group:
            return None
        return replace(rows, group=dot.group, unit=SIDE if dot.matrices else 1)

    def _rows(self, contraction: Contraction, transposed: bool, is_narrow: bool) -> _Layout:
        """Return panels whose rows are steps of k, of what may be narrower than its products."""
        return _Layout(transposed, self._machine.panel(contraction.element, is_narrow))

    def _contraction(self, call: TirCall) -> Contraction | None:
        """Return the contraction that a prim func begins with, None where it cannot be packed."""
        name = call.callee.name.value
        if name not in self._contractions:
            kernel = match_contraction_kernel(call, self._machine)
            contraction = None if kernel is None else match_contraction(first_nest(kernel))
            if not isinstance(contraction, Contraction) or contraction.outer_reductions:
                contraction = None
            self._contractions[name] = contraction
        return self._contractions[name]

    def _replace(self, match: _Match) -> None:
        call = match.kernel.call
        source, op = match.source, call.op
        with ir.InsertionPoint(op), op.location:
            attribute = self._packed(source, match.layout)
            constant = constant_op(attribute)
            others = [_transposed(x) if source.is_transposed(x) else x for x in source.inputs]
        inputs = list(call.arguments)
        inputs[match.position] = constant
        name, calls, what = f"{call.callee.name.value}_packed", [call], str(match.position)
        if source.producer is not None:
            producer = source.producer.call
            calls = [producer, call]
            what = f"{what} {producer.callee.name.value} {source.position} {source.grouped}"
            inputs += others
        self._kernels.call(
            calls, inputs, name, what, lambda builder: _Cloner(builder, match).write()
        )
        erase_call(op)
        for each in source.calls:
            erase_call(each)

    def _packed(self, source: Source, layout: _Layout) -> ir.Attribute:
        value = source.matrix.owner.operation.attributes["value"]
        key = str(value), layout
        if key not in self._constants:
            array = constant_array(value, filled=False)
            self._sources[str(value)] = array
            array = origin_of(array if array.shape == source.shape else finish_copy(array))
            self._constants[key] = constant_attribute(layout.pack(array.reshape(source.shape)))
            release_pages(array)
        return self._constants[key]


def _half_of(source: Source) -> int:
    """Return the distance of steps that share bytes, 0 where numbers do not fit in four bits."""
    dtype = T.tensor_dtype(source.matrix.type)
    if dtype not in ("int8", "uint8") or source.grouped is None:
        return 0
    _, group = source.grouped
    if group % 2 or group < _MIN_INT4_GROUP:
        return 0
    array = constant_array(source.matrix.owner.operation.attributes["value"])
    return group // 2 if fits_int4(array) else 0


def _pays_for_vectors(
    contraction: Contraction, source: Source, layout: _Layout | None, size: int
) -> bool:
    """Whether a product with a vector gains by panels: not where it reads along k as it lies."""
    if layout is None or layout.transposed or layout.group > 1 or source.producer is not None:
        return False
    return contraction.widen[1] is None and size >= _MIN_GEMV_ELEMENTS


def _transposed(value: ir.Value) -> ir.Value:
    """Return a constant at the insertion point whose last dimension is another's first."""
    array = constant_array(value.owner.operation.attributes["value"])
    return constant_op(constant_attribute(aligned(np.moveaxis(array, 0, -1))))


def _is_matrix(contraction: Contraction, dims: Sequence[int], transposed: bool) -> bool:
    """Whether a contraction reads all of a matrix, its rows and columns each by one iterator."""
    b: FlatAccess = contraction.b
    along = (contraction.n, contraction.k) if transposed else (contraction.k, contraction.n)
    steps = {along[0]: dims[1], along[1]: 1}
    extents = {along[0]: dims[0], along[1]: dims[1]}
    return b.offset == 0 and all(
        stride == steps.get(position, 0)
        and (
            position not in extents or contraction.flat.iters[position].extent == extents[position]
        )
        for position, stride in enumerate(b.strides)
    )


def _can_be_ragged(contraction: Contraction, columns: int, panel: int) -> bool:
    """Whether sums can have more columns than there are: those are alone in the last dimension."""
    shape = contraction.c.buffer.type.shape
    return columns > panel and len(shape) > 0 and shape[-1] == columns


class _Cloner(KernelCloner):
    """Writes a kernel again, its contraction over panels of the right-hand matrix."""

    def __init__(self, builder: PrimFuncBuilder, match: _Match) -> None:
        super().__init__(builder, match.kernel)
        self._match = match

    def write(self) -> None:
        """Write the body; the function's last buffer is the output."""
        *read, out = self.builder.buffers
        own = read[: len(self.kernel.call.arguments)]
        self.begin([buffer.value for buffer in own], out.value)
        columns = self._match.contraction.flat.iters[self._match.contraction.n].extent.value
        ragged = columns is not None and columns % self._match.layout.panel != 0
        self.body(
            self._match.contraction.flat.nest.top, self._ragged if ragged else self._contraction
        )

    def _ragged(self) -> None:
        """Write the contraction with sums of whole panels, of which the rest takes the first."""
        source = self._match.contraction.c.buffer
        narrow = self.mapping[source]
        out = self.builder.buffers[-1]
        direct = narrow == out.value
        if direct:
            dims, dtype = list(out.dims), out.dtype
        else:
            known = source.owner.attributes
            symbols = self.kernel.call.symbols
            dims = [dim.substitute(symbols) for dim in Dims(known["tir.shape"]).dims]
            dtype = ir.StringAttr(known["tir.dtype"]).value
        columns = source.type.shape[-1]
        padded = columns + -columns % self._match.layout.panel
        wide = self.builder.alloc("sums", [*dims[:-1], padded], dtype)
        self.mapping[source] = wide.value
        self._contraction()
        if not direct:
            narrow.owner.erase()
            return
        self.mapping[source] = narrow
        with self.builder.nest("columns", [("spatial", dim) for dim in dims]) as block:
            place = tuple(block)
            out.store(wide[place], place)

    def _contraction(self) -> None:
        contraction, panel = self._match.contraction, self._match.layout.panel
        flat, nest = contraction.flat, contraction.flat.nest
        # Iterators of the flat nest are in the order of the loops, those of the block may not be.
        order = sorted(range(len(nest.types)), key=lambda i: nest.loop_of[i])
        axes: list[tuple[str, SymExpr]] = []
        for position, it in enumerate(flat.iters):
            kind = "reduction" if it.reduction else "spatial"
            extent = it.extent.substitute(self.kernel.call.symbols)
            if position == contraction.n and extent.value is not None:
                extent = SymExpr.const(-(-extent.value // panel))
            axes.append((kind, extent))
        group = self._match.group
        if group > 1:
            kind, steps = axes[contraction.k]
            axes[contraction.k] = kind, SymExpr.const((steps.value or 0) // group)
            half = self._match.layout.half
            within = [2, half] if half else [group]
            axes += [("reduction", SymExpr.const(size)) for size in within]
        axes.insert(contraction.n + 1, ("spatial", SymExpr.const(panel)))
        panels = self.builder.buffers[self._match.position]
        with self.builder.nest(nest.name, axes) as block:
            with block.init() as first:
                self._region(nest.block.regions[1].blocks[0], order, first, None)
            self._region(nest.block.regions[0].blocks[0], order, list(block), panels)

    def _region(
        self, source: ir.Block, order: list[int], iters: list[Scalar], panels: Buffer | None
    ) -> None:
        """Copy a region for other iterators; loads of the matrix become loads of its panels."""
        contraction = self._match.contraction
        number, inside = iters[contraction.n], iters[contraction.n + 1]
        column = number * self._match.layout.panel + inside
        counters = [*iters[: contraction.n], column, *iters[contraction.n + 2 :]]
        group, half = self._match.group, self._match.layout.half
        parts: list[Scalar] = []
        high: Scalar | None = None
        dtype = T.tensor_dtype(self._match.source.matrix.type)
        place: tuple[Scalar, ...] = ()
        if group > 1 and panels is not None:
            parts = [counters[contraction.k], counters.pop()]
            place = number, parts[0], inside, parts[1]
            if half:
                high, low = counters.pop(), parts[1]
                parts[1] = high * half + low
                place = number, parts[0] * half + low, inside
            counters[contraction.k] = parts[0] * group + parts[1]
        if panels is not None and self._match.layout.group == 1 and not half:
            place = number, counters[contraction.k], inside
        arguments = list(source.arguments)
        for flat_position, block_position in enumerate(order):
            self.mapping[arguments[block_position]] = counters[flat_position].value
        for view in source.operations:
            op = view.operation
            if op.name in ("tir.reads", "tir.writes", "tir.yield"):
                continue
            if (
                panels is not None
                and op.name == "memref.load"
                and op.operands[0] == contraction.b.buffer
            ):
                element = panels[place]
                if high is not None:
                    element = read_nibble(element, high, dtype)
                producer = self._match.source
                if producer.producer is not None:
                    at = counters[contraction.k], counters[contraction.n]
                    at = at[::-1] if self._match.layout.transposed else at
                    buffers = self.builder.buffers[len(self.kernel.call.arguments) : -1]
                    self.mapping[op.results[0]] = producer.write(
                        [x.value for x in at], [x.value for x in parts], element.value, buffers
                    )
                else:
                    self.mapping[op.results[0]] = element.value
                continue
            self.clone(op)
