"""The passes `backward-` and `forward-fold-scale-axis`: scales by channel go into weights.

A multiplication of the result or of the input of a convolution by one number per channel is a
multiplication of the weights, which FoldConstant can then do at compile time.
"""

from collections.abc import Sequence

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, read_attributes
from relax_mlir.dialects.relax.side_effects import (
    functions_to_optimize,
    is_pure,
    may_write,
    operations_in,
)
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.relax_to_tir.decompose import reshape
from relax_mlir.lowering.walk import INNER_FIRST, defining_op, named
from relax_mlir.transform.relax.dead_code_elimination import remove_unused
from relax_mlir.transform.relax.rebuild import symbols_of

# f(x * s) is f(x) * s: for any s, and for s above zero.
_LINEAR = ("relax.avg_pool2d",)
_POSITIVE = ("relax.relu", "relax.max_pool2d")


def backward_fold_scale_axis(module: ir.Operation) -> None:
    """Take scales of results back to the convolutions, through additions, pooling and ReLU."""
    for op in _scalings(module):
        for data, scale in ((op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])):
            chain = _Chain(op, scale)
            if chain.applies(data):
                value = chain.scaled(data)
                if value.type == op.results[0].type:
                    op.results[0].replace_all_uses_with(value)
                break
    for func in functions_to_optimize(module):
        remove_unused(func)


def forward_fold_scale_axis(module: ir.Operation) -> None:
    """Take scales of inputs on to the convolutions, through pooling and ReLU."""
    for op in _ops(module, "relax.conv2d"):
        path: list[ir.Operation] = []
        value = op.operands[0]
        while (
            producer := _only_producer(value)
        ) is not None and producer.name in _LINEAR + _POSITIVE:
            path.append(producer)
            value = producer.operands[0]
        if producer is not None and producer.name == "relax.multiply":
            _push_into(op, path, producer)
    for func in functions_to_optimize(module):
        remove_unused(func)


def fold_scale_axis(module: ir.Operation) -> None:
    """Do both, backward first."""
    backward_fold_scale_axis(module)
    forward_fold_scale_axis(module)


def _ops(module: ir.Operation, name: str) -> list[ir.Operation]:
    functions = functions_to_optimize(module)
    return [op for func in functions for op in named(func, (name,), INNER_FIRST)]


def _scalings(module: ir.Operation) -> list[ir.Operation]:
    return _ops(module, "relax.multiply")


def _attributes(op: ir.Operation) -> dict:
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)


def _only_producer(value: ir.Value) -> ir.Operation | None:
    """Return the operation that makes a value which has one use."""
    if isinstance(value.owner, ir.Block) or len(list(value.uses)) != 1:
        return None
    return value.owner.operation


def _channel_axis(conv: ir.Operation) -> int | None:
    """Return which axis of a convolution's result the channels are."""
    attrs = _attributes(conv)
    return _channels_in(attrs["out_layout"] or attrs["data_layout"])


def _channels_in(layout: str) -> int | None:
    """Return where the channels are in a layout, None where they are two axes: `NCHW4c`."""
    return layout.index("C") if layout.isalpha() else None


def _channels(scale: ir.Value, axis: int | None) -> SymExpr | None:
    """Return how many numbers a scale of images has, None unless they differ by channel at most."""
    dims = T.tensor_dims(scale.type)
    if axis is None or dims is None or len(dims) > 4:
        return None
    dims = [SymExpr.const(1)] * (4 - len(dims)) + list(dims)
    if any(dim != 1 for i, dim in enumerate(dims) if i != axis):
        return None
    return dims[axis]


def _commutes(op: ir.Operation, scale: ir.Value) -> bool:
    """Whether an operation can be done before a multiplication by a scale as well as after it.

    Pooling can when it leaves the axis of the scale alone: does not slide over it, nor move it.
    """
    if op.name in _POSITIVE and not _is_positive(scale):
        return False
    if op.name == "relax.relu":
        return True
    attrs = _attributes(op)
    layouts = {attrs["layout"], attrs["out_layout"] or attrs["layout"]}
    return all(_channels(scale, _channels_in(layout)) is not None for layout in layouts)


def _is_positive(value: ir.Value) -> bool:
    constant = defining_op(value, "relax.constant")
    return constant is not None and bool(np.all(constant_array(constant.attributes["value"]) > 0))


class _Hoist:
    """Makes a scale available earlier in its block, together with what it is computed from."""

    LIMIT = 16

    def __init__(self, target: ir.Operation) -> None:
        self._target = target
        self._made: dict[ir.Value, ir.Value] = {}
        self._later = _symbols_bound_after(target)

    def possible(self, value: ir.Value, depth: int = 0) -> bool:
        """Whether a value is there already, or made from such by pure operations."""
        owner = value.owner
        if isinstance(owner, ir.Block):
            return True
        op = owner.operation
        if _precedes(op, self._target):
            return True
        if depth > self.LIMIT or len(op.regions) or not is_pure(op) or op.name == "relax.conv2d":
            return False
        if self._later and not self._later.isdisjoint(symbols_of(op)):
            return False
        return all(self.possible(operand, depth + 1) for operand in op.operands)

    def value(self, value: ir.Value) -> ir.Value:
        """Return the value, copied to before the target where it comes later."""
        if isinstance(value.owner, ir.Block) or _precedes(value.owner.operation, self._target):
            return value
        if value not in self._made:
            op = value.owner.operation
            operands = [self.value(operand) for operand in op.operands]
            with ir.InsertionPoint(self._target):
                copy = op.clone()
            for index, operand in enumerate(operands):
                copy.operation.operands[index] = operand
            self._made[value] = copy.operation.results[0]
        return self._made[value]


def _symbols_bound_after(target: ir.Operation) -> set[str]:
    """Return the symbols that something behind the target, in its block, may bind."""
    result: set[str] = set()
    for view in reversed(list(target.block.operations)):
        if view.operation == target:
            break
        for op in (view.operation, *operations_in(view.operation)):
            if op.name in ("relax.match_cast", "relax.match_prim"):
                result |= symbols_of(op)
    return result


def _precedes(op: ir.Operation, target: ir.Operation) -> bool:
    """Whether an operation comes before the target, in its block or around it."""
    around: ir.Operation | None = target
    while around is not None and around.block != op.block:
        parent = around.parent
        around = parent.operation if parent is not None else None
    return around is not None and op != around and op.is_before_in_block(around)


def _undisturbed(first: ir.Operation, last: ir.Operation) -> bool:
    """Whether nothing between two operations of one block can write to the scale's sources."""
    if first.block != last.block:
        return False
    between = False
    for view in first.block.operations:
        if view.operation == last:
            return True
        between = between or view.operation == first
        if between and may_write(view.operation):
            return False
    return False


class _Chain:
    """What leads from convolutions to a multiplication by `scale`."""

    def __init__(self, multiply: ir.Operation, scale: ir.Value) -> None:
        self._multiply, self._scale = multiply, scale
        self._hoists: dict[ir.Operation, _Hoist] = {}

    def applies(self, value: ir.Value) -> bool:
        """Whether the factor can be taken to the convolution that makes a value."""
        op = _only_producer(value)
        if op is None or op.block != self._multiply.block:
            return False
        if op.name == "relax.conv2d":
            return self._fits(op, value)
        if op.name in _LINEAR + _POSITIVE:
            return _commutes(op, self._scale) and self.applies(op.operands[0])
        if op.name == "relax.add":
            # A bias is scaled on its own; the sum of two results of convolutions by scaling both.
            a, b = op.operands
            return op.results[0].type in (a.type, b.type) and (
                (self.applies(a) and (self.applies(b) or self._is_small(b, op)))
                or (self.applies(b) and self._is_small(a, op))
            )
        return False

    def _fits(self, op: ir.Operation, value: ir.Value) -> bool:
        axis = _channel_axis(op)
        channels = _channels(self._scale, axis)
        dims, weight = T.tensor_dims(value.type), op.operands[1]
        # A weight in blocks has no one axis for its output channels.
        if not _attributes(op)["kernel_layout"].isalpha():
            return False
        if channels is None or axis is None or dims is None or T.tensor_dims(weight.type) is None:
            return False
        if channels not in (SymExpr.const(1), dims[axis]):
            return False
        dtypes = {T.tensor_dtype(v.type) for v in (self._scale, weight, value)}
        hoist = self._hoists.setdefault(op, _Hoist(op))
        return len(dtypes) == 1 and hoist.possible(self._scale) and _undisturbed(op, self._multiply)

    def _is_small(self, value: ir.Value, op: ir.Operation) -> bool:
        dims = T.tensor_dims(value.type)
        if dims is None or value.type == op.results[0].type:
            return False
        return _Hoist(op).possible(self._scale)

    def scaled(self, value: ir.Value) -> ir.Value:
        """Return the value times the scale; `applies` said that it can be done."""
        op = value.owner.operation
        with ir.InsertionPoint(op), op.location:
            if op.name == "relax.conv2d":
                scale = self._hoists[op].value(self._scale)
                axis = _attributes(op)["kernel_layout"].index("O")
                return _with_operands(
                    op, [op.operands[0], _scale_weight(op.operands[1], scale, axis)]
                )
            if op.name == "relax.add":
                return _with_operands(op, [self._term(operand, op) for operand in op.operands])
            inner = self.scaled(op.operands[0])
            return _with_operands(op, [inner, *list(op.operands)[1:]])

    def _term(self, value: ir.Value, op: ir.Operation) -> ir.Value:
        if self.applies(value):
            return self.scaled(value)
        return build("multiply", [value, _Hoist(op).value(self._scale)], {})


def _with_operands(op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
    copy = op.clone()
    for index, operand in enumerate(operands):
        copy.operation.operands[index] = operand
    return copy.operation.results[0]


def _scale_weight(weight: ir.Value, scale: ir.Value, axis: int) -> ir.Value:
    """Return a weight with everything along one axis multiplied by its own number."""
    dims = T.tensor_dims(scale.type) or []
    count = next((dim for dim in dims if dim != 1), SymExpr.const(1))
    return build(
        "multiply", [weight, reshape(scale, [count if i == axis else 1 for i in range(4)])], {}
    )


def _push_into(op: ir.Operation, path: list[ir.Operation], multiply: ir.Operation) -> None:
    """Rewrite `conv2d(f(x * s), w)` to `conv2d(f(x), w * s)` where that is the same."""
    attrs = _attributes(op)
    axis = _channels_in(attrs["data_layout"])
    if attrs["groups"] != 1 or axis is None:
        return
    dims = T.tensor_dims(op.operands[0].type)
    for data, scale in (list(multiply.operands), list(multiply.operands)[::-1]):
        channels = _channels(scale, axis)
        if channels is None or dims is None or channels not in (SymExpr.const(1), dims[axis]):
            continue
        if data.type != multiply.results[0].type:
            continue
        if T.tensor_dtype(scale.type) != T.tensor_dtype(op.operands[1].type):
            continue
        if not all(_commutes(each, scale) for each in path):
            continue
        if not _undisturbed(multiply, op):
            continue
        multiply.results[0].replace_all_uses_with(data)
        with ir.InsertionPoint(op), op.location:
            weight_axis = attrs["kernel_layout"].index("I")
            op.operands[1] = _scale_weight(op.operands[1], scale, weight_axis)
        return
