"""Function passes: each call gets one function and cannot add or remove functions."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassTypeError, RelaxMLIRError
from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import is_function, single
from relax_mlir.ir.transfer import moved
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.execution.diagnostics import exception_text
from relax_mlir.pass_infra.execution.program_hash import fingerprint
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import Pass

# Attributes that keep a function out of function passes: it is done, or another compiler owns it.
SKIP_ATTRIBUTES = ("SkipOptimization", "Codegen", "Compiler")


class FunctionPass(Pass):
    """`pass_func(func, mod, ctx)` returns the function to put in `func`'s place.

    `func` is a copy outside of any module: change it and return it, or build another. All
    calls see the module as it was before the pass; the results go in after the last one.
    """

    marker = "relax.function"
    kind = "function pass"
    may_remove = False
    runs_on_functions = True

    def __init__(
        self, pass_func: Callable[[Any, IRModule, PassContext], Any], pass_info: PassInfo
    ) -> None:
        self.pass_func = pass_func
        self.info = pass_info

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Call the function on each function of this pass's kind, then put the results in.

        Raises:
            TypeError: it returned something that is not a function.
            ValueError: it added, removed or renamed a function, or changed the module around it.
        """
        body = mod.mlir_module.body
        before, state = _symbols(body), _state(mod)
        # All copies at once: what the calls do to the module must not be in the way of the next.
        copies = [
            (_symbol(function), function.operation.clone(ip=False).operation)
            for function in body.operations
            if self._handles(function)
        ]
        results = [
            (name, self._checked(name, self._call(name, copy, mod, ctx))) for name, copy in copies
        ]
        after = _symbols(body)
        if after != before:
            raise ValueError(
                f"a {self.kind} cannot add or remove functions{_difference(before, after)}"
            )
        changed = [what for what, hash_ in _state(mod).items() if hash_ != state[what]]
        if changed:
            raise ValueError(
                f"a {self.kind} changes the function it is given and nothing else of the module: "
                f"it changed {', '.join(changed)}"
            )
        table = {_symbol(function): function for function in body.operations}
        for name, result in results:
            original = table[name].operation
            if result is not None:
                ir.InsertionPoint(original).insert(result)
            original.erase()

    def transform(self, function: ir.Operation, mod: IRModule, ctx: PassContext) -> Any:
        """Return what takes the place of one function."""
        return self.pass_func(extension("ir.function_view")(function, mod), mod, ctx)

    def _call(self, name: str, function: ir.Operation, mod: IRModule, ctx: PassContext) -> Any:
        try:
            return self.transform(function, mod, ctx)
        except RelaxMLIRError:
            raise
        except Exception as error:
            # The error itself goes on up; this says in which function, and where that is.
            message = f"'func.func' op @{name}: {exception_text(error)}"
            function.location.emit_error(message)
            raise

    def _handles(self, function: ir.OpView) -> bool:
        operation = function.operation
        if operation.name != "func.func" or self.marker not in operation.attributes:
            return False
        return not is_skipped(operation)

    def _checked(self, name: str, result: Any) -> ir.Operation | None:
        if result is None and self.may_remove:
            return None
        if not is_function(result):
            got = "None" if result is None else type(result).__name__
            raise PassTypeError(f"a {self.kind} returns a function, got {got} for '@{name}'")
        operation = single(result)
        if operation.context != ir.Context.current:
            module = moved(operation, ir.Context.current)
            operation = module.body.operations[0].operation
        if operation.attached:
            # A function of some module: its copy takes the place, and the name.
            operation = operation.clone(ip=False).operation
            operation.attributes["sym_name"] = ir.StringAttr.get(name)
        if _symbol(operation) != name:
            raise ValueError(f"a {self.kind} cannot rename '@{name}' to '@{_symbol(operation)}'")
        return operation


class PrimFuncPass(FunctionPass):
    """The same over prim funcs; returning None removes the function."""

    marker = "tir.prim_func"
    kind = "prim func pass"
    may_remove = True

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Do as a function pass does, and look whether somebody calls what was removed.

        Raises:
            TypeError: it returned something that is not a function.
            ValueError: it added or renamed a function, changed the module around it, or removed
                a function that is called.
        """
        before = set(_symbols(mod.mlir_module.body))
        super().apply(mod, ctx)
        removed = before - set(_symbols(mod.mlir_module.body))
        if removed:
            _check_unreferenced(mod, removed)


def _check_unreferenced(mod: IRModule, names: set[str]) -> None:
    """Raise ValueError if an operation names one of the functions, which are gone."""

    def visit(operation: ir.Operation) -> ir.WalkResult:
        for attribute in operation.attributes.values():
            if isinstance(attribute, ir.FlatSymbolRefAttr) and attribute.value in names:
                operation.location.emit_error(
                    f"'{operation.name}' op refers to '@{attribute.value}', which the pass removed"
                )
                users.append(attribute.value)
        return ir.WalkResult.ADVANCE

    for function in mod.mlir_module.body.operations:
        users: list[str] = []
        function.operation.walk(visit)
        if users:
            raise ValueError(
                f"a prim func pass cannot remove '@{users[0]}': '@{_symbol(function)}' still "
                "calls it"
            )


def _symbol(operation: ir.OpView | ir.Operation) -> str:
    attributes = operation.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else ""


def _symbols(body: ir.Block) -> list[str]:
    return [_symbol(operation) for operation in body.operations]


def _difference(before: list[str], after: list[str]) -> str:
    changes = [f"it added '@{name}'" for name in after if name not in before]
    changes += [f"it removed '@{name}'" for name in before if name not in after]
    return f": {', '.join(changes)}" if changes else " or change their order"


def _state(mod: IRModule) -> dict[str, object]:
    """Return what the parts of a module are, to see later whether they still are the same."""
    attributes = mod.mlir_module.operation.attributes
    own = {name: attributes[name] for name in attributes}
    operations = {
        f"'@{_symbol(each)}'" if _symbol(each) else f"operation {index}": fingerprint(
            each.operation
        )
        for index, each in enumerate(mod.mlir_module.body.operations)
    }
    return {"the module's attributes": own, **operations}


def is_skipped(function: ir.Operation) -> bool:
    """Whether an attribute keeps a function out of function passes."""
    return any(_is_set(function, name) for name in SKIP_ATTRIBUTES)


def _is_set(operation: ir.Operation, name: str) -> bool:
    """Whether an attribute is there and not false or empty, under a dialect's prefix or bare."""
    for spelling in (name, f"relax.{name}", f"tir.{name}"):
        if spelling in operation.attributes:
            attribute = operation.attributes[spelling]
            if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.StringAttr)):
                return bool(attribute.value)
            return True
    return False
