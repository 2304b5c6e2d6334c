"""Bindings: emits expressions as variables of the open scope."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.infer import compatible
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError
from relax_mlir.relax.analysis.pending import pending_variables
from relax_mlir.relax.builder.call_forms import match_cast
from relax_mlir.relax.builder.core import Core, parameters_of
from relax_mlir.relax.builder.frames import Frame, resolve
from relax_mlir.relax.builder.functions import is_pending
from relax_mlir.relax.builder.inlining import inline_block
from relax_mlir.relax.builder.lambdas import make_lambda
from relax_mlir.relax.builder.scopes import DataflowScope
from relax_mlir.relax.expr.blocks import Binding, DataflowBlock, MatchCast, SeqExpr
from relax_mlir.relax.expr.call import Call
from relax_mlir.relax.expr.compound import If, TupleGetItem
from relax_mlir.relax.expr.leaves import DataflowVar, ExternFunc, GlobalVar, Var, make_var
from relax_mlir.relax.expr.types import ShapeType, TensorType, Type, as_type
from relax_mlir.relax.expr.values import Tuple, convert


class Emission(Core):
    """The methods of a builder that bind variables."""

    def emit(self, expr: Any, name_hint: str = "") -> Any:
        """Bind an expression to a new variable, and return that; an `ExternFunc` stays itself.

        Args:
            expr: the expression; parts that are calls get variables of their own.
            name_hint: the variable's name, made unique.

        Raises:
            BuilderError: no function is open, or a variable belongs to another scope.
            ExprError: no run could compute it.
        """
        frame = self._frame()
        if type(expr) is not Call:
            expr = expr if isinstance(expr, ExternFunc) else self._expression(expr)
            if isinstance(expr, ExternFunc):
                return expr
            if isinstance(expr, Var):
                value = resolve(self, expr)
                return make_var(value, expr.name_hint, self._keep, frame, _is_dataflow(frame))
        value = self._materializer.value(expr, name_hint)
        return make_var(
            value, self._materializer.last_name, self._keep, frame, frame.kind == "dataflow"
        )

    def emit_output(self, expr: Any, name_hint: str = "") -> Var:
        """Bind an expression to a variable that leaves the dataflow block.

        Raises:
            BuilderError: no dataflow block is open, or a variable belongs to another scope.
            ExprError: no run could compute it.
        """
        frame = self._frame()
        if frame.kind != "dataflow":
            raise BuilderError("emit_output belongs in a dataflow block: with bb.dataflow():")
        expr = self._expression(expr)
        if isinstance(expr, Var):
            value, name = resolve(self, expr), expr.name_hint
        else:
            value = self._materializer.value(expr, name_hint or "gv")
            name = self._materializer.last_name
        return self.give_out(value, name)

    def give_out(self, value: ir.Value, name: str) -> Var:
        """Have a value leave the open dataflow block as a variable of that name."""
        frame = self._frame()
        known = frame.given.get(value)
        if known is not None:
            return known
        var = make_var(value, name, self._keep, frame, False)
        frame.outputs.append(var)
        frame.given[value] = var
        return var

    def match_cast(self, value: Any, ty: Any, name_hint: str = "") -> Var:
        """Bind a value under a type: new symbols get values, the rest is checked at run time.

        Args:
            value: a tensor, shape, tuple or object.
            ty: the type.
            name_hint: the variable's name, made unique.

        Raises:
            ExprError: it cannot succeed.
        """
        frame = self._frame()
        operand = self.materialize(value)
        with self.unknown:
            type_ = as_type(ty).to_mlir()
        name = frame.names.fresh(name_hint or _default_name(frame))
        loc = self._places.named(name, self._places.here())
        made = match_cast(self._materializer, operand, type_, loc)
        return make_var(made, name, self._keep, frame, _is_dataflow(frame))

    def match_shape(self, value: Any, pattern: Sequence[Any], name_hint: str = "") -> Var:
        """Bind a tensor or a shape under dimensions, as the design document has it.

        Raises:
            ExprTypeError: it is neither a tensor nor a shape.
            ExprError: it cannot succeed.
        """
        value = self._expression(value)
        known = value.ty
        if isinstance(known, TensorType):
            return self.match_cast(value, TensorType(pattern, known.dtype), name_hint)
        if isinstance(known, ShapeType):
            return self.match_cast(value, ShapeType(pattern), name_hint)
        raise ExprTypeError(f"match_shape takes a tensor or a shape, got {known}")

    def emit_normalized(self, binding: Binding) -> Var:
        """Emit a binding that somebody wrote: its variable means its value from here on.

        Raises:
            BuilderError: no function is open, or a variable belongs to another scope.
            ExprError: the variable is declared with a type that its value cannot have.
        """
        var = binding.var
        name = "" if var is None else var.name_hint
        if isinstance(binding, MatchCast):
            made = self.match_cast(binding.value, binding.ty, name)
        elif is_pending(binding.value) and _calls_itself(binding):
            loc = self._places.named(self._frame().names.fresh(name), self._places.here())
            op = make_lambda(self, binding.value, loc, var)
            made = make_var(op.results[0], name, self._keep, self._frame(), False)
        elif _is_dataflow(self._frame()) and type(var) is Var:
            made = self.emit_output(binding.value, name)
        else:
            made = self.emit(binding.value, name)
        if var is not None and binding.mlir_op is None:
            if var._ty is not None:
                self._require_declared(var._ty, name, made)
            var._value, var._frame, var._keep = made._value, made._frame, made._keep
            var._name = made.name_hint
        return made

    def _require_declared(self, declared: Type, name: str, made: Var) -> None:
        value = made.mlir_value
        assert value is not None, "it has been emitted"
        with self.unknown:
            fits = declared.is_missing() or compatible(declared.to_mlir(), value.type)
        if not fits:
            raise ExprError(f"'{name}' is declared {declared}, but its value is {made.ty}")

    def normalize(self, expr: Any) -> Any:
        """Return an expression whose parts are variables and constants, its type inferred.

        Parts that are calls are emitted.

        Raises:
            ExprError: no run could compute it.
        """
        expr = convert(expr)
        if isinstance(expr, Call) and expr.mlir_op is None:
            args = self._atoms(expr.args)
            if any(new is not old for new, old in zip(args, expr.args, strict=True)):
                expr = Call(expr.op, args, expr.attrs, expr.ty_args)
        elif isinstance(expr, Tuple) and expr.mlir_op is None:
            expr = Tuple(self._atoms(expr.fields))
        expr.ty  # noqa: B018 - the type is inferred here, where errors point at the program
        return expr

    def _atoms(self, parts: Sequence[Any]) -> list[Any]:
        """Return parts as variables and constants; one that is there twice is emitted once."""
        known: dict[int, Any] = {}
        for part in parts:
            if id(part) not in known:
                emit = self.emit if _is_computed(part) else self.normalize
                known[id(part)] = emit(part)
        return [known[id(part)] for part in parts]

    def emit_func_output(self, output: Any, params: Any = None) -> GlobalVar:
        """Give the function its result, its last act; returns the function's name, to call it.

        Args:
            output: an expression, or a sequence of them, which becomes a tuple.
            params: the parameters, when `function` was not given them.

        Raises:
            BuilderError: no function is open, it has its output, parameters are given twice or not
                at all, or a block in it is open.
        """
        frame = self._frame()
        if frame.kind != "function":
            raise BuilderError(f"emit_func_output inside a {frame.word}: close that first")
        self._function_scope.output(output, parameters_of(params))
        return GlobalVar(frame.name)

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
        """Return a call of the prim func that a tensor expression makes.

        Args:
            func: makes te tensors from te tensors: `lambda A, B: te.compute(...)`.
            args: expressions become te tensors, other values stay.
            kwargs: as `args`; `primfunc_name_hint` names the prim func.

        Raises:
            ExprError: the shape of a tensor is not known symbolically.
        """
        from relax_mlir.relax.builder.te_calls import call_te

        return call_te(self, func, args, kwargs)

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
        """Emit `call_te(func, ...)`; `name_hint` names the variable.

        Raises:
            ExprError: the shape of a tensor is not known symbolically.
        """
        name_hint = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    def _sequence(self, body: Any) -> Any:
        """Emit the bindings of a sequence that has not been emitted; returns its value."""
        while isinstance(body, SeqExpr):
            if body.mlir_block is not None:
                return inline_block(self, body.mlir_block)
            _require_own_variables(body)
            for block in body.blocks:
                if isinstance(block, DataflowBlock):
                    with DataflowScope(self, self._places.here()):
                        for binding in block.bindings:
                            self.emit_normalized(binding)
                else:
                    for binding in block.bindings:
                        self.emit_normalized(binding)
            body = body.body
        return body


def _require_own_variables(sequence: SeqExpr) -> None:
    """Raise where a sequence binds a variable twice, or one of dataflow blocks outside of them."""
    seen: set[int] = set()
    for block in sequence.blocks:
        for binding in block.bindings:
            var = binding.var
            if var is None or binding.mlir_op is not None:
                continue
            if id(var) in seen:
                raise BuilderError(f"'{var.name}' is bound twice; bind a variable of its own")
            if isinstance(var, DataflowVar) and not isinstance(block, DataflowBlock):
                raise BuilderError(f"the DataflowVar '{var.name}' is bound outside of its blocks")
            seen.add(id(var))


def _calls_itself(binding: Binding) -> bool:
    """Whether a function uses the variable that it is bound to."""
    return any(var is binding.var for var, bound in pending_variables(binding.value) if not bound)


def _default_name(frame: Frame) -> str:
    return "lv" if frame.kind == "dataflow" else "gv"


def _is_dataflow(frame: Frame) -> bool:
    return frame.kind == "dataflow"


def _is_computed(expr: Any) -> bool:
    return isinstance(expr, (Call, If, TupleGetItem)) and expr.mlir_op is None
