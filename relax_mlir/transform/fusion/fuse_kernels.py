"""The pass `fuse-kernels`: chains of elementwise kernels become one kernel each.

They join the kernel of the contraction, or of the window, that they follow, where it is the first
of the chain. A product of matrices reads what only permutes axes as it lay before.

What passes between them is then never written to memory. A kernel takes part when it is one nest of
spatial loops over its output with plain arithmetic inside. It is computed where its result is used,
so that must be one place, and nothing on the way there may change a tensor. Past some arithmetic
the next kernel begins: what is between two such kernels costs little, and the time that
a kernel takes to compile grows faster than the kernel.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, may_write
from relax_mlir.dialects.tir.builder import PrimFuncBuilder
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.pass_infra.config import FUSE_DEPTH
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.transform.fusion.permuted_operands import match_permuted, permuted_axes
from relax_mlir.transform.kernels.calls import (
    KernelMaker,
    TirCall,
    erase_call,
    match_call,
)
from relax_mlir.transform.kernels.contraction import (
    ContractionKernel,
    KernelCloner,
    match_contraction_kernel,
    match_window_kernel,
)
from relax_mlir.transform.kernels.elementwise import (
    ElementwiseKernel,
    copied,
    is_identity,
    match_elementwise,
    repeated_axes,
)

# Longer names of fused kernels are cut: they are unreadable.
_LONGEST_NAME = 40
# Most operations of one elementwise kernel, and as how many of them one of math counts.
_MAX_WORK, _MATH = 256, 4


def fuse_kernels(module: ir.Operation) -> None:
    """Merge elementwise `relax.call_tir`s into the elementwise calls that use their results."""
    fuser = _Fuser(module)
    for function in functions_to_optimize(module):
        for block in function.regions[0].blocks:
            fuser.block(block)


class _Fuser:
    def __init__(self, module: ir.Operation) -> None:
        self._machine = Machine.of(target_of(module))
        self._kernels = KernelMaker(module)
        # By its name whether a prim func adds products, or slides a window, and then maps the sums.
        self._sums: dict[str, bool] = {}
        # What each prim func is as an elementwise kernel, by its name.
        self._elementwise: dict[str, ElementwiseKernel | None] = {}
        # How many operations that may change a tensor stand before an operation in its block.
        self._writes: dict[ir.Operation, int] = {}
        # How many operations of Relax a prim func of this pass stands for, by its name.
        self._depths: dict[str, int] = {}
        self._most = PassContext.current().option(FUSE_DEPTH)

    def block(self, block: ir.Block) -> None:
        """Fuse within one block, from its first operation on, then within its regions."""
        writes = 0
        for view in list(block.operations):
            op = view.operation
            writes += may_write(op)
            if op.name == "relax.call_tir":
                while True:
                    self._writes[op] = writes
                    fused = self._fuse_into(op)
                    if fused is None:
                        break
                    op = fused
                continue
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner)

    def _fuse_into(self, op: ir.Operation) -> ir.Operation | None:
        """Merge one producer into a call and return what replaces the call, None when none fits."""
        call = match_call(op, self._kernels.symbols)
        consumer = self._match_elementwise(call)
        if consumer is None:
            return None if call is None else self._read_as_it_lies(call)
        for argument in consumer.call.arguments:
            producer = self._producer(argument, consumer)
            if producer is not None and self._is_small(producer, consumer):
                return self._merge(producer, consumer, argument)
        return None

    def _is_small(
        self, producer: ElementwiseKernel | ContractionKernel, consumer: ElementwiseKernel
    ) -> bool:
        """Whether one kernel may do the work of both."""
        if self._depth(producer.call) + self._depth(consumer.call) > self._most:
            return False
        if isinstance(producer, ContractionKernel):
            return True
        return _work(producer) + _work(consumer) <= _MAX_WORK

    def _depth(self, call: TirCall) -> int:
        return self._depths.get(call.callee.name.value, 1)

    def _read_as_it_lies(self, call: TirCall) -> ir.Operation | None:
        """Let a product of matrices read a permuted argument by strides; None when it has none."""
        for argument in call.arguments:
            made = self._made_for(argument, call)
            producer = self._match_elementwise(made)
            axes = None if producer is None else permuted_axes(producer)
            permuted = None if axes is None else match_permuted(call, argument, axes, self._machine)
            if made is None or permuted is None:
                continue
            (source,) = made.arguments
            inputs = [source if value == argument else value for value in call.arguments]
            names = [each.callee.name.value for each in (made, call)]
            what = names, permuted.positions
            fused = self._kernels.call([made, call], inputs, _name(names), what, permuted.write)
            self._erase(call, made)
            return fused
        return None

    def _erase(self, *calls: TirCall) -> None:
        for each in calls:
            del self._writes[each.op]
            erase_call(each.op)

    def _made_for(self, value: ir.Value, consumer: TirCall) -> TirCall | None:
        """Return the call that makes a tensor for another one alone, which may make it as well."""
        if isinstance(value.owner, ir.Block) or value.owner.operation.name != "relax.call_tir":
            return None
        op = value.owner.operation
        users = {use.owner.operation for use in value.uses}
        tuple_ = consumer.op.operands[1]
        if users != {tuple_.owner.operation} or len(list(tuple_.uses)) != 1:
            return None
        if op.block != consumer.op.block or self._writes[op] != self._writes[consumer.op]:
            return None
        return match_call(op, self._kernels.symbols)

    def _producer(
        self, value: ir.Value, consumer: ElementwiseKernel
    ) -> ElementwiseKernel | ContractionKernel | None:
        call = self._made_for(value, consumer.call)
        if call is None:
            return None
        positions = [i for i, other in enumerate(consumer.call.arguments) if other == value]
        loads = [load for i in positions for load in consumer.loads.get(i, [])]
        elementwise = self._match_elementwise(call)
        if _repeats_twice(elementwise, consumer, loads):
            return elementwise
        if T.tensor_dims(value.type) != T.tensor_dims(consumer.call.result.type):
            return None
        if not all(is_identity(load, 1, consumer.body) for load in loads):
            return None
        return elementwise or self._of_sums(call)

    def _match_elementwise(self, call: TirCall | None) -> ElementwiseKernel | None:
        if call is None:
            return None
        name = call.callee.name.value
        if name not in self._elementwise:
            self._elementwise[name] = match_elementwise(call)
        kernel = self._elementwise[name]
        return None if kernel is None else replace(kernel, call=call)

    def _of_sums(self, call: TirCall | None) -> ContractionKernel | None:
        if call is None:
            return None
        name = call.callee.name.value
        if name not in self._sums:
            self._sums[name] = any(
                match(call, self._machine) is not None
                for match in (match_contraction_kernel, match_window_kernel)
            )
        return ContractionKernel(call) if self._sums[name] else None

    def _merge(
        self,
        producer: ElementwiseKernel | ContractionKernel,
        consumer: ElementwiseKernel,
        between: ir.Value,
    ) -> ir.Operation:
        inputs: list[ir.Value] = []
        for value in (*producer.call.arguments, *consumer.call.arguments):
            if value != between and value not in inputs:
                inputs.append(value)
        wiring = [
            inputs.index(value) if value != between else -1
            for kernel in (producer, consumer)
            for value in kernel.call.arguments
        ]
        names = [kernel.call.callee.name.value for kernel in (producer, consumer)]

        def write(builder: PrimFuncBuilder) -> None:
            body = _Body(builder, inputs, between)
            if isinstance(producer, ContractionKernel):
                body.append(producer, consumer)
            else:
                body.write(producer, consumer)

        # Layers repeat: what is fused from the same kernels in the same way is the same kernel.
        fused = self._kernels.call(
            [producer.call, consumer.call], inputs, _name(names), (names, wiring), write
        )
        name = fused.attributes["callee"].value
        self._depths[name] = self._depth(producer.call) + self._depth(consumer.call)
        if isinstance(producer, ContractionKernel):
            # Sums that another map follows: no need to look at the loops again.
            self._sums[name] = True
        self._erase(consumer.call, producer.call)
        return fused


def _work(kernel: ElementwiseKernel) -> int:
    """Return how many operations a point of a kernel takes, those of math several times."""
    names = [view.operation.name for view in kernel.body.operations]
    return sum(_MATH if name.startswith("math.") else name.startswith("arith.") for name in names)


def _name(names: Sequence[str]) -> str:
    name = "_".join(name.rstrip("0123456789") for name in names)
    return name if len(name) <= _LONGEST_NAME else "fused"


def _repeats_twice(
    producer: ElementwiseKernel | None, consumer: ElementwiseKernel, loads: Sequence[ir.Operation]
) -> bool:
    """Whether two kernels repeat elements along different axes, as upsampling does."""
    inner, outer = None if producer is None else copied(producer), copied(consumer)
    if producer is None or inner is None or outer is None or list(loads) != [outer]:
        return False
    first, second = repeated_axes(inner, producer.body), repeated_axes(outer, consumer.body)
    if not first or not second:
        return False
    return not first & second


class _Body:
    """Writes the fused block."""

    def __init__(
        self, builder: PrimFuncBuilder, inputs: Sequence[ir.Value], between: ir.Value
    ) -> None:
        self._builder, self._inputs, self._between = builder, list(inputs), between
        # What was loaded from where: kernels that read the same element get the same value.
        self._loaded: dict[tuple[ir.Value, ...], ir.Value] = {}

    def write(self, producer: ElementwiseKernel, consumer: ElementwiseKernel) -> None:
        """Write both computations over the output, the first one's value going to the second."""
        out = self._builder.buffers[-1]
        axes = [("spatial", dim) for dim in out.dims]
        with self._builder.nest(out.name, axes) as block:
            at = [scalar.value for scalar in block]
            made: dict[tuple[ir.Value, ...], ir.Value] = {}

            def between(place: Sequence[ir.Value]) -> ir.Value:
                if tuple(place) not in made:
                    made[tuple(place)] = self._clone(producer, place, None)
                return made[tuple(place)]

            value = self._clone(consumer, at, between)
            ir.Operation.create("memref.store", operands=[value, out.value, *at])

    def append(self, producer: ContractionKernel, consumer: ElementwiseKernel) -> None:
        """Write one computation, and the other over its results."""
        out = self._builder.buffers[-1]
        call = producer.call
        read = [self._builder.buffers[self._inputs.index(value)].value for value in call.arguments]
        # Temporaries of one function have different names.
        count = sum(view.operation.name == "memref.alloc" for view in call.callee.entry_block)
        cloner = KernelCloner(self._builder, producer)
        between = cloner.temporary(f"between{count}")
        cloner.begin(read, between.value)
        cloner.body()
        with self._builder.nest(out.name, [("spatial", dim) for dim in out.dims]) as block:
            at = [scalar.value for scalar in block]
            element = between.value.type.element_type
            loaded = ir.Operation.create(
                "memref.load", results=[element], operands=[between.value, *at]
            ).result
            value = self._clone(consumer, at, lambda _: loaded)
            ir.Operation.create("memref.store", operands=[value, out.value, *at])

    def _clone(
        self,
        kernel: ElementwiseKernel,
        at: Sequence[ir.Value],
        given: Callable[[Sequence[ir.Value]], ir.Value] | None,
    ) -> ir.Value:
        """Write a kernel's computation at one point and return the value that it would store.

        `given` says what is between the kernels at a point.
        """
        mapping: dict[ir.Value, ir.Value] = dict(zip(kernel.body.arguments, at, strict=True))
        parameters = list(kernel.call.callee.operation.regions[0].blocks[0].arguments)
        for view in kernel.body.operations:
            op = view.operation
            if op == kernel.store:
                return self._operand(op.operands[0], mapping, kernel)
            if op.name in ("tir.reads", "tir.writes"):
                continue
            if op.name == "memref.load":
                argument = kernel.call.arguments[parameters.index(op.operands[0])]
                if given is not None and argument == self._between:
                    indices = list(op.operands)[1:]
                    point = [self._operand(index, mapping, kernel) for index in indices]
                    mapping[op.results[0]] = given(point)
                else:
                    mapping[op.results[0]] = self._load(op, argument, mapping, kernel)
                continue
            # Before the operation itself: constants and symbols are made where they are asked for.
            operands = [self._operand(operand, mapping, kernel) for operand in op.operands]
            clone = op.clone()
            for index, operand in enumerate(operands):
                clone.operation.operands[index] = operand
            for old, new in zip(op.results, clone.operation.results, strict=True):
                mapping[old] = new
        raise AssertionError("an elementwise kernel stores its result")

    def _load(
        self,
        op: ir.Operation,
        argument: ir.Value,
        mapping: Mapping[ir.Value, ir.Value],
        kernel: ElementwiseKernel,
    ) -> ir.Value:
        buffer = self._builder.buffers[self._inputs.index(argument)]
        indices = [self._operand(index, mapping, kernel) for index in list(op.operands)[1:]]
        place = (buffer.value, *indices)
        if place not in self._loaded:
            self._loaded[place] = ir.Operation.create(
                "memref.load", results=[op.results[0].type], operands=place
            ).result
        return self._loaded[place]

    def _operand(
        self, value: ir.Value, mapping: Mapping[ir.Value, ir.Value], kernel: ElementwiseKernel
    ) -> ir.Value:
        """Return the fused function's value for one of a kernel's."""
        if value in mapping:
            return mapping[value]
        op = value.owner.operation
        if op.name == "tir.symbol":
            (expr,) = Dims(op.attributes["value"]).dims
            return self._builder.symbol(expr.substitute(kernel.call.symbols)).value
        return op.clone().operation.results[0]
