"""Functions of the module being parsed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.errors import did_you_mean, hint_of
from relax_mlir.extension_points import extension
from relax_mlir.script.parser.annotations import Signature


@dataclass
class Function:
    """A function of the module being parsed.

    Attributes:
        name: symbol name.
        kind: `"relax"`, `"tir"`, or `"extern"` of a packed function.
        node: its definition, None of one that was there before the script.
        options: keyword arguments of its decorator.
        op: the `func.func`, once parsed.
        state: `"new"`, `"open"` while being parsed, `"done"`; `"declared"` of one elsewhere.
        signature: of a Relax function, once asked for.
        pure: whether a Relax function has no side effects.
    """

    name: str
    kind: str
    node: Any
    options: dict[str, Any] = field(default_factory=dict)
    op: Any = None
    state: str = "new"
    signature: Signature | None = None
    pure: bool = False

    @classmethod
    def declared(cls, variable: Any) -> "Function | None":
        """Return the function that a `GlobalVar` names, of a module that this one is put into.

        Args:
            variable: the variable, whose type says how to call the function; None where it does
                not, or is no variable of a function.
        """
        if not isinstance(variable, extension("script.GlobalVar")):
            return None
        type_ = variable.ty
        if type_.params is None:
            return None
        types = [each.to_mlir() for each in type_.params]
        signature = Signature(types, type_.ret.to_mlir(), type_.purity)
        options = {"pure": type_.purity}
        return cls(variable.name_hint, "relax", None, options, None, "declared", signature)


def not_there(name: str, names: Iterable[str]) -> str:
    """Return a hint for a function that a module does not have."""
    known = list(names)
    declared = f"; extra_vars={{'{name}': mod.get_global_var('{name}')}} declares another module's"
    return did_you_mean(name, known) or hint_of(name, known) + declared
