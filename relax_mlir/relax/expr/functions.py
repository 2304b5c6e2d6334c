"""Functions as expressions: Relax functions, prim funcs."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.ir.attribute_value import attribute_key, attribute_name, attribute_value
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import is_function, set_attrs, single
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.blocks import SeqExpr, as_sequence
from relax_mlir.relax.expr.call import Attrs
from relax_mlir.relax.expr.leaves import ExternFunc, Var
from relax_mlir.relax.expr.types import FuncType, Type, as_type, from_mlir
from relax_mlir.relax.expr.views import register_view, var

if TYPE_CHECKING:
    from relax_mlir.tir.expr import Param
    from relax_mlir.tir.stmt import Buffer

# What says how a function is held rather than what it is.
_HELD = frozenset({"sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs",
                   "relax.function", "relax.params", "tir.prim_func"})  # fmt: skip

# Attributes of prim funcs that TVM itself calls so.
_PREFIXED = ("tir.noalias", "tir.is_entry_func", "tir.is_scheduled", "tir.is_host_func")


class BaseFunc(Expr):
    """A function of a module: view of a `func.func`."""

    __slots__ = ("_op",)

    def __getattr__(self, name: str) -> Any:
        """Return what MLIR has of the `func.func`, such as `func.regions`."""
        if name.startswith("_") or self._op is None or not hasattr(self._op, name):
            return super().__getattr__(name)
        return getattr(self._op, name)

    @property
    def mlir_op(self) -> ir.Operation | None:
        """The `func.func`, None for a function that is in no module yet."""
        return self._op

    @property
    def name(self) -> str:
        """Its name in the module; of a function in none its `global_symbol`, or `""`."""
        if self._op is None:
            return str(self.attrs.get("global_symbol", ""))
        if "sym_name" not in self._op.attributes:
            return ""
        return ir.StringAttr(self._op.attributes["sym_name"]).value

    @property
    def module(self) -> IRModule:
        """The module that it is in; one of its own for a function that Python built."""
        if not isinstance(self._keep, IRModule):
            return IRModule.from_expr(self)
        return self._keep

    @property
    def mlir_value(self) -> ir.Value | None:
        """The value of a function written in place (`relax.lambda`), None for one of a module."""
        return self._op.results[0] if self._op is not None and len(self._op.results) else None

    @property
    def attrs(self) -> Attrs:
        """Its attributes by name, without the dialect's prefix."""
        if self._op is None:
            return Attrs()
        return Attrs(
            {
                attribute_name(name): attribute_value(attribute)
                for name, attribute in self._op.attributes.items()
                if name not in _HELD
            }
        )

    @property
    def is_private(self) -> bool:
        """Whether it is hidden from users of the module."""
        attributes = None if self._op is None else self._op.attributes
        return attributes is not None and "sym_visibility" in attributes and (
            ir.StringAttr(attributes["sym_visibility"]).value == "private"
        )  # fmt: skip

    @property
    def ty(self) -> Type:
        """The type."""
        if self._op is None or "function_type" not in self._op.attributes:
            return FuncType()
        return from_mlir(ir.TypeAttr(self._op.attributes["function_type"]).value)

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> "BaseFunc":
        """Return a copy of the function with an attribute, alone in a module.

        Args:
            key: the name; `"global_symbol"` names the function and makes it public. Or all
                attributes by name.
            value: what the attribute is.
        """
        module = self._alone()
        set_attrs(single(module), key if isinstance(key, Mapping) else {key: value})
        return module[module.function_names[0]]

    def with_attrs(self, attributes: Mapping[str, Any]) -> "BaseFunc":
        """Return a copy of the function with all these attributes."""
        return self.with_attr(attributes)

    def without_attr(self, key: str) -> "BaseFunc":
        """Return a copy of the function without an attribute, if it has it.

        Without `"global_symbol"` it is private.
        """
        made = self.with_attr({})
        if made._op is not None and key == "global_symbol":
            private = ir.StringAttr.get("private", made._op.context)
            made._op.attributes["sym_visibility"] = private
        for name in (attribute_key(key), attribute_key(key, "tir")):
            if made._op is not None and name in made._op.attributes:
                del made._op.attributes[name]
        return made

    def script(self, *, show_meta: bool = False, **options: Any) -> str:
        """Return the function as TVMScript, alone in a module; options as for `IRModule.script`."""
        return self._alone().script(show_meta=show_meta, **options)

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the function as TVMScript, in colour on terminals; see `IRModule.show`."""
        self._alone().show(style, black_format)

    def __str__(self) -> str:
        return self.script()

    def _repr_html_(self) -> str:
        """Return the function as notebooks show it."""
        return self._alone()._repr_html_()

    def __deepcopy__(self, memo: dict[int, Any]) -> "BaseFunc":
        return self.with_attr({})

    def __reduce__(self) -> tuple[Any, ...]:
        return _only, (self._alone(),)

    def _alone(self) -> IRModule:
        """Return a module of a copy of the function, private where it is."""
        op = single(self)
        with op.context, op.location:
            holder = ir.Module.create()
            op.clone(ip=ir.InsertionPoint(holder.body))
        return IRModule(holder)

    def _identity(self) -> Any:
        return None if self._op is None else (BaseFunc, self._op)


class Function(BaseFunc):
    """A Relax function: parameters, and a sequence of blocks of bindings.

    `Function(params, body)` with expressions not emitted yet is what `BlockBuilder.add_func` takes.
    """

    __slots__ = ("_attrs", "_body", "_params", "_pure", "_ret")

    def __init__(
        self, params: Iterable[Var], body: Any, ret_type: Any = None, is_pure: bool | None = None,
        attrs: Any = None, *, ret_ty: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        ret_type = ret_ty if ret_type is None else ret_type
        self._op: ir.Operation | None = None
        self._params = list(params)
        self._body = as_sequence(body)
        self._ret = None if ret_type is None else as_type(ret_type)
        self._attrs = Attrs(attrs or {})
        self._pure = is_pure
        for param in self._params:
            if not isinstance(param, Var):
                raise ExprTypeError(f"a parameter is a relax.Var, got {param!r}")

    @property
    def copied(self) -> ir.Operation | None:
        """The function of a module whose parameters and body Python made this of, else None."""
        block = None if self._op is not None else getattr(self._body, "mlir_block", None)
        owner = None if block is None else block.owner.operation
        if block is None or owner is None or owner.name != "func.func":
            return None
        values = [param._value for param in self._params]
        # The bindings do not compare a value with None.
        known = all(value is not None for value in values)
        return owner if known and list(block.arguments) == values else None

    @classmethod
    def of(cls, op: Any, keep: Any = None) -> "Function":
        """Return the view of a `func.func` marked `relax.function`.

        Args:
            op: the operation, or a view of it.
            keep: what keeps its module alive, such as the IRModule.
        """
        made = cls.__new__(cls)
        made._op, made._keep, made._ty = _operation(op), keep if keep is not None else op, None
        return made

    @property
    def params(self) -> list[Var]:
        """The parameters."""
        if self._op is None:
            return self._params
        return [var(value, self._keep) for value in self._block.arguments]

    @property
    def body(self) -> SeqExpr:
        """The body."""
        return self._body if self._op is None else SeqExpr.of(self._block, self._keep)

    @property
    def _block(self) -> ir.Block:
        assert self._op is not None, "only views have a block"
        return self._op.regions[0].blocks[0]

    @property
    def attrs(self) -> Attrs:
        """Its attributes by name; `global_symbol` is the name of a public one of a module."""
        if self._op is None:
            return self._attrs
        public = {} if self.is_private or not self.name else {"global_symbol": self.name}
        return Attrs({**public, **super().attrs})

    def with_attr(self, key: Any, value: Any = None) -> Any:
        """Return a copy with attributes too; one of a function in no module is in none either."""
        if self._op is not None:
            return super().with_attr(key, value)
        attrs = {**self._attrs, **(key if isinstance(key, dict) else {key: value})}
        return Function(self._params, self._body, self._ret, self._pure, attrs)

    def bind_params(self, binding_map: Mapping[Any, Any]) -> "Function":
        """Return the function with parameters as constants: what the pass `BindParams` does.

        Args:
            binding_map: arrays, shapes and integers by parameter or its name.

        Raises:
            ExprError: there is no such parameter, or a value does not fit.
        """
        return extension("relax.bind_params")(self, binding_map)

    def bind_symbolic_vars(self, binding_map: Mapping[Any, Any]) -> "Function":
        """Return the function with values for symbols: what the pass `BindSymbolicVars` does.

        Args:
            binding_map: integers, or expressions of other symbols, by the symbol or its name.

        Raises:
            ParameterNameError: there is no such symbol, or two values of one.
        """
        return extension("relax.bind_symbolic_vars")(self, binding_map)

    def inline_functions(self, function_map: Mapping[Any, Any]) -> "Function":
        """Return this with the bodies of other functions in the place of their calls.

        Args:
            function_map: the functions, by name or `relax.GlobalVar`.

        Raises:
            ExprError: a function is given twice, or calls itself.
            ExprTypeError: arguments do not have the types of the parameters.
        """
        return extension("relax.inline_functions")(self, function_map)

    @property
    def ret_type(self) -> Type:
        """The type of the result.

        Raises:
            BuilderError: the function is not emitted yet, and cannot be.
        """
        op = self._op
        if op is None and self._ret is not None:
            return self._ret
        if op is None:
            # What bindings bind has a type once it is emitted.
            op = single(self) if self._body.blocks else None
        if op is None or "function_type" not in op.attributes:
            return self.body.ty
        type_ = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        return from_mlir(type_.results[0])

    @property
    def ret_struct_info(self) -> Type:
        """The type of the result, as TVM 0.10 to 0.22 call it."""
        return self.ret_type

    # As TVM 0.27 calls it.
    ret_ty = ret_struct_info

    @property
    def is_pure(self) -> bool:
        """Whether nothing in it may have a side effect."""
        if self._op is None:
            return self._pure is not False
        from relax_mlir.relax.builder.purity import is_pure

        return is_pure(self._op)


register_view("relax.lambda", Function)


class PrimFunc(BaseFunc):
    """A TIR prim func; what is in it is read from `mlir_op`.

    `tir.PrimFunc(params, body, buffer_map={a: A})` writes one from a tree of statements
    (`relax_mlir.tir.stmt`), alone in a module; `IRModule({"main": func})` takes it.
    """

    __slots__ = ()

    def __init__(
        self, params: Any, body: Any, ret_type: Any = None, buffer_map: Any = None,
        attrs: Any = None,
    ) -> None:  # fmt: skip
        from relax_mlir.tir.stmt_writer import prim_func

        if ret_type is not None:
            raise ExprTypeError(f"a prim func returns nothing, got ret_type {ret_type!r}")
        named = dict(attrs or {})
        name = named.pop("global_symbol", "main")
        module = prim_func(params, body, buffer_map, named, name)
        self._op, self._keep, self._ty = module[name].mlir_op, module, None

    @property
    def params(self) -> "list[Param]":
        """Its parameters: a name, and a dtype, `handle` for a buffer."""
        return [param for param, _ in self._parameters()]

    @property
    def buffer_map(self) -> "dict[Param, Buffer]":
        """The buffers that parameters point to: name, shape, dtype."""
        return {param: buffer for param, buffer in self._parameters() if buffer is not None}

    @property
    def body(self) -> "PrimFunc":
        """The function itself, whose statements `tir.stmt_functor` visits."""
        return self

    def specialize(self, param_map: Mapping[Any, Any]) -> "PrimFunc":
        """Return the function with symbols as numbers.

        Args:
            param_map: numbers by parameter or symbol, and `tir.decl_buffer`s of known shape by
                parameter; see `tir.specialize.specialize`, which says the errors.
        """
        return extension("ir.specialize")(self, param_map)

    @property
    def attrs(self) -> Attrs:
        """Its attributes under TVM's names; `global_symbol` is that of a public function."""
        result: dict[str, Any] = {} if self.is_private else {"global_symbol": self.name}
        for name, value in super().attrs.items():
            result[name if name in _PREFIXED else name.removeprefix("tir.")] = value
        return Attrs(result)

    def _parameters(self) -> "list[tuple[Param, Buffer | None]]":
        from relax_mlir.tir.parameters import parameters

        assert self._op is not None, "prim funcs are views"
        return parameters(self._op)

    @classmethod
    def of(cls, op: Any, keep: Any = None) -> "PrimFunc":
        """Return the view of a `func.func` marked `tir.prim_func`."""
        made = cls.__new__(cls)
        made._op, made._keep, made._ty = _operation(op), keep if keep is not None else op, None
        return made


def function_view(op: Any, keep: Any = None) -> BaseFunc | ExternFunc:
    """Return the view of a function of a module by what marks it."""
    if _operation(op).name == "relax.extern_func":
        return ExternFunc.of(op.operation)
    cls = PrimFunc if "tir.prim_func" in _operation(op).attributes else Function
    return cls.of(op, keep)


def functions(mod: Any) -> dict[str, BaseFunc | ExternFunc]:
    """Return the views of all functions of an IRModule by name, in order."""
    return {
        ir.StringAttr(op.operation.attributes["sym_name"]).value: function_view(op, mod)
        for op in mod.mlir_module.body.operations
        if is_function(op)
    }


def _operation(op: Any) -> ir.Operation:
    return single(op) if isinstance(op, BaseFunc) else op.operation


def _only(mod: IRModule) -> BaseFunc:
    """Return the view of the only function of a module."""
    return mod[mod.function_names[0]]
