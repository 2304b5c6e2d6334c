"""`with` blocks of a builder: functions, dataflow blocks, insertion points."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.dialects.relax.side_effects import operations_in
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.relax.well_formed import type_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError
from relax_mlir.ir.attribute_value import attribute_key, python_attribute
from relax_mlir.relax.analysis.symbols import symbols_in
from relax_mlir.relax.builder.core import active
from relax_mlir.relax.builder.frames import Frame, bind_symbols
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.builder.purity import is_pure
from relax_mlir.relax.expr.blocks import BindingBlock, DataflowBlock, block_of
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.places import defining_op, is_binding, location_name
from relax_mlir.relax.expr.types import PrimType


class FunctionScope:
    """A function under construction; it enters the module when it has its output.

    A function that is open already pauses: it goes on when this one has ended.
    """

    def __init__(
        self, builder: Any, name: str, params: list[Var] | None, options: dict[str, Any],
        place: ir.Location,
    ) -> None:  # fmt: skip
        if not isinstance(name, str) or not name:
            raise ExprTypeError(f"the name of a function is a string, got {name!r}")
        self._builder, self._name, self._params = builder, name, params
        self._options, self._place = options, place
        self._frame: Frame | None = None
        self._paused: tuple[Any, ...] = ()
        # Parameters that are variables of the function that pauses too: what they were there.
        self._outer: list[tuple[Var, Any, Any]] = []

    def __enter__(self) -> "FunctionScope":
        builder, name = self._builder, self._name
        if not self._options.get("named"):
            if name in builder._table.names:
                raise BuilderError(f"there is a function '{name}' already")
            builder._table.names.add(name)
        with builder.unknown:
            op = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(name),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                    "relax.function": ir.UnitAttr.get(),
                },
                regions=1,
                loc=self._place,
                ip=False,
            )
        self._paused = builder._pause()
        builder._begin(op)
        block = op.regions[0].blocks.append()
        self._frame = frame = Frame(
            builder, "function", [block], ir.InsertionPoint(block), Names(), op, name
        )
        frame.place = self._place
        if self._params is not None:
            try:
                self._bind(self._params)
            except Exception:
                # Whatever is wrong with the parameters, the builder stays usable.
                builder._table.names.discard(name)
                builder._abandon()
                builder._resume(self._paused)
                raise
        builder._push(frame)
        builder._function_scope = self
        active().append(builder)
        return self

    def _bind(self, params: list[Var]) -> None:
        assert self._frame is not None, "the scope is open"
        if len({id(param) for param in params}) != len(params):
            raise BuilderError(f"a parameter of '{self._name}' is given twice")
        for param in params:
            if param._frame in self._paused[0]:
                self._outer.append((param, param._value, param._frame))
            self._builder._add_parameter(self._frame, param)
        self._frame.params = params
        known = [size for param in params if (size := param.as_size()) is not None]
        self._frame.symbols = set()
        bind_symbols(self._frame, [p._value.type for p in params if p._value is not None], known)

    def output(self, output: Any, params: list[Var] | None) -> None:
        """Return a value from the function and close its signature."""
        builder, frame = self._builder, self._frame
        assert frame is not None, "the scope is open"
        if params is not None and frame.params is not None:
            raise BuilderError(
                f"the parameters of '{self._name}' are given twice: to function() and to "
                "emit_func_output()"
            )
        if params is None and frame.params is None:
            raise BuilderError(
                f"function '{self._name}' has no parameters given, to function() or to "
                "emit_func_output(); pass [] for none"
            )
        value = builder.materialize(output)
        declared = self._options.get("returns")
        if declared is not None:
            with builder.unknown:
                fits = compatible(declared.to_mlir(), value.type)
            if not fits:
                raise ExprError(
                    f"'{self._name}' is declared to return {declared}, got {describe(value.type)}"
                )
        if params is not None:
            self._place_late(params)
        loc = builder._places.here()
        ir.Operation.create("func.return", operands=[value], loc=loc, ip=frame.ip)
        self._sign(value.type)
        frame.finished = True

    def _place_late(self, params: list[Var]) -> None:
        """Put parameters that the body used before they were given in their order."""
        frame = self._frame
        assert frame is not None, "the scope is open"
        late: list[tuple[Var, Any]] = [(var, var._value) for var in frame.late]
        for var in frame.late:
            if not any(var is param for param in params):
                raise BuilderError(
                    f"'{var.name_hint}' is used in '{self._name}' but is none of its parameters"
                )
        before = len(frame.late)
        self._bind(params)
        for var, old in late:
            old.replace_all_uses_with(var._value)
        for _ in range(before):
            frame.blocks[0].erase_argument(0)
        for var, value in zip(params, frame.blocks[0].arguments, strict=True):
            var._value = value

    def _sign(self, result: ir.Type) -> None:
        builder, frame = self._builder, self._frame
        assert frame is not None, "the scope is open"
        assert frame.op is not None, "a function has its operation"
        op, params = frame.op, frame.params or []
        types = [argument.type for argument in frame.blocks[0].arguments]
        with builder.unknown:
            op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [result]))
            # Arguments can be given by name when the program runs.
            distinct = Names()
            names = [ir.StringAttr.get(distinct.fresh(param.name_hint)) for param in params]
            op.attributes["relax.params"] = ir.ArrayAttr.get(names)
            details = [
                {} if size is None else {"relax.value": Dims.of([size])}
                for size in _sizes(op, params)
            ]
            if any(details):
                op.attributes["arg_attrs"] = ir.ArrayAttr.get(
                    [ir.DictAttr.get(each) for each in details]
                )
            if self._options["private"]:
                op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            for name, value in self._options["attrs"].items():
                if name != "global_symbol":
                    op.attributes[attribute_key(name)] = python_attribute(value)
            if self._options["pure"]:
                if not is_pure(op):
                    raise BuilderError(f"'{self._name}' is declared pure and has side effects")
                op.attributes["relax.pure"] = ir.UnitAttr.get()

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._frame is not None and self._frame.open:
            self.end(kind)

    def end(self, kind: Any = None) -> None:
        """Put the function into the module.

        Args:
            kind: the class of the error that ends it instead.

        Raises:
            BuilderError: it has no output.
        """
        builder, frame = self._builder, self._frame
        assert frame is not None, "the scope is open"
        assert frame.op is not None, "a function has its operation"
        finished = frame.finished and kind is None
        if finished:
            builder._table.insert(frame.op, self._name)
            builder._end(frame.op)
        builder._close(frame)
        active().pop()
        if not finished:
            builder._table.names.discard(self._name)
            builder._detach_dead_op(frame.op)
        # What was begun in the function and never closed.
        builder._abandon()
        builder._resume(self._paused)
        for param, value, before in self._outer:
            param._value, param._frame = value, before
        if kind is None and not finished:
            raise BuilderError(
                f"function '{self._name}' ends without its output: call emit_func_output"
            )


def _sizes(func: ir.Operation, params: Sequence[Var]) -> list[SymExpr | None]:
    """Return the size that each parameter is: one it is declared as, or a symbol in use."""
    sizes = [param.as_size() for param in params]
    if all(size is None for size in sizes):
        return sizes
    used = set().union(*map(symbols_in, operations_in(func)))
    used |= set().union(*(type_symbols(arg.type) for arg in func.regions[0].blocks[0].arguments))
    return [
        size if _is_declared(param) or (size is not None and size.symbols & used) else None
        for param, size in zip(params, sizes, strict=True)
    ]


def _is_declared(param: Var) -> bool:
    return isinstance(param._ty, PrimType) and param._ty.value is not None


class DataflowScope:
    """A dataflow block under construction; its outputs are variables of the scope around it."""

    def __init__(self, builder: Any, place: ir.Location) -> None:
        self._builder, self._place = builder, place
        self._frame: Frame | None = None

    def __enter__(self) -> "DataflowScope":
        builder = self._builder
        outer = builder._frame()
        if builder._is_in_dataflow():
            raise BuilderError("a dataflow block cannot stand inside another")
        op = ir.Operation.create("relax.dataflow", regions=1, loc=self._place, ip=False)
        builder._begin(op)
        block = op.regions[0].blocks.append()
        self._frame = Frame(builder, "dataflow", [block], ir.InsertionPoint(block), outer.names, op)
        self._frame.symbols = outer.symbols
        builder._push(self._frame)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        builder, frame = self._builder, self._frame
        assert frame is not None, "the scope is open"
        builder._close(frame)
        assert frame.op is not None, "a dataflow block has its operation"
        if kind is None:
            self._finish(builder._frame(), frame)
            builder._end(frame.op)
        else:
            builder._detach_dead_op(frame.op)

    def _finish(self, outer: Frame, frame: Frame) -> None:
        builder, place, block = self._builder, self._place, frame.blocks[0]
        if len(frame.outputs) > 1:
            # What is equal is in one order, that of the bindings, as in scripts.
            places: dict[Any, int] = {view.operation: i for i, view in enumerate(block.operations)}
            made = {var: defining_op(var._value) for var in frame.outputs if var._value is not None}
            frame.outputs.sort(key=lambda var: places.get(made.get(var), -1))
        values: list[Any] = [var._value for var in frame.outputs]
        operands = values
        with frame.ip, place:
            if len(values) > 1:
                operands = [make_tuple(values, place)]
            ir.Operation.create("relax.output", operands=operands, loc=place)
        loc = place
        if len(values) == 1:
            loc = builder._places.named(frame.outputs[0].name_hint, place)
        final = ir.Operation.create(
            "relax.dataflow", results=[operand.type for operand in operands], regions=1, loc=loc,
            ip=outer.ip,
        )  # fmt: skip
        block.append_to(final.regions[0])
        for index, var in enumerate(frame.outputs):
            result = final.results[0]
            if len(values) > 1:
                named = builder._places.named(var.name_hint, place)
                result = builder._field(result, index, named)
            # Uses after the block see what left it; it stays the same variable.
            var._value, var._frame = result, outer


class TestScope:
    """A scope in no module: what is emitted there can be looked at, and is dropped with it."""

    __test__ = False

    def __init__(self, builder: Any, params: list[Var]) -> None:
        self._builder, self._params = builder, params

    def __enter__(self) -> Any:
        builder = self._builder
        with builder.unknown:
            op = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("scope"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                },
                regions=1,
                loc=builder._places.here(),
                ip=False,
            )
        builder._begin(op)
        block = op.regions[0].blocks.append()
        names = builder._frames[-1].names if builder._frames else Names()
        frame = Frame(builder, "scope", [block], ir.InsertionPoint(block), names, op)
        frame.place = builder._places.here()
        for param in self._params:
            builder._add_parameter(frame, param)
        builder._push(frame)
        self._frame = frame
        return builder

    def __exit__(self, *_: Any) -> None:
        self._builder._close(self._frame)


class InsertionScope:
    """A place before an operation of a function that is in the module."""

    def __init__(self, builder: Any, op: ir.Operation) -> None:
        if op.context != builder.context:
            raise BuilderError("the operation belongs to a module of another MLIR context")
        self._builder, self._op = builder, op

    def __enter__(self) -> "InsertionScope":
        builder, op = self._builder, self._op
        blocks = [op.block]
        parent = op.parent
        kind = "insertion"
        while parent is not None and parent.operation.name != "func.func":
            if parent.operation.name == "relax.dataflow":
                kind = "dataflow"
            blocks.append(parent.operation.block)
            parent = parent.operation.parent
        if parent is None:
            raise BuilderError("the operation is in no function")
        func = parent.operation
        names = builder._names_of.get(func)
        if names is None:
            names = builder._names_of[func] = _names_in(func)
        self._frame = Frame(builder, kind, blocks, ir.InsertionPoint(op), names)
        builder._push(self._frame)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._builder._close(self._frame)
        if kind is None and self._frame.outputs:
            raise BuilderError(
                "emit_output cannot add an output to a dataflow block that is in the module"
            )


def _names_in(func: ir.Operation) -> Names:
    """Return the names of all variables of a function."""
    names = Names()

    def visit(op: ir.Operation) -> ir.WalkResult:
        names.add(location_name(op.location))
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    names.add(location_name(argument.location))
        return ir.WalkResult.ADVANCE

    func.walk(visit, ir.WalkOrder.PRE_ORDER)
    return names


class OpenBlock:
    """A block under construction; outside of functions it stands in a scope of its own."""

    def __init__(self, builder: Any, dataflow: bool) -> None:
        self._builder = builder
        self._scope = None if builder._frames else TestScope(builder, [])
        if self._scope is not None:
            self._scope.__enter__()
        self._frame = builder._frame()
        self._block = self._frame.blocks[0]
        self._before = len(self._block.operations)
        self._dataflow = DataflowScope(builder, builder._places.here()) if dataflow else None
        if self._dataflow is not None:
            self._dataflow.__enter__()

    def end(self) -> BindingBlock:
        """Close the block, and return it."""
        if self._dataflow is not None:
            self._dataflow.__exit__(None, None, None)
        operations = [view.operation for view in self._block.operations][self._before :]
        if self._scope is not None:
            self._builder._close(self._frame)
        keep = self._builder._keep
        if self._dataflow is not None:
            return DataflowBlock.of(operations[0], keep)
        return block_of([op for op in operations if is_binding(op)], keep)
