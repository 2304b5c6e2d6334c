"""What an analysis looks at: the operations of a module, a function, a block, an expression."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.single_function import single
from relax_mlir.lowering.walk import relax_functions
from relax_mlir.relax.expr import Expr, Function, Var
from relax_mlir.relax.expr.leaves import make_var, value_name
from relax_mlir.relax.expr.places import DATAFLOW, TERMINATORS, defining_op, is_leaf, outputs

_PROJECTION = "relax.tuple_get_item"


@dataclass
class Scope:
    """A part of a program.

    Attributes:
        func: the function that it is, None for less than a function.
        params: what it binds before its operations.
        operations: its operations, without those inside them.
        used: values that it uses besides.
        expression: whether it is one operation as an expression, which binds nothing by itself.
        keep: what keeps the module alive.
    """

    func: ir.Operation | None = None
    params: list[ir.Value] = field(default_factory=list)
    operations: list[ir.Operation] = field(default_factory=list)
    used: list[ir.Value] = field(default_factory=list)
    expression: bool = False
    keep: Any = None


def scopes_of(node: Any) -> list[Scope]:
    """Return what a node stands for: of a module, one part for each Relax function.

    Args:
        node: IRModule, function, block, binding or expression: a view or an MLIR operation.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    keep = node
    module = getattr(node, "mlir_module", None)
    if module is not None:
        node = module.operation
    elif isinstance(node, (ir.Module, ir.OpView)):
        node = node.operation
    if isinstance(node, ir.Operation):
        if node.name == "builtin.module":
            return [_function(op, keep) for op in relax_functions(node)]
        return [_function(node, keep) if node.name == "func.func" else Scope(None, [], [node])]
    return [_view(node)]


def function_op(node: Any) -> ir.Operation:
    """Return the `func.func` of a function.

    Raises:
        ExprTypeError: it is no function of a module.
    """
    held = single(node) if isinstance(node, Function) else getattr(node, "mlir_op", None)
    op: Any = getattr(node if held is None else held, "operation", None)
    if not isinstance(op, ir.Operation) or op.name != "func.func":
        raise ExprTypeError(f"expected a function of a module, got {type(node).__name__}")
    return op


def module_op(node: Any) -> ir.Operation:
    """Return the `builtin.module` of a module.

    Raises:
        ExprTypeError: it is no module.
    """
    module = getattr(node, "mlir_module", node)
    op: Any = getattr(module, "operation", None)
    if not isinstance(op, ir.Operation) or op.name != "builtin.module":
        raise ExprTypeError(f"expected an IRModule, got {type(node).__name__}")
    return op


def enclosing_module(op: ir.Operation) -> ir.Operation | None:
    """Return the module that an operation is in, None for a function taken out of its module."""
    while op.name != "builtin.module":
        if not op.attached:
            return None
        op = op.parent.operation
    return op


def _function(op: ir.Operation, keep: Any) -> Scope:
    blocks = list(op.regions[0].blocks)
    if not blocks:
        return Scope(op, keep=keep)
    return Scope(op, list(blocks[0].arguments), block_operations(blocks[0]), keep=keep)


def _view(node: Any) -> Scope:
    op = single(node) if isinstance(node, Function) else getattr(node, "mlir_op", None)
    keep = getattr(node, "_keep", None)
    block = getattr(node, "mlir_block", None)
    if block is not None:
        return Scope(None, [], block_operations(block), keep=keep)
    if isinstance(node, Var):
        value = node.mlir_value
        return Scope(None, used=[] if value is None else [value], keep=keep)
    if op is not None:
        if op.name == "func.func":
            return _function(op, keep)
        if op.name == DATAFLOW:
            return Scope(None, [], block_operations(op.regions[0].blocks[0]), keep=keep)
        return Scope(None, [], [op], expression=isinstance(node, Expr), keep=keep)
    operations = getattr(node, "_ops", None)
    if isinstance(operations, list) and operations:
        return Scope(None, [], list(operations), keep=keep)
    # What Python put together of bindings of a module.
    blocks = getattr(node, "blocks", [node])
    bindings = [each for block in blocks for each in getattr(block, "bindings", ())]
    held = [each.mlir_op for each in bindings if each.mlir_op is not None]
    if held and len(held) == len(bindings):
        return Scope(None, [], held, keep=bindings)
    raise ExprTypeError(
        "expected an IRModule, a function, a block or an expression of a module, got "
        f"{type(node).__name__}"
    )


def block_operations(block: ir.Block) -> list[ir.Operation]:
    """Return the operations directly in a block."""
    return [view.operation for view in block.operations]


class Values:
    """The variables of MLIR values, each made once: linear however many outputs a block has."""

    def __init__(self, keep: Any = None) -> None:
        self._keep = keep
        self._outputs: dict[ir.Operation, list[ir.Value]] = {}
        self._leaving: dict[ir.Operation, set[ir.Value]] = {}
        self._canonical: dict[ir.Value, ir.Value] = {}
        self._vars: dict[ir.Value, Var] = {}

    def outputs(self, dataflow: ir.Operation) -> list[ir.Value]:
        """Return the values inside a dataflow block that leave it, in order."""
        result = self._outputs.get(dataflow)
        if result is None:
            result = self._outputs[dataflow] = outputs(dataflow)
        return result

    def is_projection(self, op: ir.Operation) -> bool:
        """Whether an operation only takes one of several outputs out of a dataflow block."""
        if op.name != _PROJECTION:
            return False
        source = defining_op(op.operands[0])
        return source is not None and source.name == DATAFLOW and len(self.outputs(source)) > 1

    def is_binding(self, op: ir.Operation) -> bool:
        """Whether an operation is a binding of its block for people."""
        name = op.name
        return not (
            name == DATAFLOW or name in TERMINATORS or is_leaf(op) or self.is_projection(op)
        )

    def canonical(self, value: ir.Value) -> ir.Value:
        """Return the value inside its dataflow block for one that left it; others unchanged."""
        known = self._canonical.get(value)
        if known is not None:
            return known
        start = value
        while True:
            op = defining_op(value)
            if op is None:
                break
            if op.name == DATAFLOW and len(self.outputs(op)) == 1:
                value = self.outputs(op)[0]
            elif self.is_projection(op):
                source = defining_op(op.operands[0])
                assert source is not None, "a projection has a dataflow block"
                value = self.outputs(source)[ir.IntegerAttr(op.attributes["index"]).value]
            else:
                break
        self._canonical[start] = value
        return value

    def var(self, value: ir.Value) -> Var:
        """Return the variable of a value."""
        inner = self.canonical(value)
        known = self._vars.get(inner)
        if known is None:
            known = make_var(inner, value_name(inner), self._keep, None, self._is_local(inner))
            self._vars[inner] = known
        return known

    def operands(self, op: ir.Operation) -> list[ir.Value]:
        """Return the values in an operation's arguments, those in tuples in place too."""
        result: list[ir.Value] = []
        pending = list(op.operands)[::-1]
        while pending:
            value = pending.pop()
            owner = defining_op(value)
            if owner is not None and is_leaf(owner):
                pending += list(owner.operands)[::-1]
            else:
                result.append(self.canonical(value))
        return result

    def walk(self, scope: Scope) -> Iterator[ir.Operation]:
        """Yield all operations of a scope that are no parts of expressions, in order.

        Dataflow blocks, branches and terminators come too, before and after what is in them.
        """
        pending = scope.operations[::-1]
        single = scope.expression
        while pending:
            op = pending.pop()
            if not single and (is_leaf(op) or self.is_projection(op)):
                continue
            single = False
            yield op
            if len(op.regions):
                inner = [
                    view.operation
                    for region in op.regions
                    for block in region.blocks
                    for view in block.operations
                ]
                pending += inner[::-1]

    def _is_local(self, value: ir.Value) -> bool:
        op = defining_op(value)
        parent = None if op is None else op.parent
        if parent is None or parent.operation.name != DATAFLOW:
            return False
        dataflow = parent.operation
        leaving = self._leaving.get(dataflow)
        if leaving is None:
            leaving = self._leaving[dataflow] = set(self.outputs(dataflow))
        return value not in leaving


def region_arguments(op: ir.Operation) -> list[ir.Value]:
    """Return the parameters of an operation's regions: those of a lambda, of a loop."""
    if not len(op.regions):
        return []
    return [a for region in op.regions for block in region.blocks for a in block.arguments]
