"""Functions of a builder's module: adding, replacing, deduplication."""

from typing import Any

from relax_mlir.errors import BuilderError
from relax_mlir.ir.single_function import set_attrs
from relax_mlir.relax.builder.emission import Emission
from relax_mlir.relax.builder.functions import copy_in, function_name, function_op, is_pending
from relax_mlir.relax.builder.scopes import FunctionScope
from relax_mlir.relax.expr.functions import Function
from relax_mlir.relax.expr.leaves import GlobalVar, Var
from relax_mlir.relax.op.calls import call_tir, output_of


class ModuleFunctions(Emission):
    """The methods of a builder that take functions as wholes."""

    def add_func(self, func: Any, func_name: str) -> GlobalVar:
        """Add a function to the module; one that is there already in all but name is found.

        Args:
            func: a view, as `R.function` and `T.prim_func` give it, an operation, an IRModule of
                one function, or `Function(params, body)` not emitted yet.
            func_name: its name, made unique.

        Raises:
            ExprTypeError: it is no function.
        """
        if is_pending(func):
            name = self._table.names.fresh(func_name)
            if func.copied is None:
                return self._emit_function(func, name)
            copy = copy_in(func.copied, self.context)
            given = {key: value for key, value in func.attrs.items() if key != "global_symbol"}
            set_attrs(copy, given)
            self._table.insert(copy, name)
            return GlobalVar(name)
        op = function_op(func)
        assert op is not None, "only functions not emitted have no operation"
        same = self._table.same(op) if op.context == self.context else None
        if same is not None:
            return GlobalVar(same)
        copy = copy_in(op, self.context)
        same = self._table.same(copy)
        if same is None:
            same = self._table.names.fresh(func_name)
            self._table.insert(copy, same)
        return GlobalVar(same)

    def update_func(self, gv: GlobalVar | str, updated_function: Any) -> None:
        """Put a function in the place of the one of that name.

        Raises:
            BuilderError: there is none of that name.
            ExprTypeError: it is no function.
        """
        name = gv if isinstance(gv, str) else gv.name_hint
        if self._table.find(name) is None:
            raise BuilderError(f"there is no function '{name}' to update; add it by add_func")
        if is_pending(updated_function):
            temporary = self._table.names.fresh(f"{name}_updated")
            self._emit_function(updated_function, temporary)
            op = self._table.take(temporary)
        else:
            source = function_op(updated_function)
            assert source is not None, "only functions not emitted have no operation"
            op = copy_in(source, self.context)
        # Views of the old function stay good.
        self._keep.append(self._table.replace(op, name))

    def call_tir(self, shape: Any, func: Any, inputs: Any, dtype: Any = None) -> Var:
        """Emit a call of a prim func, as the design document has it.

        Args:
            shape: dimensions of the output.
            func: the prim func, which is added to the module, or its GlobalVar or name.
            inputs: a tensor, or a sequence of tensors.
            dtype: of the output, by default the first input's.

        Raises:
            BuilderError: no function is open, or a variable belongs to another scope.
            ExprTypeError: something is of a wrong kind.
        """
        return self.call_tir_dyn(shape, func, inputs, None, dtype)

    def call_tir_dyn(
        self, shape: Any, func: Any, inputs: Any, symbolic_vars: Any, dtype: Any = None
    ) -> Var:
        """Emit `call_tir` of a prim func that takes symbolic integers after its outputs.

        Args:
            shape: as for `call_tir`.
            func: as for `call_tir`.
            inputs: as for `call_tir`.
            symbolic_vars: the integers, a `ShapeExpr` or a sequence.
            dtype: as for `call_tir`.

        Raises:
            BuilderError: as for `call_tir`.
            ExprTypeError: as for `call_tir`.
        """
        if not isinstance(func, (GlobalVar, str)):
            func = self.add_func(func, function_name(func))
        return self.emit(call_tir(func, inputs, output_of(shape, inputs, dtype), symbolic_vars))

    def _emit_function(self, func: Function, name: str) -> GlobalVar:
        with FunctionScope(self, name, func.params, {
            "attrs": func.attrs, "pure": func._pure, "private": False, "named": True,
            "returns": func._ret,
        }, self._places.here()):  # fmt: skip
            self.emit_func_output(self._sequence(func.body))
        return GlobalVar(name)
