"""Passes that see one function at a time and cannot add or remove any (P09, P10)."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import PassInfo
from relax_mlir.transform.passes import Pass
from relax_mlir.transform.program_hash import fingerprint

# Attributes that keep a function out of function passes: it is done, or another compiler owns it.
SKIP_ATTRIBUTES = ("SkipOptimization", "Codegen", "Compiler")


class FunctionPass(Pass):
    """`pass_func(func, mod, ctx)` returns the function to put in `func`'s place.

    `func` is a copy that belongs to nobody yet: change it and return it, or build another. All
    calls see the module as it was before the pass; the results go in after the last one.
    """

    marker = "relax.function"
    kind = "function pass"
    may_remove = False

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
        results: list[tuple[str, ir.Operation | None]] = []
        for function in list(body.operations):
            if not self._handles(function):
                continue
            name = _symbol(function)
            copy = function.operation.clone(ip=False)
            results.append((name, self._checked(name, self._call(name, copy, mod, ctx))))
            if _symbols(body) != before:
                raise ValueError(f"a {self.kind} cannot add or remove functions (at '@{name}')")
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
        return self.pass_func(function, mod, ctx)

    def _call(self, name: str, function: ir.Operation, mod: IRModule, ctx: PassContext) -> Any:
        try:
            return self.transform(function, mod, ctx)
        except RelaxMLIRError:
            raise
        except Exception as error:
            # The error itself goes on up; this says in which function, and where that is.
            message = f"'func.func' op @{name}: {type(error).__name__}: {error}"
            function.location.emit_error(message)
            raise

    def _handles(self, function: ir.OpView) -> bool:
        operation = function.operation
        if operation.name != "func.func" or self.marker not in operation.attributes:
            return False
        return not any(_is_set(operation, name) for name in SKIP_ATTRIBUTES)

    def _checked(self, name: str, result: Any) -> ir.Operation | None:
        if result is None and self.may_remove:
            return None
        operation = getattr(result, "operation", None)
        if operation is None or operation.name != "func.func":
            got = "None" if result is None else type(result).__name__
            raise TypeError(f"a {self.kind} returns a function, got {got} for '@{name}'")
        if operation.context != ir.Context.current:
            raise ValueError(
                f"a {self.kind} returns a function of the module's MLIR context: make it inside "
                f"the pass (for '@{name}')"
            )
        if _symbol(operation) != name:
            raise ValueError(f"a {self.kind} cannot rename '@{name}' to '@{_symbol(operation)}'")
        if operation.attached:
            # Somebody else's function, such as another one of the module: take a copy.
            operation = operation.clone(ip=False).operation
        return operation


class PrimFuncPass(FunctionPass):
    """The same over prim funcs; returning None removes the function (P10)."""

    marker = "tir.prim_func"
    kind = "prim func pass"
    may_remove = True


def _symbol(operation: ir.OpView | ir.Operation) -> str:
    attributes = operation.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else ""


def _symbols(body: ir.Block) -> list[str]:
    return [_symbol(operation) for operation in body.operations]


def _state(mod: IRModule) -> dict[str, object]:
    """Return what the parts of a module are, to see later whether they still are the same."""
    attributes = mod.mlir_module.operation.attributes
    own = {name: attributes[name] for name in attributes}
    operations = {
        f"'@{_symbol(each)}'" if _symbol(each) else f"operation {index}": fingerprint(each)
        for index, each in enumerate(mod.mlir_module.body.operations)
    }
    return {"the module's attributes": own, **operations}


def _is_set(operation: ir.Operation, name: str) -> bool:
    """Whether an attribute is there and not false or empty, under a dialect's prefix or bare."""
    for spelling in (name, f"relax.{name}", f"tir.{name}"):
        if spelling in operation.attributes:
            attribute = operation.attributes[spelling]
            if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.StringAttr)):
                return bool(attribute.value)
            return True
    return False
