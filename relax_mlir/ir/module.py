"""`IRModule`: the MLIR module that is the only copy of a program."""

from collections.abc import Iterator, Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.context import default_context
from relax_mlir.errors import ExprTypeError, FunctionKeyError, did_you_mean
from relax_mlir.extension_points import extension
from relax_mlir.ir.attribute_value import attribute_value
from relax_mlir.ir.function_protocols import BaseFunc, GlobalVar
from relax_mlir.ir.single_function import set_attrs, single, together
from relax_mlir.ir.transfer import bytecode, moved, read_module, verify_error

# What a function's view has that its operation has not.
_OF_FUNCTIONS = (
    "buffer_map", "is_pure", "params", "ret_struct_info", "ret_ty", "ret_type", "script", "show",
    "struct_info", "ty",
)  # fmt: skip


class IRModule:
    """A program: one MLIR module of Relax functions and prim funcs.

    `str(mod)` is MLIR text, `mod.script()` TVMScript, `mod["main"]` the `func.func` of that name.
    """

    def __init__(self, module: "ir.Module | Mapping[str, IRModule] | None" = None) -> None:
        """Hold an MLIR module, or copies of functions by name: `IRModule({"main": func})`.

        Without anything there is no function in it yet.
        """
        module = {} if module is None else module
        if not isinstance(module, (ir.Module, Mapping)):
            raise ExprTypeError(
                f"IRModule takes an MLIR module or functions by name, got {type(module).__name__}; "
                "IRModule.parse reads MLIR text, script.from_source TVMScript"
            )
        self._module = together(module) if isinstance(module, Mapping) else module

    @property
    def mlir_module(self) -> ir.Module:
        """The MLIR module itself, not a copy."""
        return self._module

    @property
    def context(self) -> ir.Context:
        """The MLIR context that the module lives in."""
        return self._module.context

    @classmethod
    def parse(cls, text: str | bytes, context: ir.Context | None = None) -> "IRModule":
        """Read MLIR text or bytecode.

        Raises:
            VerifyError: it does not parse or does not verify.
        """
        return cls(read_module(text, context or default_context()))

    def verify(self) -> None:
        """Check every operation against the rules of its dialect.

        Raises:
            VerifyError: something breaks a rule; says which, where.
        """
        try:
            with self.context:
                self._module.operation.verify()
        except ir.MLIRError as error:
            raise verify_error("the module breaks the rules of its dialects", error) from error

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> "IRModule":
        """Return a copy of this module of one function, as a script makes it, with attributes.

        Args:
            key: the name; `"global_symbol"` names the function and makes it public. Or all
                attributes by name.
            value: what the attribute is.

        Raises:
            ValueError: there is not exactly one function.
        """
        made = self.clone()
        set_attrs(single(made), key if isinstance(key, Mapping) else {key: value})
        return made

    @classmethod
    def from_expr(cls, expr: Any, functions: "Mapping[str, IRModule] | None" = None) -> "IRModule":
        """Return a module of a function, as scripts and `te.create_prim_func` give it.

        Args:
            expr: the function, or one of a module, `mod["main"]`; it keeps its name.
            functions: others, each under its name.

        Raises:
            ExprTypeError: it is none.
        """
        name = single(expr).attributes["sym_name"].value
        return cls({name: expr, **(functions or {})})

    def __getattr__(self, name: str) -> Any:
        """Return what the only function of a module has, such as `params`."""
        if name in _OF_FUNCTIONS and len(self.function_names) == 1:
            return getattr(self[self.function_names[0]], name)
        if name == "body" and len(self.function_names) == 1:
            # What `tir.stmt_functor` visits; a region would not keep the module alive.
            func = self[self.function_names[0]]
            return func.body if "relax.function" in func.operation.attributes else func
        raise AttributeError(f"'IRModule' object has no attribute '{name}'", name=name, obj=self)

    def with_attrs(self, attributes: Mapping[str, Any]) -> "IRModule":
        """Return a copy of this module of one function with all these attributes."""
        return self.with_attr(attributes)

    def without_attr(self, key: str) -> "IRModule":
        """Return a copy of this module of one function without an attribute, if it has it.

        Raises:
            ValueError: there is not exactly one function.
        """
        made = self.clone()
        attributes = single(made).attributes
        for name in (key, f"tir.{key}"):
            if name in attributes:
                del attributes[name]
        return made

    def specialize(self, param_map: Mapping[Any, Any]) -> "IRModule":
        """Return a copy of this module of one prim func with symbols as numbers.

        Args:
            param_map: numbers by parameter or symbol, and `tir.decl_buffer`s of known shape by
                parameter; see `tir.specialize.specialize`, which says the errors.
        """
        return extension("ir.specialize")(self, param_map)

    @property
    def attrs(self) -> "dict[str, Any]":
        """The module's attributes by name; those of the function of a module of one prim func."""
        attributes = self._module.operation.attributes
        if not len(attributes) and len(self.function_names) == 1:
            return self[self.function_names[0]].attrs
        return {
            name.removeprefix("relax."): attribute_value(attributes[name]) for name in attributes
        }

    def clone(self) -> "IRModule":
        """Return a deep copy in the same context."""
        with self.context, self._module.operation.location:
            copy = ir.Module.create()
            attributes = self._module.operation.attributes
            for name in attributes:
                copy.operation.attributes[name] = attributes[name]
            with ir.InsertionPoint(copy.body):
                for operation in self._module.body.operations:
                    operation.operation.clone()
        return IRModule(copy)

    def __deepcopy__(self, memo: dict[int, Any]) -> "IRModule":
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickles hold: the module's MLIR bytecode, constants among it."""
        return IRModule.parse, (bytecode(self._module.operation),)

    def moved_to(self, context: ir.Context) -> "IRModule":
        """Return the module in a context: itself where it is in that one, else a copy.

        Raises:
            VerifyError: it has to be copied and does not verify.
        """
        if context == self.context:
            return self
        return IRModule(moved(self._module.operation, context))

    def update(self, other: "IRModule") -> None:
        """Take over another module's functions, in place of those of the same name; `other` stays.

        The modules may live in different MLIR contexts.
        """
        for operation in other.moved_to(self.context).mlir_module.body.operations:
            attributes = operation.operation.attributes
            name = attributes["sym_name"].value if "sym_name" in attributes else None
            if name is not None and name in self:
                self[name].operation.erase()
            operation.operation.clone(ip=ir.InsertionPoint(self._module.body))

    @property
    def function_names(self) -> list[str]:
        """The names of all functions, in order."""
        return [
            op.operation.attributes["sym_name"].value
            for op in self._module.body.operations
            if "sym_name" in op.operation.attributes
        ]

    @property
    def functions(self) -> dict[GlobalVar, BaseFunc]:
        """Views of all functions, by their names as TVM has them, in order."""
        global_var = extension("ir.GlobalVar")
        return {global_var(name): func for name, func in extension("ir.functions")(self).items()}

    def functions_items(self) -> list[tuple[GlobalVar, BaseFunc]]:
        """Return the items of `functions`, which stay what they are while the module changes."""
        return list(self.functions.items())

    def get_global_vars(self) -> list[GlobalVar]:
        """Return the names of all functions as they are called in a program."""
        return list(self.functions)

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the name of a function as it is called in a program.

        Raises:
            KeyError: there is none of that name.
        """
        self[name]
        return extension("ir.GlobalVar")(name)

    def __getitem__(self, name: str | GlobalVar) -> Any:
        """Return the `func.func` operation of that name; what is returned keeps the module alive.

        Raises:
            KeyError: there is none.
        """
        name = name if isinstance(name, str) else name.name_hint
        for op in self._module.body.operations:
            attributes = op.operation.attributes
            if "sym_name" in attributes and attributes["sym_name"].value == name:
                return _keeping(op, self._module)
        known = did_you_mean(name, self.function_names)
        known = known or f"; there are: {', '.join(self.function_names[:8]) or 'none'}"
        raise FunctionKeyError(f"no function '{name}'{known}")

    def __setitem__(self, name: str | GlobalVar, func: Any) -> None:
        """Take over a copy of a function, in place of one of that name.

        Args:
            name: its name here.
            func: the function, as a script or `mod["main"]` gives it.

        Raises:
            ExprTypeError: it is none.
        """
        name = name if isinstance(name, str) else name.name_hint
        self.update(IRModule({name: func}))

    def update_func(self, var: str | GlobalVar, func: Any) -> None:
        """Take over a copy of a function, as `mod[var] = func` does."""
        self[var] = func

    def __delitem__(self, name: str) -> None:
        """Remove a function; who calls it is not looked at before the module is verified.

        Raises:
            KeyError: there is none of that name.
        """
        self[name].operation.erase()

    def __contains__(self, name: object) -> bool:
        return getattr(name, "name_hint", name) in self.function_names

    def __iter__(self) -> Iterator[str]:
        return iter(self.function_names)

    def __len__(self) -> int:
        return len(self.function_names)

    def script(self, *, show_meta: bool = False) -> str:
        """Return the program as TVMScript, which parses back to the same program.

        Args:
            show_meta: as in TVM; large constants are in `script.script_with_metadata`'s second
                value, never in the text.
        """
        return extension("ir.script")(self)

    def show(
        self, style: str | None = None, black_format: bool = False, *, show_meta: bool = False
    ) -> None:
        """Print the program as TVMScript, in colour on terminals.

        Args:
            style: `"ansi"` for colour always, `"plain"` for none.
            black_format: as in TVM; scripts have one form.
            show_meta: as for `script`.

        Raises:
            ValueError: unknown style.
        """
        extension("ir.show")(self.script(), style)

    def _repr_html_(self) -> str:
        """Return the program as notebooks show it."""
        return extension("ir.html")(self.script())

    def as_text(self, *, debug_info: bool = False, elide: int | None = None) -> str:
        """Return MLIR text with the program's own names for values.

        Args:
            debug_info: also print locations; the text then keeps names when read back.
            elide: leave out the elements of constants with more than so many; such text is for
                reading only.
        """
        return self._module.operation.get_asm(
            large_elements_limit=elide,
            large_resource_limit=elide,
            enable_debug_info=debug_info,
            use_name_loc_as_prefix=not debug_info,
        )

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        return f"IRModule({', '.join(self.function_names)})"


class _View(ir.OpView):
    """An operation without a Python class of its own; unlike the base it takes attributes."""


class _Function(submodule("dialects.func").FuncOp):
    """A `func.func` that has what people ask a function for, too: `mod["main"].show()`."""

    def __init__(self, operation: ir.Operation) -> None:
        ir.OpView.__init__(self, operation)

    @property
    def body(self) -> Any:
        """The body of a Relax function as an expression, the region of a prim func."""
        if "relax.function" in self.operation.attributes:
            return extension("ir.function_view")(self).body
        return self.operation.regions[0]

    def __getattr__(self, name: str) -> Any:
        if name not in ("attrs", *_OF_FUNCTIONS):
            raise AttributeError(f"a function has no attribute '{name}'", name=name, obj=self)
        return getattr(extension("ir.function_view")(self), name)

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> "IRModule":
        """Return a copy of the function in a module of its own; see `IRModule.with_attr`."""
        return IRModule.from_expr(self).with_attr(key, value)

    def specialize(self, param_map: Mapping[Any, Any]) -> "IRModule":
        """Return the prim func with symbols as numbers; see `IRModule.specialize`."""
        return IRModule.from_expr(self).specialize(param_map)


def _keeping(view: Any, module: ir.Module) -> ir.OpView:
    # The bindings' operations do not hold the module that they are in, and its end is theirs.
    if view.operation.name == "func.func":
        view = _Function(view.operation)
    elif type(view) is ir.OpView:
        view = _View(view.operation)
    view._relax_module = module
    return view
