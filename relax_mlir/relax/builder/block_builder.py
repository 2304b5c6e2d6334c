"""`BlockBuilder`: builds a Relax program in MLIR, binding by binding."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.errors import BuilderError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.builder.core import active, parameters_of
from relax_mlir.relax.builder.loops import LoopScope
from relax_mlir.relax.builder.module_functions import ModuleFunctions
from relax_mlir.relax.builder.regions import IfScope
from relax_mlir.relax.builder.scopes import (
    DataflowScope,
    FunctionScope,
    InsertionScope,
    OpenBlock,
    TestScope,
)
from relax_mlir.relax.expr.blocks import BindingBlock, SeqExpr
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.places import defining_op
from relax_mlir.relax.expr.views import view_op


class BlockBuilder(ModuleFunctions):
    """Builds functions of one module.

    ```python
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(relax.op.exp(x))
            gv = bb.emit_output(lv + 1)
        bb.emit_func_output(gv)
    mod = bb.get()
    ```

    What is emitted stands in MLIR at once, its type inferred, at the line of Python that emitted
    it; every method takes time that does not depend on how much has been emitted.

    Args:
        mod: a module to add to; the builder works on a copy.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self._start(_empty() if mod is None else mod.clone())

    @classmethod
    def over(cls, mod: IRModule) -> "BlockBuilder":
        """Return a builder that changes a module itself, for passes that rewrite in place."""
        made = cls.__new__(cls)
        made._start(mod)
        return made

    @staticmethod
    def current() -> "BlockBuilder | None":
        """Return the builder whose function this thread is in, None outside of functions."""
        stack = active()
        return stack[-1] if stack else None

    # Scopes

    def function(
        self, name: str, params: Any = None, attrs: dict[str, Any] | None = None,
        is_pure: bool | None = None, private: bool = False, pure: bool | None = None,
    ) -> FunctionScope:  # fmt: skip
        """Open a function: `with bb.function("main", [x, y]):`.

        Args:
            name: its name in the module.
            params: its parameters, variables with types, one or a sequence; they may be given to
                `emit_func_output` instead.
            attrs: its attributes.
            is_pure: True has it checked, and marked, that nothing in it has side effects.
            private: whether users of the module do not see it.
            pure: the same as `is_pure`, as script has it.

        Raises:
            BuilderError: a function is open already, the name is taken, or a parameter is twice in
                the list.
            ExprTypeError: a parameter is no variable.
        """
        options = {"attrs": attrs or {}, "pure": is_pure or pure, "private": private}
        return FunctionScope(self, name, parameters_of(params), options, self._places.here())

    def dataflow(self) -> DataflowScope:
        """Open a dataflow block: `with bb.dataflow():`; nothing in it may have effects.

        Raises:
            BuilderError: a dataflow block is open, or no function is.
        """
        return DataflowScope(self, self._places.here())

    def insert_before(self, op: Any) -> InsertionScope:
        """Write before an operation of a function of the module: `with bb.insert_before(op):`.

        Raises:
            BuilderError: the operation stands in another module's context.
        """
        return InsertionScope(self, op.operation)

    def at_line(self, file: str, line: int, column: int = 1) -> AbstractContextManager[None]:
        """Make a line of a file the location of what the body emits: `with bb.at_line(f, 3):`.

        Importers say so where in a model something comes from.
        """
        return self._places.given(file, line, column)

    def if_(self, condition: Any, name_hint: str = "") -> IfScope:
        """Open an `if`; see `IfScope`.

        Raises:
            ExprTypeError: the condition is no scalar bool.
            BuilderError: a dataflow block is open, which holds no control flow.
        """
        return IfScope(self, self.materialize(condition), self._places.here(), name_hint)

    def while_(self, initial: Any, types: Any = None) -> LoopScope:
        """Open a loop that repeats as long as a condition holds; see `LoopScope`.

        Args:
            initial: what the first turn gets: expressions, and integers.
            types: what is carried, where that is less than what is known of the first values.

        Raises:
            BuilderError: a dataflow block is open, which holds no control flow.
        """
        return LoopScope(self, "relax.while", (), initial, types)

    def for_(self, bounds: Any, initial: Any, types: Any = None) -> LoopScope:
        """Open a loop over a range; see `LoopScope`.

        Args:
            bounds: where it stops, or start and stop, or these and the step.
            initial: what the first turn gets.
            types: what is carried, where that is less than what is known of the first values.

        Raises:
            BuilderError: a dataflow block is open, which holds no control flow.
            ExprTypeError: a bound is no integer.
        """
        given = list(bounds) if isinstance(bounds, (list, tuple)) else [0, bounds]
        if not 2 <= len(given) <= 3:
            raise BuilderError(f"a range has start, stop and step, got {len(given)} bounds")
        return LoopScope(self, "relax.for", [*given, 1][:3], initial, types)

    def testing_scope(self, def_vars: Iterable[Any] = ()) -> TestScope:
        """Open a scope outside of functions, in which expressions can be emitted to be looked at.

        Args:
            def_vars: symbols that have values there; all have.
        """
        return TestScope(self, [])

    def begin_scope(self, params: Any = None) -> None:
        """Open a scope whose variables mean nothing after `end_scope`."""
        TestScope(self, parameters_of(params) or []).__enter__()

    def end_scope(self) -> SeqExpr:
        """Close the scope of `begin_scope`; returns what was emitted in it.

        Variables of scopes around it are parameters there.

        Raises:
            BuilderError: no such scope is the innermost.
        """
        if not self._frames or self._frames[-1].kind != "scope":
            raise BuilderError("end_scope has no begin_scope")
        frame = self._pop()
        assert frame.op is not None, "a scope has its operation"
        self._detach_dead_op(frame.op)
        return SeqExpr.of(frame.blocks[0], self._keep)

    def _begin_binding_block(self) -> None:
        """Begin a block, as C++ mutators of TVM do; outside of functions in a scope of its own."""
        self._open_blocks.append(OpenBlock(self, False))

    def _begin_dataflow_block(self) -> None:
        """Begin a dataflow block; outside of functions in a scope of its own."""
        self._open_blocks.append(OpenBlock(self, True))

    def _end_block(self) -> BindingBlock:
        """End the innermost block that was begun, and return it.

        Raises:
            BuilderError: none was begun.
        """
        if not self._open_blocks:
            raise BuilderError("_end_block has no _begin_binding_block or _begin_dataflow_block")
        return self._open_blocks.pop().end()

    def get(self) -> IRModule:
        """Return the module: the builder's own, which further functions are added to.

        A function that has its output ends here.

        Raises:
            BuilderError: there is no function yet but one that is still open.
        """
        frame = self._frames[0] if self._frames else None
        if frame is not None and frame.finished and len(self._frames) == 1:
            self._function_scope.end()
        elif frame is not None and frame.kind == "function" and not self._mod.function_names:
            raise BuilderError(
                f"the {frame.word} has not ended and the module has no other; call get after its "
                f"`with` block"
            )
        return self._mod

    def finalize(self) -> IRModule:
        """Return the finished module.

        Raises:
            BuilderError: a function is still open.
        """
        if self._frames:
            raise BuilderError(f"the {self._frames[0].word} has not ended")
        return self._mod

    # Asking

    def lookup_binding(self, var: Var) -> Any:
        """Return what a variable was bound to, None for a parameter.

        Raises:
            BuilderError: nothing has bound it.
        """
        value = var._identity()
        if value is None:
            raise BuilderError(f"nothing has bound '{var.name_hint}'")
        op = defining_op(value)
        return None if op is None else view_op(op, var._keep)

    def get_unique_name(self, name_prefix: str) -> str:
        """Return a name that nothing has: a variable's inside of a function, else a function's."""
        names = self._frames[-1].names if self._frames else self._table.names
        return names.fresh(name_prefix)


def _empty() -> IRModule:
    with default_context(), ir.Location.unknown():
        return IRModule(ir.Module.create())
