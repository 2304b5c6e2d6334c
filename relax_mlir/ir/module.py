"""`IRModule`: the MLIR module that is the only copy of a program."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.errors import ExprTypeError, FunctionKeyError, RelaxMLIRError, did_you_mean
from relax_mlir.extension_points import extension
from relax_mlir.ir.attribute_value import attribute_value, python_attribute
from relax_mlir.ir.function_protocols import BaseFunc, GlobalVar
from relax_mlir.ir.global_info import ATTRIBUTE, GlobalInfo, read_infos, write_infos
from relax_mlir.ir.single_function import emission_error, is_function, single, together
from relax_mlir.ir.transfer import bytecode, moved, read_module, verify_error


class IRModule:
    """A program: one MLIR module of Relax functions and prim funcs.

    `str(mod)` is MLIR text, `mod.script()` TVMScript, `mod["main"]` a `relax.Function` or
    `tir.PrimFunc`: a view, which changes with the module and keeps it alive.

    A module of functions that Python built and that are no program, of an undefined variable for
    instance, is there for `relax.analysis.check_well_formed`; anything else raises what is wrong.
    """

    def __init__(
        self, module: "ir.Module | Mapping[str, BaseFunc | ir.Operation] | None" = None,
        attrs: Mapping[str, Any] | None = None,
        global_infos: Mapping[str, Sequence[GlobalInfo]] | None = None,
    ) -> None:  # fmt: skip
        """Hold an MLIR module, or copies of functions by name: `IRModule({"main": func})`.

        Args:
            module: the MLIR module, or the functions.
            attrs: attributes, as for `with_attr`.
            global_infos: data that belongs to no function, as for `update_global_info`.

        Raises:
            ExprTypeError: one of them is none of these.
        """
        module = {} if module is None else module
        if not isinstance(module, (ir.Module, Mapping)):
            raise ExprTypeError(
                f"IRModule takes an MLIR module or functions by name, got {type(module).__name__}; "
                "IRModule.parse reads MLIR text, script.from_source TVMScript"
            )
        self._error: RelaxMLIRError | None = None
        self._made: ir.Module | None = None
        if isinstance(module, ir.Module):
            self._made = module
        else:
            self._error = next(filter(None, map(emission_error, module.values())), None)
            self._made = None if self._error else together(module)
        for key, value in (attrs or {}).items():
            self._set_attribute(key, value)
        for key, infos in (global_infos or {}).items():
            self.update_global_info(key, infos)

    @property
    def _module(self) -> ir.Module:
        if self._error is not None:
            raise self._error.with_traceback(None)
        assert self._made is not None, "there is an error otherwise"
        return self._made

    @property
    def mlir_module(self) -> ir.Module:
        """The MLIR module itself, not a copy.

        Raises:
            RelaxMLIRError: a function that Python built is no program; says why.
        """
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

    def with_attr(self, key: str, value: Any) -> "IRModule":
        """Return a copy of the module with an attribute.

        Args:
            key: the name, in the dialect `relax` where it names none.
            value: what the attribute is.

        Raises:
            ExprTypeError: no attribute holds such a value.
        """
        made = self.clone()
        made._set_attribute(key, value)
        return made

    def with_attrs(self, attr_map: Mapping[str, Any]) -> "IRModule":
        """Return a copy of the module with attributes by name, as `with_attr` makes them."""
        made = self.clone()
        for key, value in attr_map.items():
            made._set_attribute(key, value)
        return made

    def _set_attribute(self, key: str, value: Any) -> None:
        with self.context:
            name = key if "." in key else f"relax.{key}"
            self._module.operation.attributes[name] = python_attribute(value)

    @classmethod
    def from_expr(cls, expr: Any, functions: Mapping[str, Any] | None = None) -> "IRModule":
        """Return a module of a function, as scripts and `te.create_prim_func` give it.

        Args:
            expr: the function; it keeps its name, and is `main` where it has none or is private, or
                `main_1`, ... where one of the others has that.
            functions: others, each under its name; one of the name that `expr` has itself goes.

        Raises:
            ExprTypeError: it is none.
        """
        if is_function(expr) and emission_error(expr) is not None:
            func, name = expr, str(expr.attrs.get("global_symbol", "main"))
        else:
            func = expr if is_function(expr) else single(expr)
            name = single(func).attributes["sym_name"].value
        others = {getattr(key, "name_hint", key): other for key, other in (functions or {}).items()}
        if "global_symbol" not in getattr(expr, "attrs", {"global_symbol": name}):
            tries = (f"main_{count}" if count else "main" for count in itertools.count())
            name = next(each for each in tries if each not in others)
        return cls({**others, name: func})

    # C++'s name.
    FromExpr = from_expr

    @property
    def attrs(self) -> "dict[str, Any]":
        """The module's attributes by name, without the dialect's prefix."""
        attributes = self._module.operation.attributes
        return {
            name.removeprefix("relax."): attribute_value(attributes[name])
            for name in attributes
            if name != ATTRIBUTE
        }

    @property
    def global_infos(self) -> dict[str, list[GlobalInfo]]:
        """The module's data that belongs to no function, by name."""
        return read_infos(self._module.operation)

    def update_global_info(self, name: str, global_info: Sequence[GlobalInfo]) -> None:
        """Put entries in the place of those of a name.

        Raises:
            ExprTypeError: an entry is no global info.
        """
        write_infos(self._module.operation, {**self.global_infos, name: list(global_info)})

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
                self._operation(name).erase()
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
        type_ = None
        if "relax.function" in self._operation(name).attributes:
            type_ = self[name].ty
            type_.purity = self[name].is_pure
        return extension("ir.GlobalVar")(name, type_)

    def __getitem__(self, name: str | GlobalVar) -> Any:
        """Return the function of that name, a `relax.Function` or `tir.PrimFunc`.

        Raises:
            KeyError: there is none.
        """
        op = self._operation(name)
        if not is_function(op):
            raise FunctionKeyError(f"'{name}' is no function but a '{op.name}', of mod.mlir_module")
        return extension("ir.function_view")(op, self)

    def _operation(self, name: str | GlobalVar) -> ir.Operation:
        name = name if isinstance(name, str) else name.name_hint
        for op in self._module.body.operations:
            attributes = op.operation.attributes
            if "sym_name" in attributes and attributes["sym_name"].value == name:
                return op.operation
        known = did_you_mean(name, self.function_names)
        known = known or f"; there are: {', '.join(self.function_names[:8]) or 'none'}"
        raise FunctionKeyError(f"no function '{name}'{known}")

    def __setitem__(self, name: str | GlobalVar, func: Any) -> None:
        """Take over a copy of a function, in place of one of that name.

        Args:
            name: its name here.
            func: the function.

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
        self._operation(name).erase()

    def __contains__(self, name: object) -> bool:
        return getattr(name, "name_hint", name) in self.function_names

    def __iter__(self) -> Iterator[str]:
        return iter(self.function_names)

    def __len__(self) -> int:
        return len(self.function_names)

    def script(self, *, show_meta: bool = False, **options: Any) -> str:
        """Return the program as TVMScript, which parses back to the same program.

        Args:
            show_meta: as in TVM; large constants are in `script.script_with_metadata`'s second
                value, and next to the text that `script.save_script` writes, never in it.
            options: `show_all_ty=False` leaves out annotations of variables whose type follows
                from the operation; `module_alias` is what functions call their module, `"cls"`,
                and `""` stands for the name of its class.

        Raises:
            TypeError: there is no such option.
        """
        return extension("ir.script")(self, **options)

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
        if self._error is not None:
            return f"IRModule(not well formed: {self._error})"
        return f"IRModule({', '.join(self.function_names)})"


def module_of(given: Any) -> IRModule:
    """Return a module: itself, an MLIR module's, that of a schedule, or one of a function alone.

    Raises:
        ExprTypeError: it is none of these.
    """
    if is_function(given):
        return IRModule.from_expr(given)
    result = given if isinstance(given, IRModule) else getattr(given, "mod", given)
    if isinstance(result, IRModule):
        return result
    if isinstance(result, ir.Module):
        return IRModule(result)
    hint = ""
    items = given if isinstance(given, (list, tuple)) and given else [given]
    if all(type(each).__name__ == "Tensor" for each in items):
        hint = "; te.create_prim_func([inputs..., outputs...]) makes a prim func of tensors"
    elif isinstance(given, str):
        hint = ": script.from_source reads TVMScript, IRModule.parse MLIR"
    raise ExprTypeError(
        f"expected a module, a function or a schedule, got {type(given).__name__}{hint}"
    )
