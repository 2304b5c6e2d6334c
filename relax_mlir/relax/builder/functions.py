"""Import of functions from other modules into a builder's: copied once, renamed."""

import hashlib
import io
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import is_function, single
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr.functions import BaseFunc, Function


def function_op(func: Any) -> ir.Operation | None:
    """Return the `func.func` of what people have as a function, None for one not emitted yet.

    Args:
        func: a view, an operation, or an IRModule of one function.

    Raises:
        ExprTypeError: it is no function.
        BuilderError: the module holds several.
    """
    if isinstance(func, BaseFunc):
        return func.mlir_op
    if isinstance(func, IRModule):
        names = func.function_names
        if len(names) != 1:
            raise BuilderError(f"expected a module of one function, it has {', '.join(names)}")
        return func[names[0]].mlir_op
    if is_function(func):
        return single(func)
    raise ExprTypeError(f"expected a function, got {type(func).__name__} {func!r}")


def function_name(func: Any) -> str:
    """Return what a function is called where it is, `main` where that is nothing."""
    op = function_op(func)
    return "main" if op is None else ir.StringAttr(op.attributes["sym_name"]).value


def copy_in(op: ir.Operation, context: ir.Context) -> ir.Operation:
    """Return a copy of a function that stands in no module, in a context."""
    if op.context == context:
        return op.clone(ip=False)
    with op.context, op.location:
        holder = ir.Module.create()
        op.clone(ip=ir.InsertionPoint(holder.body))
        data = io.BytesIO()
        holder.operation.write_bytecode(data)
    module = ir.Module.parse(data.getvalue(), context)
    return next(iter(module.body.operations)).operation.clone(ip=False)


def isolate(root: ir.Operation) -> None:
    """Make the blocks of an operation independent of values outside: those become parameters."""
    for region in root.regions:
        for block in region.blocks:
            _isolate(block)


def _isolate(block: ir.Block) -> None:
    inside: set[ir.Value] = set(block.arguments)
    operations: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        operations.append(op)
        inside.update(op.results)
        for region in op.regions:
            for inner in region.blocks:
                inside.update(inner.arguments)
        return ir.WalkResult.ADVANCE

    for view in block.operations:
        view.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    stands_in: dict[ir.Value, ir.Value] = {}
    for op in operations:
        for index, value in enumerate(op.operands):
            if value in inside:
                continue
            if value not in stands_in:
                stands_in[value] = block.add_argument(value.type, op.location)
            op.operands[index] = stands_in[value]


def content_key(op: ir.Operation) -> bytes:
    """Return what two functions have equal that differ in names at most."""
    keys = ("sym_name", "relax.params")
    names = {key: op.attributes[key] for key in keys if key in op.attributes}
    with op.context:
        for key in names:
            op.attributes[key] = ir.StringAttr.get("_")
        try:
            # Aliases are written for functions that stand in no module only.
            text = op.get_asm(
                assume_verified=True, print_generic_op_form=True, use_local_scope=True
            ).strip()
        finally:
            for key, name in names.items():
                op.attributes[key] = name
    return hashlib.sha256(text.encode()).digest()


class FunctionTable:
    """The functions in the body of a module, by name and by content."""

    def __init__(self, body: ir.Block) -> None:
        self._body = body
        self._ops: dict[str, ir.Operation] = {}
        self.names: Names = Names()
        for view in body.operations:
            if "sym_name" in view.operation.attributes:
                name = ir.StringAttr(view.operation.attributes["sym_name"]).value
                self._ops[name] = view.operation
                self.names.add(name)
        self._contents: dict[bytes, str] | None = None

    def find(self, name: str) -> ir.Operation | None:
        """Return the function of that name, None when there is none."""
        return self._ops.get(name)

    def same(self, op: ir.Operation) -> str | None:
        """Return the name of a function of the module with the same content."""
        return self._known().get(content_key(op))

    def insert(self, op: ir.Operation, name: str) -> None:
        """Put a function that stands in no module at the end, under a name that nothing has."""
        self._label(op, name)
        self._body.append(op)
        self._ops[name] = op
        if self._contents is not None:
            self._contents.setdefault(content_key(op), name)

    def take(self, name: str) -> ir.Operation:
        """Take a function out of the module and return it."""
        op = self._ops.pop(name)
        op.detach_from_parent()
        self.names.discard(name)
        self._contents = None
        return op

    def replace(self, op: ir.Operation, name: str) -> ir.Operation:
        """Put a function in the place of one; returns the old, which stands in no module then."""
        old = self._ops[name]
        self._label(op, name)
        ir.InsertionPoint(old).insert(op)
        old.detach_from_parent()
        self._ops[name] = op
        self._contents = None
        return old

    def _label(self, op: ir.Operation, name: str) -> None:
        with op.context:
            op.attributes["sym_name"] = ir.StringAttr.get(name)

    def _known(self) -> dict[bytes, str]:
        if self._contents is None:
            self._contents = {}
            for name, op in self._ops.items():
                self._contents.setdefault(content_key(op), name)
        return self._contents


def is_pending(func: Any) -> bool:
    """Whether a function has been written but not emitted."""
    return isinstance(func, Function) and func.mlir_op is None
