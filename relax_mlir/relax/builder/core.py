"""State that the parts of a builder share: module, open scopes, insertion point."""

import atexit
import sys
import threading
import weakref
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.tuples import field_types, known_fields
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.builder.frames import Frame
from relax_mlir.relax.builder.functions import FunctionTable, isolate
from relax_mlir.relax.builder.materialize import Materializer
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.builder.regions import IfScope
from relax_mlir.relax.builder.source import Places
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.values import convert

_ACTIVE = threading.local()
_BUILDERS: "weakref.WeakSet[Core]" = weakref.WeakSet()


@atexit.register
def _abandon_all() -> None:
    """Let the process end in peace: what is under construction then dies in any order."""
    for builder in list(_BUILDERS):
        builder._abandon()


def active() -> list[Any]:
    """Return the builders whose functions this thread has open, the innermost last."""
    if not hasattr(_ACTIVE, "stack"):
        _ACTIVE.stack = []
    return _ACTIVE.stack


class Core:
    """The state of a builder."""

    def _start(self, mod: IRModule) -> None:
        self._mod = mod
        # The context as an object keeps it from being given up while this builder has it.
        self.context: ir.Context = mod.context
        # Entering a location enters its context too: what making types and attributes takes.
        self.unknown: ir.UnknownLoc = ir.Location.unknown(context=self.context)
        self._frames: list[Frame] = []
        self._unfinished: dict[int, ir.Operation] = {}
        _BUILDERS.add(self)
        self._keep: list[Any] = [mod]
        self._places = Places(self.context)
        self._table = FunctionTable(mod.mlir_module.body)
        self._materializer = Materializer(self)
        self._names_of: dict[ir.Operation, Names] = {}
        self._function_scope: Any = None
        self._open_blocks: list[Any] = []
        # Symbols of integers known at run time, by value and by the block that binds them.
        self._integers: dict[tuple[ir.Value, ir.Block], Any] = {}
        # Says which values stand for those of a function that is being rewritten; None otherwise.
        self._moved: Any = None

    def materialize(self, expr: Any) -> ir.Value:
        """Return the MLIR value of an expression here, creating what has not been emitted.

        Raises:
            BuilderError: no scope is open, or a variable belongs to another one.
            ExprError: no run could compute it.
        """
        self._frame()
        return self._materializer.value(self._expression(expr))

    def current_block_is_dataflow(self) -> bool:
        """Whether a dataflow block is the innermost scope."""
        return bool(self._frames) and self._frames[-1].kind == "dataflow"

    def _frame(self) -> Frame:
        if not self._frames:
            raise BuilderError(
                "nothing can be emitted outside of a function: with bb.function(name, params):"
            )
        frame = self._frames[-1]
        if frame.finished:
            raise BuilderError(f"the {frame.word} has its output; nothing can follow it")
        return frame

    def _push(self, frame: Frame) -> None:
        self._frames.append(frame)

    def _pop(self) -> Frame:
        frame = self._frames.pop()
        frame.open = False
        return frame

    def _close(self, frame: Frame) -> None:
        """Close a scope, and the open scopes inside of it."""
        while frame in self._frames:
            inner = self._pop()
            if inner.kind == "scope" and inner.op is not None:
                self._detach_dead_op(inner.op)

    def _pause(self) -> tuple[Any, ...]:
        """Set the function that is open aside, and return it: the next one is its sibling."""
        paused = self._frames, self._unfinished, self._open_blocks, self._function_scope
        for frame in self._frames:
            frame.open = False
        self._frames, self._unfinished, self._open_blocks = [], {}, []
        return paused

    def _resume(self, paused: tuple[Any, ...]) -> None:
        """Go on with what `_pause` returned."""
        self._frames, self._unfinished, self._open_blocks, self._function_scope = paused
        for frame in self._frames:
            frame.open = True

    def _begin(self, op: ir.Operation) -> ir.Operation:
        """Record an operation under construction, until `_end` or `_detach_dead_op`."""
        self._unfinished[id(op)] = op
        return op

    def _end(self, op: ir.Operation) -> None:
        """Record that an operation is complete."""
        self._unfinished.pop(id(op), None)

    def _detach_dead_op(self, op: ir.Operation) -> None:
        """Keep an operation that will stand in no function, for who holds variables of it.

        MLIR aborts the process when a value dies before its uses, and Python lets things die in any
        order, so what the operation uses of its surroundings becomes parameters of its blocks.
        """
        self._end(op)
        isolate(op)
        self._keep.append(op)

    def _abandon(self) -> None:
        for op in list(getattr(self, "_unfinished", {}).values())[::-1]:
            self._detach_dead_op(op)

    def __del__(self) -> None:
        # At the end of Python MLIR's classes are gone; `_abandon_all` has come before.
        if not sys.is_finalizing():
            self._abandon()

    def _expression(self, value: Any) -> Any:
        from relax_mlir.relax.builder.te_calls import as_call

        return convert(as_call(self, value))

    def _is_in_dataflow(self) -> bool:
        """Whether a dataflow block is open in the function, which may be in another one's."""
        kinds = [frame.kind for frame in self._frames]
        inner = kinds[len(kinds) - kinds[::-1].index("lambda") :] if "lambda" in kinds else kinds
        return "dataflow" in inner

    def _require_effects(self, what: str) -> None:
        """Raise a BuilderError in a dataflow block."""
        if self._is_in_dataflow():
            raise BuilderError(
                f"{what} may have effects or is control flow, which a dataflow block does not "
                "hold; emit it outside of the block"
            )

    def _if(self, condition: ir.Value, loc: ir.Location) -> IfScope:
        return IfScope(self, condition, loc)

    def _find(self, name: str) -> ir.Operation | None:
        return self._table.find(name)

    def _add_parameter(self, frame: Frame, var: Var, late: bool = False) -> ir.Value:
        """Append a parameter to the function under construction and bind its variable."""
        type_ = var._ty if var._value is None else var.ty
        if type_ is None:
            raise ExprError(
                f"parameter '{var.name_hint}' needs a type, such as R.Tensor or R.Object"
            )
        frame.names.add(var.name_hint)
        loc = self._places.named(var.name_hint, frame.place or self._places.here())
        with self.unknown:
            value = frame.blocks[0].add_argument(type_.to_mlir(), loc)
        if late:
            frame.late.append(var)
        var._ty = type_
        var._value, var._frame, var._keep = value, frame, self._keep
        return value

    def _fields(self, value: ir.Value, loc: ir.Location) -> list[ir.Value]:
        """Return the fields of a tuple value."""
        known = known_fields(value)
        if known is not None:
            return known
        count = len(field_types(value.type))
        return [self._field(value, index, loc) for index in range(count)]

    def _field(self, value: ir.Value, index: int, loc: ir.Location) -> ir.Value:
        """Create a field of a tuple value."""
        with self.unknown:
            number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
        type_ = value.type.get_type(index)
        create = self._materializer.create
        return create("relax.tuple_get_item", [value], type_, loc, index=number).result


def parameters_of(params: Any) -> list[Var] | None:
    """Return parameters as a list: one variable, several, or None for not given.

    Raises:
        ExprTypeError: one is no variable.
    """
    if params is None:
        return None
    result = [params] if isinstance(params, Var) else list(params)
    for param in result:
        if not isinstance(param, Var):
            raise ExprTypeError(f"a parameter is a relax.Var, got {param!r}")
    return result
